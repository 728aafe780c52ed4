// SPDX-License-Identifier: Apache-2.0
// Sessions with well-behaved candidates: calls, sizes, teams, baselines, time.
#include "execute/session.h"

#include "execute/candidates.h"

#include "baseline/baseline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kGood = "KERNEL { plain(x, team); }";

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WorkerOptions options = test_options();
    options.call_limit = std::chrono::seconds(60);  // nothing hangs here, but machines are busy
    auto started = Worker::start(options, detect_cpu());
    ASSERT_TRUE(started) << started.error().message;
    worker.emplace(std::move(*started));
  }
  Arena arena_of(const std::string& text = "gemm 12x20x16 bf16 acc=f32 nn out=f32", int sets = 1) {
    auto arena = Arena::create(test_problem(text), sets, 256);
    EXPECT_TRUE(arena) << arena.error().message;
    fill(*arena);
    return std::move(*arena);
  }
  std::unique_ptr<Session> open(const Arena& arena, const Binary* binary,
                                const std::vector<std::string>& baselines = {}) {
    auto opened = worker->open(arena, binary, baselines);
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return nullptr;
    EXPECT_TRUE(opened->finding.ok()) << opened->finding.rule << ": " << opened->finding.detail;
    return std::move(opened->session);
  }
  static void expect_product(const Arena& arena, int set, Owner owner = Owner::candidate,
                             double alpha = 1, double beta_times_c = 0) {
    const Problem& p = arena.problem();
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          const double got =
              load(ElementType::f32, arena.c(set, owner).data(), (b * p.m + i) * p.c_stride() + j);
          ASSERT_EQ(got, alpha * product(arena, set, b, i, j, p.k) + beta_times_c)
              << b << " " << i << " " << j;
        }
      }
    }
  }
  std::optional<Worker> worker;
};

TEST_F(SessionTest, ReportsIsolation) {
  EXPECT_THAT(worker->facts().isolation, ::testing::Contains("rlimits"));
  EXPECT_EQ(worker->facts().missing.empty(), worker->facts().isolation.size() == 3)
      << worker->facts().missing;
}

TEST_F(SessionTest, CallsComputeTheProductInTheRightSet) {
  const Arena arena =
      arena_of("gemm 12x20x16 bf16 acc=f32 nn out=f32 batch=3 lda=24 ldb=32 ldc=40", 3);
  const Binary binary = build(kGood);
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  for (int set : {2, 0, 1}) {
    const Finding finding = session->call("candidate", set);
    ASSERT_TRUE(finding.ok()) << finding.rule << finding.detail;
    expect_product(arena, set);
    EXPECT_EQ(arena.broken_guard(set), std::nullopt);
  }
}

TEST_F(SessionTest, AlphaAndBetaArrive) {
  const Arena arena = arena_of();
  const Binary binary = build(kGood);
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  for (std::int64_t i = 0; i < 12 * 20; ++i) store(ElementType::f32, arena.c(0).data(), i, 8);
  ASSERT_TRUE(session->call("candidate", 0, 3, 0.5F).ok());
  expect_product(arena, 0, Owner::candidate, 3, 4);
}

TEST_F(SessionTest, SmallerSizesUseTheStridesOfTheArena) {
  const Arena arena = arena_of();
  const Binary binary = build(kGood);
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  std::ranges::fill(arena.c(0), std::byte{0xff});
  ASSERT_TRUE(session->call_sizes(11, 19, 15).ok());
  EXPECT_EQ(load(ElementType::f32, arena.c(0).data(), 10 * 20 + 18),
            product(arena, 0, 0, 10, 18, 15));
  EXPECT_EQ(static_cast<int>(arena.c(0)[19 * 4]), 0xff);       // column 19 is not ours
  EXPECT_EQ(static_cast<int>(arena.c(0)[11 * 20 * 4]), 0xff);  // nor row 11
  EXPECT_EQ(session->call_sizes(13, 20, 16).rule, "request");
  EXPECT_TRUE(session->call_sizes(0, 0, 0).ok());
}

// Every thread writes what it saw of the others through the barrier, 200 times over.
TEST_F(SessionTest, TeamsMeetAtTheBarrier) {
  const Arena arena = arena_of();
  for (const int threads : {1, 2, 4}) {
    const Binary binary = build(R"(
KERNEL {
  volatile int* slots = (volatile int*)x->workspace;
  int* bad = (int*)x->c;
  if (team->thread == 0) *bad = 0;
  for (int round = 1; round <= 200; ++round) {
    slots[team->thread] = round;
    team->barrier(team->state);
    for (int t = 0; t < team->threads; ++t)
      if (slots[t] != round) __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
    team->barrier(team->state);
  }
  if (team->thread == 0) bad[1] = team->threads;
})",
                                threads);
    auto session = open(arena, &binary);
    ASSERT_TRUE(session);
    for (int call = 0; call < 5; ++call) {
      const Finding finding = session->call("candidate", 0);
      ASSERT_TRUE(finding.ok()) << threads << finding.rule << finding.detail;
      const auto* const written = reinterpret_cast<const int*>(arena.c(0).data());
      EXPECT_EQ(written[0], 0);
      EXPECT_EQ(written[1], threads);
    }
  }
}

TEST_F(SessionTest, OrdinaryLibraryUseIsAllowed) {
  const Arena arena = arena_of();
  const Binary binary = build(R"(
KERNEL {
  char* large = (char*)malloc(64 << 20);  // mmap
  for (int i = 0; i < 64; ++i) large[(size_t)i << 20] = 1;
  char* small[100];
  for (int i = 0; i < 100; ++i) small[i] = (char*)malloc(8000);  // brk
  for (int i = 0; i < 100; ++i) free(small[i]);
  free(large);
  sched_yield();
  printf("printed\n");
  fflush(stdout);
  plain(x, team);
})");
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  const Finding finding = session->call("candidate", 0);
  ASSERT_TRUE(finding.ok()) << finding.rule << finding.detail;
  expect_product(arena, 0);
}

TEST_F(SessionTest, TimesWhatThePlanSays) {
  const Arena arena = arena_of("gemm 12x20x16 bf16 acc=f32 nn out=f32", 3);
  const Binary binary = build(kGood, 2);
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  std::vector<Burst> plan(3);
  plan[0] = {.contestant = "candidate", .calls = 20, .first_set = 1, .settle_seconds = 0.001};
  plan[1] = {.contestant = "candidate", .calls = 5, .each = true, .gap_mean_us = 300};
  plan[2] = {.contestant = "candidate", .calls = 4, .gap_mean_us = 200, .gap_seed = 3};
  const TimingReply reply = session->time(plan);
  ASSERT_TRUE(reply.finding.ok()) << reply.finding.rule << reply.finding.detail;
  ASSERT_THAT(reply.samples, SizeIs(7));
  EXPECT_THAT(reply.samples, Each(Field(&Sample::contestant, "candidate")));
  EXPECT_THAT(reply.samples, Each(Field(&Sample::seconds, ::testing::Gt(0))));
  EXPECT_EQ(reply.samples[0].calls, 20);
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_EQ(reply.samples[i].burst, 1);
    EXPECT_EQ(reply.samples[i].calls, 1);
  }
  EXPECT_EQ(reply.samples[6].calls, 4);
  // The two clocks agree: the child accounts for no more than passed.
  EXPECT_LE(reply.claimed_seconds, reply.wall_seconds);
  EXPECT_GT(reply.claimed_seconds, 0.001);
  for (int set = 0; set < 3; ++set) expect_product(arena, set);
}

// A kernel that counts its calls in C shows that calls_per_set() knows what time() does.
TEST_F(SessionTest, CallsPerSetCountsEveryCall) {
  const Arena arena = arena_of("gemm 12x20x16 bf16 acc=f32 nn out=f32", 4);
  const Binary binary = build("KERNEL { ++*(int*)x->c; }");
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  const std::vector<Burst> plan = {
      {.contestant = "candidate", .calls = 6, .first_set = 0},
      {.contestant = "candidate", .calls = 3, .first_set = 2, .each = true},
      {.contestant = "candidate", .calls = 1, .first_set = 3},
  };
  for (int set = 0; set < 4; ++set) *reinterpret_cast<int*>(arena.c(set).data()) = 0;
  ASSERT_TRUE(session->time(plan).finding.ok());
  const auto expected = calls_per_set(plan, "candidate", 4);
  EXPECT_THAT(expected, ::testing::ElementsAre(3, 2, 3, 4));
  for (int set = 0; set < 4; ++set) {
    EXPECT_EQ(*reinterpret_cast<int*>(arena.c(set).data()),
              expected[static_cast<std::size_t>(set)]);
  }
  EXPECT_THAT(calls_per_set(plan, "openblas", 4), Each(0));
}

TEST_F(SessionTest, RefusesWhatIsNotThere) {
  const Arena arena = arena_of();
  const Binary binary = build(kGood);
  auto session = open(arena, &binary);
  ASSERT_TRUE(session);
  EXPECT_THAT(session->call("cublas", 0).detail,
              HasSubstr("contestant = cublas: there is candidate"));
  EXPECT_THAT(session->call("candidate", 1).detail, HasSubstr("set = 1"));
  EXPECT_THAT(session->time({{.contestant = "candidate", .calls = 0}}).finding.detail,
              HasSubstr("calls = 0"));
  EXPECT_TRUE(session->call("candidate", 0).ok());  // none of these ended the session
  EXPECT_FALSE(worker->open(arena, &binary, {}));   // one session at a time
}

// Baselines write to a C of their own, in the same process, under the same lockdown.
TEST_F(SessionTest, BaselinesComputeBesideTheCandidate) {
  const Arena arena = arena_of("gemm 12x20x16 bf16 acc=f32 nn out=f32", 2);
  std::vector<std::string> names;
  for (const BaselineInfo& info : baselines_for(arena.problem(), detect_cpu())) {
    if (info.available) names.push_back(info.name);
  }
  ASSERT_THAT(names, ::testing::Contains("reference"));
  const Binary binary = build(kGood, 2);
  auto session = open(arena, &binary, names);
  ASSERT_TRUE(session);
  std::vector<Burst> plan;
  for (const std::string& name : names) {
    for (int set = 0; set < 2; ++set) {
      std::ranges::fill(arena.c(set, Owner::baseline), std::byte{0xff});
      const Finding finding = session->call(name, set);
      ASSERT_TRUE(finding.ok()) << name << finding.rule << finding.detail;
      expect_product(arena, set, Owner::baseline);
    }
    plan.push_back({.contestant = name, .calls = 3});
    plan.push_back({.contestant = "candidate", .calls = 3});
  }
  ASSERT_TRUE(session->call("candidate", 0).ok());
  expect_product(arena, 0);
  const TimingReply reply = session->time(plan);
  ASSERT_TRUE(reply.finding.ok()) << reply.finding.rule << reply.finding.detail;
  EXPECT_THAT(reply.samples, SizeIs(plan.size()));
  std::ranges::fill(arena.b(1), std::byte{0});
  ASSERT_TRUE(session->reprepare().ok());
  for (const std::string& name : names) {
    ASSERT_TRUE(session->call(name, 1).ok());
    expect_product(arena, 1, Owner::baseline);
  }
}

// A library may make machine code for each scale. Alone it may; beside a candidate, where that is
// forbidden, the scales of timed calls work and no other is called a cheat.
TEST_F(SessionTest, BaselinesTakeScales) {
  const Arena arena = arena_of("gemm 12x20x16 bf16 acc=f32 nn out=f32 alpha=any beta=any", 2);
  const auto check_call = [&](Session& session, const std::string& name, float alpha, float beta) {
    const Owner owner = name == "candidate" ? Owner::candidate : Owner::baseline;
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t j = 0; j < 20; ++j) {
        store(ElementType::f32, arena.c(1, owner).data(), i * 20 + j, 8);
      }
    }
    const Finding finding = session.call(name, 1, alpha, beta);
    ASSERT_TRUE(finding.ok()) << name << " " << finding.rule << finding.detail;
    expect_product(arena, 1, owner, alpha, 8 * beta);
    EXPECT_EQ(arena.broken_guard(1), std::nullopt) << name;
  };
  const Binary binary = build(kGood, 2);
  for (const BaselineInfo& info : baselines_for(arena.problem(), detect_cpu())) {
    if (!info.available) continue;
    SCOPED_TRACE(info.name);
    auto alone = open(arena, nullptr, {info.name});
    ASSERT_TRUE(alone);
    for (const float alpha : {4.0F, 0.0F, 1.0F}) {
      for (const float beta : {0.5F, 0.0F, 1.0F}) check_call(*alone, info.name, alpha, beta);
    }
    alone.reset();
    auto beside = open(arena, &binary, {info.name});
    ASSERT_TRUE(beside);
    check_call(*beside, "candidate", 3, 0.5);
    for (const float beta : {timed_beta(arena.problem()), 0.0F}) {
      check_call(*beside, info.name, 1, beta);
    }
    const Finding other = beside->call(info.name, 1, 3, 0.25);
    EXPECT_TRUE(other.ok() || other.rule == "baseline") << other.rule << other.detail;
  }
}

TEST_F(SessionTest, BaselinesAloneAndUnknownOnes) {
  const Arena arena = arena_of();
  auto session = open(arena, nullptr, {"reference"});
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->call("reference", 0).ok());
  expect_product(arena, 0, Owner::baseline);
  EXPECT_EQ(session->call("candidate", 0).rule, "request");
  session.reset();
  const auto unknown = worker->open(arena, nullptr, {"no-such-library"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no-such-library"));
  EXPECT_TRUE(open(arena, nullptr, {"reference"}));  // the worker is free again
}

TEST(WorkerTest, NamesTheRunnerThatIsMissing) {
  WorkerOptions options;
  options.runner = "/nowhere/tilewright-runner";
  const auto worker = Worker::start(options, detect_cpu());
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::environment);
  EXPECT_THAT(worker.error().message, HasSubstr("/nowhere/tilewright-runner"));
  options.runner = "/bin/true";  // a program, but not ours
  EXPECT_FALSE(Worker::start(options, detect_cpu()));
}

}  // namespace
}  // namespace tilewright
