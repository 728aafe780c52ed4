// SPDX-License-Identifier: Apache-2.0
// The CPU device headers against a plain f64 reference: every form, layout, type and split, ragged
// sizes, alpha and beta, gaps between rows, odd addresses, and operands that end at a page no one
// may touch. What the full gate (verify/) does to a candidate, done here to the headers themselves.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu_kernel_case.h"

namespace tw::cpu_test {
namespace {

// Plain conversions, written independently of the headers under test.
double to_double(Element e, uint32_t bits) {
  if (e == Element::kF32) return std::bit_cast<float>(bits);
  if (e == Element::kBf16) return std::bit_cast<float>(bits << 16);
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}
int fraction_bits(Element e) {
  return e == Element::kF16 ? 10 : e == Element::kBf16 ? 7 : 23;
}
int lowest_exponent(Element e) {
  return e == Element::kF16 ? -14 : -126;
}
double largest(Element e) {
  return e == Element::kF16 ? 65504.0 : to_double(e, e == Element::kBf16 ? 0x7f7f : 0x7f7fffff);
}
double round_to(Element e, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), lowest_exponent(e));
  const double unit = std::ldexp(1.0, exponent - fraction_bits(e));
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::abs(rounded) > largest(e) ? std::copysign(INFINITY, x) : rounded;
}
uint32_t to_bits(Element e, double x) {  // x is a value of the type
  const auto f = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (e == Element::kF32) return f;
  if (e == Element::kBf16) return f >> 16;
  const uint32_t sign = f >> 16 & 0x8000;
  const double a = std::abs(x);
  if (std::isnan(x)) return 0x7e00;
  if (std::isinf(x)) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | static_cast<uint32_t>(std::ldexp(a, 24));
  const int exponent = std::ilogb(a);
  return sign | (static_cast<uint32_t>(exponent + 15) << 10) |
         static_cast<uint32_t>(std::ldexp(a, 10 - exponent) - 1024);
}
size_t size_of(Element e) {
  return e == Element::kF32 ? 4 : 2;
}

// Bytes that end exactly where a page without access begins (and start after another such page).
class Fenced {
 public:
  explicit Fenced(size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    length_ = (bytes + page - 1) / page * page + 2 * page;
    base_ =
        static_cast<char*>(mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (length_ > 2 * page) mprotect(base_ + page, length_ - 2 * page, PROT_READ | PROT_WRITE);
    data_ = base_ + length_ - page - bytes;
  }
  ~Fenced() { munmap(base_, length_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_, length_;
  char *base_, *data_;
};

// `count` matrices of rows x columns with gaps between rows and between matrices. Gaps hold NaN.
struct Matrix {
  Element e;
  int64_t rows, columns, ld, stride;
  Fenced bytes;

  Matrix(Element type, int64_t r, int64_t c, int64_t gap, int64_t count)
      : e(type),
        rows(r),
        columns(c),
        ld(c + gap),
        stride(r * (c + gap) + 5 * (gap > 0)),
        bytes(r * c * count == 0
                  ? 0
                  : static_cast<size_t>((count - 1) * stride + (r - 1) * ld + c) * size_of(type)) {
    std::memset(bytes.data(), 0xff, bytes.size());
  }
  char* at(int64_t b, int64_t i, int64_t j) const {
    return bytes.data() + static_cast<size_t>(b * stride + i * ld + j) * size_of(e);
  }
  double get(int64_t b, int64_t i, int64_t j) const {
    uint32_t bits = 0;
    std::memcpy(&bits, at(b, i, j), size_of(e));
    return to_double(e, bits);
  }
  void set(int64_t b, int64_t i, int64_t j, double x) const {
    const uint32_t bits = to_bits(e, x);
    std::memcpy(at(b, i, j), &bits, size_of(e));
  }
};

void wait_at(void* state) {
  static_cast<std::barrier<>*>(state)->arrive_and_wait();
}

void run_team(const KernelCase& kernel, const tw_cpu_gemm_args& args, int threads) {
  std::barrier<> barrier(threads);
  std::vector<std::thread> team;
  for (int t = 1; t < threads; ++t)
    team.emplace_back([&, t] {
      const tw_cpu_team mine = {t, threads, wait_at, &barrier};
      kernel.run(&args, &mine);
    });
  const tw_cpu_team mine = {0, threads, wait_at, &barrier};
  kernel.run(&args, &mine);
  for (std::thread& thread : team) thread.join();
}

struct Call {
  int64_t m, n, k, batch = 1, gap = 0;
  float alpha = 1, beta = 0;
  int threads = 2;
  bool bias = false;
  int activation = TW_CPU_NO_ACTIVATION;
};

// What each activation is, and how much it can stretch an error of its operand.
double activated(int activation, double x) {
  if (activation == TW_CPU_RELU) return x < 0 ? 0 : x;
  if (activation == TW_CPU_GELU) return x * 0.5 * std::erfc(-x * std::sqrt(0.5));
  if (activation == TW_CPU_SILU) return x / (1 + std::exp(-x));
  return x;
}
constexpr double kSteepest = 1.13;

enum class Data { kNormal, kSubnormal, kHuge, kInteger };

// Runs one call and compares every output and every byte between outputs.
void check(const KernelCase& kernel, Call call, Data data = Data::kNormal) {
  if (kernel.m >= 0) call.m = kernel.m;
  if (kernel.n >= 0) call.n = kernel.n;
  if (kernel.k >= 0) call.k = kernel.k;
  SCOPED_TRACE(std::string(kernel.name) + ": m=" + std::to_string(call.m) +
               " n=" + std::to_string(call.n) + " k=" + std::to_string(call.k) +
               " batch=" + std::to_string(call.batch) + " gap=" + std::to_string(call.gap) +
               " alpha=" + std::to_string(call.alpha) + " beta=" + std::to_string(call.beta) +
               " threads=" + std::to_string(call.threads) + " bias=" + std::to_string(call.bias) +
               " activation=" + std::to_string(call.activation));
  std::mt19937 random(static_cast<unsigned>(call.m * 131 + call.n * 17 + call.k));
  std::normal_distribution<double> normal;
  const auto draw = [&](Element e) {
    switch (data) {
      case Data::kSubnormal:
        return round_to(e, std::ldexp(normal(random), lowest_exponent(e) - 3));
      case Data::kHuge:
        return round_to(e, 200 * normal(random));
      case Data::kInteger:
        return std::round(normal(random));
      default:
        return round_to(e, normal(random));
    }
  };
  const bool ta = kernel.trans_a, tb = kernel.trans_b;
  const Matrix a(kernel.in, ta ? call.k : call.m, ta ? call.m : call.k, call.gap, call.batch);
  const Matrix b(kernel.in, tb ? call.n : call.k, tb ? call.k : call.n, call.gap, call.batch);
  const Matrix c(kernel.out, call.m, call.n, call.gap, call.batch);
  for (int64_t e = 0; e < call.batch; ++e) {
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.set(e, i, j, draw(kernel.in));
    for (int64_t i = 0; i < b.rows; ++i)
      for (int64_t j = 0; j < b.columns; ++j)
        b.set(e, i, j,
              data == Data::kSubnormal ? round_to(kernel.in, normal(random)) : draw(kernel.in));
    if (call.beta != 0)  // else C stays NaN, which must not survive
      for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.columns; ++j) c.set(e, i, j, round_to(c.e, normal(random)));
  }
  const Matrix bias(kernel.out, 1, call.n, 0, call.bias ? 1 : 0);
  if (call.bias)
    for (int64_t j = 0; j < call.n; ++j) bias.set(0, 0, j, round_to(c.e, normal(random)));
  const std::vector<char> before(c.bytes.data(), c.bytes.data() + c.bytes.size());

  const Fenced workspace(
      static_cast<size_t>(kernel.workspace(call.m, call.n, call.k, call.threads)));
  ASSERT_EQ(reinterpret_cast<uintptr_t>(workspace.data()) % 64, 0u);
  std::memset(workspace.data(), 0xff, workspace.size());
  const tw_cpu_gemm_args args = {a.bytes.data(),
                                 b.bytes.data(),
                                 c.bytes.data(),
                                 call.m,
                                 call.n,
                                 call.k,
                                 a.ld,
                                 b.ld,
                                 c.ld,
                                 call.batch,
                                 a.stride,
                                 b.stride,
                                 c.stride,
                                 call.alpha,
                                 call.beta,
                                 workspace.data(),
                                 call.bias ? bias.bytes.data() : nullptr,
                                 call.activation};
  run_team(kernel, args, call.threads);

  std::vector<bool> output(c.bytes.size(), false);
  const double unit = std::ldexp(1.0, -1 - fraction_bits(c.e));
  const double half_subnormal = std::ldexp(0.5, lowest_exponent(c.e) - fraction_bits(c.e));
  for (int64_t e = 0; e < call.batch; ++e) {
    for (int64_t i = 0; i < call.m; ++i) {
      for (int64_t j = 0; j < call.n; ++j) {
        double sum = 0, magnitude = 0;
        if (call.alpha != 0)
          for (int64_t x = 0; x < call.k; ++x) {
            const double p =
                (ta ? a.get(e, x, i) : a.get(e, i, x)) * (tb ? b.get(e, j, x) : b.get(e, x, j));
            sum += p;
            magnitude += std::abs(p);
          }
        double want = sum * double{call.alpha};
        double rounding = std::abs(call.alpha) * magnitude * std::ldexp(double(call.k) * 2, -24);
        const auto at = static_cast<size_t>(c.at(e, i, j) - c.bytes.data());
        if (call.beta != 0) {
          uint32_t bits = 0;
          std::memcpy(&bits, &before[at], size_of(c.e));
          const double old = to_double(c.e, bits) * double{call.beta};
          want += old;
          rounding += 2 * (std::abs(old) + std::abs(want)) * 0x1p-24;
        }
        if (call.bias) {
          want += bias.get(0, 0, j);
          rounding += 2 * (std::abs(bias.get(0, 0, j)) + std::abs(want)) * 0x1p-24;
        }
        if (call.activation != TW_CPU_NO_ACTIVATION) {
          want = activated(call.activation, want);
          rounding = kSteepest * rounding + 16 * 0x1p-24 * std::abs(want);
        }
        const double got = c.get(e, i, j);
        if (std::abs(want) > largest(c.e) * (1 + unit)) {
          ASSERT_EQ(got, std::copysign(INFINITY, want)) << "at " << i << ", " << j;
        } else if (std::isinf(got)) {
          ASSERT_GE(std::abs(want) * (1 + unit) + rounding, largest(c.e)) << i << ", " << j;
        } else {
          ASSERT_LE(std::abs(got - want), unit * std::abs(want) + rounding + half_subnormal)
              << "at " << i << ", " << j << ": got " << got << ", want " << want;
        }
        for (size_t x = 0; x < size_of(c.e); ++x) output[at + x] = true;
      }
    }
  }
  for (size_t x = 0; x < before.size(); ++x) {
    if (!output[x]) {
      ASSERT_EQ(c.bytes.data()[x], before[x]) << "a byte between rows changed";
    }
  }
}

struct Isa {
  const char* name;
  KernelCases (*cases)();
  bool (*runs_here)();
};

void PrintTo(const Isa& isa, std::ostream* out) {
  *out << isa.name;
}

const Isa kIsas[] = {
    {"scalar", scalar_cases, [] { return true; }},
    {"avx2", avx2_cases,
     [] {
       return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c");
     }},
    {"avx512", avx512_cases,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
     }},
    {"avx512bf16", avx512bf16_cases,
     [] { return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw"); }},
};

class CpuKernel : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam().cases().count == 0) GTEST_SKIP() << "compiled without " << GetParam().name;
    if (!GetParam().runs_here()) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
  template <class F>
  void for_each(F&& f) {
    const KernelCases cases = GetParam().cases();
    for (int64_t i = 0; i < cases.count; ++i) {
      f(cases.first[i]);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(CpuKernel, RaggedSizes) {
  for_each([](const KernelCase& kernel) {
    for (const Call& call :
         {Call{1, 1, 1}, Call{1, 33, 65}, Call{3, 31, 64}, Call{17, 40, 3, 1, 3, 1, 0, 1},
          Call{29, 67, 130, 1, 7}, Call{64, 128, 256}, Call{5, 200, 321, 1, 1, 1, 0, 3},
          Call{45, 97, 193, 1, 0, 1, 0, 4}, Call{2, 3, 1000, 1, 2, 1, 0, 3}})
      check(kernel, call);
  });
}

TEST_P(CpuKernel, AlphaAndBeta) {
  for_each([](const KernelCase& kernel) {
    for (const float alpha : {1.0f, -0.75f, 0.0f})
      for (const float beta : {0.0f, 1.0f, 0.3f}) check(kernel, {19, 37, 71, 1, 3, alpha, beta, 2});
  });
}

TEST_P(CpuKernel, BiasAndActivation) {
  for_each([](const KernelCase& kernel) {
    for (const int activation : {TW_CPU_NO_ACTIVATION, TW_CPU_RELU, TW_CPU_GELU, TW_CPU_SILU}) {
      check(kernel, {19, 37, 71, 1, 3, 0.5f, 0, 2, true, activation});
      check(kernel, {3, 50, 130, 2, 1, -1, 0.3f, 2, activation % 2 == 0, activation});
      check(kernel, {5, 21, 0, 1, 1, 1, 1.5f, 2, true, activation});
    }
  });
}

TEST_P(CpuKernel, Batches) {
  for_each([](const KernelCase& kernel) {
    check(kernel, {6, 35, 70, 3, 2, 1, 0, 2});
    check(kernel, {6, 35, 140, 5, 0, 2, 1, 3});
    check(kernel, {6, 35, 70, 0, 2, 1, 0, 2});
  });
}

TEST_P(CpuKernel, EmptySizes) {
  for_each([](const KernelCase& kernel) {
    if (kernel.m >= 0) return;
    check(kernel, {0, 5, 5});
    check(kernel, {5, 0, 5});
    check(kernel, {5, 5, 0});
    check(kernel, {5, 5, 0, 2, 1, 1, 0.5f});
  });
}

TEST_P(CpuKernel, RangeEnds) {
  for_each([](const KernelCase& kernel) {
    check(kernel, {7, 33, 66, 1, 1}, Data::kHuge);
    check(kernel, {7, 33, 66, 1, 1}, Data::kInteger);
    if (!kernel.flushes) check(kernel, {7, 33, 16, 1, 1}, Data::kSubnormal);
  });
}

INSTANTIATE_TEST_SUITE_P(Isa, CpuKernel, testing::ValuesIn(kIsas),
                         [](const auto& isa) { return std::string(isa.param.name); });

}  // namespace
}  // namespace tw::cpu_test
