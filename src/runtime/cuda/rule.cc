// SPDX-License-Identifier: Apache-2.0
// A kernel's time from what limits it: tensor cores, the multiprocessors' port to L2, memory,
// stores, and the latency of one CTA's walk along K. Much coarser than the cost model of policy/,
// which knows each program; here two dozen kernels with very different tiles are told apart.
//
// The constants were fitted to what an H200 was measured to take: 200 products of odd sizes by
// kernels of a bundle (`bench --suite untuned200 --served`), and some 900 by programs of the
// search. Of the 200 the estimates were off by 0.85 (root mean square of the logarithm) before and
// 0.22 after.
#include "runtime/cuda/rule.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tilewright::runtime {
namespace {

// Times in microseconds; rates in bytes or flop a microsecond, of one multiprocessor where not said
// otherwise.
struct Family {
  double start;    // a launch, and what does not overlap
  double flop;     // tensor cores
  double port;     // from L2
  double loose_c;  // stores where rows of C are not even, in times of aligned ones
  double even_c;   // where they are even, but not aligned to 16 bytes
};
// Measured were 9.9 and 4.8 for loose_c and even_c, when each lane stored its own run number by
// number. Neighbouring lanes store neighbouring numbers since then (store_loose in epilogue.cuh),
// in a sixth and a quarter as many sectors, a half for narrow tiles; what follows from that is not
// measured yet.
constexpr Family kHopper = {1.93, 7.6e6, 79e3, 2.0, 1.5};
constexpr Family kTile = {1.72, 2.54e6, 47e3, 2.0, 1.5};
constexpr Family kDirect = {0.32, 2.54e6, 47e3, 3.0, 4.8};

constexpr double kMemoryShare = 0.864;   // of the bandwidth by bus width
constexpr double kStore = 26.6e3;        // to C
constexpr double kSplit = 3.28;          // adding up what several CTAs have
constexpr double kPackStart = 1.71;      // the launch that copies operands, behind which one waits
constexpr double kPackRate = 0.851;      // of the memory's
constexpr double kHopperStep = 0.065;    // a stage of K that nothing hides
constexpr double kHopperLatency = 0.77;  // a load's, which the ring's stages share
constexpr double kTileStep = 0.237;      // beyond its products
constexpr double kDirectStep = 0.8;      // a block of 32 of K by each warp, and where it is loaded
constexpr double kAcross = 1.93;         // number by number or across K, so many times that
constexpr double kOddLoads = 4.36, kEvenLoads = 2.82;  // through the port: shifts, small copies
constexpr double kBlend = 4;                           // exponent: limits that are close add up
constexpr double kSharedBytes = 227 * 1024, kThreads = 2048, kMostCtas = 8;  // of a multiprocessor

double ceil_div(double a, double b) {
  return std::ceil(a / std::max(b, 1.0));
}

double blend(std::initializer_list<double> limits) {
  double sum = 0;
  for (const double limit : limits) sum += std::pow(limit, kBlend);
  return std::pow(sum, 1 / kBlend);
}

struct Shape {
  double m, n, k, batch, in, out;
  explicit Shape(const Call& call)
      : m(static_cast<double>(call.m)),
        n(static_cast<double>(call.n)),
        k(static_cast<double>(call.k)),
        batch(static_cast<double>(call.batch)),
        in(static_cast<double>(size_of(call.in))),
        out(static_cast<double>(size_of(call.out))) {}
  [[nodiscard]] double bytes() const { return batch * (in * k * (m + n) + out * m * n); }
};

double memory_rate(const Device& device) {  // bytes a microsecond
  return std::max(device.cuda.memory_bandwidth, 1e11) * 1e-6;
}

// CTAs of a kernel that a multiprocessor holds at once.
double together(const ShelfKernel& kernel) {
  const double tile = static_cast<double>(kernel.tile_m * kernel.tile_n);
  const double ring =
      static_cast<double>(kernel.stages * (kernel.tile_m + kernel.tile_n) * kernel.tile_k) * 2;
  const double groups = static_cast<double>(kernel.warps_k);
  const double shared =
      kernel.direct ? groups * tile * 4
                    : std::max({ring, (groups - 1) * tile * 4, kernel.split > 1 ? tile * 4 : 0.0});
  const double threads = std::max(kernel.from->launch.cuda.threads, 32);
  const double by_threads = std::floor(kThreads / threads / (kernel.hopper ? 2 : 1));
  return std::clamp(std::min(by_threads, std::floor(kSharedBytes / (shared + 2048))), 1.0,
                    kMostCtas);
}

// Of one launch.
double launch_microseconds(const ShelfKernel& kernel, const Call& call, const Device& device) {
  const Family& family = kernel.hopper ? kHopper : kernel.direct ? kDirect : kTile;
  const Shape s(call);
  const double sms = std::max(1, device.cuda.multiprocessors);
  const double tile_m = static_cast<double>(kernel.tile_m);
  const double tile_n = static_cast<double>(kernel.tile_n);
  const double split = static_cast<double>(kernel.split);
  const double ctas = ceil_div(s.m, tile_m) * ceil_div(s.n, tile_n) * s.batch * split;
  const double each = std::ceil(ctas / sms);  // CTAs of the busiest multiprocessor
  const double rounds = std::ceil(each / together(kernel));
  // Warps of a direct kernel share K; those of a ring share each of its stages.
  const double depth = static_cast<double>(kernel.direct ? 32 * kernel.warps_k : kernel.tile_k);
  const double steps = ceil_div(ceil_div(s.k, depth), split);

  const int worst =
      kernel.hopper ? 8 : std::min(kernel.from->alignment[0], kernel.from->alignment[1]);
  const double slow_loads = worst == 1 ? kOddLoads : worst < 8 ? kEvenLoads : 1;
  const double tensor = 2 * tile_m * tile_n * depth / family.flop;
  const double load = (tile_m + tile_n) * depth * s.in * slow_loads / family.port;
  double step = kTileStep + tensor;
  if (kernel.hopper) {
    step =
        std::max(kHopperStep, (kHopperLatency + 2 * tensor) / static_cast<double>(kernel.stages));
  } else if (kernel.direct) {
    const bool across = worst < 8 || call.a_transposed || !call.b_transposed;
    step = kDirectStep * (across ? kAcross : 1);
  }
  const int rows = kernel.from->alignment[2];
  const double stores = tile_m * tile_n / split * s.out *
                        (rows == 1  ? family.loose_c
                         : rows < 8 ? family.even_c
                                    : 1) /
                        kStore;

  const double rate = kMemoryShare * memory_rate(device);
  const double copied =
      s.batch * s.in * s.k * ((kernel.copies.a ? s.m : 0) + (kernel.copies.b ? s.n : 0));
  const double packing = kernel.copies.any() ? kPackStart + 2 * copied / (rate * kPackRate) : 0;
  return family.start + packing + (kernel.split > 1 ? kSplit : 0) +
         blend({rounds * (steps * std::max(step, tensor) + stores), each * steps * tensor,
                each * steps * load, s.bytes() / rate, each * stores});
}

}  // namespace

double expected_seconds(const ShelfKernel& kernel, const Call& call, const Device& device,
                        std::int64_t workspace) {
  if (!kernel.copies.any()) return 1e-6 * launch_microseconds(kernel, call, device);
  const Grain grain =
      fitting({kernel.tile_m, kernel.tile_n, kernel.split, false}, call, kernel.copies, workspace);
  Call part = call;
  part.m = std::min(call.m, grain.most_m);
  part.n = std::min(call.n, grain.most_n);
  part.batch = std::min(call.batch, grain.most_batch);
  const auto parts = [](std::int64_t size, std::int64_t most) {
    return ceil_div(static_cast<double>(size), static_cast<double>(most));
  };
  const double launches =
      parts(call.m, part.m) * parts(call.n, part.n) * parts(call.batch, part.batch);
  return 1e-6 * launches * launch_microseconds(kernel, part, device);
}

}  // namespace tilewright::runtime
