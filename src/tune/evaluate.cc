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
#include <utility>

namespace tilewright {
namespace {

constexpr const char* kPlainLoops = "reference";  // the baseline that needs no library

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

BaselineTime row_of(const Column& column, const Interval& ratio) {
  BaselineTime row;
  row.time_us = column.median_us;
  row.latency_us = column.latency_us;
  row.ratio_low = ratio.low;
  row.ratio = ratio.mid;
  row.ratio_high = ratio.high;
  return row;
}

}  // namespace

Workbench::Workbench(const Problem& problem, const Device& device, Rig& rig, QuietGate& gate,
                     Mode mode, std::uint64_t seed)
    : problem_(problem),
      device_(device),
      rig_(rig),
      gate_(gate),
      mode_(mode),
      seed_(seed),
      chance_(seed, 0x5c) {}

Result<std::unique_ptr<Workbench>> Workbench::create(const Problem& problem, const Device& device,
                                                     Rig& rig, QuietGate& gate, Mode mode,
                                                     std::uint64_t seed,
                                                     const WantedBaselines& wanted) {
  std::unique_ptr<Workbench> bench(new Workbench(problem, device, rig, gate, mode, seed));
  if (Status status = bench->prepare(wanted); !status) return tl::unexpected(status.error());
  return bench;
}

// A session with those of the libraries that start; the others are explained and dropped.
Result<Opened> Workbench::open_libraries(std::vector<std::string>& present) {
  Result<Opened> opened = stand_->open(nullptr, present);
  if (opened) return opened;
  // A library that looked fine may still refuse to start: go on with those that do.
  std::erase_if(present, [&](const std::string& name) {
    const Result<Opened> alone = stand_->open(nullptr, {name});
    if (!alone) remarks_.push_back(fmt::format("{}: {}", name, alone.error().message));
    return !alone;
  });
  return stand_->open(nullptr, present);
}

// Opens the operands, proves each baseline and takes a quick look at which one is fastest.
Status Workbench::prepare(const WantedBaselines& wanted) {
  Result<std::unique_ptr<Stand>> stand = rig_.stand(problem_, mode_, seed_);
  if (!stand) return tl::unexpected(stand.error());
  stand_ = *std::move(stand);
  stand_->recall(wanted.algorithms);
  const std::vector<std::string>& only = wanted.only;
  std::vector<std::string> present;
  for (const BaselineInfo& info : rig_.baselines(problem_)) {
    if (!only.empty() && std::ranges::find(only, info.name) == only.end()) continue;
    if (!info.available) {
      remarks_.push_back(fmt::format("{}: {}", info.name, info.why_not));
      continue;
    }
    if (!info.headline) beside_.insert(info.name);
    // The plain loop proves nothing about speed; it is there for machines without a library, and
    // for operations that libraries treat as an afterthought.
    if (info.name != kPlainLoops || !problem_.is_gemm()) {
      present.push_back(info.name);
      if (libraries_.find(info.library) == std::string::npos) {
        libraries_ += (libraries_.empty() ? "" : "; ") + info.library;
      }
    }
  }
  if (present.empty()) {
    if (device_.kind == DeviceKind::cuda) return {};  // nothing to compare with: times stand alone
    present.emplace_back(kPlainLoops);
  }
  Result<Opened> opened = open_libraries(present);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->session) {
    return fail(ErrorCode::environment, fmt::format("the baselines could not be started: {}: {}",
                                                    opened->finding.rule, opened->finding.detail));
  }
  for (std::size_t i = 0; i < present.size() && i < opened->algorithms.size(); ++i) {
    const auto asked = wanted.algorithms.find(present[i]);
    if (asked == wanted.algorithms.end() || asked->second == opened->algorithms[i]) continue;
    remarks_.push_back(fmt::format("{}: {}", present[i], opened->choices[i]));
  }
  Session& session = *opened->session;
  Verifier& verifier = stand_->verifier();
  for (const std::string& name : present) {
    const Verdict verdict = verifier.prove_baseline(session, name);
    if (verdict.finding.ok()) {
      baselines_.push_back(name);
    } else {
      remarks_.push_back(fmt::format("{}: its result is wrong ({}: {}), so it is no baseline", name,
                                     verdict.finding.rule, verdict.finding.detail));
    }
  }
  std::ranges::stable_partition(baselines_,
                                [&](const std::string& name) { return !beside_.contains(name); });

  verifier.arm();
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
  const auto quiet = quiet_while_timing(mode_);
  const TimingReply reply = session.time(plan);
  double best = 0;
  for (const Sample& sample : reply.samples) {
    if (beside_.contains(sample.contestant)) continue;
    if (reference_.empty() || sample.seconds < best) {
      best = sample.seconds;
      reference_ = sample.contestant;
    }
  }
  // Plain loops that a library beats tell nothing and would fill every round with their time.
  if (reference_ != kPlainLoops && baselines_.size() > 1) std::erase(baselines_, kPlainLoops);
  return {};
}

// Replayed graphs are timed by the device, which compilers do not disturb; whatever has the host in
// it is timed without them.
std::unique_ptr<QuietGate::Quiet> Workbench::quiet_while_timing(Mode mode) {
  const bool by_device =
      device_.kind == DeviceKind::cuda && mode != Mode::wall && mode != Mode::server;
  return by_device ? nullptr : std::make_unique<QuietGate::Quiet>(gate_);
}

// What is known of it before anything runs.
Trial Workbench::trial_of(const CompileResult& built, const EvaluationPlan& plan) const {
  Trial trial;
  trial.problem = to_text(problem_);
  trial.device = device_.fingerprint();
  trial.mode = recorded_mode(plan.measure, device_);
  trial.stage = plan.stage;
  trial.split = split_of(problem_);
  trial.seed = seed_;
  trial.program_language = kProgramLanguageVersion;
  trial.device_headers = kDeviceHeadersVersion;
  trial.libraries = libraries_;
  if (!built.binary) return trial;
  trial.binary_hash = built.binary->hash;
  trial.compile_seconds = built.binary->compile_seconds;
  trial.compiler = built.binary->compiler;
  if (device_.kind == DeviceKind::cuda) {
    const CubinFacts& facts = built.binary->cubin;
    trial.cubin =
        CubinNotes{facts.registers, facts.spill_stores + facts.spill_loads, facts.wgmma_serialized};
  }
  return trial;
}

Result<Trial> Workbench::evaluate(const CompileResult& built, const EvaluationPlan& plan) {
  Trial only;
  const Status status = evaluate(built, {&plan, 1}, [&only](Trial trial) -> Result<bool> {
    only = std::move(trial);
    return true;
  });
  if (!status) return tl::unexpected(status.error());
  return only;
}

Status Workbench::evaluate(const CompileResult& built, std::span<const EvaluationPlan> plans,
                           const Take& take) {
  auto start = std::chrono::steady_clock::now();
  // What the trials have in common is spent by the first.
  const auto finish = [&](Trial trial) {
    trial.total_seconds = seconds_since(start) + trial.compile_seconds;
    trial.unix_ms = unix_ms();
    start = std::chrono::steady_clock::now();
    return take(std::move(trial));
  };
  const auto fail_all = [&](const Finding& finding) -> Status {
    for (const EvaluationPlan& plan : plans) {
      Trial trial = trial_of(built, plan);
      fail_trial(trial, finding);
      const Result<bool> more = finish(std::move(trial));
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
    }
    return {};
  };
  std::vector<std::string> names;  // of all plans
  for (const EvaluationPlan& plan : plans) {
    for (const std::string& name : plan.baselines) {
      if (plan.time && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  if (!built.binary) return fail_all(built.finding);
  if (Status status = stand_->use(&built.binary->launch); !status) {
    return fail_all({Outcome::launch_error, "workspace", status.error().message});
  }
  Result<Opened> opened = stand_->open(&*built.binary, names);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->session) return fail_all(opened->finding);
  Session& session = *opened->session;
  // A kernel whose sizes are run-time arguments claims its ragged neighbours too.
  const Launch& launch = built.binary->launch;
  const bool ragged = !launch.m && !launch.n && !launch.k;
  const auto proof_start = std::chrono::steady_clock::now();
  const Verdict verdict = stand_->verifier().prove(session, plans.front().quick_proof, ragged);
  double proof_seconds = seconds_since(proof_start);
  for (const EvaluationPlan& plan : plans) {
    Trial trial = trial_of(built, plan);
    trial.max_abs_error = verdict.max_abs_error;
    trial.max_bound_ratio = verdict.max_bound_ratio;
    trial.norm_ratio = verdict.norm_ratio;
    trial.repeatable = verdict.repeatable;
    trial.proof_seconds = std::exchange(proof_seconds, 0);
    fail_trial(trial, verdict.finding);
    if (verdict.finding.ok() && plan.time) {
      time_candidate(*opened, names, plan, trial);
      if (trial.outcome == Outcome::ok) time_unpaired(plan, trial);
    }
    const Result<bool> more = finish(std::move(trial));
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
  }
  return {};
}

Result<std::vector<Trial>> Workbench::contest(std::span<const CompileResult> built,
                                              const EvaluationPlan& plan, std::string& remark) {
  std::vector<Binary> binaries;
  for (const CompileResult& one : built) binaries.push_back(*one.binary);
  Result<std::optional<Opened>> opened = stand_->open_all(binaries, plan.baselines);
  if (!opened) return tl::unexpected(opened.error());
  if (!*opened) return std::vector<Trial>{};
  const auto failed = [&remark](const Finding& finding) {
    remark = fmt::format("no contest: {} {}: {}", name_of(finding.outcome), finding.rule,
                         finding.detail);
    return std::vector<Trial>{};
  };
  if (!(*opened)->session) return failed((*opened)->finding);
  std::vector<std::string> names = plan.baselines;  // behind the candidate
  for (int i = 1; i < static_cast<int>(built.size()); ++i) names.push_back(rival_name(i));
  std::vector<Trial> trials;
  for (const CompileResult& one : built) trials.push_back(trial_of(one, plan));
  MeasureOptions options = plan.measure;
  options.seed = seed_;
  const std::optional<Conditions> before = rig_.conditions();
  Timing timing;
  {
    const auto quiet = quiet_while_timing(options.mode);
    timing = measure(*(*opened)->session, stand_->sets(), names, options, {});
  }
  if (!timing.finding.ok()) return failed(timing.finding);
  const std::span<const Column> theirs(timing.columns.data() + 1, plan.baselines.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Column& ours = timing.columns[i == 0 ? 0 : theirs.size() + i];
    Trial& trial = trials[i];
    trial.outcome = Outcome::ok;
    trial.time_us = ours.median_us;
    trial.spread = ours.spread;
    trial.noise = timing.noise;
    trial.before = before;
    trial.after = rig_.conditions();
    trial.timing_seconds = timing.seconds / static_cast<double>(trials.size());
    trial.total_seconds = trial.timing_seconds;
    trial.unix_ms = unix_ms();
    for (const Column& column : theirs) {
      BaselineTime row = row_of(column, paired_ratio(column.round_us, ours.round_us, seed_));
      row.headline = !beside_.contains(column.name);
      trial.baselines[column.name] = std::move(row);
    }
  }
  return trials;
}

// All sets that were written in the finals; in a screening a few, which nobody can foresee.
std::vector<int> Workbench::to_check(const std::vector<int>& sets, const EvaluationPlan& plan) {
  constexpr std::size_t kScreened = 4;
  if (!plan.quick_proof || sets.size() <= kScreened) return sets;
  std::vector<int> some = sets;
  for (std::size_t i = 0; i < kScreened; ++i) {
    std::swap(some[i], some[i + chance_.below(some.size() - i)]);
  }
  some.resize(kScreened);
  return some;
}

void Workbench::time_candidate(const Opened& opened, const std::vector<std::string>& names,
                               const EvaluationPlan& plan, Trial& trial) {
  Session& session = *opened.session;
  Verifier& verifier = stand_->verifier();
  verifier.arm();
  if (const Finding finding = session.reprepare(); !finding.ok()) {
    fail_trial(trial, finding);
    return;
  }
  Timing timing;
  trial.before = rig_.conditions();
  {
    const auto quiet = quiet_while_timing(plan.measure.mode);
    MeasureOptions options = plan.measure;
    options.seed = seed_;
    TimedChecks checks;
    checks.before_round = [&] { verifier.refresh(); };
    checks.after_round = [&](const std::vector<int>& sets) {
      return verifier.check_timed(to_check(sets, plan));
    };
    timing = measure(session, stand_->sets(), plan.baselines, options, checks);
  }
  trial.after = rig_.conditions();
  trial.timing_seconds = timing.seconds;
  if (!timing.finding.ok()) {
    fail_trial(trial, timing.finding);
    return;
  }
  if (const Finding finding = verifier.replay(session); !finding.ok()) {
    fail_trial(trial, finding);
    return;
  }
  trial.noise = timing.noise;
  for (const Column& column : timing.columns) {
    if (column.name == "candidate") {
      trial.time_us = column.median_us;
      trial.spread = column.spread;
      trial.latency_us = column.latency_us;
      continue;
    }
    BaselineTime row = row_of(column, column.ratio);
    row.comparison = name_of(column.comparison);
    row.headline = !beside_.contains(column.name);
    const auto at = static_cast<std::size_t>(std::ranges::find(names, column.name) - names.begin());
    if (at < opened.choices.size()) row.choice = opened.choices[at];
    if (at < opened.algorithms.size()) row.algorithm = opened.algorithms[at];
    trial.baselines[column.name] = std::move(row);
  }
}

void Workbench::time_unpaired(const EvaluationPlan& plan, Trial& trial) {
  if (plan.unpaired.empty() || !(trial.time_us > 0)) return;
  const Mode mode = plan.measure.mode;
  const auto quiet = quiet_while_timing(mode);
  for (const std::string& name : plan.unpaired) {
    const auto time = rig_.time_unpaired(name, problem_, mode, stand_->sets());
    if (time) trial.baselines[name] = row_beside(*time, trial);
  }
}

}  // namespace tilewright
