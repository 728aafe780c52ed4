// SPDX-License-Identifier: Apache-2.0
// The checker's kernels on this machine: their text, compiled by the host's compiler, behind the
// fake driver. Blocks run one after another and the threads of a block as fibers that change at
// barriers and shuffles, so shared memory and what a warp exchanges mean what they mean on a GPU.
// Slow, and blind to races; it shows wrong indices, sums and verdicts where there is no device.
#include "device/cuda/driver.h"

#include <setjmp.h>
#include <ucontext.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

// CUDA's words, as far as the kernels use them. They are keywords of its compilers, so macros here.
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

struct Place {
  unsigned x = 0;
};
static Place threadIdx, blockIdx, blockDim, gridDim;
struct uint4 {
  unsigned x, y, z, w;
};
struct double2 {
  double x, y;
};
struct float2 {
  float x, y;
};

namespace {

// The threads of the block that runs now. A fiber lives on from block to block, and they change by
// _longjmp, which costs no system call.
struct Fibers {
  static constexpr std::size_t kStack = 128 << 10;
  struct Fiber {
    ucontext_t start{};
    jmp_buf here{};
    bool started = false;
  };
  jmp_buf scheduler{};
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<std::unique_ptr<std::byte[]>> stacks;
  std::vector<char> done;
  std::function<void()> body;
  unsigned current = 0;
  std::vector<std::uint64_t> exchanged[2];  // of two shuffles: nobody is further apart
  std::vector<unsigned> shuffles, barriers;

  static Fibers& instance() {
    static Fibers one;
    return one;
  }
  void yield() {
    if (_setjmp(fibers[current]->here) == 0) _longjmp(scheduler, 1);
  }
  static void enter() {
    for (;;) {
      Fibers& f = instance();
      f.body();
      f.done[f.current] = 1;
      f.yield();
    }
  }
  void resume(unsigned t) {
    current = t;
    threadIdx.x = t;
    Fiber& fiber = *fibers[t];
    if (_setjmp(scheduler) != 0) return;
    if (fiber.started) _longjmp(fiber.here, 1);
    fiber.started = true;
    setcontext(&fiber.start);
  }
  void run(unsigned threads) {
    while (fibers.size() < threads) {
      fibers.push_back(std::make_unique<Fiber>());
      stacks.push_back(std::make_unique<std::byte[]>(kStack));
      ucontext_t& start = fibers.back()->start;
      getcontext(&start);
      start.uc_stack.ss_sp = stacks.back().get();
      start.uc_stack.ss_size = kStack;
      makecontext(&start, &Fibers::enter, 0);
    }
    done.assign(threads, 0);
    shuffles.assign(threads, 0);
    barriers.assign(threads, 0);
    for (auto& values : exchanged) values.assign(threads, 0);
    for (bool left = true; left;) {
      left = false;
      for (unsigned t = 0; t < threads; ++t) {
        if (done[t] != 0) continue;
        left = true;
        resume(t);
      }
    }
  }
  // Until every thread of [first, last) that still runs has counted as far as this one.
  void meet(std::vector<unsigned>& counts, unsigned first, unsigned last) {
    const unsigned mine = ++counts[current];
    const auto all_here = [&] {
      for (unsigned t = first; t < last; ++t) {
        if (done[t] == 0 && counts[t] < mine) return false;
      }
      return true;
    };
    while (!all_here()) yield();
  }
};

}  // namespace

static void __syncthreads() {
  Fibers& f = Fibers::instance();
  f.meet(f.barriers, 0, blockDim.x);
}

template <class T>
T __shfl_down_sync(unsigned, T value, int lanes) {
  Fibers& f = Fibers::instance();
  const unsigned me = f.current;
  const unsigned warp = me / 32 * 32;
  std::vector<std::uint64_t>& values = f.exchanged[f.shuffles[me] % 2];
  values[me] = std::bit_cast<std::uint64_t>(value);
  f.meet(f.shuffles, warp, warp + 32);
  const unsigned from = me + static_cast<unsigned>(lanes);
  return std::bit_cast<T>(values[from < warp + 32 ? from : me]);
}

template <class T>
void atomicAdd(T* at, T value) {
  *at += value;
}
template <class T>
void atomicMin(T* at, T value) {
  if (value < *at) *at = value;
}
template <class T>
void atomicMax(T* at, T value) {
  if (value > *at) *at = value;
}
static double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
static long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}
static float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
static unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}

#include "verify/cuda/kernels/checker.cu"

namespace {

struct Emulated {
  const char* name;
  void (*start)(void** arguments);
  bool fibers;  // its threads wait for each other
};

template <class... Parameters>
struct Caller {
  template <void (*kKernel)(Parameters...), std::size_t... kIndex>
  static void apply(void** arguments, std::index_sequence<kIndex...>) {
    kKernel(*static_cast<Parameters*>(arguments[kIndex])...);
  }
};
template <class... Parameters>
Caller<Parameters...> caller_of(void (*)(Parameters...));

template <auto kKernel, class... Parameters>
void call_with(void** arguments, void (*)(Parameters...)) {
  Caller<Parameters...>::template apply<kKernel>(arguments,
                                                 std::index_sequence_for<Parameters...>{});
}
template <auto kKernel>
void call(void** arguments) {
  call_with<kKernel>(arguments, kKernel);
}

using namespace tilewright;
constexpr Emulated kEmulated[] = {
    {"draw_matrix", call<draw_matrix>, false},
    {"fill_outside", call<fill_outside>, false},
    {"change_element", call<change_element>, false},
    {"copy_words", call<copy_words>, false},
    {"digest_words", call<digest_words>, true},
    {"guard_stretches", call<guard_stretches>, false},
    {"guard_gaps", call<guard_gaps>, false},
    {"scrub_workspace", call<scrub_workspace>, false},
    {"spoil_workspace", call<spoil_workspace>, false},
    {"check_zeros", call<check_zeros>, false},
    {"lay_bait", call<lay_bait>, false},
    {"find_written_beyond", call<find_written_beyond>, false},
    {"product", call<product>, true},
    {"product_magnitude", call<product_magnitude>, true},
    {"weighed_product", call<weighed_product>, true},
    {"weighed_product_magnitude", call<weighed_product_magnitude>, true},
    {"weigh_rows", call<weigh_rows>, true},
    {"weigh_columns", call<weigh_columns>, false},
    {"compare_strip", call<compare_strip>, true},
    {"judge_weighed", call<judge_weighed>, true},
    {"inner_products", call<inner_products>, true},
};

}  // namespace

extern "C" bool tw_emulate(const char* name, const cuda::LaunchConfig* config, void** arguments) {
  for (const Emulated& kernel : kEmulated) {
    if (std::string_view(kernel.name) != name) continue;
    gridDim.x = config->grid_x;
    blockDim.x = config->block_x;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
      if (kernel.fibers) {
        Fibers::instance().body = [&] { kernel.start(arguments); };
        Fibers::instance().run(blockDim.x);
        continue;
      }
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel.start(arguments);
    }
    return true;
  }
  return false;
}
