// SPDX-License-Identifier: Apache-2.0
// Implementation of device_bursts.h. Everything is looked up, captured and uploaded before the
// first clock. A burst by graph is, on the stream: the uncounted call, an event, the graphs, an
// event; it begins when the first graph is enqueued, so nothing waits for the host in between.
#include "execute/cuda/runner/device_bursts.h"

#include "execute/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::runner {
namespace {

constexpr int kGraphLaunches = 64;

class BurstRun {
 public:
  BurstRun(DeviceContest& contest, const Burst& burst, int index, int contestant)
      : contest_(contest),
        burst_(burst),
        index_(index),
        contestant_(contestant),
        plan_(plan_graphs(burst.calls, contest.sets())) {}

  Done prepare() {
    for (int set = 0; set < contest_.sets(); ++set) {
      auto call = contest_.call_for(contestant_, set, 1, timed_beta(contest_.problem()));
      if (!call) return tl::unexpected<Failure>(call.error());
      calls_.push_back(std::move(*call));
    }
    if (one_by_one() || burst_.wall) return {};
    for (const auto& [launches, graph] :
         {std::pair{plan_.full > 0 ? plan_.launches : 0, &full_}, std::pair{plan_.rest, &rest_}}) {
      if (launches == 0) continue;
      auto made = contest_.graphs().graph({contestant_, burst_.first_set, launches},
                                          [this](int i) { return enqueue(i); });
      if (!made) return failed(made.error());
      *graph = *made;
    }
    return contest_.finish(contestant_);
  }

  Done run(Reply& reply) {
    if (Status s = contest_.take_turn(contestant_); !s) return failed(s.error());
    const std::int64_t start = now_nanoseconds();
    if (burst_.settle_seconds > 0) idle(burst_.settle_seconds);
    const std::int64_t switches = involuntary_switches();
    const std::size_t first = reply.samples.size();
    const Done done = one_by_one() ? each(reply) : burst_.wall ? by_host(reply) : by_graph(reply);
    if (!done) return done;
    for (std::size_t i = first; i < reply.samples.size(); ++i) {
      reply.samples[i].switches = involuntary_switches() - switches;
    }
    const double spent = static_cast<double>(now_nanoseconds() - start) * 1e-9;
    reply.uncounted_seconds += std::max(spent - counted_, 0.0);
    return {};
  }

 private:
  [[nodiscard]] bool one_by_one() const { return burst_.each || burst_.gap_mean_us > 0; }

  tl::unexpected<Failure> failed(const Error& error) const {
    return tl::unexpected<Failure>(contest_.failure_of(contestant_, error));
  }

  Status enqueue(std::int64_t index) {
    const auto sets = static_cast<std::int64_t>(calls_.size());
    const auto set = static_cast<std::size_t>((burst_.first_set + index + sets) % sets);
    return contest_.enqueue(calls_[set]);
  }

  void sample(Reply& reply, double seconds, int calls) {
    reply.samples.push_back({index_, seconds / calls, calls, 0, 0});
    counted_ += seconds;
  }

  Done by_graph(Reply& reply) {
    const cuda::Driver& d = contest_.context().driver();
    StreamClock& clock = contest_.clock();
    Status s = clock.hold();
    if (s) s = enqueue(-1);
    if (s) s = clock.start();
    const auto launch = [&](cuda::GraphExec graph) {
      if (s) s = d.check(d.GraphLaunch(graph, contest_.stream()), "launching a graph");
      clock.release();
    };
    for (int replay = 0; replay < plan_.full; ++replay) launch(full_);
    if (plan_.rest > 0) launch(rest_);
    if (s) s = clock.stop();
    if (!s) return failed(s.error());
    if (Done done = contest_.finish(contestant_); !done) return done;
    const auto seconds = clock.seconds();
    if (!seconds) return failed(seconds.error());
    sample(reply, *seconds, burst_.calls);
    return {};
  }

  Done warm_up() {
    if (Status s = enqueue(-1); !s) return failed(s.error());
    return contest_.finish(contestant_);
  }

  Done by_host(Reply& reply) {
    if (Done warm = warm_up(); !warm) return warm;
    const std::int64_t start = now_nanoseconds();
    for (int i = 0; i < burst_.calls; ++i) {
      if (Status s = enqueue(i); !s) return failed(s.error());
    }
    if (Done done = contest_.finish(contestant_); !done) return done;
    sample(reply, static_cast<double>(now_nanoseconds() - start) * 1e-9, burst_.calls);
    return {};
  }

  // One call at a time, after a gap. The device's time is that of a call which begins when all of
  // it is enqueued. Where each is to be a sample, calls take turns, one by the device's clock and
  // one by the host's, for the latency: a sample for both.
  Done each(Reply& reply) {
    if (!burst_.each) {
      if (Done warm = warm_up(); !warm) return warm;
    }
    Gaps gaps(burst_, index_);
    double total = 0;
    RawSample pair{index_, 0, 0, 0, 0};
    for (int i = 0; i < burst_.calls; ++i) {
      gaps.wait();
      const bool by_host = burst_.wall || (burst_.each && i % 2 == 1);
      const auto seconds = one_call(i, by_host);
      if (!seconds) return tl::unexpected<Failure>(seconds.error());
      total += *seconds;
      (by_host && !burst_.wall ? pair.latency : pair.seconds) = *seconds;
      ++pair.calls;
      const bool whole = burst_.wall || by_host || i + 1 == burst_.calls;
      if (burst_.each && whole) reply.samples.push_back(std::exchange(pair, {index_, 0, 0, 0, 0}));
    }
    if (burst_.each) {
      counted_ += total;
    } else {
      sample(reply, total, burst_.calls);
    }
    return {};
  }

  // Its seconds by the device's clock, or by the host's from asking to knowing that it is done.
  tl::expected<double, Failure> one_call(int index, bool by_host) {
    StreamClock& clock = contest_.clock();
    const std::int64_t start = now_nanoseconds();
    Status s;
    if (!by_host) s = clock.hold();
    if (s && !by_host) s = clock.start();
    if (s) s = enqueue(index);
    if (s && !by_host) s = clock.stop();
    clock.release();
    if (!s) return failed(s.error());
    if (Done done = contest_.finish(contestant_); !done) return tl::unexpected(done.error());
    if (by_host) return static_cast<double>(now_nanoseconds() - start) * 1e-9;
    const auto seconds = clock.seconds();
    if (!seconds) return failed(seconds.error());
    return *seconds;
  }

  DeviceContest& contest_;
  const Burst& burst_;
  int index_;
  int contestant_;
  GraphPlan plan_;
  std::vector<DeviceCall> calls_;  // by set
  cuda::GraphExec full_ = nullptr, rest_ = nullptr;
  double counted_ = 0;  // seconds in samples
};

}  // namespace

GraphPlan plan_graphs(int calls, int sets) {
  if (calls <= kGraphLaunches) return {calls, 1, 0};
  const int launches = sets > kGraphLaunches ? sets : kGraphLaunches / sets * sets;
  return {launches, calls / launches, calls % launches};
}

Done run_bursts(DeviceContest& contest, const std::vector<Burst>& plan, Reply& reply) {
  const std::int64_t start = now_nanoseconds();
  std::vector<BurstRun> runs;
  std::size_t samples = 0;
  runs.reserve(plan.size());
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
    if (Done ready = run.prepare(); !ready) return ready;
  }
  reply.uncounted_seconds += static_cast<double>(now_nanoseconds() - start) * 1e-9;
  for (BurstRun& run : runs) {
    if (Done done = run.run(reply); !done) return done;
  }
  return {};
}

}  // namespace tilewright::runner
