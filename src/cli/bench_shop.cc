// SPDX-License-Identifier: Apache-2.0
// See bench_shop.h.
#include "cli/bench_shop.h"

#include "cli/installed_wisdom.h"
#include "policy/policy.h"
#include "tune/torch_column.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilewright {

Result<std::unique_ptr<Shop>> open_shop(const Cli& cli, const Device& device, const Log& log) {
  CompileOptions options;
  options.compiler = cli.settings.text("compile.cxx");
  options.cuda_compiler = cli.settings.text("compile.cuda");
  // For a GPU everything may be in the cache, made elsewhere.
  options.needs = device.kind == DeviceKind::cuda ? "" : "c++";
  options.cache_directory = cli.settings.text("cache.dir");
  options.warn = log;
  Result<Compiler> compiler = Compiler::create(options);
  if (!compiler) return tl::unexpected(compiler.error());
  auto shop = std::make_unique<Shop>(*std::move(compiler));
  Result<std::unique_ptr<Rig>> rig = Rig::create(
      device, shop->compiler, {.runner = cli.settings.text("execute.runner"), .log = log});
  if (!rig) return tl::unexpected(rig.error());
  shop->rig = *std::move(rig);
  return shop;
}

Result<CandidateArgument> default_candidate(const Database* database, const Problem& problem,
                                            const Device& device) {
  CandidateArgument argument;
  std::string recorded;
  if (database != nullptr) {
    const auto best = database->best(to_text(problem), device.fingerprint(), "offline");
    // What a kernel of a bundle was generated from need not be legal for what it can serve.
    const bool found = best && *best && !(*best)->policy.starts_with(kServedPolicy);
    if (found && !(*best)->program.starts_with("source:")) {
      recorded = (*best)->program;
      if ((*best)->stage == "final") {
        argument.program = recorded;
        return argument;
      }
    }
  }
  if (const auto winner = installed_winner(problem, device, "offline")) {
    argument.program = winner->program;
    return argument;
  }
  if (!recorded.empty()) {
    argument.program = recorded;
    return argument;
  }
  Result<std::unique_ptr<Policy>> policy = make_policy("analytic", {problem, device, 1, {}});
  if (!policy) return tl::unexpected(policy.error());
  const std::vector<Program> first = (*policy)->propose(1);
  if (first.empty()) {
    return fail(ErrorCode::negative, fmt::format("no legal program for {}", to_text(problem)),
                fmt::format("tilewright explain '{}' says why", to_text(problem)));
  }
  argument.program = first.front().text();
  return argument;
}

Status check_baselines(const Shop& shop, const Problem& problem, std::string_view flag,
                       const std::vector<std::string>& names) {
  std::vector<std::string> known = {kTorchColumn};
  for (const BaselineInfo& info : shop.rig->baselines(problem)) known.push_back(info.name);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      return fail(ErrorCode::usage, fmt::format("{}: there is no '{}' here", flag, name),
                  fmt::format("baselines: {}", fmt::join(known, ", ")));
    }
  }
  return {};
}

namespace {

EvaluationPlan plan_of(const Problem& problem, const BenchMode& mode,
                       const std::vector<std::string>& baselines, const Device& device,
                       const BenchStep& step) {
  EvaluationPlan plan = final_plan(problem, device, mode.mode, baselines, step.effort);
  const auto keep = [](std::vector<std::string>& names, const std::vector<std::string>& only) {
    if (only.empty()) return;
    std::erase_if(names, [&](const std::string& name) {
      return std::ranges::find(only, name) == only.end();
    });
  };
  keep(plan.unpaired, step.wanted.only);
  if (mode.mode == Mode::server) {
    keep(plan.baselines, step.server_baselines);
    if (mode.gap_us > 0) set_gap(plan.measure, mode.gap_us);
  } else {
    plan.measure.precision = step.precision;
  }
  plan.time = step.time;
  if (step.time) plan.stage = "bench";
  return plan;
}

}  // namespace

Status bench_one(Shop& shop, const Problem& problem, const std::string& name,
                 const CompileResult& built, const Device& device, const BenchStep& step,
                 const Workbench::Take& take) {
  Result<std::unique_ptr<Workbench>> bench = Workbench::create(
      problem, device, *shop.rig, shop.gate, step.modes.front().mode, step.seed, step.wanted);
  if (!bench) return tl::unexpected(bench.error());
  if (step.remark) {
    for (const std::string& remark : (*bench)->remarks()) step.remark(remark);
  }
  std::vector<EvaluationPlan> plans;
  for (const BenchMode& mode : step.modes) {
    plans.push_back(plan_of(problem, mode, (*bench)->baselines(), device, step));
  }
  return (*bench)->evaluate(built, plans, [&](Trial trial) {
    trial.program = name;
    return take(std::move(trial));
  });
}

std::string proof_lines(const Trial& trial) {
  if (trial.outcome != Outcome::ok) {
    return fmt::format("{}: {} ({}: {})\n  {}\n", trial.problem, name_of(trial.outcome), trial.rule,
                       trial.detail, trial.program);
  }
  return fmt::format("{}: proven; largest error {:.3f} of the bound, {}\n  {}\n", trial.problem,
                     trial.max_bound_ratio,
                     trial.repeatable ? "bitwise repeatable" : "not bitwise repeatable",
                     trial.program);
}

}  // namespace tilewright
