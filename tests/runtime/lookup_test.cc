// SPDX-License-Identifier: Apache-2.0
#include "runtime/lookup.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tilewright::runtime {
namespace {

WisdomEntry entry(std::string problem, std::string program = "cpu a=1",
                  std::string mode = "offline") {
  return {.problem = std::move(problem),
          .program = std::move(program),
          .mode = std::move(mode),
          .time_us = 1,
          .reference = "",
          .ratio = 0,
          .date = "2026-11-30"};
}

Problem problem(const std::string& text) {
  return parse_problem(text).value();
}

constexpr auto kAny = [](std::size_t) { return true; };

struct Asked {
  std::string problem;
  int program;  // of kKnown, -1: none
  std::optional<Origin> origin;
  double distance;
};

const std::vector<WisdomEntry> kKnown = {
    entry("64x64x64 f16 nn", "cpu p=0"),
    entry("128x64x64 f16 nn", "cpu p=1"),
    entry("128x64x64 f16 nn lda=72", "cpu p=2"),
    entry("1024x1024x1024 bf16 nt", "cpu p=3"),
    entry("1024x1024x1024 bf16 nt beta=any", "cpu p=4"),
    entry("64x64x64 f16 nn out=f32", "cpu p=5"),
    entry("64x64x64 f16 nn batch=4", "cpu p=6"),
    entry("no problem at all", "cpu p=7"),
    entry("64x64x64 acc=f16 f16 nn", "cpu p=8"),
};

const std::vector<Asked> kAsked = {
    {"64x64x64 f16 nn", 0, Origin::exact, 0},
    {"128x64x64 f16 nn lda=72", 2, Origin::exact, 0},
    {"128x64x64 f16 nn lda=80", 1, Origin::nearest, 0},    // as far as p=2, and earlier
    {"128x64x128 f16 nn lda=144", 1, Origin::nearest, 1},  // other strides all the same
    {"80x64x64 f16 nn", 0, Origin::nearest, 0.3219280948873623},
    {"96x64x64 f16 nn", 1, Origin::nearest, 0.4150374992788438},
    {"16x64x64 f16 nn", 0, Origin::nearest, 2},  // two octaves are just near
    {"15x64x64 f16 nn", -1, std::nullopt, 0},
    {"256x256x256 f16 nn", 1, Origin::nearest, 5},
    {"64x64x64 f16 nt", -1, std::nullopt, 0},   // another layout
    {"64x64x64 bf16 nn", -1, std::nullopt, 0},  // another type
    {"64x64x64 f16 nn batch=3", 6, Origin::nearest, 0.4150374992788438},
    {"64x64x64 f16 nn batch=32", -1, std::nullopt, 0},
    {"64x64x64 f16 acc=f16 nn", 8, Origin::exact, 0},
    {"64x64x64 f16 nn out=f32", 5, Origin::exact, 0},
    {"64x64x64 f16 nn alpha=any", 0, Origin::nearest, 0},  // the plain one serves
    {"1024x1024x1000 bf16 nt beta=any", 4, Origin::nearest, 0.03421571533822045},
    {"1024x1024x1024 bf16 nt beta=one", 3, Origin::nearest, 0},
    {"64x64x0 f16 nn", -1, std::nullopt, 0},
    {"0x64x64 f16 nn", -1, std::nullopt, 0},
};

TEST(Lookup, ExactThenNearestThenNothing) {
  const Lookup lookup(kKnown);
  for (const Asked& asked : kAsked) {
    SCOPED_TRACE(asked.problem);
    const auto hit = lookup.find(problem(asked.problem), kAny);
    if (asked.program < 0) {
      EXPECT_FALSE(hit);
      continue;
    }
    if (!hit) {
      ADD_FAILURE() << "nothing was found";
      continue;
    }
    EXPECT_EQ(lookup.entries()[hit->index].program, "cpu p=" + std::to_string(asked.program));
    EXPECT_EQ(hit->origin, asked.origin);
    EXPECT_NEAR(hit->distance, asked.distance, 1e-9);
  }
}

TEST(Lookup, WhatCannotServeIsPassedOver) {
  const Lookup lookup(kKnown);
  const auto but = [&](std::string program) {
    return [&lookup, program](std::size_t i) { return lookup.entries()[i].program != program; };
  };
  const auto second = lookup.find(problem("64x64x64 f16 nn"), but("cpu p=0"));
  ASSERT_TRUE(second);
  EXPECT_EQ(lookup.entries()[second->index].program, "cpu p=1");
  EXPECT_EQ(second->origin, Origin::nearest);
  EXPECT_FALSE(lookup.find(problem("64x64x64 f16 nn"), [](std::size_t) { return false; }));
}

TEST(Lookup, TheSameStridesAreNearer) {
  const Lookup lookup({entry("64x64x64 f16 nn"), entry("64x64x64 f16 nn lda=72", "cpu b=2")});
  const auto hit = lookup.find(problem("128x64x64 f16 nn lda=72"), kAny);
  ASSERT_TRUE(hit);
  EXPECT_EQ(lookup.entries()[hit->index].program, "cpu b=2");
}

TEST(Lookup, OfflineGoesBeforeOtherModes) {
  const Lookup lookup({entry("64x64x64 f16 nn", "cpu a=hot", "hot"),
                       entry("64x64x64 f16 nn", "cpu a=offline", "offline"),
                       entry("32x64x64 f16 nn", "cpu a=server", "server")});
  EXPECT_EQ(lookup.entries()[lookup.find(problem("64x64x64 f16 nn"), kAny)->index].program,
            "cpu a=offline");
  EXPECT_EQ(lookup.entries()[lookup.find(problem("32x64x64 f16 nn"), kAny)->index].program,
            "cpu a=server");
}

// What is chosen for a batch-invariant call is the same for every m and batch.
TEST(Lookup, ColumnsLookAtNeitherRowsNorBatch) {
  const Lookup lookup(kKnown);
  for (const char* m : {"1", "15", "64", "128", "100000"}) {
    for (const char* batch : {"1", "4", "1000"}) {
      const auto hit = lookup.find(problem(std::string(m) + "x64x64 f16 nn batch=" + batch), kAny,
                                   Sizes::columns);
      ASSERT_TRUE(hit);
      EXPECT_EQ(hit->index, 0u);
      EXPECT_EQ(hit->origin, Origin::nearest);
    }
  }
  EXPECT_FALSE(lookup.find(problem("64x1024x64 f16 nn"), kAny, Sizes::columns));
}

TEST(Lookup, OfNothing) {
  EXPECT_FALSE(Lookup().find(problem("64x64x64"), kAny));
  EXPECT_FALSE(Lookup(std::vector<WisdomEntry>{}).find(problem("64x64x64"), kAny));
}

}  // namespace
}  // namespace tilewright::runtime
