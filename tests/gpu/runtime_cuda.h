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
#include <array>
#include <chrono>
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
  std::size_t at = 0;         // bytes before its first element
  std::vector<float> values;  // its elements as numbers, of A and B
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
  // Rows that repeat take the room of one.
  [[nodiscard]] std::int64_t sa() const {
    return or_packed(desc.stride_a, lda() == 0 ? a_columns() : a_rows() * lda());
  }
  [[nodiscard]] std::int64_t sb() const {
    return or_packed(desc.stride_b, ldb() == 0 ? b_columns() : b_rows() * ldb());
  }
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
    options.timing_ms = timing_ms_;
    const auto start = std::chrono::steady_clock::now();
    if (tw_create(&handle_, &options) != TW_OK) GTEST_SKIP() << tw_last_error();
    opened_in_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
  // Every number from the first element to the guard, gaps and repetitions as they lie.
  static void decode(DeviceMatrix& matrix, ElementType type) {
    matrix.values.resize((matrix.host.size() - kGuard - matrix.at) / size_of(type));
    for (std::size_t i = 0; i < matrix.values.size(); ++i) {
      matrix.values[i] = static_cast<float>(
          load(type, matrix.host.data() + matrix.at, static_cast<std::int64_t>(i)));
    }
  }
  // On the device when it returns: what follows on a stream of its own waits for no other, and a
  // copy of memory that is not pinned returns before it ends.
  void upload(const DeviceMatrix& matrix) {
    ASSERT_EQ(driver().MemcpyHtoD(matrix.memory.address(), matrix.host.data(), matrix.host.size()),
              cuda::kSuccess);
    ASSERT_EQ(driver().CtxSynchronize(), cuda::kSuccess);
  }
  static std::size_t elements(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                              std::int64_t batch, std::int64_t stride) {
    if (rows == 0 || columns == 0 || batch == 0) return 0;
    return static_cast<std::size_t>((batch - 1) * stride + (rows - 1) * ld + columns);
  }

  // Operands of `p`, drawn and uploaded. What is not stored (gaps, guards) is NaN in A and B.
  void fill(const Product& p, Rng& rng) {
    // From a table: drawing them anew would take most of the time of a random product.
    static const std::vector<double> kNormal = [] {
      Rng some(77);
      std::vector<double> drawn(65537);
      for (double& x : drawn) x = some.normal();
      return drawn;
    }();
    const auto normal = [at = static_cast<std::size_t>(rng.below(kNormal.size()))](Rng&) mutable {
      at = at + 1 < kNormal.size() ? at + 1 : 0;
      return kNormal[at];
    };
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
    decode(a_, p.in());
    decode(b_, p.in());
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

  // Whether a row of a large product is compared: of those beyond some milliseconds of sums here
  // every so manieth, and the last.
  static bool is_compared(const Product& p, std::int64_t entry, std::int64_t row) {
    constexpr double kMostTerms = 4e6;
    const tw_gemm_desc& d = p.desc;
    const double terms = static_cast<double>(d.m) * static_cast<double>(d.n) *
                         static_cast<double>(d.k) * static_cast<double>(d.batch);
    const auto step = static_cast<std::int64_t>(std::ceil(terms / kMostTerms));
    const std::int64_t number = entry * d.m + row;
    return step <= 1 || number % step == 0 || number == d.batch * d.m - 1;
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
    for (std::int64_t entry = 0; entry < p.desc.batch; ++entry) {
      for (std::int64_t row = 0; row < p.desc.m; ++row) {
        const auto from = static_cast<std::size_t>(entry * p.sc() + row * p.ldc());
        const std::size_t offset = from * size_of(p.out());
        if (is_compared(p, entry, row)) {
          std::string off = wrong_row(p, entry, row, base + offset);
          if (!off.empty()) return off;
        }
        // As it was, so that the rest can be compared as bytes.
        std::memcpy(got.data() + c_.at + offset, c_.host.data() + c_.at + offset,
                    static_cast<std::size_t>(p.desc.n) * size_of(p.out()));
      }
    }
    return got == c_.host ? "" : "bytes outside C were written";
  }

  // One row, of which `got` are the results.
  [[nodiscard]] std::string wrong_row(const Product& p, std::int64_t entry, std::int64_t row,
                                      const void* got) const {
    const tw_gemm_desc& d = p.desc;
    const bool reads = p.alpha != 0 && d.k != 0;
    // Sums of the whole row at once, along the rows of B as they are stored if B is not transposed.
    std::vector<double> sums(static_cast<std::size_t>(d.n)), sizes(sums.size());
    const float* const a = reads ? a_.values.data() + entry * p.sa() : nullptr;
    const float* const b = reads ? b_.values.data() + entry * p.sb() : nullptr;
    const std::int64_t along_k = d.b_layout == TW_T ? 1 : p.ldb();
    const std::int64_t along_n = d.b_layout == TW_T ? p.ldb() : 1;
    const auto add = [&](std::int64_t j, std::int64_t l) {
      const double x = a[d.a_layout == TW_T ? l * p.lda() + row : row * p.lda() + l];
      const double term = x * static_cast<double>(b[l * along_k + j * along_n]);
      sums[static_cast<std::size_t>(j)] += term;
      sizes[static_cast<std::size_t>(j)] += std::fabs(term);
    };
    if (reads && d.b_layout == TW_T) {
      for (std::int64_t j = 0; j < d.n; ++j) {
        for (std::int64_t l = 0; l < d.k; ++l) add(j, l);
      }
    } else if (reads) {
      for (std::int64_t l = 0; l < d.k; ++l) {
        for (std::int64_t j = 0; j < d.n; ++j) add(j, l);
      }
    }
    const double u = unit_roundoff(p.out());
    for (std::int64_t j = 0; j < d.n; ++j) {
      const double sum = sums[static_cast<std::size_t>(j)];
      const double size = sizes[static_cast<std::size_t>(j)];
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

  struct Compared {
    std::string wrong;         // empty if right
    bool device_lost = false;  // the context reports an error, and will from now on
  };
  Compared compare(const Product& p, Rng& rng, cuda::Stream stream = nullptr) {
    fill(p, rng);
    if (const tw_status status = call(p, stream); status != TW_OK) {
      return {std::string(tw_status_name(status)) + ": " + tw_last_error(), status == TW_FAILED};
    }
    if (const Status done = context_->synchronize(); !done) return {done.error().message, true};
    return {wrong(p)};
  }
  void expect_right(const Product& p, Rng& rng, cuda::Stream stream = nullptr) {
    EXPECT_EQ(compare(p, rng, stream).wrong, "") << text_of(p) << "\n" << explained(p);
  }
  std::string explained(const Product& p) {
    std::vector<char> text(8192);
    std::ignore = tw_explain(handle_, &p.desc, text.data(), text.size(), nullptr);
    return text.data();
  }

  std::int64_t timing_ms_ = 0;  // of tw_options
  tw_handle handle_ = nullptr;
  double opened_in_ = 0;  // seconds
  std::optional<cuda::Context> context_;
  DeviceMatrix a_, b_, c_, bias_;
};

}  // namespace tilewright
