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

#include "base/hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// So many steps in a row that could not be taken at all mean that nothing works any more.
constexpr int kMostErrorsInARow = 3;

struct BenchFlags {
  ProblemFlags problems;
  CandidateArgument candidate;
  std::vector<std::string> modes = {"offline"};
  std::string format = "human", run;
  bool time = true, fresh = false;
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
    if (flags_.time) {
      if (auto s = require_honest_baselines(cli_, device_, context_); !s) return s;
    }
    if (Status status = open_records(); !status) return status;
    Result<std::unique_ptr<Shop>> shop =
        open_shop(cli_, device_, [this](const std::string& text) { line_.remark(text); });
    if (!shop) return tl::unexpected(shop.error());
    shop_ = *std::move(shop);
    run_ = run_id(flags_, cli_);
    steps_ = problems_.list.size() * modes_.size();
    // A single product is quickly timed again, and who asks for it wants to see it timed.
    resume_ = flags_.time && !flags_.fresh && steps_ > 1 && database_;
    stop_ = &stop_on_signals();
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

  Result<Candidate> candidate_for(const Problem& problem) {
    CandidateArgument argument = flags_.candidate;
    if (argument.program.empty() && argument.source_file.empty()) {
      Result<CandidateArgument> chosen =
          default_candidate(database_ ? &*database_ : nullptr, problem, device_);
      if (!chosen) return tl::unexpected(chosen.error());
      argument = *std::move(chosen);
    }
    return read_candidate(argument, problem, device_);
  }

  // The ok trial of this run for a problem, mode and program.
  Result<std::optional<Trial>> done_before(const Problem& problem, Mode mode,
                                           const std::string& program) const {
    TrialQuery query;
    query.problem = to_text(problem);
    query.program = program;
    query.device = device_.fingerprint();
    query.mode = name_of(mode);
    query.run = run_;
    query.stage = "bench";
    query.outcome = Outcome::ok;
    Result<std::vector<Trial>> found = database_->select(query);
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) return std::optional<Trial>();
    return std::optional<Trial>(std::move(found->back()));  // the newest
  }

  // One problem in one mode. What goes wrong with it must not end the rest of a long run, unless
  // everything goes wrong.
  Status take(const Problem& problem, Mode mode) {
    ++step_;
    Result<Candidate> candidate = candidate_for(problem);
    if (!candidate) return pass_over(problem, candidate.error());
    if (resume_) {
      Result<std::optional<Trial>> before = done_before(problem, mode, candidate->name);
      if (!before) return tl::unexpected(before.error());
      if (*before) {
        ++resumed_;
        ++ok_;
        timed_.push_back(**std::move(before));
        return {};
      }
    }
    show(problem, mode);
    BenchStep step{mode, seed_, flags_.time, flags_.gap_us, nullptr};
    if (cli_.verbose) step.remark = [this](const std::string& text) { line_.remark(text); };
    Result<Trial> trial = bench_one(*shop_, problem, *candidate, device_, step);
    if (!trial) return pass_over(problem, trial.error());
    errors_in_a_row_ = 0;
    ++taken_;
    trial->run = run_;
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
      timed_.push_back(*std::move(trial));
    } else {
      std::string text = verdict_line(*trial);
      text.pop_back();
      line_.remark(text);
    }
    return {};
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
