// SPDX-License-Identifier: Apache-2.0
// A kernel's time as the largest of what limits it: tensor cores, the multiprocessors' port to L2,
// memory, and the latency of one CTA's walk along K. Much coarser than the cost model of policy/,
// which knows each program; here a dozen kernels with very different tiles are told apart.
#include "runtime/cuda/rule.h"

#include <algorithm>
#include <cmath>

namespace tilewright::runtime {
namespace {

// Of one multiprocessor, in units per second. Fractions of the peak that large tiles of each family
// reach on an H200 (results/h200): wgmma 0.65 of 989e12, mma.sync 0.3 of it.
constexpr double kWgmmaFlop = 4.9e12, kMmaFlop = 2.2e12;
constexpr double kPortBytes = 9e10;    // from L2 to a multiprocessor
constexpr double kMemoryShare = 0.8;   // of the bandwidth by bus width
constexpr double kStepSeconds = 3e-7;  // a stage of K that nothing hides
// Before the first product and after the last: least without shared memory.
constexpr double kDirectStart = 1.5e-6, kStart = 2e-6, kHopperStart = 2.5e-6;
constexpr double kSplitStart = 1e-6;
constexpr double kPackStart = 1.5e-6;  // of the launch that copies operands, behind which it waits
constexpr double kUnalignedLoads = 4;  // two loads, a shift and a store instead of a copy
constexpr double kOccupancy = 2;       // CTAs that share a multiprocessor, roughly
// What cublasLt's first suggestion is better at, until it is measured in a suite: large products
// whose rows it can load 16 bytes at a time.
constexpr double kVendorFlop = 2e9;

double ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<double>((a + b - 1) / b);
}

// Of one launch.
double launch_seconds(const ShelfKernel& kernel, const Call& call, const Device& device) {
  const double sms = std::max(1, device.cuda.multiprocessors);
  const double rows = ceil_div(call.m, kernel.tile_m), columns = ceil_div(call.n, kernel.tile_n);
  const double split = static_cast<double>(kernel.split);
  const double ctas = rows * columns * static_cast<double>(call.batch) * split;
  const double depth = static_cast<double>(call.k) / split;
  const double each = std::ceil(ctas / sms);  // CTAs of the busiest multiprocessor
  const double tile = static_cast<double>(kernel.tile_m * kernel.tile_n);
  const double edges = static_cast<double>(kernel.tile_m + kernel.tile_n);
  const int worst = std::min(kernel.from->alignment[0], kernel.from->alignment[1]);
  const double slow_loads = kernel.copies.any() ? 1.0
                            : worst == 1        ? kUnalignedLoads
                            : worst < 8         ? 1.5
                                                : 1.0;

  const double products = each * 2 * tile * depth / (kernel.hopper ? kWgmmaFlop : kMmaFlop);
  const double port = each * edges * depth * 2 * slow_loads / kPortBytes;
  const double size_in = static_cast<double>(size_of(call.in));
  const double batch = static_cast<double>(call.batch);
  const double bytes_in =
      batch * size_in * static_cast<double>(call.k) * static_cast<double>(call.m + call.n);
  const double copied_in =
      batch * size_in * static_cast<double>(call.k) *
      static_cast<double>((kernel.copies.a ? call.m : 0) + (kernel.copies.b ? call.n : 0));
  const double bytes_out = batch * static_cast<double>(size_of(call.out)) *
                           static_cast<double>(call.m) * static_cast<double>(call.n);
  const double bandwidth = std::max(kMemoryShare * device.cuda.memory_bandwidth, 1e11);
  const double memory = (bytes_in + bytes_out) / bandwidth;
  const double packing = kernel.copies.any() ? kPackStart + 2 * copied_in / bandwidth : 0;
  const double rounds = std::ceil(ctas / (sms * kOccupancy));
  // Warps of a direct kernel share K; those of a ring share each of its stages.
  const std::int64_t step = kernel.tile_k * (kernel.direct ? kernel.warps_k : 1);
  const double steps = std::ceil(depth / static_cast<double>(step));
  const double latency = rounds * (1 + steps * (kernel.hopper ? 0.5 : 1.0)) * kStepSeconds;
  const double start = (kernel.hopper   ? kHopperStart
                        : kernel.direct ? kDirectStart
                                        : kStart) +
                       (kernel.split > 1 ? kSplitStart : 0);
  return start + packing + std::max({products, port, memory, latency});
}

}  // namespace

double expected_seconds(const ShelfKernel& kernel, const Call& call, const Device& device,
                        std::int64_t workspace) {
  if (!kernel.copies.any()) return launch_seconds(kernel, call, device);
  const Grain grain =
      fitting({kernel.tile_m, kernel.tile_n, kernel.split, false}, call, kernel.copies, workspace);
  Call part = call;
  part.m = std::min(call.m, grain.most_m);
  part.n = std::min(call.n, grain.most_n);
  part.batch = std::min(call.batch, grain.most_batch);
  const double launches =
      ceil_div(call.m, part.m) * ceil_div(call.n, part.n) * ceil_div(call.batch, part.batch);
  return launches * launch_seconds(kernel, part, device);
}

bool vendor_is_faster(const Call& call, const Device& device) {
  const double flop = 2.0 * static_cast<double>(call.m) * static_cast<double>(call.n) *
                      static_cast<double>(call.k) * static_cast<double>(call.batch);
  const bool aligned = call.lda % 8 == 0 && call.ldb % 8 == 0 && call.ldc % 8 == 0;
  return device.kind == DeviceKind::cuda && aligned && flop >= kVendorFlop;
}

}  // namespace tilewright::runtime
