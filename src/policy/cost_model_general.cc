// SPDX-License-Identifier: Apache-2.0
// See cost_model_general.h.
#include "policy/cost_model_general.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

constexpr double kHertz = 2.5e9;
constexpr double kMemoryBytesPerCycle = 5;  // of a core
constexpr double kThreadCycles = 3000;      // to wake a team

double lanes_of(const Program& p) {
  return p.word("isa") == "scalar" ? 1 : p.word("isa") == "avx2" ? 8 : 16;
}

// Cycles of one register of a row: its loads, its arithmetic, its store.
double row_cycles(const Program& p, const Problem& problem) {
  constexpr double kExp = 14, kStore = 2;
  const double wait = 4 / static_cast<double>(p.number("unroll"));  // for a sum before it
  const double load = 1.5;
  const bool keep = p.word("keep") == "f32", joint = p.word("passes") == "joint";
  switch (problem.op) {
    case Op::softmax: {
      const double last = keep ? 0.5 : load + kExp;
      if (!joint) return load + wait + load + kExp + wait + last + kStore + (keep ? 1 : 0);
      return load + kExp * (1 + 1 / static_cast<double>(p.number("unroll"))) + wait + last + kStore;
    }
    case Op::layernorm: {
      const double again = keep ? 0.5 : load;
      return load + wait + again + wait + again + 3 + kStore + (keep ? 1 : 0);
    }
    case Op::reduce:
      return load + wait;
    default:
      break;
  }
  const double function = problem.function == Function::relu   ? 1
                          : problem.function == Function::gelu ? 30
                                                               : 22;
  return load + function + kStore + 1 / static_cast<double>(p.number("unroll"));
}

double transpose_cycles(const Program& p, const Problem& problem) {
  const double elements = static_cast<double>(problem.m) * static_cast<double>(problem.n);
  const double block = static_cast<double>(p.number("block"));
  double each = block == 1 ? 2 : block == 8 ? 0.6 : 0.5;
  // Whole lines of C want 32 rows of A, whole lines of A as many columns.
  for (const char* key : {"tile_m", "tile_n"}) {
    each *= 1 + 0.5 * std::max(0.0, std::log2(32 / static_cast<double>(p.number(key))));
  }
  const double tile =
      static_cast<double>(p.number("tile_m")) * static_cast<double>(p.number("tile_n")) * 4;
  if (tile > 48 << 10) each *= 1.3;
  if (p.number("prefetch") > 0) each *= 0.95;
  return elements * each;
}

double convolution_cycles(const Program& p, const Problem& problem) {
  const double mr = static_cast<double>(p.number("mr"));
  const double registers = static_cast<double>(p.number("nr")) / lanes_of(p);
  const double n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  const bool packs = p.word("packa") == "f32";
  // A step of k of a tile: multiply-adds on two ports, loads and broadcasts on two others.
  const double fma = mr * registers / 2;
  const double loads = registers * 1.5 + mr * (packs ? 0.5 : 1.5);
  const double step = std::max({fma, loads, 4.0}) + 0.6 / static_cast<double>(p.number("unroll"));
  const double tiles = std::ceil(static_cast<double>(problem.m) / mr) *
                       std::ceil(n / static_cast<double>(p.number("nr")));
  const double gather = packs ? static_cast<double>(problem.m) * k / lanes_of(p) * 1.5 : 0;
  return tiles * (k * step + 60) + gather;
}

// Part of the bandwidth that accesses of so many numbers of 16 bits reach.
double width_share(std::int64_t vector) {
  return vector >= 8 ? 1 : vector == 4 ? 0.95 : vector == 2 ? 0.85 : 0.65;
}

constexpr std::int64_t kBanks = 32;  // of shared memory, four bytes wide; lanes of a warp

// Lanes on the fullest bank where a warp of cuda-transpose gathers columns of its tile.
double bank_conflicts(const Program& p) {
  const std::int64_t run = p.number("vector_c"), stride = p.number("tile_n") + p.number("pad");
  const std::int64_t runs = p.number("tile_m") / run;  // of a column
  std::set<std::int64_t> words;
  for (std::int64_t lane = 0; lane < kBanks; ++lane) {
    words.insert((lane % runs * run * stride + lane / runs) / 2);
  }
  std::array<int, kBanks> lanes{};
  for (const std::int64_t word : words) ++lanes[static_cast<std::size_t>(word % kBanks)];
  return *std::ranges::max_element(lanes);
}

// Seconds on a GPU: a launch, and traffic at the rate that what is under way allows.
double cuda_seconds(const Program& p, const Problem& problem, const Device& device) {
  constexpr double kLaunch = 2e-6, kBarrier = 3e-7;
  constexpr double kUnderWay = 40e3;  // bytes of a multiprocessor that hide the latency
  constexpr double kThreads = 2048;   // of a multiprocessor
  constexpr double kAgain = 0.4;      // a read from a cache beside one from memory
  const double bandwidth = std::max(device.cuda.memory_bandwidth, 1e12);
  const double sms = std::max(device.cuda.multiprocessors, 1);
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const std::int64_t vector = p.number("vector");
  if (p.family().name == "cuda-transpose") {
    const double tiles = std::ceil(m / static_cast<double>(p.number("tile_m"))) *
                         std::ceil(n / static_cast<double>(p.number("tile_n")));
    const double lines = std::min<double>(1, static_cast<double>(p.number("tile_n")) / 64) *
                         std::min<double>(1, static_cast<double>(p.number("tile_m")) / 64);
    const double share = width_share(vector) * width_share(p.number("vector_c")) *
                         (0.6 + 0.4 * lines) * std::min(1.0, tiles / (2 * sms));
    const double hertz = std::max(static_cast<double>(device.cuda.clock_kilohertz) * 1e3, 1e9);
    // A warp's read of 32 numbers of the tile takes a cycle for each lane on the fullest bank.
    const double shared = m * n / kBanks * bank_conflicts(p) / (sms * hertz);
    return kLaunch + std::max(problem.bytes() / (bandwidth * share), shared);
  }
  const double threads = m * static_cast<double>(p.number("row_threads"));
  const bool keeps = p.word("keep") == "f32";
  const double loads =
      std::max<double>(1, keeps ? n / static_cast<double>(p.number("row_threads") * vector)
                                : static_cast<double>(p.number("unroll")));
  const double under_way =
      std::min(threads / sms, kThreads) * static_cast<double>(vector) * 2 * loads;
  double reads = 1;
  if (!keeps && problem.op == Op::softmax) reads = p.word("passes") == "joint" ? 2 : 3;
  if (!keeps && problem.op == Op::layernorm) reads = 3;
  const double share = width_share(vector) * std::min(1.0, under_way / kUnderWay);
  const double again = (reads - 1) * kAgain * m * n * 2;
  const double waves = std::max(1.0, threads / (sms * kThreads));
  const double barriers = p.number("row_threads") > 32 ? 2 * kBarrier * std::sqrt(waves) : 0;
  return kLaunch + (problem.bytes() + again) / (bandwidth * share) + barriers;
}

}  // namespace

double estimate_general(const Program& p, const Problem& problem, const Device& device) {
  if (p.family().name.starts_with("cuda-")) return cuda_seconds(p, problem, device);
  const double threads = static_cast<double>(std::max<std::int64_t>(p.number("threads"), 1));
  double cycles = 0;
  if (p.family().name == "cpu-transpose") {
    cycles = transpose_cycles(p, problem);
  } else if (p.family().name == "cpu-conv2d") {
    cycles = convolution_cycles(p, problem);
  } else {
    const double registers = std::ceil(static_cast<double>(problem.n) / lanes_of(p));
    cycles = static_cast<double>(problem.m) * (registers * row_cycles(p, problem) + 20);
  }
  const bool far = problem.bytes() > static_cast<double>(device.l2_bytes);
  const double memory = problem.bytes() / (far ? kMemoryBytesPerCycle : 4 * kMemoryBytesPerCycle);
  cycles = std::max(cycles, memory) / threads + (threads > 1 ? kThreadCycles : 0);
  if (p.find_word("sizes") == "static") cycles *= 0.99;
  return cycles / kHertz;
}

}  // namespace tilewright
