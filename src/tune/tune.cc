// SPDX-License-Identifier: Apache-2.0
// The loop over problems: what to do, what was done before, what time is left.
#include "tune/tune.h"

#include "base/hash.h"
#include "baseline/baseline.h"
#include "tune/problem_tuner.h"
#include "tune/recall.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// Identifies a host across databases without naming it.
std::string host_id() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  return hash128(name).substr(0, 8);
}

bool stopped(const TuneOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

// The final trial that an earlier start of the same run left behind, unless that was interrupted
// before its search was over.
Result<std::optional<Trial>> finished_before(const Bench& bench, const Problem& problem) {
  TrialQuery query;
  query.problem = to_text(problem);
  query.device = bench.device.fingerprint();
  query.mode = name_of(bench.options.mode);
  query.run = bench.options.run;
  query.stage = "final";
  query.outcome = Outcome::ok;
  Result<std::vector<Trial>> found = bench.database.select(query);
  if (!found) return tl::unexpected(found.error());
  std::erase_if(*found, [](const Trial& trial) { return trial.cut_short; });
  if (found->empty()) return std::optional<Trial>();
  return std::optional<Trial>(
      *std::ranges::max_element(*found, {}, [](const Trial& t) { return t.speedup(); }));
}

// The problems whose turn comes next. In a sweep some are begun early, so that the device does not
// wait for compilers.
class Line {
 public:
  Line(Bench& bench, const std::vector<Problem>& problems) : bench_(bench), problems_(problems) {}

  Status begin_from(std::size_t first) {
    constexpr std::size_t kEarly = 3;
    const bool early = is_hasty(bench_.options.effort) && bench_.device.kind == DeviceKind::cuda;
    const std::size_t end = std::min(problems_.size(), first + 1 + (early ? kEarly : 0));
    for (next_ = std::max(next_, first); next_ < end; ++next_) {
      if (next_ > first && bench_.options.resume) {
        const Result<std::optional<Trial>> before = finished_before(bench_, problems_[next_]);
        if (before && *before) continue;
      }
      if (Status status = learn_for(problems_[next_].op); !status) return status;
      auto& tuner = begun_[next_] =
          std::make_unique<ProblemTuner>(bench_, problems_[next_], experience_);
      if (Status status = tuner->begin(); !status) return status;
    }
    return {};
  }
  std::unique_ptr<ProblemTuner> take(std::size_t which) {
    std::unique_ptr<ProblemTuner> taken = std::move(begun_[which]);
    begun_.erase(which);
    return taken;
  }

 private:
  // Each problem may learn from those before it; but a sweep passes through too many to read
  // everything anew.
  Status learn_for(Op op) {
    if (experience_ && op == op_ && is_hasty(bench_.options.effort)) return {};
    auto recalled = recall(bench_.database, bench_.device, bench_.options.mode, op);
    if (!recalled) return tl::unexpected(recalled.error());
    experience_ = *std::move(recalled);
    op_ = op;
    return {};
  }

  Bench& bench_;
  const std::vector<Problem>& problems_;
  std::shared_ptr<const Experience> experience_;
  Op op_ = Op::gemm;  // of the experience
  std::size_t next_ = 0;
  std::map<std::size_t, std::unique_ptr<ProblemTuner>> begun_;
};

}  // namespace

Result<std::vector<TuneResult>> tune(const std::vector<Problem>& problems, const Device& machine,
                                     Database& database, const TuneOptions& options) {
  Device device = machine;
  if (options.threads > 0) device.cores = std::min(options.threads, device.cores);
  if (Status status = database.remember(device); !status) return tl::unexpected(status.error());

  CompileOptions compile_options;
  compile_options.compiler = options.compiler;
  compile_options.cuda_compiler = options.cuda_compiler;
  // For a GPU everything may be in the cache, made elsewhere.
  compile_options.needs = device.kind == DeviceKind::cuda ? "" : "c++";
  compile_options.cache_directory = options.cache_directory;
  compile_options.warn = options.log;
  Result<Compiler> compiler = Compiler::create(compile_options);
  if (!compiler) return tl::unexpected(compiler.error());
  Result<std::unique_ptr<Rig>> rig = Rig::create(device, *compiler,
                                                 {.runner = options.runner,
                                                  .vendor_search = vendor_search(options.effort),
                                                  .log = options.log});
  if (!rig) return tl::unexpected(rig.error());

  QuietGate gate;
  Bench shared{*compiler, **rig, gate, database, device, options, host_id()};
  const Clock::time_point start = Clock::now();
  const auto remaining = [&]() -> std::optional<std::chrono::duration<double>> {
    if (!options.budget.time) return std::nullopt;
    return std::chrono::duration<double>(*options.budget.time) - (Clock::now() - start);
  };

  Line line(shared, problems);
  std::vector<TuneResult> results;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    TuneResult result;
    result.problem = problems[i];
    if (options.resume) {
      Result<std::optional<Trial>> before = finished_before(shared, problems[i]);
      if (!before) return tl::unexpected(before.error());
      if (*before) {
        result.winner = **before;
        result.resumed = 1;
        results.push_back(std::move(result));
        continue;
      }
    }
    if (stopped(options)) {
      result.interrupted = true;
      result.skipped.emplace_back("interrupted before it was begun");
    } else if (const auto left = remaining(); left && left->count() <= 0) {
      result.skipped.emplace_back("the time budget was spent before it was begun");
    } else {
      Progress progress;
      progress.problem = to_text(problems[i]);
      progress.problem_index = static_cast<int>(i);
      progress.problem_count = static_cast<int>(problems.size());
      // An equal share of what is left: time that one problem saves goes to those after it.
      std::optional<Clock::time_point> deadline;
      if (left) {
        const double share = left->count() / static_cast<double>(problems.size() - i);
        deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(share));
      }
      if (Status status = line.begin_from(i); !status) return tl::unexpected(status.error());
      Result<TuneResult> tuned = line.take(i)->finish(ProblemBudget{start, deadline}, progress);
      if (!tuned) return tl::unexpected(tuned.error());
      result = *std::move(tuned);
    }
    results.push_back(std::move(result));
  }
  gate.abandon();
  return results;
}

}  // namespace tilewright
