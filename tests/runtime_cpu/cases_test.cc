// SPDX-License-Identifier: Apache-2.0
// Cases from public reports (N and I of the project's list of them) that concern a CPU, on every
// instruction set that this machine has, in f16 and bf16 and all layouts where that matters. What
// random problems cover as well (N03, N24, N25 in part) is here by its exact input.
#include "product.h"

#include "device/device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace tilewright::runtime {
namespace {

constexpr ElementType kHalves[] = {ElementType::f16, ElementType::bf16};

Call made(ElementType type, std::int64_t m, std::int64_t n, std::int64_t k, int layout = 0) {
  Call call;
  call.in = call.out = type;
  call.m = m, call.n = n, call.k = k;
  call.a_transposed = layout >= 2;
  call.b_transposed = layout % 2 == 1;
  return packed(call);
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { backend_ = open_with(GetParam(), 2); }
  void expect_right(const Case& what) {
    bed_.fill(what);
    EXPECT_EQ(bed_.run_and_check(*backend_), "") << text_of(what);
  }
  // Every type and layout.
  void for_each(std::int64_t m, std::int64_t n, std::int64_t k,
                const std::function<void(Case)>& body) {
    for (const ElementType type : kHalves) {
      for (int layout = 0; layout < 4; ++layout) {
        Case what;
        what.call = made(type, m, n, k, layout);
        body(what);
      }
    }
  }
  std::unique_ptr<Backend> backend_;
  Bed bed_{std::size_t{8} << 20};
};

TEST_P(Cases, N01InnerDimensionZeroGivesPlusZero) {
  struct Sizes {
    std::int64_t m, n, batch;
  };
  for (const Sizes& s : {Sizes{16, 16, 1}, {2, 3, 3}, {1, 43200, 10}}) {
    for_each(s.m, s.n, 0, [&](Case what) {
      what.call.batch = s.batch;
      bed_.fill(what);
      bed_.operands().a = bed_.operands().b = nullptr;
      const auto origin = bed_.run(*backend_);
      ASSERT_TRUE(origin.has_value());
      EXPECT_EQ(*origin, Origin::empty);
      for (const std::byte byte : bed_.result()) ASSERT_EQ(byte, std::byte{0}) << text_of(what);
    });
  }
}

TEST_P(Cases, N02InnerDimensionZeroKeepsBeta) {
  for (const float beta : {1.0F, 0.5F}) {
    for_each(3, 3, 0, [&](Case what) {
      what.beta = beta;
      expect_right(what);
    });
  }
}

TEST_P(Cases, N03EmptyProductsWriteNothing) {
  struct Sizes {
    std::int64_t m, n, k, batch;
  };
  for (const Sizes& s :
       {Sizes{0, 9, 7, 5}, {0, 8, 8, 1}, {8, 0, 8, 1}, {8, 8, 8, 0}, {0, 0, 0, 1}}) {
    Case what;
    what.call = made(ElementType::f16, s.m, s.n, s.k);
    what.call.batch = s.batch;
    for (const tw_mode mode : {TW_FASTEST, TW_DETERMINISTIC, TW_BATCH_INVARIANT}) {
      what.call.mode = mode;
      const Operands none;
      EXPECT_TRUE(backend_->prepare(what.call, nullptr).has_value());
      const auto origin = backend_->run(what.call, none, nullptr);
      ASSERT_TRUE(origin.has_value());
      EXPECT_EQ(*origin, Origin::empty);
      EXPECT_TRUE(backend_->explain(what.call).has_value());
    }
  }
}

TEST_P(Cases, N04BetaZeroDoesNotReadC) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{128, 128, 64}, {129, 127, 65}, {1, 3520, 128}}) {
    for_each(s.m, s.n, s.k, [&](Case what) {
      bed_.fill(what);  // C is NaN
      ASSERT_EQ(bed_.run_and_check(*backend_), "") << text_of(what);
      const auto over_nan = bed_.result();
      for (const double before : {static_cast<double>(INFINITY), 0.0}) {
        for (std::int64_t i = 0; i < s.m; ++i) {
          for (std::int64_t j = 0; j < s.n; ++j) bed_.set_c(0, i, j, before);
        }
        ASSERT_TRUE(bed_.run(*backend_).has_value());
        ASSERT_EQ(bed_.result(), over_nan) << text_of(what);
      }
    });
  }
}

TEST_P(Cases, N05AlphaZeroDoesNotReadAAndB) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{4, 4, 4}, {130, 70, 33}}) {
    for (const float beta : {0.0F, 1.0F, 2.0F}) {
      for_each(s.m, s.n, s.k, [&](Case what) {
        what.alpha = 0;
        what.beta = beta;
        bed_.fill(what);
        bed_.operands().a = bed_.operands().b = nullptr;
        ASSERT_TRUE(bed_.run(*backend_).has_value());
        EXPECT_EQ(bed_.check(), "") << text_of(what);
      });
    }
  }
}

TEST_P(Cases, N06PaddingIsNotMultiplied) {
  // The bed fills gaps with NaN; bits must be those of gaps of zeros.
  for (int layout = 0; layout < 4; ++layout) {
    for (const ElementType type : kHalves) {
      Case what;
      what.call = made(type, 100, 99, 101, layout);
      what.call.lda += 7;
      what.call.ldb += 7;
      what.call.stride_a = what.call.a_rows() * what.call.lda;
      what.call.stride_b = what.call.b_rows() * what.call.ldb;
      bed_.fill(what);
      ASSERT_EQ(bed_.run_and_check(*backend_), "") << text_of(what);
      const auto over_nan = bed_.result();
      const auto clear = [](const void* base, std::int64_t rows, std::int64_t columns,
                            std::int64_t ld) {
        auto* first = static_cast<std::uint16_t*>(const_cast<void*>(base));
        for (std::int64_t i = 0; i + 1 < rows; ++i) {
          std::fill(first + i * ld + columns, first + (i + 1) * ld, std::uint16_t{0});
        }
      };
      clear(bed_.operands().a, what.call.a_rows(), what.call.a_columns(), what.call.lda);
      clear(bed_.operands().b, what.call.b_rows(), what.call.b_columns(), what.call.ldb);
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      EXPECT_EQ(bed_.result(), over_nan) << text_of(what);
    }
  }
}

TEST_P(Cases, N07OuterProductsAreRoundedOnce) {
  for (const std::int64_t m : {1, 257}) {
    for_each(m, m == 1 ? 128 : 257, 1, [&](Case what) {
      bed_.fill(what);
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      for (std::int64_t i = 0; i < what.call.m; ++i) {
        for (std::int64_t j = 0; j < what.call.n; ++j) {
          // The product of two halves is exact in f64, and in f32 unless it is below its range.
          std::uint16_t bits = 0;
          store(what.call.out, &bits, 0, bed_.a(0, i, 0) * bed_.b(0, 0, j));
          ASSERT_EQ(bed_.c(0, i, j), load(what.call.out, &bits, 0)) << text_of(what);
        }
      }
    });
  }
}

TEST_P(Cases, N09SumsDoNotStallAt2048) {
  for (const std::int64_t k : {2048, 4096, 8192, 65504}) {
    Case what;
    what.call = made(ElementType::f16, 8, 8, k, 1);
    bed_.fill(what);
    for (std::int64_t i = 0; i < 8; ++i) {
      for (std::int64_t x = 0; x < k; ++x) {
        bed_.set_a(0, i, x, 1);
        bed_.set_b(0, x, i, 1);
      }
    }
    ASSERT_TRUE(bed_.run(*backend_).has_value());
    for (std::int64_t i = 0; i < 8; ++i) ASSERT_EQ(bed_.c(0, i, i), static_cast<double>(k));
  }
}

TEST_P(Cases, N11OverflowIsInfinity) {
  struct Sum {
    double a0, b0, a1, b1, want;
  };
  for (const Sum& s : {Sum{256, 256, 0, 0, INFINITY},
                       {-256, 256, 0, 0, -INFINITY},
                       {65504, 1, 15, 1, 65504},
                       {65504, 1, 16, 1, INFINITY},
                       {65504, -1, -15, 1, -65504},
                       {65504, 1, 15.9921875, 1, 65504}}) {
    Case what;
    what.call = made(ElementType::f16, 3, 35, 2);
    bed_.fill(what);
    for (std::int64_t i = 0; i < 3; ++i) {
      bed_.set_a(0, i, 0, s.a0);
      bed_.set_a(0, i, 1, s.a1);
    }
    for (std::int64_t j = 0; j < 35; ++j) {
      bed_.set_b(0, 0, j, s.b0);
      bed_.set_b(0, 1, j, s.b1);
    }
    ASSERT_TRUE(bed_.run(*backend_).has_value());
    for (std::int64_t j = 0; j < 35; ++j) ASSERT_EQ(bed_.c(0, 2, j), s.want) << s.a1;
  }
}

TEST_P(Cases, N13SubnormalsAreKept) {
  for_each(16, 16, 16, [&](Case what) {
    const bool bf16 = what.call.in == ElementType::bf16;
    for (const double value : {bf16 ? 0x1p-133 : 0x1p-24, bf16 ? 0x1p-127 : 0x1p-15}) {
      bed_.fill(what);
      for (std::int64_t i = 0; i < 16; ++i) {
        for (std::int64_t j = 0; j < 16; ++j) {
          bed_.set_a(0, i, j, value);
          bed_.set_b(0, i, j, i == j ? 1 : 0);
        }
      }
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      for (std::int64_t i = 0; i < 16; ++i) ASSERT_EQ(bed_.c(0, i, 15 - i), value);
    }
  });
}

TEST_P(Cases, N13ACallerWhoFlushesSubnormalsDoesNotChangeResults) {
#if defined(__x86_64__)
  Case what;
  what.call = made(ElementType::bf16, 16, 16, 16);
  what.data = Data::tiny;
  bed_.fill(what);
  ASSERT_EQ(bed_.run_and_check(*backend_), "");
  const auto kept = bed_.result();
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040U);  // FTZ and DAZ
  const auto origin = bed_.run(*backend_);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(after & 0x8040U, 0x8040U) << "the caller's state is his";
  EXPECT_EQ(bed_.result(), kept);
#else
  GTEST_SKIP() << "x86-64 only";
#endif
}

TEST_P(Cases, N15SignedZeros) {
  for (const float beta : {0.0F, 1.0F}) {
    for_each(5, 40, 8, [&](Case what) {
      what.beta = beta;
      bed_.fill(what);
      for (std::int64_t x = 0; x < 8; ++x) {
        for (std::int64_t i = 0; i < 5; ++i) bed_.set_a(0, i, x, -0.0);
        for (std::int64_t j = 0; j < 40; ++j) bed_.set_b(0, x, j, 1);
      }
      for (std::int64_t j = 0; j < 40; ++j) bed_.set_c(0, 4, j, -0.0);
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      for (std::int64_t j = 0; j < 40; ++j) ASSERT_EQ(bed_.c(0, 4, j), 0.0);
    });
  }
}

TEST_P(Cases, N16NothingIsRememberedOfOperands) {
  for_each(17, 33, 65, [&](Case what) {
    bed_.fill(what);
    ASSERT_EQ(bed_.run_and_check(*backend_), "");
    for (std::int64_t i = 0; i < 17; ++i) {
      for (std::int64_t x = 0; x < 65; ++x) bed_.set_a(0, i, x, 0);
    }
    ASSERT_TRUE(bed_.run(*backend_).has_value());
    for (std::int64_t j = 0; j < 33; ++j) ASSERT_EQ(bed_.c(0, 16, j), 0.0) << text_of(what);
  });
}

TEST_P(Cases, N22PointersAlignedToTheirElementsOnly) {
  // Operands that end at a page begin wherever their size says; here each shift by hand.
  for (const std::int64_t size : {64, 129}) {
    for (std::int64_t shift = 1; shift < 8; ++shift) {
      Case what;
      what.call = made(shift % 2 == 0 ? ElementType::f16 : ElementType::bf16, size, 33, 65,
                       static_cast<int>(shift % 4));
      what.bias = true;
      // One row more in front moves what is ours by `shift` elements against the page.
      what.call.lda += shift;
      what.call.ldb += shift;
      what.call.ldc += shift;
      what.call.stride_a = what.call.a_rows() * what.call.lda;
      what.call.stride_b = what.call.b_rows() * what.call.ldb;
      what.call.stride_c = what.call.m * what.call.ldc;
      what.seed = static_cast<std::uint64_t>(shift);
      expect_right(what);
    }
  }
}

TEST_P(Cases, N24OddRowStrides) {
  struct Strides {
    std::int64_t ld, layout;
  };
  for (const Strides& s : {Strides{65, 0}, {67, 0}, {65, 1}, {65, 2}, {67, 3}}) {
    for (const ElementType type : kHalves) {
      Case what;
      what.call = made(type, 64, 64, 64, static_cast<int>(s.layout));
      what.call.lda = what.call.ldb = what.call.ldc = s.ld;
      expect_right(what);
    }
  }
}

TEST_P(Cases, N25TinyOddShapes) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{1, 105, 107}, {7, 512, 512}, {9, 512, 512}, {1, 1, 1}}) {
    for_each(s.m, s.n, s.k, [&](Case what) {
      what.bias = true;
      expect_right(what);
    });
  }
}

TEST_P(Cases, N26StridesOfZeroRepeat) {
  for_each(32, 32, 32, [&](Case what) {
    what.call.batch = 32;
    for (int which = 0; which < 4; ++which) {
      Case each = what;
      if (which == 0) each.call.stride_a = 0;
      if (which == 1) each.call.stride_b = 0;
      if (which == 2) each.call.lda = 0;
      if (which == 3) each.call.ldb = 0;
      bed_.fill(each);
      for (std::int64_t e = 0; e < 32; ++e) {
        for (std::int64_t i = 0; i < 32; ++i) {
          for (std::int64_t x = 0; x < 32; ++x) {
            bed_.set_a(e, i, x, 1);
            bed_.set_b(e, i, x, 1);
          }
        }
      }
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      for (std::int64_t e = 0; e < 32; ++e) {
        for (std::int64_t i = 0; i < 32; ++i) {
          for (std::int64_t j = 0; j < 32; ++j) ASSERT_EQ(bed_.c(e, i, j), 32.0);
        }
      }
    }
  });
}

TEST_P(Cases, N33DeterministicBitsFromRunToRun) {
  for (const tw_mode mode : {TW_DETERMINISTIC, TW_BATCH_INVARIANT}) {
    for (const std::int64_t m : {1, 24}) {
      std::vector<std::byte> bits;
      Case what;
      what.call = made(ElementType::bf16, m, 64, 8192);
      what.call.mode = mode;
      bed_.fill(what);
      // Whatever the number of threads.
      for (const int threads : {1, 2, 3}) {
        const auto backend = open_with(GetParam(), threads);
        for (int run = 0; run < 4; ++run) {
          bed_.restore();
          ASSERT_TRUE(bed_.run(*backend).has_value());
          if (bits.empty()) bits = bed_.result();
          ASSERT_EQ(bed_.result(), bits) << text_of(what);
        }
      }
    }
  }
}

// Each row of 150 has the bits that it has in a call of any other number of rows, and in a batch.
TEST_P(Cases, BatchInvariantRows) {
  constexpr std::int64_t kRows = 150, kColumns = 77, kDepth = 300;
  Bed other(std::size_t{8} << 20);
  for (const ElementType type : kHalves) {
    for (int layout = 0; layout < 4; ++layout) {
      Case what;
      what.call = made(type, kRows, kColumns, kDepth, layout);
      what.call.mode = TW_BATCH_INVARIANT;
      what.call.activation = TW_GELU;
      what.bias = true;
      bed_.fill(what);
      ASSERT_EQ(bed_.run_and_check(*backend_), "") << text_of(what);
      for (const std::int64_t rows : {1, 2, 5, 6, 7, 47, 97, 149}) {
        Case part = what;
        part.call.m = rows;
        part.call.lda = part.call.ldb = part.call.ldc = 0;
        part.call.stride_a = part.call.stride_b = part.call.stride_c = 0;
        part.call = packed(part.call);
        other.fill(part);
        for (std::int64_t x = 0; x < kDepth; ++x) {
          for (std::int64_t i = 0; i < rows; ++i)
            other.set_a(0, i, x, bed_.a(0, kRows - rows + i, x));
          for (std::int64_t j = 0; j < kColumns; ++j) other.set_b(0, x, j, bed_.b(0, x, j));
        }
        for (std::int64_t j = 0; j < kColumns; ++j) {
          other.set_bias(j, load(type, bed_.operands().bias, j));
        }
        ASSERT_TRUE(other.run(*backend_).has_value());
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < kColumns; ++j) {
            ASSERT_EQ(other.c(0, i, j), bed_.c(0, kRows - rows + i, j)) << text_of(part);
          }
        }
      }
    }
  }
}

// A dense walk over all of f32 through bias and beta alone: tails, infinities, NaN.
TEST_P(Cases, ActivationsAreRightEverywhere) {
  constexpr std::int64_t kColumns = 4096;
  for (const ElementType out : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    for (const tw_activation activation : {TW_RELU, TW_GELU, TW_SILU}) {
      Case what;
      what.call = made(out == ElementType::f32 ? ElementType::f16 : out, 1, kColumns, 0);
      what.call.out = out;
      what.call.activation = activation;
      what.bias = true;
      bed_.fill(what);
      for (std::int64_t j = 0; j < kColumns; ++j) {
        // Both signs; exponents from subnormals to Inf and NaN.
        const auto pattern = static_cast<std::uint32_t>(j) * 0x00100000U + 0x5a5a5U;
        float value = 0;
        std::memcpy(&value, &pattern, sizeof value);
        bed_.set_bias(j, j == 0 ? -INFINITY : j == 1 ? INFINITY : static_cast<double>(value));
      }
      ASSERT_TRUE(bed_.run(*backend_).has_value());
      EXPECT_EQ(bed_.check(), "") << text_of(what);
      EXPECT_EQ(bed_.c(0, 0, 0), 0.0);
      EXPECT_EQ(bed_.c(0, 0, 1), INFINITY);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Cases, testing::ValuesIn(isas_here()),
                         [](const auto& each) { return each.param; });

// N35: odd K where bf16 is multiplied in pairs, which only TILEWRIGHT_CPU_ISA=avx512bf16 asks for.
TEST(CasesOfPairs, N35OddK) {
  if (!detect_cpu().has("avx512bf16") || isas_here().back() != "avx512") {
    GTEST_SKIP() << "no AVX512-BF16 here";
  }
  const auto backend = open_with("avx512bf16", 2);
  Bed bed(std::size_t{1} << 20);
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{16, 16, 17}, {17, 16, 16}, {33, 31, 1}, {1, 1, 3}, {65, 70, 513}}) {
    for (int layout = 0; layout < 4; ++layout) {
      Case what;
      what.call = made(ElementType::bf16, s.m, s.n, s.k, layout);
      bed.fill(what);
      EXPECT_EQ(bed.run_and_check(*backend), "") << text_of(what);
      EXPECT_NE(backend->explain(what.call)->find("flushed"), std::string::npos);
    }
  }
}

// N37: halves without half arithmetic are widened in registers, not element by element.
TEST(CasesOfSpeed, N37Avx2IsNotTheScalarLoop) {
  if (isas_here().size() < 2) GTEST_SKIP() << "no AVX2 here";
  const auto scalar = open_with("scalar", 1), wide = open_with("avx2", 1);
  Bed bed(std::size_t{2} << 20);
  Case what;
  what.call = made(ElementType::f16, 256, 256, 256);
  bed.fill(what);
  const auto fastest_of = [&](Backend& backend) {
    double least = INFINITY;
    for (int run = 0; run < 7; ++run) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_TRUE(bed.run(backend).has_value());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    return least;
  };
  EXPECT_GT(fastest_of(*scalar), 1.5 * fastest_of(*wide));
}

}  // namespace
}  // namespace tilewright::runtime
