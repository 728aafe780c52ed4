// SPDX-License-Identifier: Apache-2.0
// What a caller can get wrong, a line each, and what the rest means.
#include "runtime/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;

tw_gemm_desc described(std::int64_t m, std::int64_t n, std::int64_t k, tw_type type = TW_F16) {
  return {.size = sizeof(tw_gemm_desc),
          .in = type,
          .out = type,
          .a_layout = TW_N,
          .b_layout = TW_N,
          .sums = TW_F32_SUMS,
          .activation = TW_NO_ACTIVATION,
          .mode = TW_FASTEST,
          .m = m,
          .n = n,
          .k = k,
          .batch = 1,
          .lda = TW_PACKED,
          .ldb = TW_PACKED,
          .ldc = TW_PACKED,
          .stride_a = TW_PACKED,
          .stride_b = TW_PACKED,
          .stride_c = TW_PACKED};
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

struct Refused {
  const char* what;
  void (*spoil)(tw_gemm_desc&);
  tw_status status;
  std::vector<const char*> said;
};

// A 6 x 8 x 10 product, packed, spoilt in one way.
const std::vector<Refused> kRefused = {
    {"size never set", [](auto& d) { d.size = 0; }, TW_INVALID, {"size=0", "tw_gemm_desc_init"}},
    {"size too small", [](auto& d) { d.size -= 4; }, TW_INVALID, {"size="}},
    {"size of rubbish", [](auto& d) { d.size = 0xdeadbeef; }, TW_INVALID, {"size=3735928559"}},
    {"in f32", [](auto& d) { d.in = d.out = TW_F32; }, TW_INVALID, {"in=2", "TW_BF16"}},
    {"in unknown", [](auto& d) { d.in = -7; }, TW_INVALID, {"in=-7"}},
    {"out unknown", [](auto& d) { d.out = 9; }, TW_INVALID, {"out=9", "TW_F32"}},
    {"out another half",
     [](auto& d) { d.out = TW_BF16; },
     TW_INVALID,
     {"out=TW_BF16", "in=TW_F16"}},
    {"a_layout", [](auto& d) { d.a_layout = 2; }, TW_INVALID, {"a_layout=2"}},
    {"b_layout", [](auto& d) { d.b_layout = -1; }, TW_INVALID, {"b_layout=-1"}},
    {"sums", [](auto& d) { d.sums = 2; }, TW_INVALID, {"sums=2"}},
    {"f16 sums of bf16",
     [](auto& d) { d.in = d.out = TW_BF16, d.sums = TW_F16_SUMS; },
     TW_INVALID,
     {"sums=TW_F16_SUMS", "TW_BF16"}},
    {"activation", [](auto& d) { d.activation = 4; }, TW_INVALID, {"activation=4", "TW_SILU"}},
    {"mode", [](auto& d) { d.mode = 3; }, TW_INVALID, {"mode=3"}},
    {"m negative", [](auto& d) { d.m = -1; }, TW_INVALID, {"m=-1"}},
    {"n negative", [](auto& d) { d.n = -kHuge; }, TW_INVALID, {"n=-9223372036854775807"}},
    {"k negative", [](auto& d) { d.k = -2; }, TW_INVALID, {"k=-2"}},
    {"batch negative", [](auto& d) { d.batch = -1; }, TW_INVALID, {"batch=-1"}},
    {"lda small", [](auto& d) { d.lda = 9; }, TW_INVALID, {"lda=9", "10 columns of A"}},
    {"lda of A^T",
     [](auto& d) { d.a_layout = TW_T, d.lda = 5; },
     TW_INVALID,
     {"lda=5", "6 columns of A"}},
    {"ldb small", [](auto& d) { d.ldb = 7; }, TW_INVALID, {"ldb=7", "8 columns of B"}},
    {"ldb of B^T",
     [](auto& d) { d.b_layout = TW_T, d.ldb = 9; },
     TW_INVALID,
     {"ldb=9", "10 columns of B"}},
    {"ldb negative", [](auto& d) { d.ldb = -2; }, TW_INVALID, {"ldb=-2"}},
    {"ldc small", [](auto& d) { d.ldc = 7; }, TW_INVALID, {"ldc=7", "8 columns of C"}},
    {"ldc 0", [](auto& d) { d.ldc = 0; }, TW_INVALID, {"ldc=0", "8 columns of C"}},
    {"ldc of one row", [](auto& d) { d.m = 1, d.ldc = 3; }, TW_INVALID, {"ldc=3"}},
    {"stride_a negative",
     [](auto& d) { d.batch = 2, d.stride_a = -3; },
     TW_INVALID,
     {"stride_a=-3"}},
    {"stride_c 0", [](auto& d) { d.batch = 2, d.stride_c = 0; }, TW_INVALID, {"stride_c=0"}},
    {"entries of C overlap",
     [](auto& d) { d.batch = 3, d.stride_c = 47; },
     TW_ALIASED,
     {"stride_c=47", "ldc=8"}},
    {"entries of C within rows, too wide",
     [](auto& d) { d.batch = 3, d.ldc = 23, d.stride_c = 8; },
     TW_ALIASED,
     {"stride_c=8", "ldc=23"}},
    {"A past 2^62 bytes",
     [](auto& d) { d.m = kHuge; },
     TW_INVALID,
     {"A takes more", "9223372036854775807 rows", "lda=10"}},
    {"B past 2^62 bytes",
     [](auto& d) { d.ldb = kHuge; },
     TW_INVALID,
     {"B takes more", "ldb=9223372036854775807"}},
    {"batch past 2^62 bytes",
     [](auto& d) { d.batch = kHuge; },
     TW_INVALID,
     {"batch=9223372036854775807"}},
    {"stride past 2^62 bytes",
     [](auto& d) { d.batch = 2, d.stride_c = kHuge; },
     TW_INVALID,
     {"C takes more", "stride_c=9223372036854775807"}},
    {"C past 2^62 bytes, A and B not",
     [](auto& d) { d.m = d.n = std::int64_t{1} << 31, d.k = 1, d.out = TW_F32; },
     TW_INVALID,
     {"C takes more"}},
};

TEST(Call, RefusesWithTheFieldAndItsValue) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.what);
    tw_gemm_desc desc = described(6, 8, 10);
    refused.spoil(desc);
    const auto call = checked(&desc);
    if (call.has_value()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    EXPECT_EQ(call.error().status, refused.status);
    for (const char* part : refused.said) EXPECT_THAT(call.error().message, HasSubstr(part));
  }
  const auto none = checked(nullptr);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("desc=NULL"));
}

TEST(Call, SpellsOutPackedStrides) {
  tw_gemm_desc desc = described(6, 8, 10);
  desc.batch = 3;
  desc.b_layout = TW_T;
  const auto call = checked(&desc);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->lda, 10);
  EXPECT_EQ(call->ldb, 10);
  EXPECT_EQ(call->ldc, 8);
  EXPECT_EQ(call->stride_a, 60);
  EXPECT_EQ(call->stride_b, 80);
  EXPECT_EQ(call->stride_c, 48);
  EXPECT_EQ(to_text(problem_of(*call, 1, 0)), "gemm 6x8x10 f16 acc=f32 nt batch=3");
  EXPECT_EQ(to_text(problem_of(*call, 2, 1)),
            "gemm 6x8x10 f16 acc=f32 nt batch=3 alpha=any beta=one");
  EXPECT_EQ(problem_of(*call, 1, 0.5f).beta, BetaClass::any);
}

TEST(Call, WhatNothingFollowsHasNoStride) {
  tw_gemm_desc desc = described(1, 8, 10);
  const auto packed = checked(&desc);
  desc.lda = 77;
  desc.ldc = 99;
  desc.stride_a = desc.stride_c = -12345;  // batch is 1
  EXPECT_EQ(checked(&desc).value(), packed.value());
  desc.lda = 0;
  EXPECT_EQ(checked(&desc).value(), packed.value());
}

// Rows times the row stride, of a single row too; of rows that repeat one row.
TEST(Call, PackedEntriesAreApartAsRowsAre) {
  struct Apart {
    std::int64_t m, lda, ldb, ldc;
    std::int64_t stride_a, stride_b, stride_c;
  };
  for (const Apart& a : {Apart{6, 12, 9, 11, 72, 90, 66},
                         {1, 12, 9, 11, 12, 90, 11},
                         {6, 0, 0, 11, 10, 8, 66},
                         {1, 0, 0, TW_PACKED, 10, 8, 8}}) {
    tw_gemm_desc desc = described(a.m, 8, 10);
    desc.batch = 3;
    desc.lda = a.lda;
    desc.ldb = a.ldb;
    desc.ldc = a.ldc;
    const auto call = checked(&desc);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->stride_a, a.stride_a) << a.m << " " << a.lda;
    EXPECT_EQ(call->stride_b, a.stride_b) << a.m << " " << a.ldb;
    EXPECT_EQ(call->stride_c, a.stride_c) << a.m << " " << a.ldc;
  }
}

// Which kernels may load a row follows from how rows are aligned, and must not from their number.
TEST(Call, ABatchInvariantRowKeepsItsStride) {
  tw_gemm_desc desc = described(1, 7, 33);
  desc.mode = TW_BATCH_INVARIANT;
  desc.lda = 40;
  desc.ldc = 8;
  EXPECT_EQ(checked(&desc).value().lda, 40);
  EXPECT_EQ(checked(&desc).value().ldc, 8);
  desc.lda = kHuge;
  EXPECT_EQ(checked(&desc).value().lda, 33);
  desc.mode = TW_DETERMINISTIC;
  desc.lda = 40;
  EXPECT_EQ(checked(&desc).value().lda, 33);
}

struct Accepted {
  const char* what;
  void (*change)(tw_gemm_desc&);
};

const std::vector<Accepted> kAccepted = {
    {"m 0", [](auto& d) { d.m = 0; }},
    {"n 0", [](auto& d) { d.n = 0; }},
    {"k 0", [](auto& d) { d.k = 0; }},
    {"batch 0", [](auto& d) { d.batch = 0; }},
    {"all 0", [](auto& d) { d.m = d.n = d.k = d.batch = 0; }},
    {"k 0 of a huge batch", [](auto& d) { d.k = 0, d.batch = std::int64_t{1} << 50; }},
    {"rows of A again", [](auto& d) { d.lda = 0; }},
    {"entries of B again", [](auto& d) { d.batch = 1000, d.stride_b = 0; }},
    {"both again", [](auto& d) { d.batch = 5, d.lda = d.ldb = d.stride_a = d.stride_b = 0; }},
    {"entries of C within rows", [](auto& d) { d.batch = 3, d.ldc = 24, d.stride_c = 8; }},
    {"entries of A overlap", [](auto& d) { d.batch = 3, d.stride_a = 1; }},
    {"f32 out of bf16", [](auto& d) { d.in = TW_BF16, d.out = TW_F32; }},
    {"f16 sums", [](auto& d) { d.sums = TW_F16_SUMS; }},
    {"the largest C", [](auto& d) { d.m = std::int64_t{1} << 30, d.ldc = std::int64_t{1} << 31; }},
};

TEST(Call, AcceptsWhatIsLegal) {
  for (const Accepted& accepted : kAccepted) {
    SCOPED_TRACE(accepted.what);
    tw_gemm_desc desc = described(6, 8, 10);
    accepted.change(desc);
    const auto call = checked(&desc);
    EXPECT_TRUE(call) << call.error().message;
  }
}

// A program that was compiled with a later header may say what this library knows, and no more.
TEST(Call, ALargerDescriptionIsFineIfTheRestIsZero) {
  struct Later {
    tw_gemm_desc known;
    std::int64_t further = 0;
  } later{described(6, 8, 10)};
  later.known.size = sizeof later;
  EXPECT_TRUE(checked(&later.known));
  later.further = 1;
  const auto refused = checked(&later.known);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, TW_INVALID);
  EXPECT_THAT(refused.error().message, HasSubstr("not 0"));
}

// Operands of a product in one array of f16: where each begins, and what becomes of it.
struct Placed {
  const char* what;
  std::int64_t m, n, k, batch, ld;
  std::int64_t a, b, c, bias;  // -1: NULL
  float alpha, beta;
  tw_status status;
  const char* said;
};

const std::vector<Placed> kPlaced = {
    {"apart", 4, 4, 4, 1, -1, 0, 16, 32, 48, 1, 0, TW_OK, ""},
    {"out = A", 4, 4, 4, 1, -1, 0, 16, 0, -1, 1, 0, TW_ALIASED, "c overlaps a"},
    {"out = B", 4, 4, 4, 1, -1, 0, 16, 16, -1, 1, 0, TW_ALIASED, "c overlaps b"},
    {"out = A = B", 4, 4, 4, 1, -1, 0, 0, 0, -1, 1, 0, TW_ALIASED, "c overlaps a"},
    {"one row of A", 4, 4, 4, 1, -1, 0, 64, 12, -1, 1, 0, TW_ALIASED, "c overlaps a"},
    {"last element of B", 4, 4, 4, 1, -1, 100, 0, 15, -1, 1, 0, TW_ALIASED, "c overlaps b"},
    {"A = B is fine", 4, 4, 4, 1, -1, 0, 0, 16, -1, 1, 0, TW_OK, ""},
    {"bias in C", 4, 4, 4, 1, -1, 0, 16, 32, 47, 1, 0, TW_ALIASED, "c overlaps bias"},
    {"columns of one matrix", 4, 4, 4, 1, 16, 0, 4, 8, 12, 1, 0, TW_OK, ""},
    {"columns by one", 4, 4, 4, 1, 16, 0, 4, 7, -1, 1, 0, TW_ALIASED, "c overlaps b"},
    {"bias in a gap of C", 4, 4, 4, 1, 16, 64, 128, 0, 4, 1, 0, TW_OK, ""},
    {"no c", 4, 4, 4, 1, -1, 0, 16, -1, -1, 1, 0, TW_INVALID, "c=NULL"},
    {"no a", 4, 4, 4, 1, -1, -1, 16, 32, -1, 1, 0, TW_INVALID, "a=NULL"},
    {"no b", 4, 4, 4, 1, -1, 0, -1, 32, -1, 1, 0, TW_INVALID, "b=NULL"},
    {"alpha 0 reads none", 4, 4, 4, 1, -1, -1, -1, 32, -1, 0, 1, TW_OK, ""},
    {"alpha -0 reads none", 4, 4, 4, 1, -1, -1, -1, 32, -1, -0.0f, 1, TW_OK, ""},
    {"alpha 0 aliases none", 4, 4, 4, 1, -1, 0, 0, 0, -1, 0, 1, TW_OK, ""},
    {"alpha NaN reads", 4, 4, 4, 1, -1, -1, 16, 32, -1, NAN, 0, TW_INVALID, "a=NULL"},
    {"k 0 reads none", 4, 4, 0, 1, -1, -1, -1, 32, -1, 1, 1, TW_OK, ""},
    {"m 0 needs nothing", 0, 4, 4, 1, -1, -1, -1, -1, -1, 1, 0, TW_OK, ""},
    {"batch 0 needs nothing", 4, 4, 4, 0, -1, -1, -1, -1, -1, 1, 0, TW_OK, ""},
};

TEST(Call, OperandsThatAreMissingOrOverlap) {
  alignas(64) static std::uint16_t elements[256];
  const auto at = [](std::int64_t i) { return i < 0 ? nullptr : elements + i; };
  for (const Placed& p : kPlaced) {
    SCOPED_TRACE(p.what);
    tw_gemm_desc desc = described(p.m, p.n, p.k);
    desc.batch = p.batch;
    desc.lda = desc.ldb = desc.ldc = p.ld;
    const auto call = checked(&desc);
    ASSERT_TRUE(call) << call.error().message;
    const auto fine = check_operands(*call, {.alpha = p.alpha,
                                             .beta = p.beta,
                                             .a = at(p.a),
                                             .b = at(p.b),
                                             .c = at(p.c),
                                             .bias = at(p.bias)});
    EXPECT_EQ(fine ? TW_OK : fine.error().status, p.status);
    if (!fine) {
      EXPECT_THAT(fine.error().message, HasSubstr(p.said));
    }
  }
}

TEST(Call, OperandsMustBeAlignedToTheirElementsAndNoMore) {
  alignas(64) static unsigned char bytes[1024];
  tw_gemm_desc desc = described(4, 4, 4);
  desc.out = TW_F32;
  const auto call = checked(&desc);
  ASSERT_TRUE(call);
  const Operands fine{.a = bytes + 2, .b = bytes + 102, .c = bytes + 204, .bias = bytes + 404};
  EXPECT_TRUE(check_operands(*call, fine));
  for (const auto& [name, spoil] : std::vector<std::pair<const char*, void (*)(Operands&)>>{
           {"a=", [](Operands& o) { o.a = bytes + 1; }},
           {"b=", [](Operands& o) { o.b = bytes + 103; }},
           {"c=", [](Operands& o) { o.c = bytes + 206; }},
           {"bias=", [](Operands& o) { o.bias = bytes + 406; }}}) {
    Operands spoilt = fine;
    spoil(spoilt);
    const auto refused = check_operands(*call, spoilt);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().status, TW_INVALID);
    EXPECT_THAT(refused.error().message, HasSubstr(name));
    EXPECT_THAT(refused.error().message, HasSubstr("not aligned"));
  }
}

}  // namespace
}  // namespace tilewright::runtime
