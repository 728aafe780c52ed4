// SPDX-License-Identifier: Apache-2.0
// Runs of tune against each other, from invented trials.
#include "replay/online.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Trial trial(const char* run, const char* policy, const char* problem, const char* stage,
            double ratio) {
  Trial made;
  made.run = run;
  made.policy = policy;
  made.problem = problem;
  made.stage = stage;
  made.outcome = ratio > 0 ? Outcome::ok : Outcome::wrong;
  made.total_seconds = 0.5;
  if (ratio > 0) {
    made.time_us = 10 / ratio;
    made.baselines["b"] = {.time_us = 10, .ratio = ratio};
  }
  return made;
}

constexpr const char* kOne = "gemm 8x8x8 f16 acc=f32 nn";
constexpr const char* kTwo = "gemm 8x8x16 f16 acc=f32 nn";
constexpr const char* kThree = "gemm 8x8x24 f16 acc=f32 nn";

std::vector<Trial> some_trials() {
  return {
      trial("short", "evolve", kOne, "screen", 9),  // a lucky screening counts for nothing
      trial("short", "evolve", kOne, "screen", 0),  trial("short", "evolve", kOne, "final", 1.0),
      trial("short", "evolve", kTwo, "screen", 1),  trial("short", "evolve", kTwo, "final", 1.2),
      trial("short", "evolve", kTwo, "final", 0.9), trial("long", "boost", kOne, "screen", 2),
      trial("long", "boost", kOne, "final", 2.0),   trial("long", "wisdom", kTwo, "screen", 1),
      trial("long", "boost", kTwo, "final", 0.6),   trial("long", "boost", kThree, "final", 0.6),
      trial("other", "lm", kOne, "final", 50)};
}

TEST(Online, EachRunOverTheBestOfThoseThatAreCompared) {
  const Result<OnlineBench> bench = online_bench(some_trials(), {"short", "long"}, 100, 1);
  ASSERT_TRUE(bench) << bench.error().message;
  EXPECT_THAT(bench->problems, ElementsAre(kTwo, kOne));
  EXPECT_THAT(bench->left_out, ElementsAre(kThree));
  ASSERT_EQ(bench->scores.size(), 2U);
  EXPECT_THAT(bench->scores[0].shape_areas, ElementsAre(1.0, DoubleNear(0.5, 1e-12)));
  EXPECT_THAT(bench->scores[1].shape_areas, ElementsAre(DoubleNear(0.5, 1e-12), 1.0));
  EXPECT_NEAR(bench->scores[1].area.value, 0.75, 1e-12);
  EXPECT_EQ(bench->scores[0].verdict, "reference");
  EXPECT_EQ(bench->scores[1].verdict, "undecided");
  EXPECT_EQ(bench->scores[1].shapes_better, 1);
  EXPECT_EQ(bench->scores[1].shapes_worse, 1);
  EXPECT_EQ(bench->runs[0].policy, "evolve");
  EXPECT_EQ(bench->runs[1].policy, "boost, wisdom");
  EXPECT_EQ(bench->runs[0].measured, 1.5);
  EXPECT_EQ(bench->runs[0].seconds, 1.5);
}

TEST(Online, WhatCannotBeComparedIsSaid) {
  const auto no_run = online_bench(some_trials(), {"short", "lang"}, 100, 1);
  ASSERT_FALSE(no_run);
  EXPECT_EQ(no_run.error().code, ErrorCode::usage);
  EXPECT_THAT(no_run.error().message, HasSubstr("'lang'"));
  const std::vector<Trial> apart = {trial("a", "p", kOne, "final", 1),
                                    trial("b", "p", kTwo, "final", 1)};
  const auto nothing = online_bench(apart, {"a", "b"}, 100, 1);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::negative);
}

TEST(Online, AsTextAndAsJson) {
  const OnlineBench bench = online_bench(some_trials(), {"short", "long"}, 100, 1).value();
  const std::string text = render_online(bench, Format::md, {{"mode", "offline"}}).value();
  EXPECT_THAT(text, HasSubstr("2 problems that every run has a proven winner for (1 left out)"));
  EXPECT_THAT(text, HasSubstr("| long | boost, wisdom | 1.0 | 0.750 ("));
  EXPECT_THAT(text, HasSubstr("- mode: offline"));
  const auto json = nlohmann::json::parse(render_online(bench, Format::json, {}).value());
  EXPECT_EQ(json.at("kind"), "policy-runs");
  EXPECT_EQ(json.at("runs").at(1).at("by_problem").at(kOne), 1.0);
  EXPECT_FALSE(render_online(bench, Format::csv, {}));
}

}  // namespace
}  // namespace tilewright
