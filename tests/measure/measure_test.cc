// SPDX-License-Identifier: Apache-2.0
// The whole protocol against a model of a machine with its own clock: how long each contestant
// takes, what a request costs, when a neighbour interferes. And the sizes of arenas.
#include "measure/measure.h"

#include "base/rng.h"
#include "measure/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// A runner and a machine, in virtual time.
struct Machine {
  std::map<std::string, double> seconds;  // per call
  double noise = 0.002;
  double request = 0.0001;         // what a request costs besides its calls
  double claimed_fraction = 1;     // of the candidate's true time: a cheat says less
  int busy_from = 0, busy_to = 0;  // requests during which a neighbour runs
  Finding end;                     // what request `ends_at` ends with
  int ends_at = -1;
  // A machine that rests while outputs are checked is so much faster at first, and gets tired
  // within about so many seconds.
  double rested = 0, tires_in = 0.05;

  double now = 0, busy_since = 0;
  int requests = 0, prepared = 0;
  std::vector<Burst> seen;
  Rng rng{9};

  World world() {
    return {
        .time = [this](const std::vector<Burst>& plan) { return answer(plan); },
        .reprepare =
            [this] {
              busy_since = now;
              ++prepared;
              return Finding{};
            },
        .now = [this] { return now; },
    };
  }

 private:
  TimingReply answer(const std::vector<Burst>& plan) {
    TimingReply reply;
    const int index = requests++;
    if (index == ends_at) {
      reply.finding = end;
      return reply;
    }
    const bool busy = index >= busy_from && index < busy_to;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Burst& burst = plan[i];
      seen.push_back(burst);
      const double idle = burst.settle_seconds;
      reply.claimed_seconds += idle;
      reply.wall_seconds += idle;
      const bool candidate = burst.contestant == "candidate";
      const double fraction = candidate ? claimed_fraction : 1;
      const int samples = burst.each ? burst.calls : 1;
      for (int s = 0; s < samples; ++s) {
        Sample sample;
        sample.contestant = burst.contestant;
        sample.burst = static_cast<int>(i);
        sample.calls = burst.each ? 1 : burst.calls;
        sample.switches = busy ? 40 : 0;
        const double took = seconds.at(burst.contestant) * (1 + noise * rng.normal()) *
                            (busy ? 1.6 : 1) *
                            (1 - rested * std::exp(-(now - busy_since) / tires_in));
        const double gap = burst.gap_mean_us * 1e-6;
        sample.seconds = took * fraction;
        reply.claimed_seconds += (took * fraction + gap) * sample.calls;
        reply.wall_seconds += (took + gap) * sample.calls;
        reply.samples.push_back(sample);
      }
    }
    reply.wall_seconds += request;
    now += reply.wall_seconds;
    return reply;
  }
};

const std::vector<std::string> kBaselines = {"onednn", "openblas"};
const std::map<std::string, double> kUsual = {
    {"candidate", 1e-3}, {"onednn", 1.3e-3}, {"openblas", 0.8e-3}};

TEST(Measure, FindsTheRatiosThatTheMachineHas) {
  Machine machine;
  machine.seconds = kUsual;
  const Timing timing = measure_in(machine.world(), 4, kBaselines, {}, {});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
  ASSERT_EQ(timing.columns.size(), 3U);
  EXPECT_NEAR(timing.columns[1].ratio.mid, 1.3, 0.01);
  EXPECT_EQ(timing.columns[1].comparison, Comparison::faster);
  EXPECT_NEAR(timing.columns[2].ratio.mid, 0.8, 0.01);
  EXPECT_EQ(timing.columns[2].comparison, Comparison::slower);
  EXPECT_EQ(timing.rejected_rounds, 0);
  EXPECT_EQ(timing.columns[0].round_us.size(), 7U);
  EXPECT_DOUBLE_EQ(timing.seconds, machine.now);
}

TEST(Measure, BurstsLastAboutAsLongAsAskedAndOthersSettleBefore) {
  Machine machine;
  machine.seconds = kUsual;
  machine.seconds["openblas"] = 0.5;  // longer than a burst: one call
  MeasureOptions options;
  EXPECT_TRUE(measure_in(machine.world(), 4, kBaselines, options, {}).finding.ok());
  for (std::size_t i = 6; i < machine.seen.size(); ++i) {  // after calibration
    const Burst& burst = machine.seen[i];
    EXPECT_EQ(burst.settle_seconds, options.settle_seconds);
    const double length = burst.calls * machine.seconds[burst.contestant];
    if (burst.contestant == "openblas") {
      EXPECT_EQ(burst.calls, 1);
    } else {
      EXPECT_NEAR(length, options.burst_seconds, 0.1 * options.burst_seconds);
    }
  }
}

TEST(Measure, WhatWarmsUpIsAllOfARoundAndDoesNotCount) {
  std::map<std::string, double> spent[2];  // seconds of a contestant's bursts: cool, warm
  constexpr double kWarm = 0.5;
  for (const bool warm : {false, true}) {
    Machine machine;
    machine.seconds = kUsual;
    MeasureOptions options;
    options.mode = Mode::wall;
    options.warm_seconds = warm ? kWarm : 0;
    const Timing timing = measure_in(machine.world(), 4, kBaselines, options, {});
    ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
    EXPECT_EQ(timing.columns[0].round_us.size(), 7U);
    EXPECT_NEAR(timing.columns[1].ratio.mid, 1.3, 0.01);
    // Two to calibrate each, and four in each of seven rounds.
    if (!warm) {
      EXPECT_EQ(machine.seen.size(), 2U * 3 + 4 * 7) << "nothing was warmed up";
    }
    for (const Burst& burst : machine.seen) {
      EXPECT_TRUE(burst.wall) << "whatever warms up is timed so afterwards";
      spent[warm ? 1 : 0][burst.contestant] += burst.calls * machine.seconds.at(burst.contestant);
    }
  }
  EXPECT_EQ(spent[1].size(), 3U);
  double more = 0;
  for (const auto& [name, seconds] : spent[1]) {
    EXPECT_GT(seconds, spent[0].at(name)) << name;
    more += seconds - spent[0].at(name);
  }
  EXPECT_NEAR(more, kWarm, 0.15);
}

// With orders that were drawn anew for each round, from the seed that all benches have, a lone
// baseline came first in most rounds; on a machine that had rested it was faster for that.
TEST(Measure, AMachineThatRestsBetweenRoundsFavoursNobody) {
  for (const std::vector<std::string>& baselines :
       {std::vector<std::string>{"onednn"}, {"openblas", "onednn", "other", "more"}}) {
    std::map<std::string, double> width;  // of the interval
    for (const bool mirrored : {false, true}) {
      Machine machine;
      for (const char* name : {"candidate", "onednn", "openblas", "other", "more"}) {
        machine.seconds[name] = 1e-3;
      }
      machine.rested = 0.1;
      MeasureOptions options;
      options.burst_seconds = mirrored ? 0.01 : 0.02;
      options.settle_seconds = 0;
      options.rounds = 6;
      options.device_clock = true;
      options.mirrored = mirrored;
      TimedChecks checks;
      checks.before_round = [] {};
      const Timing timing = measure_in(machine.world(), 4, baselines, options, checks);
      ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
      for (std::size_t i = 1; i < timing.columns.size(); ++i) {
        const Interval& ratio = timing.columns[i].ratio;
        EXPECT_NEAR(ratio.mid, 1, mirrored ? 0.005 : 0.02) << timing.columns[i].name;
        double& plain = width[timing.columns[i].name];
        if (mirrored) {
          EXPECT_LT(ratio.high - ratio.low, plain) << timing.columns[i].name;
        }
        plain = ratio.high - ratio.low;
      }
    }
  }
}

TEST(Measure, ABusyStretchCostsRoundsNotTheVerdict) {
  Machine machine;
  machine.seconds = kUsual;
  machine.busy_from = 10;  // two to three rounds of four requests
  machine.busy_to = 18;
  const Timing timing = measure_in(machine.world(), 4, kBaselines, {}, {});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
  EXPECT_GE(timing.rejected_rounds, 2);
  EXPECT_GE(timing.columns[0].round_us.size(), 7U);
  EXPECT_NEAR(timing.columns[1].ratio.mid, 1.3, 0.01);
  EXPECT_NEAR(timing.columns[0].median_us, 1000, 20);
}

TEST(Measure, ItGivesUpInTheEnd) {
  Machine machine;
  machine.seconds = kUsual;
  machine.noise = 0.6;  // nothing is like itself
  MeasureOptions options;
  const Timing timing = measure_in(machine.world(), 4, kBaselines, options, {});
  EXPECT_EQ(timing.finding.outcome, Outcome::noisy);
  EXPECT_EQ(timing.finding.rule, "contaminated");
  EXPECT_LE(machine.requests, 6 + 4 * most_rounds(options));
}

TEST(Measure, AClockThatIsWrongIsFound) {
  Machine machine;
  machine.seconds = kUsual;
  machine.claimed_fraction = 0.2;
  const Timing timing = measure_in(machine.world(), 4, kBaselines, {}, {});
  EXPECT_EQ(timing.finding.outcome, Outcome::noisy);
  EXPECT_EQ(timing.finding.rule, "clock");
  EXPECT_NE(timing.columns[1].comparison, Comparison::faster);
}

TEST(Measure, ACandidateThatDiesEndsTheMeasurement) {
  for (const int request : {0, 1, 9, 20}) {
    Machine machine;
    machine.seconds = kUsual;
    machine.ends_at = request;
    machine.end = {Outcome::crash, "signal", "SIGSEGV"};
    const Timing timing = measure_in(machine.world(), 4, kBaselines, {}, {});
    EXPECT_EQ(timing.finding.outcome, Outcome::crash) << request;
    EXPECT_EQ(machine.requests, request + 1);
  }
}

TEST(Measure, ChecksRunRoundEveryRoundOnTheSetsThatWereWritten) {
  Machine machine;
  machine.seconds = kUsual;
  int before = 0, after = 0;
  std::set<int> all;
  TimedChecks checks;
  checks.before_round = [&] { ++before; };
  checks.after_round = [&](const std::vector<int>& sets) {
    ++after;
    EXPECT_EQ(before, after);
    EXPECT_FALSE(sets.empty());
    all.insert(sets.begin(), sets.end());
    return Finding{};
  };
  EXPECT_TRUE(measure_in(machine.world(), 4, kBaselines, {}, checks).finding.ok());
  EXPECT_EQ(before, 7);
  EXPECT_EQ(machine.prepared, 7);  // B was rewritten, so weights are converted anew
  EXPECT_EQ(all, (std::set<int>{0, 1, 2, 3}));
}

TEST(Measure, VisitedSetsAreTheCandidatesAlone) {
  Machine machine;
  machine.seconds = {{"candidate", 1}, {"openblas", 1}};  // one call per burst
  TimedChecks checks;
  int round = 0;
  checks.after_round = [&](const std::vector<int>& sets) {
    std::set<int> expected;
    const std::size_t first = 2 + static_cast<std::size_t>(round++) * 3;
    for (std::size_t i = first; i < first + 3; ++i) {
      if (machine.seen[i].contestant != "candidate") continue;
      expected.insert(machine.seen[i].first_set);
      expected.insert((machine.seen[i].first_set + 15) % 16);  // the uncounted call
    }
    EXPECT_EQ(std::set<int>(sets.begin(), sets.end()), expected);
    return Finding{};
  };
  EXPECT_TRUE(measure_in(machine.world(), 16, {"openblas"}, {}, checks).finding.ok());
  EXPECT_EQ(round, 7);
}

TEST(Measure, AFailedCheckEndsTheMeasurementWithItsFinding) {
  Machine machine;
  machine.seconds = kUsual;
  int rounds = 0;
  TimedChecks checks;
  checks.after_round = [&](const std::vector<int>&) {
    return ++rounds == 3 ? Finding{Outcome::wrong, "timed-outputs", "stale"} : Finding{};
  };
  const Timing timing = measure_in(machine.world(), 4, kBaselines, {}, checks);
  EXPECT_EQ(timing.finding.outcome, Outcome::wrong);
  EXPECT_EQ(timing.finding.rule, "timed-outputs");
  EXPECT_EQ(rounds, 3);
}

TEST(Measure, ServerModeTimesSingleCallsAndLeavesGapsOut) {
  Machine machine;
  machine.seconds = kUsual;
  MeasureOptions options;
  options.mode = Mode::server;
  const Timing timing = measure_in(machine.world(), 4, kBaselines, options, {});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
  EXPECT_NEAR(timing.columns[0].median_us, 1000, 20);
  EXPECT_NEAR(timing.columns[1].ratio.mid, 1.3, 0.01);
  EXPECT_TRUE(machine.seen.back().each);
}

TEST(Measure, PrecisionAddsRoundsWhereTheIntervalIsWide) {
  MeasureOptions options;
  options.rounds = 5;
  const auto rounds_at = [&](double noise) {
    Machine machine;
    machine.seconds = kUsual;
    machine.noise = noise;
    const Timing timing = measure_in(machine.world(), 4, kBaselines, options, {});
    EXPECT_TRUE(timing.finding.ok()) << timing.finding.detail;
    return timing.columns[0].round_us.size();
  };
  EXPECT_EQ(rounds_at(0.05), 5U) << "unless asked for";
  options.precision = 0.005;
  EXPECT_EQ(rounds_at(0.0002), 5U);
  EXPECT_EQ(rounds_at(0.05), 20U) << "and no more than four times";
}

TEST(Measure, HotModeNeedsOneSet) {
  Machine machine;
  machine.seconds = kUsual;
  MeasureOptions options;
  options.mode = Mode::hot;
  EXPECT_EQ(measure_in(machine.world(), 2, kBaselines, options, {}).finding.rule, "arena");
  EXPECT_TRUE(measure_in(machine.world(), 1, kBaselines, options, {}).finding.ok());
}

TEST(Measure, WithoutBaselinesThereIsACandidateColumn) {
  Machine machine;
  machine.seconds = kUsual;
  const Timing timing = measure_in(machine.world(), 1, {}, {}, {});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
  ASSERT_EQ(timing.columns.size(), 1U);
  EXPECT_NEAR(timing.columns[0].median_us, 1000, 20);
}

TEST(Mode, NamesComeBack) {
  for (const Mode mode : {Mode::offline, Mode::hot, Mode::cold, Mode::server}) {
    EXPECT_EQ(mode_from(name_of(mode)), mode);
  }
  EXPECT_FALSE(mode_from("warm"));
}

TEST(Sets, CoverTheCachesThatTheModeMeansToMiss) {
  Device device;
  device.cores = 2;
  device.l1d_bytes = 48 << 10;
  device.l2_bytes = 2 << 20;
  device.l3_bytes = 64 << 20;
  const auto problem = [](const char* text) { return *parse_problem(text); };
  const Problem small = problem("gemm 64x64x64 f16 nn"),
                mid = problem("gemm 1024x1024x1024 f16 nn"),
                large = problem("gemm 8192x8192x8192 f16 nn");
  for (const Problem& p : {small, mid, large}) EXPECT_EQ(sets_for(p, device, Mode::hot), 1);
  EXPECT_EQ(sets_for(small, device, Mode::offline), 16);  // as many as are useful
  const int sets = sets_for(mid, device, Mode::offline);
  EXPECT_GT(sets * mid.bytes(), 4.0 * 2 * ((48 << 10) + (2 << 20)));
  EXPECT_LT(sets, 16);
  EXPECT_EQ(sets_for(large, device, Mode::offline), 2);
  const int cold = sets_for(mid, device, Mode::cold);
  EXPECT_GT(cold * mid.bytes(), 2.0 * (64 << 20));
  EXPECT_GT(sets_for(small, device, Mode::cold) * small.bytes(), 2.0 * (64 << 20));
  device.l3_bytes = 0;  // no shared cache: the private one is the last
  EXPECT_LT(sets_for(mid, device, Mode::cold), cold);
}

TEST(Sets, StayWithinTheLimitAndAreAtLeastOne) {
  Device device;
  const Problem mid = *parse_problem("gemm 1024x1024x1024 f16 nn");
  device.l3_bytes = std::int64_t{1} << 33;
  const std::int64_t limit = 100 << 20;
  const int sets = sets_for(mid, device, Mode::cold, limit);
  EXPECT_LE(sets * (mid.bytes() + 2.0 * 1024 * 1024), static_cast<double>(limit));
  EXPECT_GT(sets, 10);
  EXPECT_EQ(sets_for(mid, device, Mode::offline, 1), 1);
  EXPECT_GE(sets_for(*parse_problem("gemm 0x0x0 f16 nn"), device, Mode::offline), 1);
}

TEST(Sets, OnCudaFollowTheOfflineProtocol) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.l2_bytes = 50 << 20;
  device.cuda.memory_bytes = std::int64_t{140} << 30;
  const auto sets = [&](const char* text, Mode mode) {
    return sets_for(*parse_problem(text), device, mode);
  };
  EXPECT_EQ(sets("gemm 64x64x64 f16 nn", Mode::offline), 32);
  EXPECT_EQ(sets("gemm 1024x1024x1024 f16 nn", Mode::offline), 32);  // 6 MiB each
  EXPECT_EQ(sets("gemm 2048x2048x2048 f16 nn", Mode::offline), 11);  // 24 MiB each
  EXPECT_EQ(sets("gemm 16384x16384x16384 f16 nn", Mode::offline), 2);
  EXPECT_EQ(sets("gemm 2048x2048x2048 f16 nn", Mode::hot), 1);
  EXPECT_EQ(sets("gemm 2048x2048x2048 f16 nn", Mode::cold), 5);
  EXPECT_EQ(sets("gemm 2048x2048x2048 f16 nn", Mode::wall), 11);
  device.cuda.memory_bytes = std::int64_t{4} << 30;
  EXPECT_EQ(sets("gemm 16384x16384x16384 f16 nn", Mode::offline), 1);
  EXPECT_EQ(options_for(device, Mode::offline).settle_seconds, 0);
  EXPECT_GE(options_for(device, Mode::offline).rounds, 5);
  EXPECT_GT(options_for(Device{}, Mode::offline).settle_seconds, 0);
  EXPECT_TRUE(options_for(device, Mode::offline).device_clock);
  EXPECT_FALSE(options_for(device, Mode::wall).device_clock);
  const MeasureOptions sustained = options_for(device, Mode::sustained);
  for (const double seconds : {2e-6, 100e-6, 3e-3}) {
    EXPECT_NEAR(calls_for(seconds, sustained) * seconds, 0.3, 0.01) << "however short a call";
  }
  EXPECT_TRUE(sustained.device_clock);
  EXPECT_FALSE(is_searched(Mode::sustained) || is_searched(Mode::chained));
  EXPECT_TRUE(is_searched(Mode::offline));
  // At least 200 calls of all rounds by the device's clock, and as many for the latency.
  MeasureOptions server = options_for(device, Mode::server);
  EXPECT_EQ(server.gap_mean_us, 1000);
  for (const double gap : {1000.0, 10000.0}) {
    set_gap(server, gap);
    for (const double seconds : {2e-6, 100e-6, 3e-3}) {
      EXPECT_GE(server.rounds * calls_for(seconds, server), 400) << gap << " " << seconds;
    }
  }
  server.burst_seconds /= 4;  // as a sweep's finals have it
  EXPECT_GE(server.rounds * calls_for(1e-6, server), 400);
}

TEST(Mode, RecordsTellTheirGaps) {
  Device device;
  device.kind = DeviceKind::cuda;
  const auto name_at = [&](Mode mode, double gap_us) {
    MeasureOptions options = options_for(device, mode);
    if (gap_us > 0) set_gap(options, gap_us);
    return recorded_mode(options, device);
  };
  EXPECT_EQ(name_at(Mode::offline, 0), "offline");
  EXPECT_EQ(name_at(Mode::server, 0), "server");
  EXPECT_EQ(name_at(Mode::server, 1000), "server") << "the usual";
  EXPECT_EQ(name_at(Mode::server, 10000), "server_10ms");
  EXPECT_EQ(name_at(Mode::server, 250), "server_250us");
  EXPECT_EQ(name_at(Mode::server, 0.5), "server_0.5us");
  device.kind = DeviceKind::cpu;
  EXPECT_EQ(name_at(Mode::server, 200), "server");
  EXPECT_EQ(name_at(Mode::server, 1000), "server_1ms");
}

}  // namespace
}  // namespace tilewright
