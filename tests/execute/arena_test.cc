// SPDX-License-Identifier: Apache-2.0
// Arenas: alignment, separation, and each guard noticed and named (case B20).
#include "execute/arena.h"

#include "base/rng.h"
#include "execute/candidates.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

constexpr const char* kGappy = "gemm 5x7x3 f16 acc=f32 tn out=f32 batch=2 lda=8 ldb=16 ldc=11";

Arena make(const std::string& text, int sets = 1, std::int64_t workspace = 0) {
  auto arena = Arena::create(test_problem(text), sets, workspace);
  EXPECT_TRUE(arena) << arena.error().message;
  return std::move(*arena);
}

TEST(ArenaTest, MatricesAreAlignedApartAndOfTheRightSize) {
  const Arena arena = make(kGappy, 3, 100);
  // A is K x M (transposed): 2 x 3 rows of 8 halves, less the last row's gap.
  EXPECT_EQ(arena.a(0).size(), (2 * 3 * 8 - 3) * 2U);
  EXPECT_EQ(arena.b(0).size(), (2 * 3 * 16 - 9) * 2U);
  EXPECT_EQ(arena.c(0).size(), (2 * 5 * 11 - 4) * 4U);
  EXPECT_EQ(arena.c(0, Owner::baseline).size(), arena.c(0).size());
  EXPECT_EQ(arena.workspace().size(), 100U);
  std::vector<std::span<std::byte>> all = {arena.workspace()};
  for (int set = 0; set < 3; ++set) {
    for (const auto piece :
         {arena.a(set), arena.b(set), arena.c(set), arena.c(set, Owner::baseline)}) {
      all.push_back(piece);
    }
  }
  std::ranges::sort(all, {}, [](const auto& piece) { return piece.data(); });
  const std::byte* end = arena.base();
  for (const auto& piece : all) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % 64, 0U);
    EXPECT_GE(piece.data() - end, kGuardBytes);
    end = piece.data() + piece.size();
  }
  EXPECT_GE(arena.base() + arena.layout().bytes - end, kGuardBytes);
}

TEST(ArenaTest, ArgumentsPointAtTheMatrices) {
  const Arena arena = make(kGappy, 2, 64);
  const auto args =
      arguments(arena.problem(), arena.layout(), arena.base(), 1, Owner::baseline, 2, 3);
  EXPECT_EQ(args.a, arena.a(1).data());
  EXPECT_EQ(args.b, arena.b(1).data());
  EXPECT_EQ(args.c, arena.c(1, Owner::baseline).data());
  EXPECT_EQ(args.workspace, arena.workspace().data());
  EXPECT_EQ(args.lda, 8);
  EXPECT_EQ(args.stride_a, 3 * 8);
  EXPECT_EQ(args.stride_b, 3 * 16);
  EXPECT_EQ(args.stride_c, 5 * 11);
  EXPECT_EQ(args.beta, 3);
  // The last element that a kernel may touch is the storage's last.
  const auto* const last =
      static_cast<const std::byte*>(args.c) + (args.stride_c * 1 + 4 * args.ldc + 6) * 4;
  EXPECT_EQ(last + 4, arena.c(1, Owner::baseline).data() + arena.c(1).size());
}

struct Poke {
  const char* what;  // matrix: a, b, c, d (the baselines' C), w
  std::int64_t at;   // bytes from its first element; from its end if `from_end`
  bool from_end;
  const char* expected;
};

std::byte* place(const Arena& arena, const Poke& poke, int set) {
  const std::string_view what = poke.what;
  const std::span<std::byte> piece = what == "a"   ? arena.a(set)
                                     : what == "b" ? arena.b(set)
                                     : what == "c" ? arena.c(set)
                                     : what == "d" ? arena.c(set, Owner::baseline)
                                                   : arena.workspace();
  return piece.data() + (poke.from_end ? static_cast<std::int64_t>(piece.size()) : 0) + poke.at;
}

TEST(ArenaTest, EachBrokenGuardIsNamed) {
  const Poke pokes[] = {
      {"c", 0, true, "C, 1 byte past the end"},
      {"c", 200, true, "C, 201 bytes past the end"},
      {"c", 255, true, "C, 256 bytes past the end"},
      {"c", -1, false, "C, 1 byte before the start"},
      {"c", -256, false, "C, 256 bytes before the start"},
      {"c", 7 * 4, false, "C, batch 0, row 0, 1 byte into the row gap"},
      {"c", (6 * 11 + 10) * 4 + 3, false, "C, batch 1, row 1, 16 bytes into the row gap"},
      {"c", (4 * 11 + 7) * 4, false, "C, batch 0, row 4, 1 byte into the row gap"},
      {"a", 5 * 2, false, "A, batch 0, row 0, 1 byte into the row gap"},
      {"a", 0, true, "A, 1 byte past the end"},
      {"a", -2, false, "A, 2 bytes before the start"},
      {"b", 1, true, "B, 2 bytes past the end"},
      {"b", -64, false, "B, 64 bytes before the start"},
      {"b", (5 * 16 - 1) * 2, false, "B, batch 1, row 1, 17 bytes into the row gap"},
      {"d", 0, true, "the baselines' C, 1 byte past the end"},
      {"w", 0, true, "workspace, 1 byte past the end"},
      {"w", -1, false, "workspace, 1 byte before the start"},
  };
  const Arena arena = make(kGappy, 2, 100);
  for (const Poke& poke : pokes) {
    std::byte* const at = place(arena, poke, 1);
    const std::byte kept = *at;
    *at ^= std::byte{1};
    EXPECT_THAT(arena.broken_guard(1), Optional(std::string(poke.expected)));
    EXPECT_EQ(arena.broken_guard(0).has_value(), *poke.what == 'w');  // the workspace is shared
    *at = kept;
    EXPECT_EQ(arena.broken_guard(1), std::nullopt) << poke.expected;
  }
  *place(arena, pokes[0], 1) ^= std::byte{8};
  arena.paint_guards();
  EXPECT_EQ(arena.broken_guard(1), std::nullopt);
}

TEST(ArenaTest, AGuardPattern) {
  // A row's worth of guard copied over another row's, or shifted, does not pass.
  const Arena arena = make("gemm 8x64x8 f16 acc=f32 nn", 1);
  std::byte* const end = arena.c(0).data() + arena.c(0).size();
  std::memmove(end, end + 128, 64);
  EXPECT_THAT(arena.broken_guard(0), Optional(StartsWith("C, ")));
}

// The data itself is nobody's guard: filling all matrices leaves every guard intact.
TEST(ArenaTest, DataIsNotGuard) {
  Rng rng(1);
  for (int round = 0; round < 60; ++round) {
    Problem p;
    p.m = static_cast<std::int64_t>(rng.below(9));
    p.n = static_cast<std::int64_t>(rng.below(9));
    p.k = static_cast<std::int64_t>(rng.below(9));
    p.batch = 1 + static_cast<std::int64_t>(rng.below(3));
    p.a_transposed = rng.below(2) == 1;
    p.b_transposed = rng.below(2) == 1;
    p.out = rng.below(2) == 1 ? ElementType::f32 : ElementType::f16;
    if (rng.below(2) == 1) p.ldc = p.n + 1 + static_cast<std::int64_t>(rng.below(40));
    if (rng.below(2) == 1) p.lda = p.a_cols() + 1 + static_cast<std::int64_t>(rng.below(40));
    auto arena = Arena::create(p, 2, static_cast<std::int64_t>(rng.below(200)));
    ASSERT_TRUE(arena) << to_text(p) << arena.error().message;
    for (int set = 0; set < 2; ++set) {
      const auto write = [set](void* to, ElementType type, std::int64_t rows, std::int64_t cols,
                               std::int64_t stride) {
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) store(type, to, i * stride + j, set + 1);
        }
      };
      write(arena->a(set).data(), p.in, p.batch * p.a_rows(), p.a_cols(), p.a_stride());
      write(arena->b(set).data(), p.in, p.batch * p.b_rows(), p.b_cols(), p.b_stride());
      for (const Owner owner : {Owner::candidate, Owner::baseline}) {
        write(arena->c(set, owner).data(), p.out, p.batch * p.m, p.n, p.c_stride());
      }
      arena->scrub_workspace(static_cast<std::uint32_t>(set));
    }
    for (int set = 0; set < 2; ++set) {
      EXPECT_EQ(arena->broken_guard(set), std::nullopt) << to_text(p);
    }
  }
}

TEST(ArenaTest, ScrubbingDependsOnTheSalt) {
  const Arena arena = make("gemm 2x2x2 f16 acc=f32 nn", 1, 128);
  arena.scrub_workspace(1);
  const std::vector<std::byte> first(arena.workspace().begin(), arena.workspace().end());
  arena.scrub_workspace(2);
  EXPECT_FALSE(std::ranges::equal(first, arena.workspace()));
  arena.scrub_workspace(1);
  EXPECT_TRUE(std::ranges::equal(first, arena.workspace()));
}

TEST(ArenaTest, TheFileCannotBeResized) {
  const Arena arena = make("gemm 2x2x2 f16 acc=f32 nn");
  EXPECT_NE(ftruncate(arena.fd(), 0), 0);
  EXPECT_NE(ftruncate(arena.fd(), arena.layout().bytes * 2), 0);
}

TEST(ArenaTest, RefusesWhatDoesNotFit) {
  const Problem small = test_problem();
  EXPECT_THAT(Arena::create(small, 0, 0).error().message, HasSubstr("sets = 0"));
  EXPECT_THAT(Arena::create(small, 1, -1).error().message, HasSubstr("workspace_bytes = -1"));
  const auto huge =
      Arena::create(test_problem("gemm 1000000x1000000x1000000 f16 acc=f32 nn"), 1, 0);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::environment);
  EXPECT_THAT(huge.error().message, HasSubstr("GiB"));
}

}  // namespace
}  // namespace tilewright
