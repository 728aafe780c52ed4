// SPDX-License-Identifier: Apache-2.0
// Successive halving. Rung one: every proposal gets the quick proof and three short paired rounds
// against the fastest baseline. Where a device's power limits, the best of these then take turns in
// one session. Last rung: the best few get the full proof and full paired rounds against every
// baseline; only these can win.
//
// Every trial is in the database before the next candidate is touched.
#include "tune/problem_tuner.h"

#include "tune/compile_queue.h"
#include "tune/finalists.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Processes that compile ahead. On a CPU they and the kernels share the cores; beside a GPU a few
// cores are left to this process and the runner.
int compile_workers(const Device& device) {
  return device.kind == DeviceKind::cpu ? 2 : std::clamp(device.cores - 2, 2, 14);
}
// Programs compiling or compiled, waiting for their turn.
std::size_t compile_ahead(const Device& device) {
  return device.kind == DeviceKind::cpu ? 3 : 2 * static_cast<std::size_t>(compile_workers(device));
}

constexpr std::size_t kKnownFirst = 3;  // programs of wisdom before those of the policy
constexpr std::string_view kWisdomPolicy = "wisdom";
constexpr int kDefaultTrials = 64;        // when no budget is given
constexpr double kFinalsShare = 0.4;      // of a problem's time, at most
constexpr double kFinalistSeconds = 1.0;  // first guess of a finalist's cost, then measured

}  // namespace

struct ProblemTuner::State {
 public:
  State(Bench& bench, const Problem& problem, std::shared_ptr<const Experience> experience)
      : bench_(bench), experience_(std::move(experience)) {
    result_.problem = problem;
  }

  Status begin() {
    if (Status status = recall_own(); !status) return status;
    // A policy's start (it may count spaces and rank thousands) and compiling go on while the
    // device is busy with other problems or libraries.
    queue_.emplace(bench_.compiler, bench_.gate, result_.problem, bench_.device,
                   compile_workers(bench_.device));
    fed_ = std::async(std::launch::async, [this] {
      Status started = start_policy();
      if (started) feed();
      return started;
    });
    return {};
  }

  Result<TuneResult> finish(const ProblemBudget& budget, Progress progress) {
    budget_ = budget;
    progress_ = std::move(progress);
    begun_ = Clock::now();
    Result<std::unique_ptr<Workbench>> workbench =
        Workbench::create(result_.problem, bench_.device, bench_.rig, bench_.gate,
                          bench_.options.mode, bench_.options.seed);
    if (!workbench) return tl::unexpected(workbench.error());
    workbench_ = *std::move(workbench);
    for (const std::string& remark : workbench_->remarks()) log(remark);
    if (Status status = fed_.get(); !status) return tl::unexpected(status.error());
    if (Status status = screen(); !status) return tl::unexpected(status.error());
    if (bench_.options.finals) {
      if (Status status = finals(); !status) return tl::unexpected(status.error());
    }
    result_.interrupted = stopped();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool stopped() const {
    return bench_.options.stop != nullptr && bench_.options.stop->load(std::memory_order_relaxed);
  }
  void log(const std::string& line) const {
    if (bench_.options.log) bench_.options.log(line);
  }

  // Results of this problem by the headers of today; what older ones gave is experience like that
  // of other problems.
  Status recall_own() {
    TrialQuery query;
    query.problem = to_text(result_.problem);
    query.device = bench_.device.fingerprint();
    query.mode = name_of(bench_.options.mode);
    Result<std::vector<Trial>> own = bench_.database.select(query);
    if (!own) return tl::unexpected(own.error());
    own_ = *std::move(own);
    std::erase_if(own_, [](const Trial& trial) {
      return trial.program_language != kProgramLanguageVersion ||
             trial.device_headers != kDeviceHeadersVersion;
    });
    return {};
  }

  Status start_policy() {
    PolicyContext context;
    context.problem = result_.problem;
    context.device = bench_.device;
    context.seed = bench_.options.seed;
    context.learner = bench_.options.learner;
    context.experience = std::move(experience_);
    if (!bench_.options.only.empty()) {
      context.only =
          std::make_shared<ProgramSet>(result_.problem, bench_.device, bench_.options.only);
    }
    Result<std::unique_ptr<Policy>> policy = make_policy(bench_.options.policy, std::move(context));
    if (!policy) return tl::unexpected(policy.error());
    policy_ = *std::move(policy);
    if (bench_.options.begin_with) {
      known_ = bench_.options.begin_with->of(result_.problem, bench_.device, kKnownFirst);
    }
    if (!bench_.options.resume) return {};
    for (const Trial& trial : own_) {
      if (trial.stage != "screen") continue;
      policy_->observe(trial);
      screened_.push_back(trial);
      if (trial.run == bench_.options.run) ++resumed_in_run_;
      ++result_.resumed;
    }
    return {};
  }

  // Programs still to be screened in this run.
  [[nodiscard]] int trials_left() const {
    if (!bench_.options.budget.trials && bench_.options.budget.time) return 1 << 30;
    const int wanted = bench_.options.budget.trials.value_or(kDefaultTrials);
    return wanted - resumed_in_run_ - result_.trials;
  }

  // A problem that was begun gets one candidate at least; the finals get what they took so far, at
  // most a part of the problem's share.
  [[nodiscard]] bool time_left_for_search() const {
    if (!budget_.deadline || result_.trials + result_.resumed == 0) return true;
    const double share = Seconds(*budget_.deadline - begun_).count();
    const double reserve =
        std::min(final_seconds_ * static_cast<double>(finalists(bench_.options.effort)),
                 kFinalsShare * share);
    return Seconds(*budget_.deadline - Clock::now()).count() > reserve;
  }

  // Keeps the compilers busy.
  void feed() {
    const auto room = static_cast<std::size_t>(std::clamp<std::int64_t>(
        trials_left(), 0, static_cast<std::int64_t>(compile_ahead(bench_.device))));
    while (!dry_ && queue_->in_flight() < room) {
      std::optional<Program> program = next_program();
      dry_ = !program;
      if (program) queue_->push(*std::move(program));
    }
  }

  // What is known, then what the policy proposes; nothing when it has no more to say.
  std::optional<Program> next_program() {
    const auto screened = [this](const Program& program) {
      return std::ranges::find(own_, program.text(), &Trial::program) != own_.end();
    };
    while (known_next_ < known_.size()) {
      const Program& program = known_[known_next_++];
      if (!bench_.options.resume || !screened(program)) return program;
    }
    while (true) {
      std::vector<Program> proposed = policy_->propose(1);
      if (proposed.empty()) return std::nullopt;
      if (!is_known(proposed.front().text())) return std::move(proposed.front());
    }
  }
  [[nodiscard]] bool is_known(const std::string& text) const {
    return std::ranges::find(known_, text, &Program::text) != known_.end();
  }

  Status screen() {
    const EvaluationPlan plan = screening_plan(bench_.device, bench_.options.mode,
                                               workbench_->reference(), bench_.options.effort);
    while (!stopped() && trials_left() > 0 && time_left_for_search()) {
      feed();
      if (queue_->in_flight() == 0) break;
      std::optional<Built> built = queue_->pop(std::chrono::milliseconds(50));
      if (!built) continue;
      if (!built->result.binary && !blames_candidate(built->result.finding)) {
        if (stopped()) break;
        return fail(ErrorCode::environment,
                    fmt::format("compiling: {}: {}", built->result.finding.rule,
                                built->result.finding.detail));
      }
      Result<Trial> trial = workbench_->evaluate(built->result, plan);
      if (!trial) return tl::unexpected(trial.error());
      if (Status status = record(built->program.text(), *trial); !status) return status;
      policy_->observe(*trial);
      screened_.push_back(*trial);
      binaries_.insert_or_assign(built->program.text(), std::move(built->result));
      report(*trial);
    }
    queue_.reset();
    if (dry_) log("every legal program of this problem has been tried");
    if (!dry_ && !stopped() && !time_left_for_search() && bench_.options.budget.trials) {
      result_.skipped.push_back(fmt::format("{} of {} programs: the time budget was spent",
                                            trials_left(), *bench_.options.budget.trials));
    }
    return {};
  }

  // Full proof, full timing, for the best of the screened.
  Status finals() {
    EvaluationPlan plan = final_plan(result_.problem, bench_.device, bench_.options.mode,
                                     final_baselines(), bench_.options.effort);
    std::erase_if(plan.unpaired, [&](const std::string& name) { return !wanted(name); });
    const bool cut_short = stopped() && !dry_ && trials_left() > 0;
    if (Status status = contest(); !status) return status;
    Finalists line(screened_, finalists(bench_.options.effort));
    while (const auto candidate = line.next(stopped() || past_deadline())) {
      Result<CompileResult> built = binary_of(*candidate);
      if (!built) return tl::unexpected(built.error());
      Result<Trial> trial = workbench_->evaluate(*built, plan);
      if (!trial) return tl::unexpected(trial.error());
      trial->cut_short = cut_short;
      if (Status status = record(candidate->program, *trial); !status) return status;
      final_seconds_ = trial->total_seconds - trial->compile_seconds;
      report(*trial);
      line.ended(*trial);
    }
    result_.winner = line.winner();
    return {};
  }

  // Leaves of the screened the best, with their times in turn, where that can be found out.
  Status contest() {
    const std::size_t wanted = contestants(result_.problem, bench_.device, bench_.options.mode);
    std::vector<Trial> best;
    Finalists line(screened_, wanted);
    while (best.size() < wanted) {
      const auto next = line.next(false);
      if (!next || next->outcome != Outcome::ok) break;
      best.push_back(*next);
    }
    if (best.size() <= finalists(bench_.options.effort) || stopped() || past_deadline()) return {};
    std::vector<CompileResult> built;
    for (const Trial& trial : best) {
      Result<CompileResult> one = binary_of(trial);
      if (!one) return tl::unexpected(one.error());
      if (!one->binary) return {};
      built.push_back(*std::move(one));
    }
    std::string remark;
    const EvaluationPlan plan =
        contest_plan(bench_.device, bench_.options.mode, workbench_->reference());
    Result<std::vector<Trial>> trials = workbench_->contest(built, plan, remark);
    if (!trials) return tl::unexpected(trials.error());
    if (!remark.empty()) log(remark);
    if (trials->empty()) return {};
    screened_.clear();
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (Status s = record(best[i].program, (*trials)[i]); !s) return s;
      report((*trials)[i]);
      screened_.push_back((*trials)[i]);
    }
    return {};
  }

  [[nodiscard]] bool past_deadline() const {
    return budget_.deadline && Clock::now() > *budget_.deadline;
  }

  [[nodiscard]] std::vector<std::string> final_baselines() const {
    std::vector<std::string> names = workbench_->baselines();
    std::erase_if(names, [&](const std::string& name) { return !wanted(name); });
    return names;
  }
  [[nodiscard]] bool wanted(const std::string& name) const {
    const std::vector<std::string>& named = bench_.options.baselines;
    return named.empty() || std::ranges::find(named, name) != named.end();
  }

  // The binary of a screened program: from this session, or compiled again (the cache has it).
  Result<CompileResult> binary_of(const Trial& trial) {
    if (const auto known = binaries_.find(trial.program); known != binaries_.end()) {
      return known->second;
    }
    const Result<Program> program = parse_program(trial.program);
    if (!program) return tl::unexpected(program.error());
    const Result<Source> source = generate(*program, result_.problem, bench_.device);
    if (!source) return tl::unexpected(source.error());
    return bench_.compiler.compile(*source);
  }

  Status record(const std::string& program, Trial& trial) {
    trial.program = program;
    trial.policy = std::string(is_known(program) ? kWisdomPolicy : policy_->name());
    trial.run = bench_.options.run;
    trial.host = bench_.host;
    if (trial.stage == "screen") ++result_.trials;
    const Result<bool> inserted = bench_.database.insert(trial);
    if (!inserted) return tl::unexpected(inserted.error());
    return {};
  }

  void report(const Trial& trial) {
    progress_.trials = result_.trials;
    if (trial.outcome == Outcome::ok) {
      if (trial.stage == "screen") ++progress_.ok;
      if (progress_.best_us == 0 || trial.time_us < progress_.best_us) {
        progress_.best_us = trial.time_us;
        progress_.best_speedup = trial.speedup();
      }
    }
    const Clock::time_point now = Clock::now();
    progress_.elapsed_seconds = Seconds(now - budget_.start).count();
    progress_.remaining_seconds = -1;
    if (bench_.options.budget.time) {
      progress_.remaining_seconds =
          Seconds(*bench_.options.budget.time).count() - progress_.elapsed_seconds;
    }
    progress_.last = fmt::format("{} {}", trial.program, name_of(trial.outcome));
    if (!trial.rule.empty()) progress_.last += fmt::format(" ({}: {})", trial.rule, trial.detail);
    if (bench_.options.progress) bench_.options.progress(progress_);
  }

  Bench& bench_;
  ProblemBudget budget_;
  Progress progress_;
  TuneResult result_;
  std::unique_ptr<Workbench> workbench_;
  std::unique_ptr<Policy> policy_;
  std::optional<CompileQueue> queue_;
  std::shared_ptr<const Experience> experience_;  // until the policy has it
  std::vector<Trial> own_;
  std::vector<Program> known_;  // of wisdom, screened first
  std::size_t known_next_ = 0;
  bool dry_ = false;  // the policy has nothing more to say
  std::vector<Trial> screened_;
  std::map<std::string, CompileResult> binaries_;
  int resumed_in_run_ = 0;
  double final_seconds_ = kFinalistSeconds;
  Clock::time_point begun_;
  std::future<Status> fed_;  // last: its destructor waits before what the task uses is gone
};

ProblemTuner::ProblemTuner(Bench& bench, const Problem& problem,
                           std::shared_ptr<const Experience> experience)
    : state_(std::make_unique<State>(bench, problem, std::move(experience))) {}
ProblemTuner::~ProblemTuner() = default;

Status ProblemTuner::begin() {
  return state_->begin();
}

Result<TuneResult> ProblemTuner::finish(const ProblemBudget& budget, Progress progress) {
  return state_->finish(budget, std::move(progress));
}

}  // namespace tilewright
