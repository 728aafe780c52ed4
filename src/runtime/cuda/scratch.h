// SPDX-License-Identifier: Apache-2.0
// Operands and a workspace of our own, for calls that are made to be timed. They hold normal random
// numbers, since what a multiplication draws, and so its clock, is up to the bits that it is fed.
#pragma once

#include "device/cuda/context.h"
#include "runtime/call.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright::runtime {

class Scratch {
 public:
  // So many sets of operands that calls one after another find theirs where large ones would, in
  // memory, but at most `most_sets`; fewer where they would take more than a quarter of the memory
  // that is free. An Error of code negative where one set would. Enqueued on `stream`.
  [[nodiscard]] static Result<Scratch> make(const cuda::Context& context, const Call& call,
                                            int most_sets, std::int64_t workspace,
                                            cuda::Stream stream);

  // Of the i-th call; aligned to 256 bytes.
  [[nodiscard]] Operands operands(int i) const;
  // As Workspaces::claim.
  [[nodiscard]] cuda::Pointer workspace(std::int64_t zeroed) const;

 private:
  Scratch() = default;
  cuda::Buffer memory_;
  std::int64_t a_ = 0, b_ = 0, c_ = 0;  // bytes of each operand
  std::int64_t sets_ = 1;
};

}  // namespace tilewright::runtime
