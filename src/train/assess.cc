// SPDX-License-Identifier: Apache-2.0
// See assess.h.
#include "train/assess.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

constexpr int kResamples = 2000;
constexpr int kBestOf = 16;
constexpr int kWanted = 9;  // decile

std::vector<double> ok_scores(const ReplayWorld& world, const RewardBasis& basis) {
  std::vector<double> out;
  for (const Program& program : world.programs->programs()) {
    const Trial& trial = *world.table.reported(program.text());
    if (trial.outcome == Outcome::ok && trial.time_us > 0) out.push_back(raw_score(trial, basis));
  }
  return out;
}

}  // namespace

JudgedWorld::JudgedWorld(const ReplayWorld& world, const Device& device, const RewardBasis& basis)
    : world_(&world),
      basis_(basis),
      mask_(std::make_unique<TokenMask>(world.problem, device, world.programs->programs())),
      smoothing_(fit_smoothing(ok_scores(world, basis), basis.options)) {
  for (const Program& program : world.programs->programs()) {
    const Trial& trial = *world.table.reported(program.text());
    if (trial.outcome == Outcome::ok && trial.time_us > 0) {
      worst_ = std::min(worst_, std::log(world.oracle_us / trial.time_us));
    }
  }
}

double JudgedWorld::reward(const Program& program) const {
  const Trial& trial = *world_->table.reported(program.text());
  const bool ok = trial.outcome == Outcome::ok && trial.time_us > 0;
  return smooth(raw_score(trial, basis_), ok, smoothing_, basis_.options);
}

double JudgedWorld::log_quality(const Program& program) const {
  const Trial& trial = *world_->table.reported(program.text());
  const bool ok = trial.outcome == Outcome::ok && trial.time_us > 0;
  return ok ? std::log(world_->oracle_us / trial.time_us) : worst_;
}

double expected_best(std::vector<double> values, int draws) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double below = static_cast<double>(i) / n, up_to = static_cast<double>(i + 1) / n;
    sum += values[i] * (std::pow(up_to, draws) - std::pow(below, draws));
  }
  return sum;
}

Result<std::vector<Assessment>> assess(const LanguageModel& model,
                                       std::span<const JudgedWorld> worlds, const Device& device,
                                       std::size_t samples, std::uint64_t seed) {
  std::vector<TextRequest> requests;
  for (const JudgedWorld& world : worlds) {
    Prompt prompt{world.world().problem, device};
    prompt.want_decile = kWanted;
    requests.push_back({encode(prompt), &world.mask(), false, samples});
  }
  SampleOptions options;
  options.seed = seed;
  const Result<std::vector<SampledText>> texts = model.sample(requests, options);
  if (!texts) return tl::unexpected(texts.error());
  std::vector<Assessment> out(worlds.size());
  std::vector<std::vector<double>> qualities(worlds.size());
  std::vector<std::set<std::string>> programs(worlds.size());
  std::vector<double> places(worlds.size(), 0), drawn(worlds.size(), 0);
  for (const SampledText& text : *texts) {
    const std::size_t at = text.request;
    out[at].reward += worlds[at].reward(text.program);
    qualities[at].push_back(worlds[at].log_quality(text.program));
    programs[at].insert(text.program.text());
    drawn[at] += 1;
    for (std::size_t i = 0; i < text.entropies.size(); ++i) {
      if (text.continuation.forced(i)) continue;
      out[at].entropy += text.entropies[i];
      places[at] += 1;
    }
  }
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    if (drawn[i] == 0) continue;
    out[i].reward /= drawn[i];
    out[i].entropy /= std::max(places[i], 1.0);
    out[i].distinct = static_cast<double>(programs[i].size()) / drawn[i];
    out[i].best16 = expected_best(std::move(qualities[i]), kBestOf);
  }
  return out;
}

std::vector<Assessment> assess_uniform(std::span<const JudgedWorld> worlds) {
  std::vector<Assessment> out;
  for (const JudgedWorld& world : worlds) {
    Assessment a;
    std::vector<double> qualities;
    const auto programs = world.world().programs->programs();
    for (const Program& program : programs) {
      a.reward += world.reward(program) / static_cast<double>(programs.size());
      qualities.push_back(world.log_quality(program));
    }
    a.best16 = expected_best(std::move(qualities), kBestOf);
    a.distinct = 1;
    out.push_back(a);
  }
  return out;
}

MeanInterval mean_interval(std::span<const double> values, std::uint64_t seed) {
  MeanInterval out;
  if (values.empty()) return out;
  const auto mean = [&](auto&& at) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[at(i)];
    return sum / static_cast<double>(values.size());
  };
  out.value = mean([](std::size_t i) { return i; });
  Rng rng(seed, 77);
  std::vector<double> means;
  for (int r = 0; r < kResamples; ++r) {
    means.push_back(mean([&](std::size_t) { return rng.below(values.size()); }));
  }
  std::ranges::sort(means);
  out.low = means[kResamples / 40];
  out.high = means[kResamples - 1 - kResamples / 40];
  return out;
}

}  // namespace tilewright
