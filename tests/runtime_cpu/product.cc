// SPDX-License-Identifier: Apache-2.0
// See product.h.
#include "product.h"

#include "device/device.h"
#include "runtime/cpu/choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tilewright::runtime {
namespace {

constexpr double kSteepest = 1.13;
constexpr double kUnit = 0x1p-24;
constexpr std::size_t kGuard = 128;  // bytes around C: 64 halves
constexpr std::byte kPattern{0xa5};

// Elements from the first to the last of `batch` matrices of rows x columns.
std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                    std::int64_t stride) {
  if (rows == 0 || columns == 0 || batch == 0) return 0;
  return (batch - 1) * stride + (rows - 1) * ld + columns;
}

double edge_of(ElementType type) {
  if (type == ElementType::f16) return 65520;
  const double last = type == ElementType::bf16 ? 0x1p-9 : 0x1p-25;
  return std::ldexp(1 - last, 128);
}

double activated(tw_activation activation, double x) {
  if (activation == TW_RELU) return x < 0 ? 0 : x;
  if (activation == TW_NO_ACTIVATION) return x;
  if (x == -std::numeric_limits<double>::infinity()) return -0.0;
  if (activation == TW_GELU) return x * 0.5 * std::erfc(-x * std::sqrt(0.5));
  return x < 0 ? x * std::exp(x) / (1 + std::exp(x)) : x / (1 + std::exp(-x));
}

double drawn(Data data, ElementType type, Rng& rng) {
  switch (data) {
    case Data::integers:
      return static_cast<double>(rng.below(17)) - 8;
    case Data::tiny:
      return rng.normal() * (type == ElementType::f16 ? 0x1p-16 : 0x1p-128);
    case Data::special:
      if (rng.below(40) == 0) {
        static constexpr double kValues[] = {INFINITY, -INFINITY, NAN, -0.0, 60000, -60000, 1e-7};
        return kValues[rng.below(std::size(kValues))];
      }
      [[fallthrough]];
    case Data::normal:
      return rng.normal();
  }
  return 0;
}

}  // namespace

std::unique_ptr<Backend> open_with(const std::string& isa, int threads, const std::string& wisdom) {
  ::setenv("TILEWRIGHT_CPU_ISA", isa.c_str(), 1);
  Options options;
  options.threads = threads;
  options.installed_wisdom = false;
  options.wisdom = wisdom;
  auto backend = open_cpu(options);
  ::unsetenv("TILEWRIGHT_CPU_ISA");
  if (!backend) {
    ADD_FAILURE() << backend.error().message;
    return nullptr;
  }
  return *std::move(backend);
}

std::vector<std::string> isas_here() {
  std::vector<std::string> names;
  const auto widest = static_cast<std::size_t>(cpu::widest_isa(detect_cpu()));
  for (std::size_t i = 0; i <= widest; ++i) names.emplace_back(cpu::kCpuIsaNames[i]);
  return names;
}

Fenced::Fenced(std::size_t most) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  most_ = (most + page_ - 1) / page_ * page_;
  length_ = most_ + 2 * page_;
  base_ = static_cast<std::byte*>(
      mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(base_ + page_, most_, PROT_READ | PROT_WRITE);
}

Fenced::~Fenced() {
  munmap(base_, length_);
}

std::byte* Fenced::place(std::size_t bytes, bool at_end) const {
  EXPECT_LE(bytes, most_) << "a larger bed is needed";
  return at_end ? base_ + page_ + most_ - bytes : base_ + page_;
}

Call packed(Call call) {
  if (call.lda == 0) call.lda = call.a_columns();
  if (call.ldb == 0) call.ldb = call.b_columns();
  if (call.ldc == 0) call.ldc = call.n;
  if (call.stride_a == 0) call.stride_a = call.a_rows() * call.lda;
  if (call.stride_b == 0) call.stride_b = call.b_rows() * call.ldb;
  if (call.stride_c == 0) call.stride_c = call.m * call.ldc;
  return call;
}

std::string text_of(const Case& what) {
  const Call& c = what.call;
  return fmt::format(
      "{} to {} {}{} {}x{}x{} batch={} ld={},{},{} strides={},{},{} alpha={} beta={} bias={} "
      "activation={} mode={} data={} seed={} at_end={}",
      name_of(c.in), name_of(c.out), c.a_transposed ? 't' : 'n', c.b_transposed ? 't' : 'n', c.m,
      c.n, c.k, c.batch, c.lda, c.ldb, c.ldc, c.stride_a, c.stride_b, c.stride_c, what.alpha,
      what.beta, what.bias, static_cast<int>(c.activation), static_cast<int>(c.mode),
      static_cast<int>(what.data), what.seed, what.at_end);
}

Bed::Bed(std::size_t most_bytes)
    : a_memory_(most_bytes),
      b_memory_(most_bytes),
      c_memory_(most_bytes + 2 * kGuard),
      bias_memory_(most_bytes) {}

void Bed::fill(const Case& what) {
  what_ = what;
  const Call& call = what.call;
  const auto bytes = [](ElementType type, std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size_of(type);
  };
  const std::int64_t a_elements =
      extent(call.a_rows(), call.a_columns(), call.lda, call.batch, call.stride_a);
  const std::int64_t b_elements =
      extent(call.b_rows(), call.b_columns(), call.ldb, call.batch, call.stride_b);
  c_bytes_ = bytes(call.out, extent(call.m, call.n, call.ldc, call.batch, call.stride_c));
  // Where C touches the end there is no room for a guard behind it, and no need.
  guard_bytes_ = what.at_end ? kGuard : 0;
  std::byte* a = a_memory_.place(bytes(call.in, a_elements), what.at_end);
  std::byte* b = b_memory_.place(bytes(call.in, b_elements), what.at_end);
  std::byte* c = c_memory_.place(c_bytes_ + kGuard, what.at_end) + guard_bytes_;
  std::byte* bias = bias_memory_.place(bytes(call.out, call.n), what.at_end);
  operands_ = {what.alpha, what.beta, a, b, c, what.bias ? bias : nullptr};

  Rng rng(what.seed);
  // Gaps hold NaN in A and B, a pattern in C.
  std::memset(a, 0xff, bytes(call.in, a_elements));
  std::memset(b, 0xff, bytes(call.in, b_elements));
  std::memset(c - guard_bytes_, static_cast<int>(kPattern), c_bytes_ + kGuard);
  for (std::int64_t e = 0;
       e < (call.stride_a == 0 ? std::min<std::int64_t>(call.batch, 1) : call.batch); ++e) {
    for (std::int64_t i = 0; i < call.m; ++i) {
      for (std::int64_t x = 0; x < call.k; ++x) set_a(e, i, x, drawn(what.data, call.in, rng));
    }
  }
  const Data for_b = what.data == Data::tiny ? Data::normal : what.data;
  for (std::int64_t e = 0;
       e < (call.stride_b == 0 ? std::min<std::int64_t>(call.batch, 1) : call.batch); ++e) {
    for (std::int64_t x = 0; x < call.k; ++x) {
      for (std::int64_t j = 0; j < call.n; ++j) set_b(e, x, j, drawn(for_b, call.in, rng));
    }
  }
  for (std::int64_t e = 0; e < call.batch; ++e) {
    for (std::int64_t i = 0; i < call.m; ++i) {
      for (std::int64_t j = 0; j < call.n; ++j) {
        set_c(e, i, j, what.beta == 0 ? NAN : drawn(what.data, call.out, rng));
      }
    }
  }
  for (std::int64_t j = 0; j < call.n; ++j) set_bias(j, drawn(what.data, call.out, rng));
  before_.assign(c - guard_bytes_, c - guard_bytes_ + c_bytes_ + kGuard);
}

void Bed::restore() {
  std::memcpy(static_cast<std::byte*>(operands_.c) - guard_bytes_, before_.data(), before_.size());
}

std::vector<std::byte> Bed::result() const {
  const auto* c = static_cast<const std::byte*>(operands_.c);
  return {c, c + c_bytes_};
}

tl::expected<Origin, Failure> Bed::run(Backend& backend) {
  return backend.run(what_.call, operands_, nullptr);
}

std::string Bed::run_and_check(Backend& backend) {
  const auto origin = run(backend);
  if (!origin) return origin.error().message;
  return check();
}

std::string Bed::check() const {
  const Call& call = what_.call;
  std::vector<bool> is_result(before_.size(), false);
  const std::size_t size = size_of(call.out);
  for (std::int64_t e = 0; e < call.batch; ++e) {
    for (std::int64_t i = 0; i < call.m; ++i) {
      const std::size_t first = guard_bytes_ + static_cast<std::size_t>(c_at(e, i, 0)) * size;
      for (std::int64_t j = 0; j < call.n; ++j) {
        if (std::string text = wrong(e, i, j); !text.empty()) return text;
      }
      std::fill_n(is_result.begin() + static_cast<std::ptrdiff_t>(first),
                  static_cast<std::size_t>(call.n) * size, true);
    }
  }
  const auto* now = static_cast<const std::byte*>(operands_.c) - guard_bytes_;
  for (std::size_t x = 0; x < before_.size(); ++x) {
    if (!is_result[x] && now[x] != before_[x]) {
      return fmt::format("byte {} beside C's elements was written",
                         static_cast<std::int64_t>(x) - static_cast<std::int64_t>(guard_bytes_));
    }
  }
  return {};
}

std::string Bed::wrong(std::int64_t batch, std::int64_t i, std::int64_t j) const {
  const Call& call = what_.call;
  double sum = 0, magnitude = 0;
  const bool multiplies = what_.alpha != 0 && call.k != 0;
  if (multiplies) {
    for (std::int64_t x = 0; x < call.k; ++x) {
      const double product = a(batch, i, x) * b(batch, x, j);
      sum += product;
      magnitude += std::abs(product);
    }
  }
  double want = multiplies ? sum * double{what_.alpha} : 0;
  magnitude *= multiplies ? std::abs(double{what_.alpha}) : 0;
  if (what_.beta != 0) {
    const double old =
        double{what_.beta} * load(call.out, before_.data() + guard_bytes_, c_at(batch, i, j));
    want += old;
    magnitude += std::abs(old);
  }
  if (what_.bias) {
    const double bias = load(call.out, operands_.bias, j);
    want += bias;
    magnitude += std::abs(bias);
  }
  double error = 2 * static_cast<double>(call.k + 4) * kUnit * magnitude;
  want = activated(call.activation, want);
  if (call.activation != TW_NO_ACTIVATION) {
    error = kSteepest * error + 16 * kUnit * std::abs(want) + 4 * half_subnormal(ElementType::f32);
  }
  const double got = c(batch, i, j), edge = edge_of(call.out);
  const auto off = [&] {
    return fmt::format("C[{}][{}][{}] is {}, not {} (+- {})", batch, i, j, got, want, error);
  };
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? std::string() : off();
  }
  if (std::isinf(want)) return got == want ? std::string() : off();
  if (std::isinf(got)) {
    return std::abs(want) + error >= edge && std::signbit(got) == std::signbit(want) ? std::string()
                                                                                     : off();
  }
  if (std::abs(want) - error >= edge) return off();
  const double allowed =
      unit_roundoff(call.out) * (std::abs(want) + error) + error + half_subnormal(call.out);
  return std::abs(got - want) <= allowed ? std::string() : off();
}

std::int64_t Bed::a_at(std::int64_t batch, std::int64_t i, std::int64_t x) const {
  const Call& c = what_.call;
  return batch * c.stride_a + (c.a_transposed ? x * c.lda + i : i * c.lda + x);
}
std::int64_t Bed::b_at(std::int64_t batch, std::int64_t x, std::int64_t j) const {
  const Call& c = what_.call;
  return batch * c.stride_b + (c.b_transposed ? j * c.ldb + x : x * c.ldb + j);
}
std::int64_t Bed::c_at(std::int64_t batch, std::int64_t i, std::int64_t j) const {
  return batch * what_.call.stride_c + i * what_.call.ldc + j;
}
void Bed::set_a(std::int64_t batch, std::int64_t i, std::int64_t x, double value) {
  store(what_.call.in, const_cast<void*>(operands_.a), a_at(batch, i, x), value);
}
void Bed::set_b(std::int64_t batch, std::int64_t x, std::int64_t j, double value) {
  store(what_.call.in, const_cast<void*>(operands_.b), b_at(batch, x, j), value);
}
void Bed::set_c(std::int64_t batch, std::int64_t i, std::int64_t j, double value) {
  store(what_.call.out, operands_.c, c_at(batch, i, j), value);
}
void Bed::set_bias(std::int64_t j, double value) {
  if (what_.bias) store(what_.call.out, const_cast<void*>(operands_.bias), j, value);
}
double Bed::a(std::int64_t batch, std::int64_t i, std::int64_t x) const {
  return load(what_.call.in, operands_.a, a_at(batch, i, x));
}
double Bed::b(std::int64_t batch, std::int64_t x, std::int64_t j) const {
  return load(what_.call.in, operands_.b, b_at(batch, x, j));
}
double Bed::c(std::int64_t batch, std::int64_t i, std::int64_t j) const {
  return load(what_.call.out, operands_.c, c_at(batch, i, j));
}

}  // namespace tilewright::runtime
