// SPDX-License-Identifier: Apache-2.0
// Policies against their contract, and evolution against random search on an invented landscape.
#include "policy/every_policy.h"
#include "program/family_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tilewright {
namespace {

TEST_P(EveryPolicy, ProposesLegalProgramsOnce) {
  for (const char* text : {"8x1536x1024 bf16 acc=f32 nn", "128x768x512 f16 acc=f32 nt",
                           "1x1024x1024 f16 acc=f32 nn"}) {
    const PolicyContext context = context_for(text);
    auto policy = make_policy(GetParam(), context).value();
    EXPECT_EQ(policy->name(), GetParam());
    std::set<std::string> seen;
    for (int i = 0; i < 30; ++i) {
      const auto programs = policy->propose(1);
      ASSERT_EQ(programs.size(), 1U) << text;
      EXPECT_TRUE(is_legal(programs.front(), context.problem, context.device));
      EXPECT_TRUE(seen.insert(programs.front().text()).second) << programs.front().text();
      policy->observe(ok_trial(context, programs.front(), 10.0 + i));
    }
  }
}

TEST_P(EveryPolicy, RunsDryInsteadOfRepeating) {
  // A device with one instruction set and one core, a problem of one element: a small space.
  PolicyContext context = context_for("1x1x1 f16 acc=f32 nn");
  context.device.isa = {};
  context.device.cores = 1;
  const double count = Space(cpu_family(), context.problem, context.device).count();
  ASSERT_LT(count, 500);
  auto policy = make_policy(GetParam(), context).value();
  std::set<std::string> seen;
  int dry = 0;
  for (int i = 0; i < 600 && dry < 20; ++i) {
    const std::vector<Program> proposed = policy->propose(1);
    dry = proposed.empty() ? dry + 1 : 0;
    for (const Program& program : proposed) {
      EXPECT_TRUE(seen.insert(program.text()).second);
      policy->observe(ok_trial(context, program, 5));
    }
  }
  EXPECT_LE(static_cast<double>(seen.size()), count);
  EXPECT_GT(static_cast<double>(seen.size()), 0.9 * count);
  EXPECT_TRUE(policy->propose(4).empty());
}

TEST_P(EveryPolicy, NeverProposesWhatIsRecorded) {
  const PolicyContext context = context_for("8x1536x1024 bf16 acc=f32 nn");
  auto first = make_policy(GetParam(), context).value();
  auto second = make_policy(GetParam(), context).value();
  std::set<std::string> known;
  for (const Program& program : first->propose(20)) {
    known.insert(program.text());
    second->observe(ok_trial(context, program, 7));
  }
  for (const Program& program : second->propose(20)) {
    EXPECT_FALSE(known.contains(program.text()));
  }
}

TEST_P(EveryPolicy, IsRepeatable) {
  const PolicyContext context = context_for("32x1024x896 bf16 acc=f32 nt", 42);
  std::vector<std::string> runs[2];
  for (auto& run : runs) {
    auto policy = make_policy(GetParam(), context).value();
    for (int i = 0; i < 15; ++i) {
      for (const Program& program : policy->propose(1)) {
        run.push_back(program.text());
        policy->observe(ok_trial(context, program, static_cast<double>(program.number("mr")) + 1));
      }
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST_P(EveryPolicy, LearnsNothingFromFailuresButSurvivesThem) {
  const PolicyContext context = context_for("8x512x512 f16 acc=f32 nn");
  auto policy = make_policy(GetParam(), context).value();
  for (int i = 0; i < 20; ++i) {
    for (const Program& program : policy->propose(1)) {
      Trial trial = ok_trial(context, program, 0);
      trial.outcome = Outcome::crash;
      policy->observe(trial);
    }
  }
  EXPECT_EQ(policy->propose(3).size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy,
                         ::testing::Values("random", "analytic", "evolve", "ga", "anneal", "tpe",
                                           "transfer", "boost", "boost-cold"),
                         policy_parameter);

TEST(Policy, AnUnknownNameListsTheKnown) {
  const auto policy = make_policy("magic", context_for("8x8x8"));
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().code, ErrorCode::usage);
  EXPECT_THAT(policy.error().message, ::testing::HasSubstr("'magic'"));
  EXPECT_THAT(policy.error().hint, ::testing::HasSubstr("evolve, analytic, random"));
}

TEST(Analytic, ProposesInTheOrderOfTheModel) {
  const PolicyContext context = context_for("128x1536x1024 f16 acc=f32 nn");
  auto policy = make_policy("analytic", context).value();
  double last = 0;
  for (const Program& program : policy->propose(100)) {
    const double seconds = estimate_seconds(program, context.problem, context.device);
    EXPECT_GE(seconds, last);
    last = seconds;
  }
}

// Pairs whose order was measured (docs/lab-notebook.md, 2026-11-29): the first is faster.
struct Pair {
  const char *problem, *faster, *slower;
};
constexpr Pair kPairs[] = {
    {"1024x1024x1024 f16 acc=f32 nn",
     "cpu isa=avx512 form=blocked threads=2 split=n mr=6 nr=64 kc=256 mc=48 nc=512 packb=f32 "
     "unroll=2 prefetch=0 order=nm sizes=runtime",
     "cpu isa=avx512 form=blocked threads=2 split=n mr=6 nr=64 kc=256 mc=48 nc=512 packb=half "
     "unroll=2 prefetch=0 order=nm sizes=runtime"},
    {"1024x1024x1024 bf16 acc=f32 nn",
     "cpu isa=avx512 form=blocked threads=2 split=n mr=6 nr=64 kc=256 mc=48 nc=512 packb=f32 "
     "unroll=2 prefetch=0 order=nm sizes=runtime",
     "cpu isa=avx512bf16 form=blocked threads=2 split=n mr=6 nr=64 kc=256 mc=48 nc=512 packb=pair "
     "unroll=2 prefetch=0 order=nm sizes=runtime"},
    {"8x1024x3584 bf16 acc=f32 nn",
     "cpu isa=avx512 form=direct threads=2 split=n mr=8 nr=32 kc=16 nc=0 packa=f32 unroll=2 "
     "prefetch=8 order=nm sizes=runtime",
     "cpu isa=avx512 form=direct threads=2 split=n mr=8 nr=32 kc=0 nc=0 packa=f32 unroll=2 "
     "prefetch=8 order=nm sizes=runtime"},
    {"128x1536x1024 f16 acc=f32 nn",
     "cpu isa=avx512 form=blocked threads=2 split=n mr=6 nr=32 kc=256 mc=48 nc=512 packb=f32 "
     "unroll=2 prefetch=0 order=nm sizes=runtime",
     "cpu isa=avx2 form=blocked threads=2 split=n mr=4 nr=24 kc=256 mc=48 nc=384 packb=f32 "
     "unroll=2 prefetch=0 order=nm sizes=runtime"},
};

TEST(CostModel, RanksMeasuredPairs) {
  const Device device = avx512_device(2);
  for (const Pair& pair : kPairs) {
    const Problem problem = parse_problem(pair.problem).value();
    const Program faster = parse_program(pair.faster).value();
    const Program slower = parse_program(pair.slower).value();
    ASSERT_TRUE(is_legal(faster, problem, device)) << pair.faster;
    ASSERT_TRUE(is_legal(slower, problem, device)) << pair.slower;
    EXPECT_LT(estimate_seconds(faster, problem, device), estimate_seconds(slower, problem, device))
        << pair.problem << "\n"
        << pair.slower;
  }
}

TEST(Evolve, TriesTheWinnersOfNearShapesFirst) {
  PolicyContext context = context_for("8x1536x1024 bf16 acc=f32 nn");
  PolicyContext near = context_for("8x1536x2048 bf16 acc=f32 nn", 5);
  auto random = make_policy("random", near).value();
  Program winner = random->propose(1).front();
  while (!is_legal(winner, context.problem, context.device)) winner = random->propose(1).front();
  Trial trial = ok_trial(near, winner, 3);
  trial.stage = "final";
  context.history.push_back(trial);
  auto policy = make_policy("evolve", context).value();
  EXPECT_EQ(policy->propose(1).front(), winner);
}

TEST(Evolve, BeatsRandomSearchAtEqualMeasurements) {
  double evolved = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const PolicyContext context = context_for("128x1536x1024 bf16 acc=f32 nn", seed);
    evolved += best_after("evolve", context, 60);
    random += best_after("random", context, 60);
  }
  EXPECT_LT(evolved, random);
}

}  // namespace
}  // namespace tilewright
