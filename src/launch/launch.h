// SPDX-License-Identifier: Apache-2.0
// The declarative launch: all that a host must know to call a kernel, as data.
//
// It travels as a small JSON file beside the source or binary, so a kernel that a person or a
// language model wrote enters by the same door as a generated one. There is no host code in a
// candidate. For a CPU: which symbol, how many threads, how much workspace. For CUDA also the grid,
// tensor maps and arguments: cuda/call.h evaluates them, docs/cuda.md has an example.
#pragma once

#include "base/error.h"
#include "launch/expr.h"
#include "problem/problem.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// A tensor map (cuTensorMapEncodeTiled) over the storage of one operand: three dimensions
// {columns, rows, batch}, box {columns, rows, 1}, element strides 1, zeros out of bounds.
// Or over a copy of it that an earlier step made in the workspace, stored alike but for strides.
// Expressions: where it begins (bytes), how far apart its rows and batch entries are (elements),
// and how many entries it has.
struct WorkspaceCopy {
  std::string offset = "0", row_stride = "0", batch_stride = "0", entries = "batch";
  friend bool operator==(const WorkspaceCopy&, const WorkspaceCopy&) = default;
};
struct TensorMapSpec {
  char operand = 'a';  // a, b or c
  int columns = 64;    // of the box, elements: a multiple of 8, in bytes at most `swizzle` if not 0
  int rows = 64;       // of the box
  int swizzle = 128;   // bytes: 0, 32, 64 or 128
  int l2_promotion = 256;  // bytes: 0, 64, 128 or 256
  std::optional<WorkspaceCopy> copy = {};
  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

// A kernel of the same module that runs before, on the same stream: it prepares what the main
// kernel reads. No cluster, no dynamic shared memory, no tensor maps.
struct LaunchStep {
  std::string symbol = "tw_before";
  std::array<std::string, 3> grid = {"1", "1", "1"};
  int threads = 128;
  std::vector<std::string> arguments;  // as the main kernel's, without maps
  friend bool operator==(const LaunchStep&, const LaunchStep&) = default;
};

// How a CUDA kernel is launched. Expressions know M N K batch, the row strides lda ldb ldc, the
// batch strides sa sb sc, `sms`, and `slots`: how many CTAs of this very kernel the device can hold
// at once, in whole clusters. Alignment is the kernel's claim: elements by which lda, ldb, ldc and
// all base addresses must be divisible.
struct CudaLaunch {
  std::array<std::string, 3> grid = {"1", "1", "1"};  // CTAs, multiples of the cluster
  int threads = 128;                                  // per CTA
  std::array<int, 3> cluster = {1, 1, 1};
  std::string shared_bytes = "0";  // dynamic; may not name `slots`, which depend on it
  // The first so many bytes of the workspace are zero at the first launch, and the kernel leaves
  // them zero behind.
  std::string zeroed = "0";
  std::vector<TensorMapSpec> maps;
  // In order: "a" "b" "c" "workspace" (pointers), "map0" ... (tensor maps by value), "alpha" "beta"
  // (f32), "i32:EXPR", "i64:EXPR"; of served kernels also "bias" (pointer), "activation" (i32).
  std::vector<std::string> arguments;
  int alignment = 1;
  std::vector<LaunchStep> before;  // in this order
  // Programmatic dependent launch: it may start before the kernel ahead of it on the stream has
  // ended, and waits by itself (griddepcontrol.wait) before it touches memory. Not where steps run
  // before.
  bool chained = false;
  friend bool operator==(const CudaLaunch&, const CudaLaunch&) = default;
};

struct Launch {
  std::string target = "cpu";        // "cpu" or "cuda"
  std::string symbol = "tw_kernel";  // extern "C"; for a CPU of type tw_cpu_gemm_fn (cpu_abi.h)
  int threads = 1;
  std::string workspace = "0";  // bytes, an expression (expr.h)
  // Set when the kernel serves these sizes only (sizes=static).
  std::optional<std::int64_t> m, n, k;
  CudaLaunch cuda;  // target "cuda"
  friend bool operator==(const Launch&, const Launch&) = default;
};

[[nodiscard]] std::string to_json(const Launch& launch);
[[nodiscard]] Result<Launch> launch_from_json(std::string_view text);

// Workspace bytes for a problem, or why this launch cannot serve it. A CUDA launch may name `sms`
// and `slots`: before its cubin is loaded slots_bound() (cuda/call.h) stands for the latter.
[[nodiscard]] Result<std::int64_t> workspace_bytes(const Launch& launch, const Problem& problem,
                                                   int sms = 1, std::int64_t slots = 1);

// Whether a kernel made for fixed sizes is asked for those.
[[nodiscard]] Status serves(const Launch& launch, std::int64_t m, std::int64_t n, std::int64_t k);
// What expressions know of a problem; sms and slots are left at 1.
[[nodiscard]] ExprNames names_for(const Launch& launch, const Problem& problem);

}  // namespace tilewright
