// SPDX-License-Identifier: Apache-2.0
// measure() against a real runner: the numbers arrive, a candidate that works forty times as much
// as the reference does not win, and one that dies while timed is reported as such. The machine
// may be busy, so a noisy outcome is accepted; a wrong one is not.
#include "measure/measure.h"

#include "execute/candidates.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace tilewright {
namespace {

struct Bench {
  std::optional<Worker> worker;
  std::optional<Arena> arena;
  std::unique_ptr<Session> session;

  Bench(std::string_view kernel, int sets, const std::vector<std::string>& baselines) {
    WorkerOptions options = test_options();
    options.call_limit = std::chrono::seconds(60);
    const Device device = detect_cpu();
    // One thread each: waking a second one takes long on a busy machine, and would be compared.
    if (!device.cpus.empty()) options.cpus = {device.cpus[0]};
    auto started = Worker::start(options, device);
    auto created = Arena::create(test_problem("gemm 48x48x48 bf16 acc=f32 nn out=f32"), sets, 256);
    EXPECT_TRUE(started && created);
    if (!started || !created) return;
    worker.emplace(std::move(*started));
    arena.emplace(std::move(*created));
    fill(*arena);
    const Binary binary = build(kernel);
    auto opened = worker->open(*arena, &binary, baselines);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (opened) session = std::move(opened->session);
  }
};

MeasureOptions quick() {
  MeasureOptions options;
  options.rounds = 5;
  options.burst_seconds = 0.002;
  return options;
}

TEST(MeasureSession, FortyTimesTheWorkDoesNotWin) {
  Bench bench("KERNEL { for (int i = 0; i < 40; ++i) plain(x, team); }", 3, {"reference"});
  ASSERT_TRUE(bench.session);
  std::set<int> visited;
  TimedChecks checks;
  checks.after_round = [&](const std::vector<int>& sets) {
    visited.insert(sets.begin(), sets.end());
    return Finding{};
  };
  const Timing timing =
      measure(*bench.session, bench.arena->layout().sets, {"reference"}, quick(), checks);
  ASSERT_TRUE(timing.finding.ok() || timing.finding.outcome == Outcome::noisy)
      << timing.finding.rule << ": " << timing.finding.detail;
  ASSERT_EQ(timing.columns.size(), 2U);
  EXPECT_EQ(timing.columns[1].name, "reference");
  EXPECT_NE(timing.columns[1].comparison, Comparison::faster);
  EXPECT_FALSE(visited.empty());
  EXPECT_GT(timing.seconds, 0);
  if (timing.finding.ok()) {
    EXPECT_LT(timing.columns[1].ratio.mid, 1);
    EXPECT_GE(timing.columns[0].round_us.size(), 5U);
    EXPECT_GT(timing.columns[0].median_us, 0);
  }
}

TEST(MeasureSession, EveryModeRunsItsCourse) {
  for (const Mode mode : {Mode::offline, Mode::hot, Mode::cold, Mode::server}) {
    Bench bench("KERNEL { plain(x, team); }", mode == Mode::hot ? 1 : 4, {});
    ASSERT_TRUE(bench.session);
    MeasureOptions options = quick();
    options.mode = mode;
    const Timing timing = measure(*bench.session, bench.arena->layout().sets, {}, options, {});
    EXPECT_TRUE(timing.finding.ok() || timing.finding.outcome == Outcome::noisy)
        << name_of(mode) << ": " << timing.finding.detail;
    EXPECT_EQ(timing.mode, mode);
    EXPECT_EQ(timing.columns.size(), 1U);
  }
}

TEST(MeasureSession, ACandidateThatDiesWhileTimedIsACrash) {
  Bench bench("static int calls; KERNEL { if (++calls == 9) abort(); plain(x, team); }", 2, {});
  ASSERT_TRUE(bench.session);
  const Timing timing = measure(*bench.session, bench.arena->layout().sets, {}, quick(), {});
  EXPECT_EQ(timing.finding.outcome, Outcome::crash) << timing.finding.rule;
}

}  // namespace
}  // namespace tilewright
