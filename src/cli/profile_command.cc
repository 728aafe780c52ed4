// SPDX-License-Identifier: Apache-2.0
// tilewright profile: what the hardware's counters say of a program's kernel, beside the kernel of
// the vendor's library for the same problem (docs/profile.md).
#include "cli/bench_shop.h"
#include "cli/interrupt.h"
#include "cli/profile_winners.h"

#include "base/file.h"
#include "base/text.h"
#include "profile/host_profiler.h"
#include "profile/render.h"

#include <fmt/format.h>

#include <optional>

namespace tilewright {
namespace {

constexpr std::string_view kBest = "best";

struct ProfileFlags {
  std::string program, problem, file, run, format = "table", caches = "as-timed";
  std::string baseline;  // empty: cublaslt_autotune, on a CPU onednn
  std::vector<std::string> metrics;
  std::size_t top = 1;
  bool vendor = false, fresh = false;
};

struct Pair {
  std::string program, problem;
  std::string trial{};  // whose profile it will be; empty: nobody's
};

// Lines "PROGRAM | PROBLEM"; empty ones and those that begin with # are none.
Result<std::vector<Pair>> read_pairs(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<Pair> pairs;
  int number = 0;
  for (const std::string_view raw : split(*text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const auto parts = split(line, '|');
    if (parts.size() != 2 || trim(parts[0]).empty() || trim(parts[1]).empty()) {
      return fail(ErrorCode::usage, fmt::format("{}:{}: not PROGRAM | PROBLEM", path, number));
    }
    pairs.push_back({std::string(trim(parts[0])), std::string(trim(parts[1]))});
  }
  if (pairs.empty()) return fail(ErrorCode::usage, fmt::format("{}: no pairs", path));
  return pairs;
}

Result<std::vector<Pair>> pairs_of(const ProfileFlags& flags) {
  const bool given = !flags.program.empty() || !flags.problem.empty();
  if (given + !flags.file.empty() + !flags.run.empty() != 1) {
    return fail(ErrorCode::usage, "give PROGRAM PROBLEM, --file or --run");
  }
  if (!flags.file.empty()) return read_pairs(flags.file);
  if (!flags.run.empty()) return std::vector<Pair>();
  if (flags.problem.empty()) {
    return fail(ErrorCode::usage, "PROBLEM is missing",
                "tilewright profile best 4096x4096x4096 takes the best program that is known");
  }
  return std::vector<Pair>{{flags.program, flags.problem}};
}

std::optional<CacheState> caches_from(std::string_view name) {
  if (name == "as-timed") return CacheState::as_timed;
  if (name == "flush") return CacheState::flush;
  if (name == "keep") return CacheState::keep;
  return std::nullopt;
}

Result<Compiler> make_compiler(const Cli& cli) {
  CompileOptions options;
  options.compiler = cli.settings.text("compile.cxx");
  options.cuda_compiler = cli.settings.text("compile.cuda");
  options.needs = "";  // what is in the cache needs none
  options.cache_directory = cli.settings.text("cache.dir");
  return Compiler::create(options);
}

class ProfileRun {
 public:
  ProfileRun(Cli& cli, const ProfileFlags& flags) : cli_(cli), flags_(flags) {}

  Result<int> run() {
    const auto format = profile_format_from(flags_.format);
    if (!format) {
      return fail(ErrorCode::usage, fmt::format("--format: unknown format '{}'", flags_.format),
                  "formats: table, csv, json");
    }
    Result<std::vector<Pair>> pairs = pairs_of(flags_);
    if (!pairs) return tl::unexpected(pairs.error());
    if (Status ready = prepare(); !ready) return tl::unexpected(ready.error());
    if (!flags_.run.empty()) pairs = winners();
    if (!pairs) return tl::unexpected(pairs.error());
    const auto& stop = stop_on_signals();
    for (const Pair& pair : *pairs) {
      if (stop.load(std::memory_order_relaxed)) break;
      Result<ProfiledPair> taken = take(pair);
      if (!taken) return tl::unexpected(taken.error());
      if (Status stored = store(pair, *taken); !stored) return tl::unexpected(stored.error());
      done_.push_back(*std::move(taken));
      if (*format == ProfileFormat::table) {
        print(render_profiles({done_.back()}, device_.name, *format) + "\n");
      }
    }
    if (*format != ProfileFormat::table) print(render_profiles(done_, device_.name, *format));
    if (stop.load(std::memory_order_relaxed)) return static_cast<int>(ErrorCode::interrupted);
    return failed_ ? static_cast<int>(ErrorCode::negative) : 0;
  }

 private:
  Status prepare() {
    const auto caches = caches_from(flags_.caches);
    if (!caches) {
      return fail(ErrorCode::usage, fmt::format("--caches: unknown state '{}'", flags_.caches),
                  "states: as-timed, flush, keep");
    }
    Result<Device> device = this_device(cli_);
    if (!device) return tl::unexpected(device.error());
    device_ = *std::move(device);
    ProfilerOptions options;
    options.runner = cli_.settings.text("execute.runner");
    options.extra_metrics = flags_.metrics;
    options.caches = *caches;
    options.log = [this](const std::string& line) { note(cli_, line); };
    if (Status opened = open_profiler(options); !opened) return opened;
    Result<Compiler> compiler = make_compiler(cli_);
    if (!compiler) return tl::unexpected(compiler.error());
    compiler_.emplace(*std::move(compiler));
    const bool writes = !flags_.run.empty();
    Result<Database> found =
        open_database(cli_, writes ? Database::Access::read_write : Database::Access::read_only);
    if (!found && writes) return tl::unexpected(found.error());
    if (found) database_.emplace(*std::move(found));
    return {};
  }

  // The best trials of --run that have no profile yet.
  Result<std::vector<Pair>> winners() {
    TrialQuery query;
    query.run = flags_.run;
    query.device = device_.fingerprint();
    query.mode = "offline";
    query.outcome = Outcome::ok;
    const Result<std::vector<Trial>> trials = database_->select(query);
    if (!trials) return tl::unexpected(trials.error());
    std::vector<Pair> pairs;
    const std::vector<Trial> best = winners_of(*trials, flags_.top);
    for (const Trial& trial : best) {
      if (trial.profile && !flags_.fresh) continue;
      pairs.push_back({trial.program, trial.problem, trial.id()});
    }
    if (best.empty()) {
      return fail(ErrorCode::negative,
                  fmt::format("--run {}: no trial of this device ended ok", flags_.run),
                  "tilewright db show lists what is recorded");
    }
    note(cli_, fmt::format("{} of {} winners have no profile", pairs.size(), best.size()));
    return pairs;
  }

  Status open_profiler(const ProfilerOptions& options) {
    if (device_.kind == DeviceKind::cuda) {
      Result<Profiler> profiler = Profiler::open(device_, options);
      if (!profiler) return tl::unexpected(profiler.error());
      gpu_.emplace(*std::move(profiler));
      return {};
    }
    if (!options.extra_metrics.empty()) {
      return fail(ErrorCode::usage, "--metrics: metrics of ncu are a matter of CUDA");
    }
    Result<HostProfiler> profiler = HostProfiler::open(device_, options);
    if (!profiler) return tl::unexpected(profiler.error());
    cpu_.emplace(*std::move(profiler));
    return {};
  }

  Result<Profiled> profile(const Problem& problem, const Binary& binary) {
    return gpu_ ? gpu_->candidate(problem, binary) : cpu_->candidate(problem, binary);
  }
  Result<Profiled> profile_vendor(const Problem& problem) {
    return gpu_ ? gpu_->baseline(problem, vendor()) : cpu_->baseline(problem, vendor());
  }
  [[nodiscard]] std::string vendor() const {
    if (!flags_.baseline.empty()) return flags_.baseline;
    return gpu_ ? "cublaslt_autotune" : "onednn";
  }

  Result<ProfiledPair> take(const Pair& pair) {
    Result<Problem> problem = parse_problem(pair.problem);
    if (!problem) return tl::unexpected(problem.error());
    CandidateArgument argument;
    argument.program = pair.program;
    if (pair.program == kBest) {
      auto best = default_candidate(database_ ? &*database_ : nullptr, *problem, device_);
      if (!best) return tl::unexpected(best.error());
      argument = *std::move(best);
    }
    const Result<Candidate> candidate = read_candidate(argument, *problem, device_);
    if (!candidate) return tl::unexpected(candidate.error());
    ProfiledPair result{to_text(*problem), candidate->name, {}};
    note(cli_, fmt::format("{}: {}", result.problem, result.program));
    const CompileResult built = compiler_->compile(candidate->source);
    if (built.binary) {
      if (Status s = keep(result, "candidate", profile(*problem, *built.binary)); !s) {
        return tl::unexpected(s.error());
      }
    } else {
      keep_finding(result, "candidate", built.finding);
    }
    if (!flags_.vendor && flags_.baseline.empty()) return result;
    if (Status s = keep(result, vendor(), profile_vendor(*problem)); !s) {
      return tl::unexpected(s.error());
    }
    return result;
  }

  Status store(const Pair& pair, const ProfiledPair& taken) {
    if (pair.trial.empty() || !taken.columns.front().error.empty()) return {};
    const auto done = database_->set_profile(pair.trial, taken.columns.front().profiled.profile);
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  void keep_finding(ProfiledPair& pair, const std::string& who, const Finding& finding) {
    failed_ = true;
    pair.columns.push_back(
        {who,
         {},
         fmt::format("{} ({}: {})", name_of(finding.outcome), finding.rule, finding.detail)});
  }

  // What fails at the very first will fail again; later it costs that column alone.
  Status keep(ProfiledPair& pair, const std::string& who, Result<Profiled> taken) {
    if (!taken) {
      if (!any_) return tl::unexpected(taken.error());
      failed_ = true;
      pair.columns.push_back({who, {}, taken.error().message});
      return {};
    }
    if (!taken->finding.ok()) {
      keep_finding(pair, who, taken->finding);
      return {};
    }
    any_ = true;
    pair.columns.push_back({who, *std::move(taken), ""});
    return {};
  }

  Cli& cli_;
  const ProfileFlags& flags_;
  Device device_;
  std::optional<Profiler> gpu_;  // one of the two
  std::optional<HostProfiler> cpu_;
  std::optional<Compiler> compiler_;
  std::optional<Database> database_;
  std::vector<ProfiledPair> done_;
  bool any_ = false, failed_ = false;
};

}  // namespace

void add_profile(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = app.add_subcommand(
      "profile",
      "What the hardware's counters say of a program's kernel (CUDA needs Nsight Compute)\n\n"
      "  tilewright profile best 8192x8192x8192 --vendor\n"
      "  tilewright profile 'sm90 ...' 4096x4096x4096 --format json\n"
      "  tilewright profile --file pairs.txt --vendor --format csv\n"
      "  tilewright profile --run RUN --top 3            into the trials of a run");
  command->add_option("program", flags->program, "A program's text, or best: the best known");
  command->add_option("problem", flags->problem, "The problem");
  command->add_option("--file", flags->file, "Pairs, one a line: PROGRAM | PROBLEM");
  command->add_option("--run", flags->run,
                      "The winners of a run of --db: each profile goes into its trial");
  command->add_option("--top", flags->top, "So many programs of each problem of --run (1)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--fresh", flags->fresh, "Also winners of --run that have a profile");
  command->add_flag("--vendor", flags->vendor,
                    "Also the kernel of the vendor's library, side by side");
  command->add_option(
      "--baseline", flags->baseline,
      "Which library to set beside it (--vendor: cublaslt_autotune, on a CPU onednn)");
  command->add_option("--metrics", flags->metrics, "Further metrics, by ncu's names with suffix")
      ->delimiter(',');
  command->add_option("--caches", flags->caches,
                      "What a call finds in the caches: as-timed, flush or keep");
  command->add_option("--format", flags->format, "table, csv or json");
  command->callback(
      [flags, &cli] { cli.action = [flags, &cli] { return ProfileRun(cli, *flags).run(); }; });
}

}  // namespace tilewright
