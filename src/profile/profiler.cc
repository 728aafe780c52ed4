// SPDX-License-Identifier: Apache-2.0
// Implementation of profiler.h.
#include "profile/profiler.h"

#include "base/subprocess.h"
#include "baseline/cuda/cuda_baseline.h"
#include "execute/cuda/cuda_worker.h"
#include "measure/measure.h"
#include "profile/job.h"
#include "profile/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The library's search and the context's birth take seconds; a pass takes little.
constexpr auto kRunLimit = 90s;
constexpr auto kProfileLimit = 150s;
constexpr double kTimedSeconds = 0.05;
constexpr int kMostTimedCalls = 1024;

// A folder of its own that goes with its owner.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "tilewright-profile-XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// As many calls as take kTimedSeconds at half of what the device could do.
int timed_calls(const Problem& problem, int sets) {
  constexpr double kFlop = 4e14, kBytes = 2e12, kLeast = 5e-6;
  const double seconds = std::max({problem.flop() / kFlop, problem.bytes() / kBytes, kLeast});
  return static_cast<int>(std::clamp<double>(kTimedSeconds / seconds, sets, kMostTimedCalls));
}

std::string tail_of(const std::string& text) {
  constexpr std::size_t kShown = 300;
  return text.size() <= kShown ? text : text.substr(text.size() - kShown);
}

}  // namespace

struct Profiler::State {
  Device device;
  ProfilerOptions options;
  fs::path runner;
  Ncu ncu;
  MetricChoice choice;

  void say(const std::string& line) const {
    if (options.log) options.log(line);
  }
  [[nodiscard]] bool flushes(const Problem& problem, int sets) const {
    if (options.caches != CacheState::as_timed) return options.caches == CacheState::flush;
    return problem.bytes() * sets > static_cast<double>(device.l2_bytes);
  }
  [[nodiscard]] Result<JobReplies> run_plain(const Job& job, const fs::path& folder) const;
  [[nodiscard]] Result<Ncu::Answer> run_profiled(const Job& job, bool flush,
                                                 const fs::path& folder) const;
  [[nodiscard]] Result<Profiled> take(Job job) const;
};

Result<JobReplies> Profiler::State::run_plain(const Job& job, const fs::path& folder) const {
  Burst burst;
  burst.contestant = contestant_of(job);
  burst.calls = timed_calls(job.problem, job.sets);
  TimeRequest question{{burst, burst, burst}};
  const auto files = write_job(job, std::move(question), folder);
  if (!files) return tl::unexpected(files.error());
  Command command;
  command.argv = files->command(runner);
  command.environment = {"CUDA_LAUNCH_BLOCKING=0"};
  command.limit = kRunLimit;
  const auto done = run(command);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out) {
    return JobReplies{{Outcome::run_timeout, "call-limit", "killed at the limit"}, {}, {}};
  }
  auto replies = read_replies(*files);
  if (!replies) {
    return fail(
        ErrorCode::environment,
        fmt::format("the CUDA runner: {} {}", replies.error().message, tail_of(done->output)));
  }
  return replies;
}

Result<Ncu::Answer> Profiler::State::run_profiled(const Job& job, bool flush,
                                                  const fs::path& folder) const {
  const auto files = write_job(job, ProfileRequest{contestant_of(job), options.warm_calls}, folder);
  if (!files) return tl::unexpected(files.error());
  Ncu::Request request;
  request.metrics = choice.metrics;
  request.flush = flush;
  request.program = files->command(runner);
  request.log = folder / "ncu.csv";
  request.limit = kProfileLimit;
  auto answer = ncu.profile(std::move(request));
  if (answer) {
    for (const std::string& metric : answer->dropped) say(fmt::format("ncu refuses {}", metric));
    return answer;
  }
  // What happened inside is the better reason.
  if (const auto replies = read_replies(*files); replies && !replies->finding.ok()) {
    return fail(answer.error().code,
                fmt::format("{}; the runner: {} {}", answer.error().message, replies->finding.rule,
                            replies->finding.detail),
                answer.error().hint);
  }
  return answer;
}

Result<Profiled> Profiler::State::take(Job job) const {
  const Scratch scratch;
  if (scratch.path().empty()) {
    return fail(ErrorCode::environment, "no folder for temporary files can be made",
                "TMPDIR names where they go");
  }
  job.sets = sets_for(job.problem, device, Mode::offline);
  const bool flush = flushes(job.problem, job.sets);
  const auto plain = run_plain(job, scratch.path());
  if (!plain) return tl::unexpected(plain.error());
  Profiled result;
  result.finding = plain->finding;
  if (!result.finding.ok() && job.candidate == nullptr) {
    return fail(ErrorCode::environment,
                fmt::format("{}: {} {}", job.baseline, plain->finding.rule, plain->finding.detail));
  }
  if (!result.finding.ok()) return result;
  std::vector<double> times;
  for (const RawSample& sample : plain->samples) times.push_back(sample.seconds);
  std::ranges::sort(times);
  if (!times.empty()) result.time_us = times[times.size() / 2] * 1e6;
  result.choice = plain->choice;
  result.flushed = flush;

  job.sets = 1;
  // Under the profiler a search would be misled; what it chose is taken as it is.
  if (job.baseline.starts_with("cublaslt_")) {
    job.baseline = std::string(kGivenAlgorithm) + result.choice;
  }
  const auto answer = run_profiled(job, flush, scratch.path());
  if (!answer) return tl::unexpected(answer.error());
  result.profile = profile_of(answer->report, options.extra_metrics);
  result.profile.tool = fmt::format("ncu {}", ncu.version());
  return result;
}

Profiler::Profiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Profiler::~Profiler() = default;
Profiler::Profiler(Profiler&&) noexcept = default;
Profiler& Profiler::operator=(Profiler&&) noexcept = default;

Result<Profiler> Profiler::open(const Device& device, ProfilerOptions options) {
  if (device.kind != DeviceKind::cuda) {
    return fail(ErrorCode::usage, fmt::format("device '{}' is no CUDA device", device.name));
  }
  auto ncu = Ncu::find();
  if (!ncu) return tl::unexpected(ncu.error());
  auto runner = find_cuda_runner(options.runner);
  if (!runner) return tl::unexpected(runner.error());
  const std::vector<std::string> known = ncu->metrics(device.cuda.capability);
  MetricChoice choice = choose_metrics(known, options.extra_metrics);
  auto state = std::make_unique<State>(
      State{device, std::move(options), *runner, *std::move(ncu), std::move(choice)});
  if (known.empty()) state->say("ncu does not list its metrics; the usual names are tried");
  if (!state->choice.unknown.empty()) {
    state->say(fmt::format("not to be had here: {}", fmt::join(state->choice.unknown, ", ")));
  }
  return Profiler(std::move(state));
}

Result<Profiled> Profiler::candidate(const Problem& problem, const Binary& binary) {
  Job job;
  job.problem = problem;
  job.device = state_->device;
  job.candidate = &binary;
  auto taken = state_->take(job);
  if (taken) add_compiler_facts(binary.cubin, taken->profile);
  return taken;
}

Result<Profiled> Profiler::baseline(const Problem& problem, const std::string& name) {
  Job job;
  job.problem = problem;
  job.device = state_->device;
  job.baseline = name;
  return state_->take(job);
}

const Ncu& Profiler::tool() const {
  return state_->ncu;
}

void add_compiler_facts(const CubinFacts& facts, Profile& profile) {
  // Zeros where the log did not say; a kernel without registers there is none.
  if (facts.registers == 0) return;
  profile.values.try_emplace("registers", facts.registers);
  profile.values["spill_bytes"] = facts.spill_stores + facts.spill_loads;
  profile.values["stack_bytes"] = facts.stack_bytes;
}

}  // namespace tilewright
