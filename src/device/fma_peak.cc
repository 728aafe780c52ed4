// SPDX-License-Identifier: Apache-2.0
// The loops are assembly, so that the figure does not depend on how well, or at which optimisation
// level, this file was compiled: twelve independent chains x = x * a + b that live in registers.
// Two FMA units with a latency of four or five cycles need eight to ten chains in flight.
// The chains converge to b / (1 - a), an ordinary number: no denormals, no overflow, and not the
// zeros whose low power would let a core clock higher than it can with data.
#include "device/fma_peak.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kChains = 12;
constexpr float kFactor = 0.75F, kAddend = 0.3F;

#if defined(__x86_64__)

void loop_avx512(long rounds) {
  asm volatile(
      "vbroadcastss %[factor], %%zmm0\n\t"
      "vbroadcastss %[addend], %%zmm1\n\t"
      "vmovaps %%zmm1, %%zmm4\n\tvmovaps %%zmm1, %%zmm5\n\tvmovaps %%zmm1, %%zmm6\n\t"
      "vmovaps %%zmm1, %%zmm7\n\tvmovaps %%zmm1, %%zmm8\n\tvmovaps %%zmm1, %%zmm9\n\t"
      "vmovaps %%zmm1, %%zmm10\n\tvmovaps %%zmm1, %%zmm11\n\tvmovaps %%zmm1, %%zmm12\n\t"
      "vmovaps %%zmm1, %%zmm13\n\tvmovaps %%zmm1, %%zmm14\n\tvmovaps %%zmm1, %%zmm15\n\t"
      ".p2align 5\n"
      "1:\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm4\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm5\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm6\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm7\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm8\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm9\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm10\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm11\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm12\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm13\n\t"
      "vfmadd213ps %%zmm1, %%zmm0, %%zmm14\n\tvfmadd213ps %%zmm1, %%zmm0, %%zmm15\n\t"
      "dec %[rounds]\n\t"
      "jnz 1b\n\t"
      "vzeroupper"
      : [rounds] "+r"(rounds)
      : [factor] "m"(kFactor), [addend] "m"(kAddend)
      : "cc", "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
}

void loop_avx2(long rounds) {
  asm volatile(
      "vbroadcastss %[factor], %%ymm0\n\t"
      "vbroadcastss %[addend], %%ymm1\n\t"
      "vmovaps %%ymm1, %%ymm4\n\tvmovaps %%ymm1, %%ymm5\n\tvmovaps %%ymm1, %%ymm6\n\t"
      "vmovaps %%ymm1, %%ymm7\n\tvmovaps %%ymm1, %%ymm8\n\tvmovaps %%ymm1, %%ymm9\n\t"
      "vmovaps %%ymm1, %%ymm10\n\tvmovaps %%ymm1, %%ymm11\n\tvmovaps %%ymm1, %%ymm12\n\t"
      "vmovaps %%ymm1, %%ymm13\n\tvmovaps %%ymm1, %%ymm14\n\tvmovaps %%ymm1, %%ymm15\n\t"
      ".p2align 5\n"
      "1:\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm4\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm5\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm6\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm7\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm8\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm9\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm10\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm11\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm12\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm13\n\t"
      "vfmadd213ps %%ymm1, %%ymm0, %%ymm14\n\tvfmadd213ps %%ymm1, %%ymm0, %%ymm15\n\t"
      "dec %[rounds]\n\t"
      "jnz 1b\n\t"
      "vzeroupper"
      : [rounds] "+r"(rounds)
      : [factor] "m"(kFactor), [addend] "m"(kAddend)
      : "cc", "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
}

// Every x86-64 has SSE2 and none is promised FMA: a multiplication and an addition.
void loop_sse2(long rounds) {
  asm volatile(
      "movss %[factor], %%xmm0\n\tshufps $0, %%xmm0, %%xmm0\n\t"
      "movss %[addend], %%xmm1\n\tshufps $0, %%xmm1, %%xmm1\n\t"
      "movaps %%xmm1, %%xmm4\n\tmovaps %%xmm1, %%xmm5\n\tmovaps %%xmm1, %%xmm6\n\t"
      "movaps %%xmm1, %%xmm7\n\tmovaps %%xmm1, %%xmm8\n\tmovaps %%xmm1, %%xmm9\n\t"
      "movaps %%xmm1, %%xmm10\n\tmovaps %%xmm1, %%xmm11\n\tmovaps %%xmm1, %%xmm12\n\t"
      "movaps %%xmm1, %%xmm13\n\tmovaps %%xmm1, %%xmm14\n\tmovaps %%xmm1, %%xmm15\n\t"
      ".p2align 5\n"
      "1:\n\t"
      "mulps %%xmm0, %%xmm4\n\tmulps %%xmm0, %%xmm5\n\tmulps %%xmm0, %%xmm6\n\t"
      "mulps %%xmm0, %%xmm7\n\tmulps %%xmm0, %%xmm8\n\tmulps %%xmm0, %%xmm9\n\t"
      "mulps %%xmm0, %%xmm10\n\tmulps %%xmm0, %%xmm11\n\tmulps %%xmm0, %%xmm12\n\t"
      "mulps %%xmm0, %%xmm13\n\tmulps %%xmm0, %%xmm14\n\tmulps %%xmm0, %%xmm15\n\t"
      "addps %%xmm1, %%xmm4\n\taddps %%xmm1, %%xmm5\n\taddps %%xmm1, %%xmm6\n\t"
      "addps %%xmm1, %%xmm7\n\taddps %%xmm1, %%xmm8\n\taddps %%xmm1, %%xmm9\n\t"
      "addps %%xmm1, %%xmm10\n\taddps %%xmm1, %%xmm11\n\taddps %%xmm1, %%xmm12\n\t"
      "addps %%xmm1, %%xmm13\n\taddps %%xmm1, %%xmm14\n\taddps %%xmm1, %%xmm15\n\t"
      "dec %[rounds]\n\t"
      "jnz 1b"
      : [rounds] "+r"(rounds)
      : [factor] "m"(kFactor), [addend] "m"(kAddend)
      : "cc", "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
}

#else
#error "fma_peak.cc knows x86-64 only: add a loop for this processor"
#endif

struct Level {
  std::string_view feature;  // must be listed by the device, with `also`
  std::string_view also;
  int lanes;
  void (*loop)(long rounds);
};
// Widest first; the last row needs nothing.
constexpr std::array<Level, 3> kLevels = {{{"avx512f", "avx512f", 16, loop_avx512},
                                           {"avx2", "fma", 8, loop_avx2},
                                           {"", "", 4, loop_sse2}}};

const Level& widest(const Device& device) {
  return *std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& level) {
    return level.feature.empty() || (device.has(level.feature) && device.has(level.also));
  });
}

// Best effort: an invented device may list CPUs that do not exist here.
void pin_to(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

// FLOP/s of one thread over one window.
double window_rate(const Level& level, Clock::time_point until) {
  constexpr long kRounds = 4096;  // some 10 us: the clock is read rarely, yet a window ends on time
  const auto start = Clock::now();
  auto now = start;
  double flop = 0;
  do {
    level.loop(kRounds);
    flop += 2.0 * kChains * level.lanes * static_cast<double>(kRounds);
    now = Clock::now();
  } while (now < until);
  return flop / std::chrono::duration<double>(now - start).count();
}

}  // namespace

double measure_fma_peak(const Device& device, int threads, double seconds) {
  // Interruptions only ever slow a window down, so the best one is the closest to the peak. The
  // first also brings the clock up.
  constexpr int kWindows = 5;
  const Level& level = widest(device);
  const auto count = static_cast<std::size_t>(std::clamp(threads, 1, 4096));
  const auto length = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 1e-3, 60.0) / kWindows));
  std::vector<std::array<double, kWindows>> rates(count);
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> go{false};
  Clock::time_point start;  // written before `go`
  {
    std::vector<std::jthread> team;
    team.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      team.emplace_back([&, i](const std::stop_token& stop) {
        if (!device.cpus.empty()) pin_to(device.cpus[i % device.cpus.size()]);
        ready.fetch_add(1);
        while (!go.load()) {
          if (stop.stop_requested()) return;  // another thread could not be created
          std::this_thread::yield();
        }
        for (int w = 0; w < kWindows; ++w) {
          rates[i][static_cast<std::size_t>(w)] = window_rate(level, start + (w + 1) * length);
        }
      });
    }
    while (ready.load() < count) std::this_thread::yield();
    start = Clock::now();
    go.store(true);
  }
  double best = 0;
  for (std::size_t w = 0; w < kWindows; ++w) {
    double total = 0;
    for (const auto& rate : rates) total += rate[w];
    best = std::max(best, total);
  }
  return best;
}

}  // namespace tilewright
