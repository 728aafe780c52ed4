// SPDX-License-Identifier: Apache-2.0
// One candidate through the gate. Order is law: load, prove, time, check what was timed, replay. A
// kernel that fails one check has no time.
#include "tune/evaluate.h"

#include "baseline/baseline.h"
#include "generate/generate.h"
#include "program/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tilewright {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::int64_t unix_ms() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             system_clock::now().time_since_epoch())
      .count();
}

void fail_trial(Trial& trial, const Finding& finding) {
  trial.outcome = finding.outcome;
  trial.rule = finding.rule;
  trial.detail = finding.detail;
}

// What the largest program of this problem asks for, more or less: both operands widened and a
// whole C of partial sums for each thread. Reserving costs nothing until it is used.
std::int64_t generous_workspace(const Problem& problem, const Device& device) {
  constexpr double kMost = 4e9;
  const auto size = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a + 256) * static_cast<double>(b + 256) * sizeof(float);
  };
  const double per_thread =
      size(problem.m, problem.k) + size(problem.n, problem.k) + size(problem.m, problem.n);
  return static_cast<std::int64_t>(std::min(kMost, device.cores * per_thread));
}

}  // namespace

EvaluationPlan screening_plan(Mode mode, const std::string& reference) {
  EvaluationPlan plan;
  plan.stage = "screen";
  plan.quick_proof = true;
  plan.measure.mode = mode;
  plan.measure.rounds = 3;
  plan.measure.burst_seconds = 0.006;
  plan.measure.self_pair = false;
  if (!reference.empty()) plan.baselines = {reference};
  return plan;
}

EvaluationPlan final_plan(Mode mode, const std::vector<std::string>& baselines) {
  EvaluationPlan plan;
  plan.measure.mode = mode;
  plan.measure.rounds = 9;
  plan.measure.burst_seconds = 0.008;
  plan.baselines = baselines;
  return plan;
}

Workbench::Workbench(const Problem& problem, const Device& device, Worker& worker, QuietGate& gate,
                     Mode mode, std::uint64_t seed)
    : problem_(problem), device_(device), worker_(worker), gate_(gate), mode_(mode), seed_(seed) {}

Result<std::unique_ptr<Workbench>> Workbench::create(const Problem& problem, const Device& device,
                                                     Worker& worker, QuietGate& gate, Mode mode,
                                                     std::uint64_t seed) {
  std::unique_ptr<Workbench> bench(new Workbench(problem, device, worker, gate, mode, seed));
  if (Status status = bench->prepare(); !status) return tl::unexpected(status.error());
  return bench;
}

// Makes the first `bytes` of the workspace the candidate's, in a new arena if they do not fit.
Status Workbench::reserve_workspace(std::int64_t bytes) {
  if (arena_ && arena_->layout().workspace_bytes >= bytes) {
    arena_->use_workspace(bytes);
    return {};
  }
  Result<Arena> arena = Arena::create(problem_, sets_for(problem_, device_, mode_),
                                      std::max(bytes, generous_workspace(problem_, device_)));
  if (!arena) return tl::unexpected(arena.error());
  verifier_.reset();
  arena_ = std::make_unique<Arena>(*std::move(arena));
  arena_->use_workspace(bytes);
  VerifyOptions options;
  options.seed = seed_;
  verifier_ = std::make_unique<HostVerifier>(*arena_, options);
  return {};
}

// Opens the operands, proves each baseline and takes a quick look at which one is fastest.
Status Workbench::prepare() {
  if (Status status = reserve_workspace(0); !status) return status;
  std::vector<std::string> present;
  for (const BaselineInfo& info : baselines_for(problem_, device_)) {
    if (!info.available) {
      remarks_.push_back(fmt::format("{}: {}", info.name, info.why_not));
      continue;
    }
    if (!info.headline) beside_.insert(info.name);
    // The plain loop proves nothing about speed; it is there for machines without a library.
    if (info.name != "reference") {
      present.push_back(info.name);
      if (libraries_.find(info.library) == std::string::npos) {
        libraries_ += (libraries_.empty() ? "" : "; ") + info.library;
      }
    }
  }
  if (present.empty()) present.emplace_back("reference");

  Result<Opened> opened = worker_.open(*arena_, nullptr, present);
  if (!opened) {
    // A library that looked fine may still refuse to start: go on with those that do.
    std::erase_if(present, [&](const std::string& name) {
      const Result<Opened> alone = worker_.open(*arena_, nullptr, {name});
      if (!alone) remarks_.push_back(fmt::format("{}: {}", name, alone.error().message));
      return !alone;
    });
    opened = worker_.open(*arena_, nullptr, present);
  }
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->session) {
    return fail(ErrorCode::environment, fmt::format("the baselines could not be started: {}: {}",
                                                    opened->finding.rule, opened->finding.detail));
  }
  Session& session = *opened->session;
  for (const std::string& name : present) {
    const Verdict verdict = verifier_->prove_baseline(session, name);
    if (verdict.finding.ok()) {
      baselines_.push_back(name);
    } else {
      remarks_.push_back(fmt::format("{}: its result is wrong ({}: {}), so it is no baseline", name,
                                     verdict.finding.rule, verdict.finding.detail));
    }
  }
  std::ranges::stable_partition(baselines_,
                                [&](const std::string& name) { return !beside_.contains(name); });

  verifier_->arm();
  if (!session.reprepare().ok()) return {};
  std::vector<Burst> plan;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& name : baselines_) {
      Burst burst;
      burst.contestant = name;
      burst.calls = 3;
      plan.push_back(burst);
    }
  }
  const QuietGate::Quiet quiet(gate_);
  const TimingReply reply = session.time(plan);
  double best = 0;
  for (const Sample& sample : reply.samples) {
    if (beside_.contains(sample.contestant)) continue;
    if (reference_.empty() || sample.seconds < best) {
      best = sample.seconds;
      reference_ = sample.contestant;
    }
  }
  return {};
}

Result<Trial> Workbench::evaluate(const CompileResult& built, const EvaluationPlan& plan) {
  const auto start = std::chrono::steady_clock::now();
  Trial trial;
  trial.problem = to_text(problem_);
  trial.device = device_.fingerprint();
  trial.mode = name_of(mode_);
  trial.stage = plan.stage;
  trial.split = split_of(problem_);
  trial.seed = seed_;
  trial.program_language = kProgramLanguageVersion;
  trial.device_headers = kDeviceHeadersVersion;
  trial.libraries = libraries_;
  const auto finish = [&]() -> Trial {
    trial.total_seconds = seconds_since(start) + trial.compile_seconds;
    trial.unix_ms = unix_ms();
    return std::move(trial);
  };
  if (!built.binary) {
    fail_trial(trial, built.finding);
    return finish();
  }
  trial.binary_hash = built.binary->hash;
  trial.compile_seconds = built.binary->compile_seconds;

  const Result<std::int64_t> workspace = workspace_bytes(built.binary->launch, problem_);
  if (!workspace) {
    fail_trial(trial, {Outcome::launch_error, "workspace", workspace.error().message});
    return finish();
  }
  if (Status status = reserve_workspace(*workspace); !status) {
    fail_trial(trial, {Outcome::launch_error, "workspace", status.error().message});
    return finish();
  }
  Result<Opened> opened = worker_.open(*arena_, &*built.binary,
                                       plan.time ? plan.baselines : std::vector<std::string>{});
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->session) {
    fail_trial(trial, opened->finding);
    return finish();
  }
  Session& session = *opened->session;
  // A kernel whose sizes are run-time arguments claims its ragged neighbours too.
  const Launch& launch = built.binary->launch;
  const bool ragged = !launch.m && !launch.n && !launch.k;
  const Verdict verdict = verifier_->prove(session, plan.quick_proof, ragged);
  trial.max_abs_error = verdict.max_abs_error;
  trial.max_bound_ratio = verdict.max_bound_ratio;
  trial.norm_ratio = verdict.norm_ratio;
  trial.repeatable = verdict.repeatable;
  fail_trial(trial, verdict.finding);
  if (verdict.finding.ok() && plan.time) time_candidate(session, plan, trial);
  return finish();
}

void Workbench::time_candidate(Session& session, const EvaluationPlan& plan, Trial& trial) {
  verifier_->arm();
  if (const Finding finding = session.reprepare(); !finding.ok()) {
    fail_trial(trial, finding);
    return;
  }
  Timing timing;
  {
    const QuietGate::Quiet quiet(gate_);
    MeasureOptions options = plan.measure;
    options.seed = seed_;
    TimedChecks checks;
    checks.before_round = [&] { verifier_->refresh(); };
    checks.after_round = [&](const std::vector<int>& sets) { return verifier_->check_timed(sets); };
    timing = measure(session, arena_->layout().sets, plan.baselines, options, checks);
  }
  if (!timing.finding.ok()) {
    fail_trial(trial, timing.finding);
    return;
  }
  if (const Finding finding = verifier_->replay(session); !finding.ok()) {
    fail_trial(trial, finding);
    return;
  }
  trial.noise = timing.noise;
  for (const Column& column : timing.columns) {
    if (column.name == "candidate") {
      trial.time_us = column.median_us;
      trial.spread = column.spread;
      continue;
    }
    BaselineTime& baseline = trial.baselines[column.name];
    baseline.time_us = column.median_us;
    baseline.ratio_low = column.ratio.low;
    baseline.ratio = column.ratio.mid;
    baseline.ratio_high = column.ratio.high;
    baseline.comparison = name_of(column.comparison);
    baseline.headline = !beside_.contains(column.name);
  }
}

}  // namespace tilewright
