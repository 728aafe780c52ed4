// SPDX-License-Identifier: Apache-2.0
// The analytic cost model of CPU programs: cycles of the busiest thread.
//
// It counts, per step of k of a register tile, the arithmetic, load and conversion instructions and
// takes the tightest port; adds packing, the trips of partial sums through the cache, and the
// memory traffic of B; and charges panels that do not fit their cache level. The constants are
// those of recent cores with two FMA and two load ports. It need not be right, only rank well:
// tests/policy checks the ranking of pairs whose order was measured.
#include "policy/cost_model_cuda.h"
#include "policy/cost_model_general.h"
#include "policy/policy.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kHertz = 2.5e9;  // only the ranking matters
constexpr double kConvertRate = 1, kLoadPorts = 2;
constexpr double kFmaLatency = 4;           // cycles until a sum may be used again
constexpr double kLoopOverhead = 1.5;       // cycles per loop turn
constexpr double kCallCycles = 60;          // entering a tile function
constexpr double kBarrierCycles = 3000;     // a team barrier, work to work
constexpr double kMemoryBytesPerCycle = 5;  // per core, streaming past the caches
constexpr double kL2BytesPerCycle = 24;

double ceil_div(double a, double b) {
  return std::ceil(a / b);
}

struct Shape {
  double m, n, k;  // the share of the busiest thread
};

struct Machine {
  double width;       // lanes
  double bf16_pairs;  // multiply-adds per lane and instruction
  double rate;        // such instructions per cycle
};

Machine machine_of(const Program& p) {
  const std::string_view isa = p.word("isa");
  // vdpbf16ps was measured at a quarter of the FMA rate, half its FLOP (lab notebook, 2026-11-29).
  if (isa == "avx512bf16") return {16, 2, 0.5};
  if (isa == "avx512") return {16, 1, 2};
  if (isa == "avx2") return {8, 1, 2};
  return {1, 1, 2};
}

// What the busiest thread computes, tiles being indivisible.
Shape busiest_share(const Program& p, const Problem& problem) {
  Shape s = {static_cast<double>(problem.m), static_cast<double>(problem.n),
             static_cast<double>(problem.k)};
  const double threads = std::max<double>(1, static_cast<double>(p.number("threads")));
  const double mr = static_cast<double>(p.number("mr")), nr = static_cast<double>(p.number("nr"));
  const std::string_view split = p.word("split");
  if (split == "m") s.m = std::min(s.m, ceil_div(ceil_div(s.m, mr), threads) * mr);
  if (split == "n") s.n = std::min(s.n, ceil_div(ceil_div(s.n, nr), threads) * nr);
  if (split == "k") s.k = std::min(s.k, ceil_div(ceil_div(s.k, 64), threads) * 64);
  if (split == "mn") {
    // The divisor of the team with the smallest largest box, as the kernels choose it.
    double best = s.m * s.n;
    for (double rows = 1; rows <= threads; ++rows) {
      if (std::fmod(threads, rows) != 0) continue;
      const double box_m = ceil_div(ceil_div(s.m, mr), rows) * mr;
      const double box_n = ceil_div(ceil_div(s.n, nr), threads / rows) * nr;
      if (box_m * box_n < best) {
        best = box_m * box_n;
        s.m = std::min(s.m, box_m);
        s.n = std::min(s.n, box_n);
      }
    }
  }
  return s;
}

// Cycles of one step of k of an mr x nr tile (dot: one register of k).
double tile_step_cycles(const Program& p, const Problem& problem, const Machine& machine) {
  const double mr = static_cast<double>(p.number("mr")), nr = static_cast<double>(p.number("nr"));
  const bool dot = p.word("form") == "dot";
  const bool pairs = machine.bf16_pairs > 1;
  const double columns = dot ? nr : nr / machine.width;  // registers of B
  const bool half_b = p.word("packb") != "f32" && !pairs;
  const bool half_a = p.word("packa") == "none" && !pairs;
  // vcvtph2ps and the shifts of bf16 take an arithmetic port each.
  const double converts =
      (half_b ? columns : 0) + (half_a && dot ? mr : 0) + (half_a && !dot ? mr : 0);
  const double arithmetic = mr * columns / machine.rate + converts / kConvertRate;
  const double loads = (columns + mr) / kLoadPorts;
  // A sum may be added to again only after the latency, however few sums there are.
  const double latency = kFmaLatency;
  const double scalar_penalty =
      machine.width == 1 && problem.in == ElementType::f16 ? 6 * columns : 0;
  return std::max({arithmetic, loads, latency}) + scalar_penalty +
         kLoopOverhead / static_cast<double>(p.number("unroll"));
}

// Cycles to bring `bytes` that are reused every `working_set` bytes.
double traffic_cycles(double bytes, double working_set, const Device& device) {
  if (working_set <= 0.8 * static_cast<double>(device.l1d_bytes)) return 0;
  if (working_set <= 0.8 * static_cast<double>(device.l2_bytes)) return bytes / kL2BytesPerCycle;
  return bytes / kMemoryBytesPerCycle;
}

double block(const Program& p, std::string_view key, double whole) {
  const double value = static_cast<double>(p.number(key));
  return value == 0 ? whole : std::min(value, whole);
}

}  // namespace

double estimate_seconds(const Program& p, const Problem& problem, const Device& device) {
  if (device.kind == DeviceKind::cuda && p.family().computes(Op::gemm)) {
    return estimate_cuda(p, problem, device).total * 1e-6;
  }
  if (!problem.is_gemm()) return estimate_general(p, problem, device);
  const Machine machine = machine_of(p);
  const Shape s = busiest_share(p, problem);
  const double mr = static_cast<double>(p.number("mr")), nr = static_cast<double>(p.number("nr"));
  const bool blocked = p.word("form") == "blocked", dot = p.word("form") == "dot";
  const double kc = block(p, "kc", s.k), nc = block(p, "nc", s.n), mc = block(p, "mc", s.m);
  const double tiles = ceil_div(s.m, mr) * ceil_div(s.n, nr);
  const double lanes_of_k = dot ? machine.width * machine.bf16_pairs : machine.bf16_pairs;
  const double steps = ceil_div(s.k, lanes_of_k);
  const double k_blocks = ceil_div(s.k, kc);

  const double arithmetic = tiles * steps * tile_step_cycles(p, problem, machine);
  double cycles = arithmetic;
  // Entering tiles, and their sums' trips through the cache; a dot tile adds its lanes one by one.
  const double trip = dot ? mr * nr * 8 : 2 * mr * nr / machine.width;
  cycles += tiles * k_blocks * (kCallCycles + trip);
  cycles += s.m * s.n / machine.width * 3;  // finish: scale, round, store

  const double b_element = blocked && p.word("packb") == "f32" ? 4 : 2;
  const double b_bytes = s.k * s.n * 2;
  if (blocked) {
    // Packing: B once per share, transposed B through register transposes; A once per column block.
    const double per_register = problem.b_transposed ? 4.5 : 1.8;
    cycles += s.k * s.n / machine.width * per_register;
    cycles += s.m * s.k / machine.width * 1.5 * ceil_div(s.n, nc);
    cycles += b_bytes / kMemoryBytesPerCycle;
    // Each panel of B passes for every block of rows, each block of A for every panel; the loads of
    // one tile overlap with the arithmetic of another.
    const double traffic =
        traffic_cycles(s.k * s.n * b_element * ceil_div(s.m, mr), kc * nr * b_element, device) +
        traffic_cycles(s.m * s.k * 4 * ceil_div(s.n, nr), mr * kc * 4 + kc * nr * b_element,
                       device);
    cycles += std::max(0.0, traffic - arithmetic);
    if (mc * kc * 4 > 0.6 * static_cast<double>(device.l2_bytes)) {
      cycles += s.m * s.k * 4 * ceil_div(s.n, nr) / kMemoryBytesPerCycle * 0.3;
    }
  } else {
    const double passes = ceil_div(s.m, mr);
    const bool panel_first = p.word("order") == "nm";
    const double reuse = panel_first ? kc * nr * 2 : kc * nc * 2;
    cycles = std::max(cycles, b_bytes / kMemoryBytesPerCycle);
    cycles += traffic_cycles(b_bytes * (passes - 1), reuse, device);
    if (p.word("packa") == "f32") cycles += s.m * s.k / machine.width * 1.5;
    cycles += traffic_cycles(s.m * s.k * 4 * ceil_div(s.n, nr), s.m * s.k * 4, device) * 0.5;
    // With long slices of k each step jumps to another row of B, which the hardware prefetcher does
    // not follow: kc=0 was measured 1.7 to 2 times slower than kc=16 at M=8.
    if (!dot && b_bytes > static_cast<double>(device.l1d_bytes)) {
      cycles *= 1 + 0.8 * std::min(1.0, std::log2(std::max(kc / 16, 1.0)) / 6);
    }
    const bool prefetches = p.number("prefetch") > 0 || p.number("prefetch_bytes") > 0;
    if (!prefetches && b_bytes > static_cast<double>(device.l2_bytes)) cycles *= 1.1;
  }
  if (p.word("split") == "k") {
    const double threads = static_cast<double>(p.number("threads"));
    cycles += kBarrierCycles +
              2 * static_cast<double>(problem.m * problem.n) / machine.width * (1 + 1 / threads);
  }
  if (machine.width == 1) cycles *= 2;  // no hand-written vectors: leave it to others
  if (p.word("sizes") == "static") cycles *= 0.99;
  const double batch = static_cast<double>(std::max<std::int64_t>(problem.batch, 1));
  const double shares = p.word("split") == "batch"
                            ? ceil_div(batch, static_cast<double>(p.number("threads")))
                            : batch;
  return cycles * shares / kHertz;
}

}  // namespace tilewright
