// SPDX-License-Identifier: Apache-2.0
// The data of a proof have the properties that the rules rely on.
#include "verify/inputs.h"

#include "verify/honest.h"

#include <bit>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

std::vector<double> values(ElementType type, const std::vector<std::byte>& bytes) {
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size() / size_of(type); ++i) {
    out.push_back(load(type, bytes.data(), static_cast<std::int64_t>(i)));
  }
  return out;
}

Rows rows_of_data(const Problem& p, Operands& data) {
  return rows_of(p, packed_a(p, data.a), packed_b(p, data.b), 0, whole(p));
}

TEST(Inputs, AreAPureFunctionOfTheSeed) {
  const Problem p = problem_of("gemm 33x47x129 bf16 acc=f32 nt batch=2");
  for (std::size_t kind = 0; kind < kDataKindNames.size(); ++kind) {
    const auto k = static_cast<DataKind>(kind);
    EXPECT_EQ(draw(p, k, 5).a, draw(p, k, 5).a) << name_of(k);
    EXPECT_EQ(draw(p, k, 5).b, draw(p, k, 5).b) << name_of(k);
    EXPECT_NE(draw(p, k, 5).a, draw(p, k, 6).a) << name_of(k);
    EXPECT_NE(draw(p, k, 5).b, draw(p, k, 6).b) << name_of(k);
  }
}

// What rounding each partial sum to a half type makes of a total, for slices of given borders.
double total_of_rounded(const std::vector<double>& products, const std::vector<std::size_t>& ends,
                        ElementType type) {
  double total = 0;
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    double slice = 0;
    for (; from < end; ++from) slice += products[from];
    total += rounded(type, slice);
  }
  return total;
}

std::vector<std::size_t> slices(std::size_t k, std::size_t count, std::size_t multiple) {
  std::vector<std::size_t> ends;
  if (multiple == 0) {  // nearly equal
    for (std::size_t s = 1; s <= count; ++s) ends.push_back(k * s / count);
    return ends;
  }
  const std::size_t step = (((k + count - 1) / count) + multiple - 1) / multiple * multiple;
  for (std::size_t end = step; end < k; end += step) ends.push_back(end);
  ends.push_back(k);
  return ends;
}

// The heart of exact-split-k: whatever the cut, partial sums in half precision give a wrong total.
TEST(SplitK, EverySliceIsFarAbove2048AndHalfPartialsFail) {
  for (const ElementType in : {ElementType::f16, ElementType::bf16}) {
    for (const std::int64_t k : {128, 129, 160, 192, 255, 256, 1000, 1024, 4096, 14336, 50000}) {
      Problem p;
      p.m = k < 1000 ? 3 : 1;
      p.n = k < 10000 ? 3 : 2;
      p.k = k;
      p.in = in;
      p.a_transposed = k % 3 == 0;
      p.b_transposed = k % 2 == 0;
      Operands data = draw(p, DataKind::split_k, static_cast<std::uint64_t>(k));
      const Rows rows = rows_of_data(p, data);
      for (const auto& a : rows.a) {
        for (const auto& b : rows.b) {
          std::vector<double> products;
          double total = 0, size = 0;
          for (std::size_t i = 0; i < a.size(); ++i) {
            products.push_back(static_cast<double>(a[i]) * static_cast<double>(b[i]));
            ASSERT_EQ(products.back(), std::floor(products.back()));
            total += products.back();
            size += std::fabs(products.back());
          }
          ASSERT_EQ(std::fabs(std::fmod(total, 2)), 1) << k;  // odd
          ASSERT_LE(std::fabs(total), 31);                    // exact in f16 and bf16
          ASSERT_LT(size, 0x1p24);                            // f32 is exact in any order
          for (std::size_t count = 2; count <= 64; ++count) {
            for (const std::size_t multiple : {0, 8, 32, 64, 100}) {
              const auto ends = slices(products.size(), count, multiple);
              if (ends.size() < 2) continue;  // no split
              std::size_t from = 0;
              for (const std::size_t end : ends) {
                double slice = 0;
                const std::size_t length = end - from;
                for (; from < end; ++from) slice += products[from];
                if (length >= static_cast<std::size_t>(std::max<std::int64_t>(2, k / 128))) {
                  ASSERT_GE(std::fabs(slice), 4096) << k << " " << count << " " << multiple;
                }
              }
              ASSERT_NE(total_of_rounded(products, ends, ElementType::f16), total)
                  << k << " " << count << " " << multiple;
              ASSERT_NE(total_of_rounded(products, ends, ElementType::bf16), total)
                  << k << " " << count << " " << multiple;
            }
            // Strided slices, as threads that take every count-th element make them; longer than
            // the payload, which otherwise could fill one.
            if (count * 17 > products.size()) continue;
            std::vector<double> strided(count, 0.0);
            for (std::size_t i = 0; i < products.size(); ++i) strided[i % count] += products[i];
            double sum16 = 0, sum_bf16 = 0;
            for (const double s : strided) {
              sum16 += rounded(ElementType::f16, s);
              sum_bf16 += rounded(ElementType::bf16, s);
            }
            ASSERT_NE(sum16, total) << k << " strided by " << count;
            ASSERT_NE(sum_bf16, total) << k << " strided by " << count;
          }
        }
      }
    }
  }
}

TEST(SplitK, SmallKStaysExactAndSays) {
  Problem p = problem_of("gemm 5x6x1 f16 acc=f32 nn");
  EXPECT_FALSE(applies(DataKind::split_k, p));
  for (p.k = 2; p.k < 128; ++p.k) {
    ASSERT_TRUE(applies(DataKind::split_k, p));
    Operands data = draw(p, DataKind::split_k, 3);
    const Rows rows = rows_of_data(p, data);
    for (const auto& a : rows.a) {
      for (const auto& b : rows.b) {
        double total = 0, first_half = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
          total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
          if (i + 1 == a.size() / 2) first_half = total;
        }
        ASSERT_LE(std::fabs(total), 31);
        if (p.k >= 3) {
          ASSERT_EQ(std::fabs(std::fmod(total, 2)), 1) << p.k;
        }
        if (p.k >= 4) {
          ASSERT_GE(std::fabs(first_half), 4096) << p.k;
        }
      }
    }
  }
}

TEST(Inputs, CountsPassTheHalfAccumulatorsLimit) {  // CASES N09, B15
  Problem p = problem_of("gemm 16x16x4096 f16 acc=f32 nn");
  Operands data = draw(p, DataKind::zero_one, 1);
  const auto a = values(p.in, data.a);
  EXPECT_EQ(std::set<double>(a.begin(), a.end()), (std::set<double>{0, 1}));
  Rows rows = rows_of_data(p, data);
  double sum = 0;
  for (std::size_t i = 0; i < rows.a[0].size(); ++i) {
    sum += static_cast<double>(rows.a[0][i]) * static_cast<double>(rows.b[0][i]);
  }
  EXPECT_GT(sum, 3000);
  // A problem that asks for acc=f16 stays where that accumulator is exact.
  p.acc = Accumulator::f16;
  EXPECT_FALSE(applies(DataKind::split_k, p));
  data = draw(p, DataKind::zero_one, 1);
  rows = rows_of_data(p, data);
  for (const auto& row : rows.a) {
    for (const auto& column : rows.b) {
      double count = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        count += static_cast<double>(row[i]) * static_cast<double>(column[i]);
      }
      ASSERT_LT(count, 2048);
      ASSERT_GT(count, 512);
    }
  }
  const auto signs = values(p.in, draw(p, DataKind::signs, 1).b);
  EXPECT_EQ(std::set<double>(signs.begin(), signs.end()), (std::set<double>{-1, 0, 1}));
}

TEST(Inputs, NormalAndUniformHaveTheirMoments) {
  const Problem p = problem_of("gemm 256x16x512 f16 acc=f32 nn");
  for (const DataKind kind : {DataKind::normal, DataKind::uniform}) {
    const auto a = values(p.in, draw(p, kind, 9).a);
    double mean = 0, square = 0, fourth = 0;
    for (const double x : a) {
      mean += x;
      square += x * x;
      fourth += x * x * x * x;
    }
    const auto n = static_cast<double>(a.size());
    EXPECT_NEAR(mean / n, 0, 0.01);
    EXPECT_NEAR(square / n, kind == DataKind::normal ? 1 : 1.0 / 3, 0.01);
    EXPECT_NEAR(fourth / n, kind == DataKind::normal ? 3 : 1.0 / 5, 0.06);
  }
}

TEST(Inputs, LargeAndTinyLandWhereTheyShould) {  // CASES B13
  for (const char* text :
       {"gemm 64x64x64 f16 acc=f32 nn", "gemm 64x64x1024 f16 acc=f32 tn",
        "gemm 64x64x300 bf16 acc=f32 nt", "gemm 64x64x64 bf16 acc=f32 nn out=f32",
        "gemm 64x64x64 f16 acc=f32 nn out=f32"}) {
    const Problem p = problem_of(text);
    for (const DataKind kind : {DataKind::tiny, DataKind::large}) {
      Operands data = draw(p, kind, 2);
      const Reference r =
          reference(p, packed_a(p, data.a), packed_b(p, data.b), whole(p), false, 1);
      double largest = 0;
      for (const double x : r.strips.at(0).sum) largest = std::max(largest, std::fabs(x));
      if (kind == DataKind::tiny) {
        EXPECT_GT(largest, 2e-6) << text;
        EXPECT_LT(largest, 8e-6) << text;
      } else {
        EXPECT_LT(largest, overflow_edge(p.out)) << text;
        EXPECT_GT(largest, p.out == ElementType::f16 ? 20000 : 1e8) << text;
      }
    }
  }
}

TEST(Inputs, CancellingLeavesLittle) {
  const Problem p = problem_of("gemm 48x48x512 bf16 acc=f32 nt");
  Operands data = draw(p, DataKind::cancelling, 2);
  const Reference r = reference(p, packed_a(p, data.a), packed_b(p, data.b), whole(p), true, 1);
  double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < r.strips.at(0).sum.size(); ++i) {
    sum += std::fabs(r.strips[0].sum[i]);
    magnitude += static_cast<double>(r.strips[0].magnitude[i]);
  }
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum, magnitude * 1e-3);
}

TEST(Strided, WidensEveryHalfExactly) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      float wide = 0;
      widen(type, reinterpret_cast<const std::byte*>(&half), 1, &wide);
      const float want = type == ElementType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(wide)) << bits;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), std::bit_cast<std::uint32_t>(want)) << bits;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
