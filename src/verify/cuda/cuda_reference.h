// SPDX-License-Identifier: Apache-2.0
// What the result should be, computed and kept on the device; the counterpart of reference.h and
// freivalds.h.
//
// Up to 2^37 multiply-adds (some 20 ms of f64 on an H200) and 2^26 results a reference is full.
// A larger one is sampled, rows and columns in full, always the first and the last, and every
// result is covered by weighted sums, which are made with it: then all later checks of the same
// data cost one pass over C.
#pragma once

#include "verify/cuda/device_views.h"
#include "verify/cuda/kernel_bench.h"
#include "verify/freivalds.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

struct ReferenceLimits {
  std::int64_t multiply_adds, results;  // of a full reference, at most
  std::int64_t lines;                   // rows and columns of a sampled one
};
inline constexpr ReferenceLimits kThorough = {std::int64_t{1} << 37, std::int64_t{1} << 26, 256};
inline constexpr ReferenceLimits kBrief = {std::int64_t{1} << 34, std::int64_t{1} << 26, 64};

// Which part of a result is recomputed. Full: the lists are empty.
struct SamplePlan {
  bool full = true;
  std::vector<long long> batches, rows, cols;
};
[[nodiscard]] SamplePlan sample_plan(const Problem& problem, const Extent& extent,
                                     std::uint64_t seed, const ReferenceLimits& limits);

struct DeviceStrip {
  Chosen batches, rows, cols;
  PooledMemory sum, magnitude;  // the second is empty if not asked for
};
// B x and |B| 1 by groups of columns, for one B.
struct WeighedOperand {
  PooledMemory weights, sum, magnitude;
};
// A (B x) and |A| (|B| 1), or C x and |C| 1; the magnitude is f32 in the first, f64 in the second.
struct WeighedResult {
  PooledMemory sum, magnitude;
};
struct DeviceReference {
  bool full = true;
  std::int64_t k = 0;
  PooledMemory lists;  // that the strips point into
  std::vector<DeviceStrip> strips;
  // If not full, and asked for.
  std::optional<WeighedOperand> operand;
  std::optional<WeighedResult> weighed;
  std::size_t bytes = 0;  // of device memory
};

struct ReferenceWishes {
  bool magnitude = true;  // of the strips: not needed where results are exact
  bool weighed = false;   // sums for what a sample leaves out
  bool weighed_magnitude = true;
};

// All of these only start their kernels.
[[nodiscard]] DeviceReference device_reference(KernelBench& bench, const Problem& problem,
                                               const DeviceView& a, const DeviceView& b,
                                               const Extent& extent, const ReferenceWishes& wishes,
                                               std::uint64_t seed, const ReferenceLimits& limits);
[[nodiscard]] WeighedOperand weigh_operand(KernelBench& bench, const Problem& problem,
                                           const DeviceView& b, std::uint64_t seed);
[[nodiscard]] WeighedResult weigh_product(KernelBench& bench, const Problem& problem,
                                          const DeviceView& a, const WeighedOperand& b,
                                          bool with_magnitude);
[[nodiscard]] WeighedResult weigh_result(KernelBench& bench, const Problem& problem,
                                         const DeviceView& c, const WeighedOperand& by);

// These wait. `before` is how C was drawn; needed where beta is not 0.
[[nodiscard]] Agreement compare_on_device(KernelBench& bench, const Problem& problem,
                                          const DeviceView& c, const DeviceReference& reference,
                                          const Accumulation& how, const Drawing& before,
                                          bool exact, bool with_norm);
[[nodiscard]] std::optional<Mismatch> judge_on_device(KernelBench& bench, const Problem& problem,
                                                      const WeighedResult& product,
                                                      const WeighedResult& got,
                                                      const WeighedResult* before,
                                                      const Accumulation& how, bool exact);
[[nodiscard]] InnerProducts inner_products_on_device(KernelBench& bench, const Problem& problem,
                                                     const WeighedResult& product,
                                                     const WeighedResult& got,
                                                     const WeighedResult& before);

}  // namespace tilewright
