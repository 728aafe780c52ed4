// SPDX-License-Identifier: Apache-2.0
// A loaded CUDA kernel and its declarative launch: the one place where a launch meets the driver.
//
// What a call needs - grid, tensor maps, packed arguments - is prepared once per set of operands
// and kept, so a repeated launch is one driver call. Not thread-safe: one owner, one thread.
#pragma once

#include "device/cuda/context.h"
#include "launch/cuda/call.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

// A call that is ready to launch. Its arguments point into itself, so it does not move.
class ReadyCall {
 public:
  explicit ReadyCall(CudaCall call) : call_(std::move(call)) {}
  ReadyCall(const ReadyCall&) = delete;
  ReadyCall& operator=(const ReadyCall&) = delete;
  [[nodiscard]] const CudaCall& call() const { return call_; }

 private:
  friend class CudaKernel;
  CudaCall call_;
  std::vector<cuda::TensorMap> maps_;
  std::vector<void*> pointers_;
};

class CudaKernel {
 public:
  // Loads a cubin, finds the launch's symbol and compares the launch's arguments with the kernel's
  // parameters. The context must outlive the kernel.
  [[nodiscard]] static Result<CudaKernel> load(const cuda::Context& context,
                                               std::span<const std::byte> cubin,
                                               const Launch& launch);
  ~CudaKernel();
  CudaKernel(CudaKernel&&) noexcept;
  CudaKernel& operator=(CudaKernel&&) noexcept;

  [[nodiscard]] const Launch& launch_description() const;
  [[nodiscard]] int registers() const;    // per thread
  [[nodiscard]] int local_bytes() const;  // per thread: spills and arrays
  // How many CTAs of this kernel the device holds at once with so many dynamic shared bytes, in
  // whole clusters. An Error if none fits.
  [[nodiscard]] Result<std::int64_t> slots(std::int64_t shared_bytes);

  // The prepared call, kept for the next time. It must not outlive the kernel.
  [[nodiscard]] Result<std::shared_ptr<const ReadyCall>> prepare(const Problem& problem,
                                                                 const GemmShape& sizes,
                                                                 const CudaOperands& operands,
                                                                 float alpha, float beta);
  // Enqueues the steps before and the kernel; capturable, no allocation, no synchronisation.
  [[nodiscard]] Status launch(const ReadyCall& ready, cuda::Stream stream) const;
  // The same for arguments that the caller owns: pointers to what each of call.arguments stands
  // for, then those of each step before. May run on several threads at once; the slots that `call`
  // was resolved with must have been asked of this kernel.
  [[nodiscard]] Status launch(const CudaCall& call, void* const* arguments,
                              cuda::Stream stream) const;
  // Both in one.
  [[nodiscard]] Status launch(const Problem& problem, const GemmShape& sizes,
                              const CudaOperands& operands, float alpha, float beta,
                              cuda::Stream stream);

 private:
  struct State;
  explicit CudaKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The driver's form of a map: no allocation, no device.
[[nodiscard]] cuda::Code encode(const cuda::Driver& driver, const MapDescription& description,
                                cuda::TensorMap& map);

}  // namespace tilewright
