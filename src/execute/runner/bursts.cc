// SPDX-License-Identifier: Apache-2.0
// Implementation of bursts.h. Everything is looked up, checked and allocated before the first
// clock; inside the clock is nothing but the calls.
#include "execute/runner/bursts.h"

#include "execute/clock.h"

#include <string>
#include <utility>

namespace tilewright::runner {
namespace {

class BurstRun {
 public:
  BurstRun(Contest& contest, const Burst& burst, int index, int contestant)
      : contest_(contest),
        burst_(burst),
        index_(index),
        contestant_(contestant),
        gaps_(burst, index) {
    for (int set = 0; set < contest.sets(); ++set) {
      args_.push_back(contest.arguments_for(contestant, set, 1, timed_beta(contest.problem())));
    }
  }

  Done run(Reply& reply) {
    const std::int64_t start = now_nanoseconds();
    if (burst_.settle_seconds > 0) idle(burst_.settle_seconds);
    if (!burst_.each) {
      if (Done warm = call(-1); !warm) return warm;
    }
    const std::int64_t switches = involuntary_switches();
    const std::size_t first = reply.samples.size();
    Done done;
    if (burst_.each || burst_.gap_mean_us > 0) {
      done = one_by_one(reply);
    } else {
      done = back_to_back(reply);
    }
    if (!done) return done;
    const std::int64_t counted_switches = involuntary_switches() - switches;
    for (std::size_t i = first; i < reply.samples.size(); ++i) {
      reply.samples[i].switches = counted_switches;
    }
    reply.uncounted_seconds += static_cast<double>(now_nanoseconds() - start - counted_) * 1e-9;
    return {};
  }

 private:
  Done call(std::int64_t index) {
    const auto sets = static_cast<std::int64_t>(args_.size());
    const auto set = static_cast<std::size_t>((burst_.first_set + index + sets) % sets);
    return contest_.invoke(contestant_, args_[set]);
  }
  void sample(Reply& reply, std::int64_t nanoseconds, int calls) {
    reply.samples.push_back({index_, static_cast<double>(nanoseconds) * 1e-9 / calls, calls, 0, 0});
    counted_ += nanoseconds;
  }
  Done back_to_back(Reply& reply) {
    const auto sets = args_.size();
    auto set = static_cast<std::size_t>(burst_.first_set);
    const std::int64_t start = now_nanoseconds();
    for (int i = 0; i < burst_.calls; ++i) {
      if (Done done = contest_.invoke(contestant_, args_[set]); !done) return done;
      if (++set == sets) set = 0;
    }
    sample(reply, now_nanoseconds() - start, burst_.calls);
    return {};
  }
  Done one_by_one(Reply& reply) {
    std::int64_t total = 0;
    for (int i = 0; i < burst_.calls; ++i) {
      gaps_.wait();
      const std::int64_t start = now_nanoseconds();
      if (Done done = call(i); !done) return done;
      const std::int64_t spent = now_nanoseconds() - start;
      if (burst_.each) sample(reply, spent, 1);
      total += spent;
    }
    if (!burst_.each) sample(reply, total, burst_.calls);
    return {};
  }

  Contest& contest_;
  const Burst& burst_;
  int index_;
  int contestant_;
  Gaps gaps_;
  std::vector<tw_cpu_gemm_args> args_;
  std::int64_t counted_ = 0;  // nanoseconds in samples
};

}  // namespace

Done run_bursts(Contest& contest, const std::vector<Burst>& plan, Reply& reply) {
  std::vector<BurstRun> runs;
  std::size_t samples = 0;
  for (const Burst& burst : plan) {
    auto contestant = contest.find(burst.contestant);
    if (!contestant) return tl::unexpected<Failure>(contestant.error());
    if (std::string off = what_is_off(burst, contest.sets()); !off.empty()) {
      return tl::unexpected<Failure>(Failure{"request", std::move(off)});
    }
    runs.emplace_back(contest, burst, static_cast<int>(runs.size()), *contestant);
    samples += burst.each ? static_cast<std::size_t>(burst.calls) : 1;
  }
  reply.samples.reserve(samples);
  for (BurstRun& run : runs) {
    if (Done done = run.run(reply); !done) return done;
  }
  return {};
}

}  // namespace tilewright::runner
