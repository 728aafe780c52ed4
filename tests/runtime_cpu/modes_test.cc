// SPDX-License-Identifier: Apache-2.0
// Modes, activations and instruction sets: bits from run to run and from row to row, every f32
// through an activation, pairs of bf16, and the speed that widening in registers gives.
#include "cases.h"

#include "device/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

namespace tilewright::runtime {
namespace {

class Modes : public Cases {};

TEST_P(Modes, N33DeterministicBitsFromRunToRun) {
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
TEST_P(Modes, BatchInvariantRows) {
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
TEST_P(Modes, ActivationsAreRightEverywhere) {
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

// Rows more than 2^31 elements apart, in address space that is never filled.
TEST_P(Modes, OffsetsBeyond32Bits) {
  constexpr std::int64_t kStride = (std::int64_t{1} << 31) + 7;
  constexpr std::size_t kBytes = static_cast<std::size_t>(2 * kStride + 64) * 2;
  const auto sparse = [&] {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::uint16_t*>(memory);
  };
  std::uint16_t* const a = sparse();
  std::uint16_t* const c = sparse();
  if (a == nullptr || c == nullptr) GTEST_SKIP() << "no address space for 2 * 8 GiB";
  Call call = made(ElementType::bf16, 3, 20, 4);
  call.lda = call.ldc = kStride;
  std::array<std::uint16_t, 80> b{};
  for (std::int64_t x = 0; x < 4; ++x) {
    for (std::int64_t j = 0; j < 20; ++j)
      store(call.in, b.data(), x * 20 + j, static_cast<double>(1 + j));
    for (std::int64_t i = 0; i < 3; ++i)
      store(call.in, a, i * kStride + x, static_cast<double>(i + 1));
  }
  ASSERT_TRUE(backend_->run(call, {1, 0, a, b.data(), c, nullptr}, nullptr).has_value());
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 20; ++j) {
      EXPECT_EQ(load(call.out, c, i * kStride + j), static_cast<double>(4 * (i + 1) * (1 + j)));
    }
  }
  munmap(a, kBytes);
  munmap(c, kBytes);
}

INSTANTIATE_TEST_SUITE_P(Isa, Modes, testing::ValuesIn(isas_here()),
                         [](const auto& each) { return each.param; });

// N35: odd K where bf16 is multiplied in pairs, which only TILEWRIGHT_CPU_ISA=avx512bf16 asks for.
TEST(Pairs, N35OddK) {
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
TEST(Speed, N37Avx2IsNotTheScalarLoop) {
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
