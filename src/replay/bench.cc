// SPDX-License-Identifier: Apache-2.0
// Running a comparison (bench.h): the searches are independent, so threads share a counter.
#include "replay/bench.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace tilewright {
namespace {

using Shared = std::shared_ptr<const Experience>;

std::string shape_of(const Problem& p) {
  return fmt::format("{}x{}x{}", p.m, p.n, p.k);
}

struct Contestant {
  std::string policy;
  Knobs knobs;
};
// A policy, or one with numbers of its own: "lm:learn=0+exemplars=1".
Result<Contestant> contestant_of(const std::string& text, const Knobs& common) {
  const std::size_t colon = text.find(':');
  Contestant out{text.substr(0, colon), common};
  if (colon == std::string::npos) return out;
  for (const std::string_view assignment : split(std::string_view(text).substr(colon + 1), '+')) {
    if (Status status = out.knobs.set(fmt::format("{}.{}", out.policy, assignment)); !status) {
      status.error().message = fmt::format("--policies {}: {}", text, status.error().message);
      return tl::unexpected(status.error());
    }
  }
  return out;
}

// What each world's policies may learn from. Held-out shapes share one.
std::vector<Shared> prior_of(const std::vector<const ReplayWorld*>& worlds,
                             const std::vector<Trial>& trials, PolicyBench& bench, bool wanted) {
  std::vector<Trial> train;
  std::set<std::string> shapes;
  for (const Trial& trial : trials) {
    const Result<Problem> problem = parse_problem(trial.problem);
    if (!wanted || !problem || split_of(*problem) == "held-out") continue;
    train.push_back(trial);
    shapes.insert(shape_of(*problem));
  }
  bench.prior_trials = train.size();
  bench.prior_shapes = shapes.size();
  const auto all = std::make_shared<const Experience>(train);
  std::map<std::string, Shared> without;
  std::vector<Shared> out;
  for (const ReplayWorld* world : worlds) {
    const std::string shape = shape_of(world->problem);
    if (!shapes.contains(shape)) {
      out.push_back(all);
      continue;
    }
    Shared& rest = without[shape];
    if (!rest) rest = all->without(world->problem);
    out.push_back(rest);
  }
  return out;
}

}  // namespace

Result<PolicyBench> policy_bench(
    const std::vector<ReplayWorld>& worlds, const std::vector<Trial>& trials, const Device& device,
    const PolicyBenchOptions& options,
    const std::function<void(std::size_t done, std::size_t of)>& progress) {
  PolicyBench bench;
  for (const ReplayWorld& world : worlds) {
    const bool wanted =
        options.shapes == Shapes::all || world.held_out == (options.shapes == Shapes::held_out);
    if (wanted) bench.worlds.push_back(&world);
  }
  if (bench.worlds.empty()) {
    return fail(ErrorCode::negative, "no table is of a shape to search",
                "--shapes train or all; held-out are shapes with 12288 and a tenth of the rest");
  }
  const auto reference = std::ranges::find(options.policies, options.reference);
  if (reference == options.policies.end()) {
    return fail(ErrorCode::usage,
                fmt::format("--reference {}: it is not one of --policies", options.reference));
  }
  std::vector<Contestant> contestants;
  for (const std::string& text : options.policies) {
    Result<Contestant> contestant = contestant_of(text, options.knobs);
    if (!contestant) return tl::unexpected(contestant.error());
    contestants.push_back(*std::move(contestant));
  }
  bench.budgets = budgets_of(bench.worlds, options.most);
  const std::vector<Shared> priors = prior_of(bench.worlds, trials, bench, options.prior);

  const std::size_t seeds = static_cast<std::size_t>(options.seeds);
  const std::size_t shapes = bench.worlds.size(), policies = options.policies.size();
  Qualities qualities(policies, std::vector<std::vector<std::vector<double>>>(
                                    shapes, std::vector<std::vector<double>>(seeds)));
  std::vector<double> seconds(policies, 0);
  std::optional<Error> failed;
  std::mutex mutex;  // guards seconds, failed and progress
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  const std::size_t jobs = policies * shapes * seeds;
  const auto work = [&] {
    for (std::size_t job = next++; job < jobs; job = next++) {
      const std::size_t p = job % policies, s = job / policies % seeds;
      const std::size_t i = job / policies / seeds;
      PolicyContext context;
      context.device = device;
      context.seed = options.first_seed + s;
      context.experience = priors[i];
      context.knobs = contestants[p].knobs;
      context.learner = options.learner;
      Result<Search> found =
          search(*bench.worlds[i], contestants[p].policy, std::move(context), bench.budgets);
      const std::scoped_lock lock(mutex);
      if (!found) {
        failed = found.error();
        next = jobs;
        return;
      }
      qualities[p][i][s] = std::move(found->quality);
      seconds[p] += found->seconds;
      if (progress) progress(++done, jobs);
    }
  };
  {
    std::vector<std::jthread> team;
    for (int t = 1; t < options.threads; ++t) team.emplace_back(work);
    work();
  }
  if (failed) return tl::unexpected(*failed);
  bench.scores = score(qualities, static_cast<std::size_t>(reference - options.policies.begin()),
                       options.resamples, options.first_seed);
  for (std::size_t p = 0; p < policies; ++p) {
    bench.scores[p].policy = options.policies[p];
    bench.scores[p].seconds = seconds[p] / static_cast<double>(shapes * seeds);
  }
  return bench;
}

}  // namespace tilewright
