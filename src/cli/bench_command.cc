// SPDX-License-Identifier: Apache-2.0
// tilewright bench: the full proof and the full timing of a program, against every baseline.
// tilewright verify: the proof alone.
//
// A bench of a suite takes hours, so it can end at any moment: each trial is in the database
// (stage "bench") before the next begins, and a second start of the same command skips what is
// there. Here are the flags and the order of things; the step itself is bench_one() in
// bench_shop.cc.
#include "cli/bench_shop.h"
#include "cli/interrupt.h"
#include "cli/problem_flags.h"
#include "cli/progress.h"
#include "cli/self_check.h"
#include "cli/served.h"

#include "base/hash.h"
#include "tune/torch_column.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// So many steps in a row that could not be taken at all mean that nothing works any more.
constexpr int kMostErrorsInARow = 3;

constexpr const char* kServedReference = "cublaslt_heuristic";

struct BenchFlags {
  ProblemFlags problems;
  CandidateArgument candidate;
  std::vector<std::string> modes = {"offline"};
  std::vector<std::string> baselines;
  std::string format = "human", run, effort = "normal";
  runtime::Options library;  // --served
  bool time = true, fresh = false, served = false;
  double gap_us = 0;  // 0: the usual
};

std::string verdict_line(const Trial& trial) {
  if (trial.outcome != Outcome::ok) {
    return fmt::format("{}: {} ({}: {})\n  {}\n", trial.problem, name_of(trial.outcome), trial.rule,
                       trial.detail, trial.program);
  }
  return fmt::format("{}: proven; largest error {:.3f} of the bound, {}\n  {}\n", trial.problem,
                     trial.max_bound_ratio,
                     trial.repeatable ? "bitwise repeatable" : "not bitwise repeatable",
                     trial.program);
}

Result<std::vector<Mode>> modes_of(const std::vector<std::string>& names) {
  std::vector<Mode> modes;
  for (const std::string& name : names) {
    const std::optional<Mode> mode = mode_from(name);
    if (!mode) {
      return fail(ErrorCode::usage, fmt::format("--mode: unknown mode '{}'", name),
                  "modes: offline, hot, cold, server, wall (CUDA)");
    }
    if (std::ranges::find(modes, *mode) == modes.end()) modes.push_back(*mode);
  }
  return modes;
}

// The same command twice is one run. Problems and modes stay out, so that a longer suite or another
// mode continues it too.
std::string run_id(const BenchFlags& flags, const Cli& cli) {
  if (!flags.run.empty()) return flags.run;
  std::string text =
      fmt::format("bench|{}|{}|{}|{}", flags.candidate.program, flags.candidate.source_file,
                  flags.candidate.launch_file, cli.settings.text("tune.seed"));
  if (flags.served) text += "|served";
  if (!flags.baselines.empty()) text += fmt::format("|only {}", fmt::join(flags.baselines, " "));
  if (flags.effort != "normal") text += "|" + flags.effort;
  if (flags.gap_us > 0) text += fmt::format("|gap {}", flags.gap_us);
  if (flags.fresh) text += fmt::format("|{}", Clock::now().time_since_epoch().count());
  return hash128(text).substr(0, 12);
}

// One command at work.
class BenchRun {
 public:
  BenchRun(Cli& cli, const BenchFlags& flags) : cli_(cli), flags_(flags), line_(cli.quiet, false) {}

  Result<int> run() {
    if (Status status = prepare(); !status) return tl::unexpected(status.error());
    // Problems outside, modes inside: what a library's search has chosen is remembered from mode to
    // mode, and a run that was stopped has whole rows.
    for (const Problem& problem : problems_.list) {
      for (const Mode mode : modes_) {
        if (stop_->load(std::memory_order_relaxed)) return finish(true);
        if (Status status = take(problem, mode); !status) return tl::unexpected(status.error());
      }
    }
    return finish(false);
  }

 private:
  Status prepare() {
    Result<Format> format = format_from(flags_.format);
    if (!format) return tl::unexpected(format.error());
    format_ = *format;
    const std::optional<Effort> effort = effort_from(flags_.effort);
    if (!effort) {
      return fail(ErrorCode::usage, fmt::format("--effort: unknown effort '{}'", flags_.effort),
                  "efforts: normal, sweep");
    }
    effort_ = *effort;
    Result<std::vector<Mode>> modes = modes_of(flags_.modes);
    if (!modes) return tl::unexpected(modes.error());
    modes_ = *std::move(modes);
    Result<Problems> problems = read_problems(flags_.problems);
    if (!problems) return tl::unexpected(problems.error());
    problems_ = *std::move(problems);
    Result<std::int64_t> seed = cli_.settings.number("tune.seed");
    if (!seed) return tl::unexpected(seed.error());
    seed_ = static_cast<std::uint64_t>(*seed);
    Result<Device> device = this_device(cli_);
    if (!device) return tl::unexpected(device.error());
    device_ = *std::move(device);
    if (device_.kind != DeviceKind::cuda && std::ranges::find(modes_, Mode::wall) != modes_.end()) {
      return fail(ErrorCode::usage, "--mode wall: launches by the host are a matter of CUDA",
                  "on a CPU offline is what a caller sees");
    }
    context_ = context_of(cli_, device_);
    if (Status status = ask_the_library(); !status) return status;
    if (flags_.time) {
      if (auto s = require_honest_baselines(cli_, device_, context_); !s) return s;
    }
    if (Status status = open_records(); !status) return status;
    Result<std::unique_ptr<Shop>> shop =
        open_shop(cli_, device_, [this](const std::string& text) { line_.remark(text); });
    if (!shop) return tl::unexpected(shop.error());
    shop_ = *std::move(shop);
    if (Status status = check_baselines(); !status) return status;
    run_ = run_id(flags_, cli_);
    steps_ = problems_.list.size() * modes_.size();
    // A single product is quickly timed again, and who asks for it wants to see it timed.
    resume_ = flags_.time && !flags_.fresh && steps_ > 1 && database_;
    stop_ = &stop_on_signals();
    return {};
  }

  // --served: what would serve each problem, before anything is timed.
  Status ask_the_library() {
    baselines_ = flags_.baselines;
    if (!flags_.served) return {};
    if (!flags_.candidate.program.empty() || !flags_.candidate.source_file.empty()) {
      return fail(ErrorCode::usage, "--served goes with neither --program nor --source");
    }
    if (baselines_.empty()) baselines_ = {kServedReference};
    Result<ServedKernels> served = ServedKernels::choose(problems_.list, device_, flags_.library);
    if (!served) return tl::unexpected(served.error());
    served_.emplace(*std::move(served));
    return {};
  }

  // A baseline that nobody knows would leave nothing to compare with.
  Status check_baselines() const {
    std::vector<std::string> known = {kTorchColumn};
    for (const BaselineInfo& info : shop_->rig->baselines(problems_.list.front())) {
      known.push_back(info.name);
    }
    for (const std::string& name : baselines_) {
      if (std::ranges::find(known, name) == known.end()) {
        return fail(ErrorCode::usage, fmt::format("--baseline: there is no '{}' here", name),
                    fmt::format("baselines: {}", fmt::join(known, ", ")));
      }
    }
    return {};
  }

  // Only `bench` writes. Where no database can be written it does without, but says so.
  Status open_records() {
    Result<Database> database = open_database(
        cli_, flags_.time ? Database::Access::read_write : Database::Access::read_only);
    if (database) {
      database_ = *std::move(database);
      return flags_.time ? database_->remember(device_) : Status{};
    }
    if (!flags_.time) return {};
    if (database.error().code == ErrorCode::refused) return tl::unexpected(database.error());
    note(cli_, fmt::format("these trials are not recorded: {}", database.error().message));
    return {};
  }

  // Who is benched: a candidate to compile, or a kernel that the library has.
  struct Contender {
    std::optional<Candidate> candidate;
    std::optional<ServedKernel> served;
    [[nodiscard]] const std::string& name() const {
      return served ? served->program : candidate->name;
    }
  };

  Result<Contender> contender_for(const Problem& problem) {
    if (served_) {
      Result<ServedKernel> kernel = served_->of(problem);
      if (!kernel) return tl::unexpected(kernel.error());
      return Contender{std::nullopt, *std::move(kernel)};
    }
    CandidateArgument argument = flags_.candidate;
    if (argument.program.empty() && argument.source_file.empty()) {
      Result<CandidateArgument> chosen =
          default_candidate(database_ ? &*database_ : nullptr, problem, device_);
      if (!chosen) return tl::unexpected(chosen.error());
      argument = *std::move(chosen);
    }
    Result<Candidate> candidate = read_candidate(argument, problem, device_);
    if (!candidate) return tl::unexpected(candidate.error());
    return Contender{*std::move(candidate), std::nullopt};
  }

  // The ok trial of this run for a problem, mode and program; of a served one, of its very kernel.
  Result<std::optional<Trial>> done_before(const Problem& problem, Mode mode,
                                           const Contender& contender) const {
    TrialQuery query;
    query.problem = to_text(problem);
    query.program = contender.name();
    query.device = device_.fingerprint();
    query.mode = name_of(mode);
    query.run = run_;
    query.stage = "bench";
    query.outcome = Outcome::ok;
    Result<std::vector<Trial>> found = database_->select(query);
    if (!found) return tl::unexpected(found.error());
    if (contender.served) {
      const std::string& hash = contender.served->binary.hash;
      std::erase_if(*found, [&](const Trial& trial) { return trial.binary_hash != hash; });
    }
    if (found->empty()) return std::optional<Trial>();
    return std::optional<Trial>(std::move(found->back()));  // the newest
  }

  // One problem in one mode. What goes wrong with it must not end the rest of a long run, unless
  // everything goes wrong.
  Status take(const Problem& problem, Mode mode) {
    ++step_;
    Result<Contender> contender = contender_for(problem);
    if (!contender) return pass_over(problem, contender.error());
    if (resume_) {
      Result<std::optional<Trial>> before = done_before(problem, mode, *contender);
      if (!before) return tl::unexpected(before.error());
      if (*before) {
        ++resumed_;
        ++ok_;
        keep(**std::move(before), *contender);
        return {};
      }
    }
    show(problem, mode);
    BenchStep step{mode, seed_, flags_.time, effort_, flags_.gap_us, baselines_, nullptr};
    if (cli_.verbose) step.remark = [this](const std::string& text) { line_.remark(text); };
    Result<Trial> trial = contender->served
                              ? bench_binary(*shop_, problem, contender->name(),
                                             {contender->served->binary, {}}, device_, step)
                              : bench_one(*shop_, problem, *contender->candidate, device_, step);
    if (!trial) return pass_over(problem, trial.error());
    errors_in_a_row_ = 0;
    ++taken_;
    trial->run = run_;
    if (contender->served) trial->policy = std::string(kServedPolicy) + contender->served->from;
    trial->host = context_.at("host");
    if (flags_.time && database_) {
      if (auto recorded = database_->insert(*trial); !recorded) {
        return tl::unexpected(recorded.error());
      }
    }
    const bool ok = trial->outcome == Outcome::ok;
    (ok ? ok_ : bad_) += 1;
    if (!flags_.time) {
      print(format_ == Format::human ? verdict_line(*trial) : to_json(*trial) + "\n");
    } else if (ok) {
      keep(*std::move(trial), *contender);
    } else {
      std::string text = verdict_line(*trial);
      text.pop_back();
      line_.remark(text);
    }
    return {};
  }

  // An ok trial, for the tables.
  void keep(Trial trial, const Contender& contender) {
    if (contender.served) {
      if (auto row = served_row(trial, *contender.served, baselines_.front())) {
        served_rows_[trial.mode].push_back(*std::move(row));
      }
    }
    timed_.push_back(std::move(trial));
  }

  Status pass_over(const Problem& problem, const Error& error) {
    ++bad_;
    if (steps_ == 1 || error.code == ErrorCode::usage) return tl::unexpected(error);
    if (error.code != ErrorCode::negative && ++errors_in_a_row_ >= kMostErrorsInARow) {
      return tl::unexpected(error);
    }
    line_.remark(fmt::format("{}: {}", to_text(problem), error.message));
    return {};
  }

  // Step `step_` is about to be taken.
  void show(const Problem& problem, Mode mode) {
    if (steps_ <= 1) return;
    Progress progress;
    progress.problem = fmt::format("{} {}", to_text(problem), name_of(mode));
    progress.problem_index = static_cast<int>((step_ - 1) / modes_.size());
    progress.problem_count = static_cast<int>(problems_.list.size());
    progress.trials = taken_;
    progress.ok = ok_ - resumed_;
    progress.elapsed_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    progress.remaining_seconds =
        taken_ == 0 ? -1
                    : progress.elapsed_seconds / taken_ * static_cast<double>(steps_ - step_ + 1);
    line_.show(progress);
  }

  // Times of different modes never stand in one table.
  void print_mode(const std::vector<Trial>& trials, const std::string& mode) {
    Context context = context_;
    context["mode"] = mode;
    if (modes_.size() > 1) {
      print((format_ == Format::md ? "### " : "Mode ") + mode + "\n\n");
    }
    print(render_winners(trials, format_, context));
    print("\n" + render_summary(summarize(trials, trials), format_, context));
    if (served_) print("\n" + render_served(served_rows_[mode], baselines_.front(), format_));
    if (modes_.size() > 1) print("\n");
  }

  Result<int> finish(bool interrupted) {
    line_.clear();
    if (resumed_ > 0) {
      note(cli_, fmt::format("{} of {} were timed by an earlier start of this run (--fresh times "
                             "them anew)",
                             resumed_, steps_));
    }
    if (!timed_.empty()) {
      if (format_ == Format::human || format_ == Format::md) {
        for (const Mode mode : modes_) {
          std::vector<Trial> of_mode;
          std::ranges::copy_if(timed_, std::back_inserter(of_mode),
                               [&](const Trial& t) { return t.mode == name_of(mode); });
          if (!of_mode.empty()) print_mode(of_mode, std::string(name_of(mode)));
        }
      } else {
        print(render_winners(timed_, format_, context_));
      }
    }
    if (interrupted) {
      note(cli_, "interrupted; the same command continues");
      return static_cast<int>(ErrorCode::interrupted);
    }
    if (problems_.rows_refused) return static_cast<int>(ErrorCode::usage);
    return bad_ == 0 ? 0 : static_cast<int>(ErrorCode::negative);
  }

  Cli& cli_;
  const BenchFlags& flags_;
  ProgressLine line_;
  Format format_ = Format::human;
  std::vector<Mode> modes_;
  Problems problems_;
  std::uint64_t seed_ = 1;
  Device device_;
  Context context_;
  std::optional<Database> database_;
  std::unique_ptr<Shop> shop_;
  Effort effort_ = Effort::normal;
  std::vector<std::string> baselines_;  // only these; empty: all
  std::optional<ServedKernels> served_;
  std::map<std::string, std::vector<ServedRow>> served_rows_;  // by mode
  std::string run_;
  std::size_t step_ = 0, steps_ = 0;  // problems times modes
  bool resume_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  std::vector<Trial> timed_;
  int taken_ = 0, ok_ = 0, bad_ = 0, resumed_ = 0, errors_in_a_row_ = 0;
  const Clock::time_point start_ = Clock::now();
};

void add(CLI::App& app, Cli& cli, const char* name, const char* help, bool time) {
  CLI::App* command = app.add_subcommand(name, help);
  const auto flags = std::make_shared<BenchFlags>();
  flags->time = time;
  add_problem_flags(*command, flags->problems);
  command->add_option("--program", flags->candidate.program,
                      "Program text (default: the best known)");
  command->add_option("--source", flags->candidate.source_file,
                      "A kernel from outside: C++ source with the symbol of its launch file");
  command->add_option("--launch", flags->candidate.launch_file,
                      "Its launch file (default: beside the source, .launch.json)");
  if (time) {
    command
        ->add_option("--mode", flags->modes,
                     "offline, hot, cold, server, wall (CUDA); several, comma-separated")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--gap-us", flags->gap_us,
                     "Mean of the exponential gaps between calls in mode server, microseconds "
                     "(default: 1000 on a GPU, 200 on a CPU)")
        ->check(CLI::PositiveNumber);
    command->add_option("--baseline", flags->baselines,
                        "Only these baselines (default: all; with --served cublaslt_heuristic)");
    command->add_option("--effort", flags->effort, "normal, or sweep: shorter timings")
        ->capture_default_str();
    auto* served = command->add_flag(
        "--served", flags->served,
        "CUDA: the kernel that the runtime library would take from its bundles, whatever the "
        "vendor's library can do");
    command
        ->add_option("--kernels", flags->library.kernels,
                     "A folder of bundles besides the installed ones")
        ->needs(served);
    command
        ->add_option("--wisdom", flags->library.wisdom,
                     "A wisdom file instead of the installed ones")
        ->needs(served);
    command
        ->add_option(
            "--workspace-bytes", flags->library.workspace_bytes,
            "The workspace of a stream, as in tw_options: with less, large unaligned products "
            "take several launches, which are not timed")
        ->check(CLI::PositiveNumber)
        ->needs(served)
        ->capture_default_str();
    command->add_option("--run", flags->run, "Name of the run (default: derived from the flags)");
    command->add_flag("--fresh", flags->fresh, "Do not continue an earlier start");
  }
  command
      ->add_option("--format", flags->format,
                   time ? "human, md, csv, json or jsonl" : "human or json")
      ->capture_default_str();
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return BenchRun(cli, *flags).run(); }; });
}

}  // namespace

void add_bench(CLI::App& app, Cli& cli) {
  add(app, cli, "bench",
      "Prove a program and time it against every baseline; the trials are recorded\n\nExamples:\n"
      "  tilewright bench 128x1536x1024\n"
      "  tilewright bench @demo --mode offline,server --format csv\n"
      "  tilewright bench --suite grid1000 --layouts nn,nt --mode offline,wall,server\n"
      "  tilewright bench 'gemm 8x1024x3584 bf16 nn' --program '<program>'\n"
      "  tilewright bench --suite untuned200 --served --kernels build/kernels --effort sweep\n"
      "A second start of the same command on several problems continues where the first one "
      "stopped;\n`tilewright report` makes tables of what was recorded.",
      true);
}

void add_verify(CLI::App& app, Cli& cli) {
  add(app, cli, "verify",
      "Prove a program right, or say which rule it breaks (exit 1)\n\nExamples:\n"
      "  tilewright verify 128x1536x1024 --program '<program>'\n"
      "  tilewright verify 64x64x64 --source kernel.cc --launch kernel.launch.json",
      false);
}

}  // namespace tilewright
