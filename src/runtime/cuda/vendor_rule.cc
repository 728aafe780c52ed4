// SPDX-License-Identifier: Apache-2.0
// What cublasLt's first suggestion will take: as if it chose the best of four tiles and of some
// ways to split K, each limited by what limits ours (rule.cc), and with kernels for vectors apart.
//
// Fitted to what it took on an H200 for 1,300 aligned products and 290 of odd sizes: off by 0.13
// and 0.20 (root mean square of the logarithm), by 0.27 for vectors.
#include "runtime/cuda/rule.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright::runtime {
namespace {

// Where it is expected to be ahead by less than this, which is a third of what the two estimates
// may be off, ours is taken.
constexpr double kMargin = 1.1;

// Microseconds; bytes and flop a microsecond and multiprocessor.
struct Loads {
  double flop;    // the largest tile's
  double step;    // 32 of K
  double stores;  // so many times an aligned row's
};
constexpr Loads kAligned = {6.09e6, 0.05, 1}, kEven = {1.84e6, 0.19, 1},
                kOdd = {1.05e6, 0.26, 1.82};
constexpr double kStart = 2.17, kSplit = 2.4;
constexpr double kSmaller = 0.352;  // tiles of a half the size multiply 2^-this times as fast
constexpr double kMemoryShare = 0.9, kStore = 18.7e3;
constexpr double kVectorStart = 2.33, kVectorShare = 0.435, kVectorStep = 2.2e-4;  // m or n of 1

struct VendorTile {
  double m, n, together;
};
constexpr std::array kTiles = {VendorTile{32, 32, 8}, VendorTile{64, 64, 4},
                               VendorTile{128, 128, 2}, VendorTile{256, 128, 1}};

double vendor_microseconds(const Call& call, const Device& device) {
  const double m = static_cast<double>(call.m), n = static_cast<double>(call.n);
  const double k = static_cast<double>(call.k), batch = static_cast<double>(call.batch);
  const double in = static_cast<double>(size_of(call.in));
  const double out = static_cast<double>(size_of(call.out));
  const double sms = std::max(1, device.cuda.multiprocessors);
  const double bandwidth = std::max(device.cuda.memory_bandwidth, 1e11) * 1e-6;
  const double bytes = batch * (in * k * (m + n) + out * m * n);
  if (std::min(call.m, call.n) == 1) {
    return kVectorStart + bytes / (bandwidth * kVectorShare) + k * kVectorStep;
  }
  const auto all_divide = [&call](std::int64_t by) {
    return call.lda % by == 0 && call.ldb % by == 0 && call.ldc % by == 0;
  };
  const Loads& loads = all_divide(8) ? kAligned : all_divide(2) ? kEven : kOdd;
  double best = HUGE_VAL;
  for (const VendorTile& tile : kTiles) {
    const double size = tile.m * tile.n;
    const double tiles = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double largest = kTiles.back().m * kTiles.back().n;
    const double tensor = 2 * size * 32 / (loads.flop * std::pow(size / largest, kSmaller));
    for (double split = 1; split <= 64 && (split == 1 || split * 128 <= k); split *= 2) {
      const double each = std::ceil(tiles * split / sms);
      const double steps = std::ceil(std::ceil(k / split) / 32);
      const double added = split > 1 ? kSplit + split * m * n * batch * 8 / bandwidth : 0;
      double sum = 0;
      for (const double limit :
           {std::ceil(each / tile.together) * steps * loads.step, each * steps * tensor,
            bytes / (bandwidth * kMemoryShare), each * size * out * loads.stores / kStore}) {
        sum += std::pow(limit, 4);
      }
      best = std::min(best, added + std::pow(sum, 0.25));
    }
  }
  return kStart + best;
}

}  // namespace

bool vendor_is_faster(const Call& call, const Device& device, double ours) {
  return device.kind == DeviceKind::cuda && call.k > 0 &&
         1e-6 * kMargin * vendor_microseconds(call, device) < ours;
}

}  // namespace tilewright::runtime
