// SPDX-License-Identifier: Apache-2.0
// A CUDA launch evaluated for one call: what cuLaunchKernelEx and cuTensorMapEncodeTiled will be
// told, as plain data. Pure, so every rule of a launch is tested without a device. Next: kernel.h.
#pragma once

#include "device/cuda/driver.h"
#include "device/device.h"
#include "launch/launch.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright {

// The sizes of one call: the problem's, or smaller ones (ragged) within its storage.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

// How far apart, in elements, rows and batch entries of A, B and C lie.
struct CudaStrides {
  std::int64_t lda = 0, ldb = 0, ldc = 0, sa = 0, sb = 0, sc = 0;
  friend bool operator==(const CudaStrides&, const CudaStrides&) = default;
};
// The problem's row strides; batch entries one after another, each of rows * row stride elements.
[[nodiscard]] CudaStrides strides_of(const Problem& problem);

struct CudaOperands {
  cuda::Pointer a = 0, b = 0, c = 0, workspace = 0;
  // Of served kernels: numbers of C's type, one for each column, or 0; a tw_activation.
  cuda::Pointer bias = 0;
  int activation = 0;
  friend bool operator==(const CudaOperands&, const CudaOperands&) = default;
};

// One call of cuTensorMapEncodeTiled with rank 3, element strides 1 and no interleave.
struct MapDescription {
  cuda::Pointer address = 0;
  cuda::TensorType type = cuda::kTensorF16;
  std::array<std::uint64_t, 3> dimensions = {};  // columns, rows, batch
  std::array<std::uint64_t, 2> strides = {};     // bytes from row to row, from batch to batch
  std::array<std::uint32_t, 3> box = {};
  cuda::TensorSwizzle swizzle = cuda::kSwizzleNone;
  cuda::TensorPromotion promotion = cuda::kPromoteNone;
  friend bool operator==(const MapDescription&, const MapDescription&) = default;
};

// One kernel argument: `bytes` of `value`, or the 128 bytes of a tensor map.
struct CudaArgument {
  std::size_t bytes = 8;
  std::uint64_t value = 0;  // little end first: a pointer, a float's or an integer's bits
  int map = -1;             // index into maps, or -1
  friend bool operator==(const CudaArgument&, const CudaArgument&) = default;
};
inline constexpr std::size_t kTensorMapBytes = 128;
// Bytes of the argument that a word of CudaLaunch::arguments stands for.
[[nodiscard]] std::size_t argument_bytes(std::string_view word);

// A launch of a step that runs before.
struct CudaStep {
  std::array<unsigned, 3> grid = {1, 1, 1};
  unsigned threads = 1;
  std::vector<CudaArgument> arguments;
};

struct CudaCall {
  bool empty = false;  // no element to write (m, n or batch is 0): nothing is launched
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned threads = 1;
  unsigned shared_bytes = 0;
  std::int64_t workspace_bytes = 0, zeroed_bytes = 0;
  std::vector<MapDescription> maps;
  std::vector<CudaArgument> arguments;
  std::vector<CudaStep> before;
  bool chained = false;
};

// Evaluates a launch. `sms` and `slots` as in launch.h. An Error says what about the description,
// the problem or the operands forbids the launch.
[[nodiscard]] Result<CudaCall> resolve(const Launch& launch, const Problem& problem,
                                       const GemmShape& sizes, const CudaOperands& operands,
                                       float alpha, float beta, int sms, std::int64_t slots);
// The same with strides of the caller's, which may be 0 where no tensor map has to step by them.
[[nodiscard]] Result<CudaCall> resolve(const Launch& launch, const Problem& problem,
                                       const CudaStrides& strides, const CudaOperands& operands,
                                       float alpha, float beta, int sms, std::int64_t slots);

// Dynamic shared bytes, which must be known before the slots are.
[[nodiscard]] Result<std::int64_t> shared_bytes(const Launch& launch, const Problem& problem,
                                                const GemmShape& sizes, int sms);
// The first so many bytes of the workspace that are zero at the first launch.
[[nodiscard]] Result<std::int64_t> zeroed_bytes(const Launch& launch, const Problem& problem,
                                                int sms, std::int64_t slots);
// No kernel with this launch has more slots on such a device, whatever registers it needs.
[[nodiscard]] std::int64_t slots_bound(const Launch& launch, const Problem& problem,
                                       const CudaFacts& device);

}  // namespace tilewright
