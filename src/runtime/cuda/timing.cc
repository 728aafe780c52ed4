// SPDX-License-Identifier: Apache-2.0
// See timing.h. Each contestant is a graph of calls that rotate over sets of operands, as `bench`
// times them: a launch by the host takes longer than a small product. A graph runs twice in a row
// and is timed the second time, so that the device does not wait for the host in between.
#include "runtime/cuda/timing.h"

#include "launch/cuda/graph_timer.h"
#include "runtime/cuda/scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tilewright::runtime {
namespace {

constexpr double kLongCall = 2e-3;  // such a call hides its own launch
// Generous to who is unlucky once: a burst is short, and the first one meets clocks that still
// rise.
constexpr RaceRules kRules = {.least_rounds = 3, .most_rounds = 15, .first_keep = 2, .keep = 1.15};
constexpr double kTie = 1.005;  // slower by no more than this is as fast

double least_expected(const Ladder& ladder) {
  double least = std::numeric_limits<double>::infinity();
  for (const Rung& rung : ladder.rungs) {
    if (rung.kernel != nullptr) least = std::min(least, rung.expected);
  }
  return least;
}

int calls_of(double seconds) {
  return seconds > kLongCall ? 1 : std::max(2, calls_per_graph(seconds));
}

int replays_before(int calls, double seconds) {
  return calls * seconds < kLongCall ? 1 : 0;
}

// The graph of a rung, whose kernels are loaded by a first call; or why there is none.
Result<GraphTimer> timer_of(const Rung& rung, const Call& call, int calls, const Scratch& scratch,
                            const cuda::Context& context, cuda::Stream stream) {
  const cuda::Driver& driver = context.driver();
  const cuda::Pointer workspace = rung.workspace > 0 ? scratch.workspace(rung.zeroed) : 0;
  const auto enqueue = [&](int i, cuda::Stream on) {
    return launch(rung, call, scratch.operands(i), workspace, driver, on);
  };
  if (Status s = enqueue(0, stream); !s) return tl::unexpected(s.error());
  if (Status s = driver.check(driver.StreamSynchronize(stream), "running a kernel to be timed");
      !s) {
    return tl::unexpected(s.error());
  }
  return GraphTimer::capture(context, stream, calls, enqueue);
}

}  // namespace

std::vector<std::size_t> worth_timing(const Ladder& ladder, const Call& call, int calls,
                                      double budget) {
  const Wish wish{.finishes = call.activation != TW_NO_ACTIVATION};
  const double best = least_expected(ladder);
  std::vector<std::size_t> picked;
  double spent = 0;
  std::array<bool, 5> taken{};  // of each Origin the first, whatever it takes
  const auto take = [&](std::size_t i) {
    const double each =
        calls * (ladder.rungs[i].kernel != nullptr ? ladder.rungs[i].expected : best);
    const double runs = 1 + (1 + replays_before(calls, best)) * (1 + kRules.least_rounds);
    bool& one = taken[static_cast<std::size_t>(ladder.rungs[i].origin)];
    if (one && spent + runs * each > budget) return;
    one = true;
    spent += runs * each;
    picked.push_back(i);
  };
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    if (wish.granted_by(rung) && rung.origin != Origin::built_in) take(i);
  }
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    if (wish.granted_by(rung) && rung.origin == Origin::built_in) take(i);
  }
  return picked;
}

void arrange(Ladder& ladder, const std::vector<std::size_t>& picked, const RaceResult& race) {
  std::vector<std::size_t> order;
  const Rung* vendor = nullptr;
  for (const int i : race.order) {
    const std::size_t at = picked[static_cast<std::size_t>(i)];
    Rung& rung = ladder.rungs[at];
    rung.timed = race.medians[static_cast<std::size_t>(i)];
    if (rung.vendor != nullptr) {
      vendor = &rung;
      ladder.vendor_timed = rung.timed;
    }
    order.push_back(at);
  }
  const auto ours = std::ranges::find_if(
      order, [&](std::size_t at) { return ladder.rungs[at].kernel != nullptr; });
  const Rung* const best = ours == order.end() ? nullptr : &ladder.rungs[*ours];
  if (best != nullptr && vendor != nullptr && best->timed <= kTie * vendor->timed) {
    std::rotate(order.begin(), ours, ours + 1);
  }
  for (const std::size_t at : order) {
    Rung& rung = ladder.rungs[at];
    std::string text = fmt::format("timed: {:.2f} us", 1e6 * rung.timed);
    if (&rung != vendor && vendor != nullptr) {
      text += fmt::format(", vendor {:.2f} us", 1e6 * vendor->timed);
    } else if (&rung == vendor && best != nullptr) {
      text += fmt::format(", the best of ours {:.2f} us", 1e6 * best->timed);
    }
    rung.why = rung.why.empty() ? text : text + "; " + rung.why;
  }
  std::vector<Rung> sorted;
  for (const std::size_t at : order) sorted.push_back(std::move(ladder.rungs[at]));
  for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
    Rung& rung = ladder.rungs[at];
    if (std::ranges::find(order, at) != order.end() || rung.vendor != nullptr) continue;
    sorted.push_back(std::move(rung));
  }
  ladder.rungs = std::move(sorted);
}

namespace {

// All of it but the stream.
Status race_rungs(Ladder& ladder, const Call& call, const cuda::Context& context,
                  cuda::Stream stream, double budget) {
  const double start = steady_seconds();
  const double expected = least_expected(ladder);
  const int calls = calls_of(expected);
  const std::vector<std::size_t> picked = worth_timing(ladder, call, calls, budget);
  std::int64_t workspace = 0;
  for (const std::size_t at : picked) {
    workspace = std::max(workspace, ladder.rungs[at].workspace - ladder.rungs[at].zeroed);
  }
  const auto scratch = Scratch::make(context, call, calls, workspace, stream);
  if (!scratch) return tl::unexpected(scratch.error());
  std::vector<std::optional<GraphTimer>> timers;
  bool any = false;
  for (const std::size_t at : picked) {
    auto timer = timer_of(ladder.rungs[at], call, calls, *scratch, context, stream);
    timers.emplace_back();
    if (timer) {
      timers.back().emplace(*std::move(timer));
      any = any || ladder.rungs[at].kernel != nullptr;
    } else {
      ladder.notes.push_back("timing: " + timer.error().message);
    }
  }
  if (!any) return fail(ErrorCode::negative, "no kernel could be timed");
  RaceRules rules = kRules;
  rules.budget_seconds = budget - (steady_seconds() - start);
  const auto time_once = [&](int i) -> Result<double> {
    const auto& timer = timers[static_cast<std::size_t>(i)];
    if (!timer) return fail(ErrorCode::negative, "it does not run");
    return timer->time_once(replays_before(calls, expected));
  };
  const RaceResult result = race(static_cast<int>(picked.size()), time_once, steady_seconds, rules);
  if (result.order.empty()) return fail(ErrorCode::negative, "nothing could be timed");
  arrange(ladder, picked, result);
  return {};
}

}  // namespace

Status time_and_arrange(Ladder& ladder, const Call& call, const cuda::Context& context,
                        double budget) {
  const auto stream = cuda::OwnStream::make(context);
  if (!stream) return tl::unexpected(stream.error());
  const Status done = race_rungs(ladder, call, context, stream->get(), budget);
  // A fault of a kernel is the context's from then on: no later call will succeed.
  const cuda::Driver& driver = context.driver();
  const Status alive =
      driver.check(driver.StreamSynchronize(stream->get()), "after kernels were timed");
  if (!alive) return fail(ErrorCode::internal, alive.error().message);
  return done;
}

}  // namespace tilewright::runtime
