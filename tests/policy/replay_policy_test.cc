// SPDX-License-Identifier: Apache-2.0
// Policies that are confined to a table, and policies that are offered other shapes' trials.
#include "policy/every_policy.h"
#include "policy/pool.h"

#include <gmock/gmock.h>

#include <set>

namespace tilewright {
namespace {

constexpr const char* kProblem = "128x1536x1024 bf16 acc=f32 nn";

// `count` programs, drawn with a seed of its own: the same table for every seed of a policy.
PolicyContext tabled(std::size_t count, std::uint64_t seed = 1, const char* problem = kProblem) {
  PolicyContext context = context_for(problem, seed);
  PolicyContext of_table = context_for(kProblem, 77);
  const std::vector<Program> programs = make_policy("random", of_table).value()->propose(count);
  context.only = std::make_shared<ProgramSet>(context.problem, context.device, programs);
  return context;
}

class EveryRival : public EveryPolicy {};

TEST_P(EveryRival, StaysInTheTableAndFindsAllOfIt) {
  const PolicyContext context = tabled(60);
  ASSERT_EQ(context.only->programs().size(), 60U);
  auto policy = make_policy(GetParam(), context).value();
  std::set<std::string> seen;
  for (int i = 0; i < 60; ++i) {
    for (const Program& program : policy->propose(1)) {
      EXPECT_TRUE(context.only->find(program)) << program.text();
      EXPECT_TRUE(seen.insert(program.text()).second) << program.text();
      Trial trial = ok_trial(context, program, invented_time(program));
      if (i % 7 == 0) trial.outcome = Outcome::wrong;
      policy->observe(trial);
    }
  }
  EXPECT_EQ(seen.size(), 60U);
  EXPECT_TRUE(policy->propose(3).empty());
}

TEST_P(EveryRival, RepeatsItself) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{80}}) {
    PolicyContext context = size > 0 ? tabled(size, 4) : context_for(kProblem, 4);
    std::vector<std::string> runs[2];
    for (auto& run : runs) {
      auto policy = make_policy(GetParam(), context).value();
      for (int i = 0; i < 25; ++i) {
        for (const Program& program : policy->propose(1)) {
          run.push_back(program.text());
          policy->observe(ok_trial(context, program, invented_time(program)));
        }
      }
    }
    EXPECT_EQ(runs[0], runs[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryRival,
                         ::testing::Values("random", "analytic", "evolve", "ga", "anneal", "tpe",
                                           "transfer", "boost", "boost-cold"),
                         policy_parameter);

class EverySearch : public EveryPolicy {};

// Not only at the end: the best so far, averaged over all steps, is less a matter of luck.
TEST_P(EverySearch, BeatsRandomSearchInTheSpaceAndInATable) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{400}}) {
    double searched = 0, random = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const PolicyContext context = size > 0 ? tabled(size, seed) : context_for(kProblem, seed);
      searched += mean_best(GetParam(), context, 60);
      random += mean_best("random", context, 60);
    }
    EXPECT_LT(searched, random) << size;
  }
}

// transfer is a search only after its transfers, which it has none of here.
INSTANTIATE_TEST_SUITE_P(All, EverySearch, ::testing::Values("ga", "anneal", "tpe", "boost-cold"),
                         policy_parameter);

class WithPriorData : public EveryPolicy {};

// Two other shapes, on which the same few decisions matter.
TEST_P(WithPriorData, OtherShapesMakeTheFirstProgramsBetter) {
  std::vector<Trial> others;
  for (const char* near : {"128x1536x2048 bf16 acc=f32 nn", "256x1536x1024 bf16 acc=f32 nn"}) {
    const PolicyContext context = tabled(300, 1, near);
    for (const Program& program : context.only->programs()) {
      others.push_back(ok_trial(context, program, invented_time(program)));
    }
  }
  double with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PolicyContext context = context_for(kProblem, seed);
    without += best_after(GetParam(), context, 8);
    context.history = others;
    with += best_after(GetParam(), context, 8);
  }
  EXPECT_LT(with, without);
}

INSTANTIATE_TEST_SUITE_P(All, WithPriorData,
                         ::testing::Values("evolve", "ga", "anneal", "tpe", "transfer", "boost"),
                         policy_parameter);

TEST(Table, TimesEachProgramTwiceAndGoesOnAfterAStop) {
  const PolicyContext context = tabled(5);
  auto first = make_policy("table", context).value();
  std::vector<Trial> done;
  for (const Program& program : first->propose(7)) {
    done.push_back(ok_trial(context, program, 3));
  }
  ASSERT_EQ(done.size(), 7U);
  EXPECT_EQ(done[5].program, done[0].program);

  auto second = make_policy("table", context).value();
  for (const Trial& trial : done) second->observe(trial);
  std::vector<std::string> rest;
  for (const Program& program : second->propose(100)) rest.push_back(program.text());
  EXPECT_THAT(rest, ::testing::ElementsAre(done[2].program, done[3].program, done[4].program));
}

TEST(Table, DoesNotTryAgainWhatCannotBeCompiled) {
  const PolicyContext context = tabled(2);
  auto policy = make_policy("table", context).value();
  Trial trial = ok_trial(context, policy->propose(1).front(), 0);
  trial.outcome = Outcome::compile_error;
  policy->observe(trial);
  for (const Program& program : policy->propose(10)) EXPECT_NE(program.text(), trial.program);
}

TEST(Table, IsNoSearch) {
  EXPECT_FALSE(make_policy("table", context_for(kProblem)).has_value());
}

TEST(Knobs, NamesAndRangesAreChecked) {
  Knobs knobs;
  for (const Knob& knob : all_knobs()) {
    EXPECT_EQ(knobs[knob.name], knob.fallback);
    EXPECT_LE(knob.least, knob.fallback) << knob.name;
    EXPECT_GE(knob.most, knob.fallback) << knob.name;
  }
  EXPECT_TRUE(knobs.set("boost.depth=3"));
  EXPECT_EQ(knobs["boost.depth"], 3);
  EXPECT_EQ(knobs.text(), "boost.depth=3");
  for (const char* bad : {"boost.deep=3", "boost.depth", "boost.depth=", "boost.depth=0",
                          "boost.depth=nan", "boost.depth=3x"}) {
    const Status status = knobs.set(bad);
    ASSERT_FALSE(status) << bad;
    EXPECT_EQ(status.error().code, ErrorCode::usage);
    EXPECT_FALSE(status.error().hint.empty());
  }
}

TEST(Pool, AdoptsWhatIsNotItsOwn) {
  const PolicyContext context = tabled(40);
  const PolicyContext open = context_for(kProblem);
  const Pool table(context), space(open);
  Rng rng(3);
  for (int i = 0; i < 20; ++i) {
    const Program stranger = *space.sample(rng);
    EXPECT_EQ(space.adopt(stranger, rng), stranger);
    EXPECT_TRUE(table.allows(*table.adopt(stranger, rng)));
  }
}

}  // namespace
}  // namespace tilewright
