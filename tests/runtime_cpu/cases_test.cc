// SPDX-License-Identifier: Apache-2.0
// Cases from public reports (N and I of the project's list of them) that concern a CPU, on every
// instruction set that this machine has, in f16 and bf16 and all layouts where that matters. What
// random problems cover as well (N03, N24, N25 in part) is here by its exact input.
#include "cases.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::runtime {
namespace {

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
  // All operands end at a page, so rows that are longer by `shift` begin at other alignments.
  for (const std::int64_t size : {64, 129}) {
    for (std::int64_t shift = 1; shift < 8; ++shift) {
      Case what;
      what.call = made(shift % 2 == 0 ? ElementType::f16 : ElementType::bf16, size, 33, 65,
                       static_cast<int>(shift % 4));
      what.bias = true;
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

INSTANTIATE_TEST_SUITE_P(Isa, Cases, testing::ValuesIn(isas_here()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace tilewright::runtime
