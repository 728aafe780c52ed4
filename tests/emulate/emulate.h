// SPDX-License-Identifier: Apache-2.0
// Runs a CUDA program of ours on the host and says whether it is right: what tests and
// emulate_main.cc call. How and what it finds: machine.h.
//
// Data are small integers, so every order of sums gives the same and results are compared exactly.
// C is NaN before (unless beta reads it), operands and workspace lie between guards, the workspace
// is NaN behind its zeroed head, which must be zero after. The launch is evaluated by the code that
// launches on a GPU (launch/cuda/call.h), and each run is a process of its own.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "generate/generate.h"
#include "launch/cuda/call.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// A text that stands in a header, or in the kernel's own text (header ""), and what instead.
struct Mutation {
  std::string header, from, to;
};

struct EmulatedCall {
  Problem problem;
  GemmShape sizes;  // the problem's or smaller
  float alpha = 1, beta = 0;
  bool bias = false;       // of served kernels, which then may be compared to a few roundings only
  int activation = 0;      // activation.cuh
  bool same_b = false;     // entries of the batch share B: its batch stride is 0
  std::int64_t shift = 0;  // elements by which A and B begin behind a multiple of 256 bytes
  int sms = 4;
  std::uint64_t seed = 0;
};

class Emulated {
 public:
  // Compiles into `folder`, which the object must not outlive.
  [[nodiscard]] static Result<Emulated> compile(const Source& source,
                                                const std::filesystem::path& folder,
                                                const std::vector<Mutation>& mutations = {});
  // Nothing, or what is wrong.
  [[nodiscard]] std::string run(const EmulatedCall& call) const;

 private:
  Launch launch_;
  std::filesystem::path object_;
};

// The kernel's text with the emulator's wgmma for the instruction that it spells out; fails if that
// is not the instruction which the operands fit.
[[nodiscard]] Result<std::string> emulated_text(const std::string& text);

}  // namespace tilewright
