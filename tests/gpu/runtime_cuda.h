// SPDX-License-Identifier: Apache-2.0
// What the tests of the runtime library on a device share: a handle, device memory, and a product
// that is filled, computed and compared row by row with f64 sums on this machine.
#pragma once

#include "base/element.h"
#include "base/rng.h"
#include "device/cuda/context.h"
#include "tilewright/tilewright.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// A matrix in device memory with a copy of its bytes here.
struct DeviceMatrix {
  cuda::Buffer memory;
  std::vector<std::uint8_t> host;
  std::size_t at = 0;  // bytes before its first element
  [[nodiscard]] cuda::Pointer address() const { return memory.address() + at; }
  [[nodiscard]] void* pointer() const { return reinterpret_cast<void*>(address()); }
};

struct Product {
  tw_gemm_desc desc{};
  float alpha = 1, beta = 0;
  bool with_bias = false;
  int shift_a = 0, shift_b = 0, shift_c = 0;  // elements off a multiple of 256 bytes
  // Numbers of A, B, the bias, and C before; by default normal ones, and C NaN where beta is 0.
  std::function<double(Rng&)> draw_a, draw_b, draw_c;

  [[nodiscard]] ElementType in() const { return static_cast<ElementType>(desc.in); }
  [[nodiscard]] ElementType out() const { return static_cast<ElementType>(desc.out); }
  [[nodiscard]] std::int64_t a_rows() const { return desc.a_layout == TW_T ? desc.k : desc.m; }
  [[nodiscard]] std::int64_t a_columns() const { return desc.a_layout == TW_T ? desc.m : desc.k; }
  [[nodiscard]] std::int64_t b_rows() const { return desc.b_layout == TW_T ? desc.n : desc.k; }
  [[nodiscard]] std::int64_t b_columns() const { return desc.b_layout == TW_T ? desc.k : desc.n; }
  static std::int64_t or_packed(std::int64_t given, std::int64_t packed) {
    return given == TW_PACKED ? packed : given;
  }
  [[nodiscard]] std::int64_t lda() const { return or_packed(desc.lda, a_columns()); }
  [[nodiscard]] std::int64_t ldb() const { return or_packed(desc.ldb, b_columns()); }
  [[nodiscard]] std::int64_t ldc() const { return or_packed(desc.ldc, desc.n); }
  [[nodiscard]] std::int64_t sa() const { return or_packed(desc.stride_a, a_rows() * lda()); }
  [[nodiscard]] std::int64_t sb() const { return or_packed(desc.stride_b, b_rows() * ldb()); }
  [[nodiscard]] std::int64_t sc() const { return or_packed(desc.stride_c, desc.m * ldc()); }
};

inline Product product(tw_type type, std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p;
  tw_gemm_desc_init(&p.desc, type, m, n, k);
  return p;
}

inline std::string text_of(const Product& p) {
  const tw_gemm_desc& d = p.desc;
  std::string out;
  for (const std::int64_t v :
       {std::int64_t{d.in}, std::int64_t{d.out}, std::int64_t{d.a_layout}, std::int64_t{d.b_layout},
        std::int64_t{d.activation}, std::int64_t{d.mode}, d.m, d.n, d.k, d.batch, d.lda, d.ldb,
        d.ldc, d.stride_a, d.stride_b, d.stride_c, std::int64_t{p.shift_a}, std::int64_t{p.shift_b},
        std::int64_t{p.shift_c}}) {
    out += std::to_string(v) + " ";
  }
  return "in out a b activation mode m n k batch lda ldb ldc sa sb sc shifts: " + out +
         "alpha=" + std::to_string(p.alpha) + " beta=" + std::to_string(p.beta) +
         (p.with_bias ? " bias" : "");
}

// Rows of C that are compared: (entry, row).
using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;

class RuntimeCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    tw_options options;
    tw_options_init(&options);
    options.device = 0;
    if (tw_create(&handle_, &options) != TW_OK) GTEST_SKIP() << tw_last_error();
    auto context = cuda::Context::open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_.emplace(*std::move(context));
  }
  void TearDown() override { tw_destroy(handle_); }
  [[nodiscard]] const cuda::Driver& driver() const { return context_->driver(); }

  static constexpr std::size_t kGuard = 256;  // bytes before and behind

  void make(DeviceMatrix& matrix, std::size_t bytes, std::size_t at) {
    matrix.at = kGuard + at;
    matrix.host.assign(bytes + matrix.at + kGuard, 0x5a);
    if (matrix.memory.bytes() < matrix.host.size()) {
      matrix.memory = cuda::Buffer();  // before the next one is made
      auto memory = cuda::Buffer::allocate(*context_, matrix.host.size());
      ASSERT_TRUE(memory) << memory.error().message;
      matrix.memory = *std::move(memory);
    }
  }
  void upload(const DeviceMatrix& matrix) {
    ASSERT_EQ(driver().MemcpyHtoD(matrix.memory.address(), matrix.host.data(), matrix.host.size()),
              cuda::kSuccess);
  }
  static std::size_t elements(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                              std::int64_t batch, std::int64_t stride) {
    if (rows == 0 || columns == 0 || batch == 0) return 0;
    return static_cast<std::size_t>((batch - 1) * stride + (rows - 1) * ld + columns);
  }

  // Operands of `p`, drawn and uploaded. What is not stored (gaps, guards) is NaN in A and B.
  void fill(const Product& p, Rng& rng) {
    const auto normal = [](Rng& r) { return r.normal(); };
    const auto nan = [](Rng&) { return std::numeric_limits<double>::quiet_NaN(); };
    const auto fill_one = [&](DeviceMatrix& matrix, ElementType type, std::int64_t rows,
                              std::int64_t columns, std::int64_t ld, std::int64_t batch,
                              std::int64_t stride, int shift,
                              const std::function<double(Rng&)>& draw, bool poison) {
      const std::size_t count = elements(rows, columns, ld, batch, stride);
      make(matrix, count * size_of(type), static_cast<std::size_t>(shift) * size_of(type));
      if (poison) {
        for (std::size_t i = 0; i + 1 < matrix.host.size(); i += 2) {
          matrix.host[i] = 0xff;
          matrix.host[i + 1] = 0x7f;
        }
      }
      std::uint8_t* const base = matrix.host.data() + matrix.at;
      for (std::int64_t e = 0; e < (stride == 0 ? std::min<std::int64_t>(batch, 1) : batch); ++e) {
        for (std::int64_t r = 0; r < (ld == 0 ? std::min<std::int64_t>(rows, 1) : rows); ++r) {
          for (std::int64_t c = 0; c < columns; ++c) {
            store(type, base, e * stride + r * ld + c, draw(rng));
          }
        }
      }
      upload(matrix);
    };
    const tw_gemm_desc& d = p.desc;
    fill_one(a_, p.in(), p.a_rows(), p.a_columns(), p.lda(), d.batch, p.sa(), p.shift_a,
             p.draw_a ? p.draw_a : normal, true);
    fill_one(b_, p.in(), p.b_rows(), p.b_columns(), p.ldb(), d.batch, p.sb(), p.shift_b,
             p.draw_b ? p.draw_b : normal, true);
    fill_one(c_, p.out(), d.m, d.n, p.ldc(), d.batch, p.sc(), p.shift_c,
             p.draw_c         ? p.draw_c
             : p.beta == 0.0F ? std::function<double(Rng&)>(nan)
                              : normal,
             false);
    fill_one(bias_, p.out(), 1, d.n, d.n, 1, d.n, static_cast<int>(rng.below(3)), normal, false);
  }

  [[nodiscard]] tw_status call(const Product& p, cuda::Stream stream = nullptr) {
    const bool reads = p.alpha != 0 && p.desc.k != 0;
    return tw_gemm(handle_, &p.desc, p.alpha, reads ? a_.pointer() : nullptr,
                   reads ? b_.pointer() : nullptr, p.beta, c_.pointer(),
                   p.with_bias ? bias_.pointer() : nullptr, stream);
  }

  static Rows all_rows(const Product& p) {
    Rows rows;
    for (std::int64_t e = 0; e < p.desc.batch; ++e) {
      for (std::int64_t r = 0; r < p.desc.m; ++r) rows.emplace_back(e, r);
    }
    return rows;
  }

  // C on the device against f64 sums of what was uploaded: elementwise bounds, and nothing else of
  // C's bytes changed. Empty if right.
  [[nodiscard]] std::string wrong(const Product& p) {
    std::vector<std::uint8_t> got(c_.host.size());
    if (const auto code = driver().MemcpyDtoH(got.data(), c_.memory.address(), got.size());
        code != cuda::kSuccess) {
      return driver().text(code);
    }
    const std::uint8_t* const base = got.data() + c_.at;
    for (const auto& [entry, row] : all_rows(p)) {
      const std::int64_t from = entry * p.sc() + row * p.ldc();
      if (std::string off =
              wrong_row(p, entry, row, base + from * static_cast<std::int64_t>(size_of(p.out())));
          !off.empty()) {
        return off;
      }
      // Checked: as it was, so that the rest can be compared as bytes.
      const std::size_t offset = c_.at + static_cast<std::size_t>(from) * size_of(p.out());
      std::memcpy(got.data() + offset, c_.host.data() + offset,
                  static_cast<std::size_t>(p.desc.n) * size_of(p.out()));
    }
    return got == c_.host ? "" : "bytes outside C were written";
  }

  // One row, of which `got` are the results.
  [[nodiscard]] std::string wrong_row(const Product& p, std::int64_t entry, std::int64_t row,
                                      const void* got) const {
    const tw_gemm_desc& d = p.desc;
    const bool reads = p.alpha != 0 && d.k != 0;
    const std::uint8_t* const a = a_.host.data() + a_.at;
    const std::uint8_t* const b = b_.host.data() + b_.at;
    std::vector<double> values(static_cast<std::size_t>(d.k));
    for (std::int64_t l = 0; reads && l < d.k; ++l) {
      values[static_cast<std::size_t>(l)] = load(
          p.in(), a, entry * p.sa() + (d.a_layout == TW_T ? l * p.lda() + row : row * p.lda() + l));
    }
    const double u = unit_roundoff(p.out());
    for (std::int64_t j = 0; j < d.n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; reads && l < d.k; ++l) {
        const double term =
            values[static_cast<std::size_t>(l)] *
            load(p.in(), b,
                 entry * p.sb() + (d.b_layout == TW_T ? j * p.ldb() + l : l * p.ldb() + j));
        sum += term;
        size += std::fabs(term);
      }
      double x = p.alpha * sum;
      double magnitude = std::fabs(p.alpha) * size;
      if (p.beta != 0.0F) {
        const double before =
            load(p.out(), c_.host.data() + c_.at, entry * p.sc() + row * p.ldc() + j);
        x += p.beta * before;
        magnitude += std::fabs(p.beta * before);
      }
      if (p.with_bias) {
        const double more = load(p.out(), bias_.host.data() + bias_.at, j);
        x += more;
        magnitude += std::fabs(more);
      }
      const double before_activation = x;
      if (d.activation == TW_RELU) x = x < 0 ? 0 : x;
      if (d.activation == TW_GELU) x = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
      if (d.activation == TW_SILU) x = x / (1 + std::exp(-x));
      const double result = load(p.out(), got, j);
      // Slopes of activations are below 1.2; approximations are right to 2e-6 of the result.
      const double in_sum =
          1.2 * (2.0 * static_cast<double>(d.k) + 4) * std::ldexp(magnitude, -24) +
          (d.activation > TW_RELU ? 3e-6 * std::fabs(x) : 0);
      const double bound = u * (std::fabs(x) + in_sum) + in_sum + half_subnormal(p.out()) + 1e-37;
      const double largest = p.out() == ElementType::f16 ? 65504.0 : 3.38e38;
      const bool both_nan = std::isnan(x) && std::isnan(result);
      const bool both_large = std::fabs(x) > largest && result == std::copysign(INFINITY, x);
      const bool on_the_edge = std::isinf(result) && std::fabs(x) + bound > largest &&
                               std::signbit(result) == std::signbit(x);
      if (both_nan || both_large || on_the_edge || std::fabs(result - x) <= bound) continue;
      return "entry " + std::to_string(entry) + " row " + std::to_string(row) + " column " +
             std::to_string(j) + ": " + std::to_string(result) + ", not " + std::to_string(x) +
             " (before activation " + std::to_string(before_activation) + ", bound " +
             std::to_string(bound) + ")";
    }
    return {};
  }

  void expect_right(const Product& p, Rng& rng, cuda::Stream stream = nullptr) {
    fill(p, rng);
    ASSERT_EQ(call(p, stream), TW_OK) << tw_last_error() << "\n" << text_of(p);
    const Status done = context_->synchronize();
    ASSERT_TRUE(done) << done.error().message << "\n" << text_of(p);
    EXPECT_EQ(wrong(p), "") << text_of(p) << "\n" << explained(p);
  }
  std::string explained(const Product& p) {
    std::vector<char> text(8192);
    std::ignore = tw_explain(handle_, &p.desc, text.data(), text.size(), nullptr);
    return text.data();
  }

  tw_handle handle_ = nullptr;
  std::optional<cuda::Context> context_;
  DeviceMatrix a_, b_, c_, bias_;
};

}  // namespace tilewright
