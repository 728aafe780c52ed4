// SPDX-License-Identifier: Apache-2.0
// tilewright bench: the full proof and the full timing of a program, against every baseline.
// tilewright verify: the proof alone.
//
// A bench of a suite takes hours, so it can end at any moment: each trial is in the database
// (stage "bench") before the next begins, and a second start of the same command skips what is
// there. Here are the flags and the order of things; the step itself is bench_one() in
// bench_shop.cc.
#include "cli/bench_contender.h"
#include "cli/bench_flags.h"
#include "cli/bench_shop.h"
#include "cli/chosen.h"
#include "cli/interrupt.h"
#include "cli/problem_flags.h"
#include "cli/progress.h"
#include "cli/self_check.h"
#include "cli/served_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// So many steps in a row that could not be taken at all mean that nothing works any more.
constexpr int kMostErrorsInARow = 3;

// Problems whose programs compile while the GPU is busy with those before.
constexpr std::size_t kCompiledAhead = 8;

constexpr const char* kServedReference = "cublaslt_heuristic";
constexpr std::string_view kAnyRun = "any";  // of --chosen-in

// One command at work.
class BenchRun {
 public:
  BenchRun(Cli& cli, const BenchFlags& flags) : cli_(cli), flags_(flags), line_(cli.quiet, false) {}

  Result<int> run() {
    if (Status status = prepare(); !status) return tl::unexpected(status.error());
    // Problems outside, modes inside: operands, libraries and the proof serve all modes, and a run
    // that was stopped has whole rows.
    for (std::size_t which = 0; which < problems_.list.size(); ++which) {
      if (stopped()) return finish(true);
      look_ahead(which);
      if (Status status = take(problems_.list[which]); !status) {
        return tl::unexpected(status.error());
      }
    }
    return finish(cut_short_);
  }

 private:
  [[nodiscard]] bool stopped() const { return stop_->load(std::memory_order_relaxed); }

  Status prepare() {
    Result<Format> format = format_from(flags_.format);
    if (!format) return tl::unexpected(format.error());
    format_ = *format;
    const std::optional<Effort> effort = effort_from(flags_.effort);
    if (!effort || *effort == Effort::scout) {
      return fail(ErrorCode::usage,
                  fmt::format("--effort: '{}' is no effort of a bench", flags_.effort),
                  "efforts: normal, sweep");
    }
    effort_ = *effort;
    Result<Problems> problems = read_problems(flags_.problems);
    if (!problems) return tl::unexpected(problems.error());
    problems_ = *std::move(problems);
    Result<std::int64_t> seed = cli_.settings.number("tune.seed");
    if (!seed) return tl::unexpected(seed.error());
    seed_ = static_cast<std::uint64_t>(*seed);
    Result<Device> device = this_device(cli_);
    if (!device) return tl::unexpected(device.error());
    device_ = *std::move(device);
    Result<std::vector<BenchMode>> modes = modes_of(flags_, device_);
    if (!modes) return tl::unexpected(modes.error());
    modes_ = *std::move(modes);
    if (modes_.front().mode == Mode::chained) form_ = Form::chained;
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
    const Problem& first = problems_.list.front();
    if (auto s = check_baselines(*shop_, first, "--baseline", baselines_); !s) return s;
    if (auto s = check_baselines(*shop_, first, "--server-baseline", flags_.server_baselines); !s) {
      return s;
    }
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
    if (!flags_.chosen_in.empty()) {
      return fail(ErrorCode::usage, "--served goes not with --chosen-in: the library chooses");
    }
    if (!flags_.candidate.program.empty() || !flags_.candidate.source_file.empty()) {
      return fail(ErrorCode::usage, "--served goes with neither --program nor --source");
    }
    if (baselines_.empty()) baselines_ = {kServedReference};
    const std::optional<ServedWay> way = served_way_from(flags_.choice);
    if (!way) {
      return fail(ErrorCode::usage, fmt::format("--choice: unknown '{}'", flags_.choice),
                  "choices: estimate, timed, both");
    }
    Result<ServedKernels> served =
        ServedKernels::choose(problems_.list, device_, flags_.library, *way);
    if (!served) return tl::unexpected(served.error());
    served_.emplace(*std::move(served));
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
    const bool needed = !flags_.chosen_in.empty();
    if (needed || database.error().code == ErrorCode::refused) {
      return tl::unexpected(database.error());
    }
    note(cli_, fmt::format("these trials are not recorded: {}", database.error().message));
    return {};
  }

  Result<std::vector<Contender>> contenders_for(const Problem& problem) {
    if (served_) {
      const Result<ServedChoices> choices = served_->of(problem);
      if (!choices) return tl::unexpected(choices.error());
      return served_contenders(*choices);
    }
    CandidateArgument argument = flags_.candidate;
    std::map<std::string, std::string> algorithms;
    if (!flags_.chosen_in.empty()) {
      Result<EarlierChoice> chosen = chosen_before(problem);
      if (!chosen) return tl::unexpected(chosen.error());
      argument.program = chosen->program;
      algorithms = std::move(chosen->algorithms);
    } else if (argument.program.empty() && argument.source_file.empty()) {
      Result<CandidateArgument> chosen =
          default_candidate(database_ ? &*database_ : nullptr, problem, device_);
      if (!chosen) return tl::unexpected(chosen.error());
      argument = *std::move(chosen);
    }
    Result<Candidate> candidate = read_candidate(argument, problem, device_, form_);
    if (!candidate) return tl::unexpected(candidate.error());
    return std::vector{Contender{*std::move(candidate), std::nullopt, std::move(algorithms)}};
  }

  // Who is benched next, already compiling where that disturbs no timing.
  void look_ahead(std::size_t which) {
    const bool early = device_.kind == DeviceKind::cuda;
    const std::size_t end =
        std::min(problems_.list.size(), which + 1 + (early ? kCompiledAhead : 0));
    for (; looked_at_ < end; ++looked_at_) {
      auto& found = next_.emplace_back(contenders_for(problems_.list[looked_at_]));
      if (!found) continue;
      for (Contender& contender : *found) {
        if (!contender.candidate) continue;
        build(contender, shop_->compiler, early ? std::launch::async : std::launch::deferred);
      }
    }
  }

  Result<EarlierChoice> chosen_before(const Problem& problem) {
    TrialQuery query;
    query.problem = to_text(problem);
    query.device = device_.fingerprint();
    query.mode = name_of(Mode::offline);
    if (flags_.chosen_in != kAnyRun) query.run = flags_.chosen_in;
    Result<std::vector<Trial>> trials = database_->select(query);
    if (!trials) return tl::unexpected(trials.error());
    std::optional<EarlierChoice> chosen = chosen_in(*trials);
    if (!chosen) {
      return fail(ErrorCode::negative, fmt::format("--chosen-in {}: no proven program of {}",
                                                   flags_.chosen_in, query.problem));
    }
    if (device_.kind == DeviceKind::cuda && chosen->algorithms.empty() && !said_to_search_) {
      said_to_search_ = true;
      line_.remark(
          fmt::format("--chosen-in {}: no algorithms of the vendor's library are recorded "
                      "there, so it chooses anew",
                      flags_.chosen_in));
    }
    return *std::move(chosen);
  }

  // The ok trial of this run for a problem, mode and program; of a served one, of its very kernel.
  Result<std::optional<Trial>> done_before(const Problem& problem, const BenchMode& mode,
                                           const Contender& contender) const {
    TrialQuery query;
    query.problem = to_text(problem);
    query.program = contender.name();
    query.device = device_.fingerprint();
    query.mode = mode.name;
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

  // One problem. What goes wrong with it must not end the rest of a long run, unless everything
  // goes wrong.
  Status take(const Problem& problem) {
    const std::size_t first = step_;
    step_ += modes_.size();
    const Result<std::vector<Contender>> contenders = std::move(next_.front());
    next_.pop_front();
    if (!contenders) return pass_over(problem, contenders.error(), modes_.size());
    for (const Contender& contender : *contenders) {
      if (Status status = take(problem, contender, first); !status) return status;
      if (cut_short_) return {};
    }
    return {};
  }

  // In all modes; `first`: steps before.
  Status take(const Problem& problem, const Contender& contender, std::size_t first) {
    std::map<int, std::vector<BenchMode>> groups;  // by how many operand sets they need
    std::size_t resumed = 0;
    for (const BenchMode& mode : modes_) {
      if (resume_) {
        Result<std::optional<Trial>> before = done_before(problem, mode, contender);
        if (!before) return tl::unexpected(before.error());
        if (*before) {
          ++resumed;
          keep(**std::move(before), contender);
          continue;
        }
      }
      groups[sets_for(problem, device_, mode.mode)].push_back(mode);
    }
    resumed_ += static_cast<int>(resumed);
    ok_ += static_cast<int>(resumed);
    std::size_t done = first + resumed;
    for (auto& [sets, modes] : groups) {
      if (stopped()) {
        cut_short_ = true;
        return {};
      }
      const std::size_t count = modes.size();
      show(problem, modes, done);
      if (Status status = time(problem, contender, std::move(modes)); !status) return status;
      done += count;
    }
    return {};
  }

  Status time(const Problem& problem, const Contender& contender, std::vector<BenchMode> modes) {
    const std::size_t count = modes.size();
    BenchStep step{std::move(modes),
                   seed_,
                   flags_.time,
                   effort_,
                   flags_.precision / 100,
                   {baselines_, contender.algorithms},
                   flags_.server_baselines,
                   nullptr};
    // Where a search was to be spared, it matters who searched.
    if (cli_.verbose || !contender.algorithms.empty()) {
      const std::string whose = contender.algorithms.empty() ? "" : to_text(problem) + ": ";
      step.remark = [this, whose](const std::string& text) { line_.remark(whose + text); };
    }
    std::size_t added = 0;
    std::optional<Error> lost;  // the database's: it ends everything
    const auto take = [&](Trial trial) -> Result<bool> {
      if (Status status = add(std::move(trial), contender); !status) {
        lost = status.error();
        return false;
      }
      errors_in_a_row_ = 0;
      ++added;
      if (!stopped()) return true;
      cut_short_ = added < count;
      return false;
    };
    const CompileResult built =
        contender.served ? CompileResult{contender.served->binary, {}} : contender.built.get();
    const Status status = bench_one(*shop_, problem, contender.name(), built, device_, step, take);
    if (lost) return tl::unexpected(*lost);
    return status ? Status{} : pass_over(problem, status.error(), count - added);
  }

  // A trial of this start.
  Status add(Trial trial, const Contender& contender) {
    ++taken_;
    trial.run = run_;
    if (contender.served) trial.policy = std::string(kServedPolicy) + contender.origin();
    trial.host = context_.at("host");
    if (flags_.time && database_) {
      if (auto recorded = database_->insert(trial); !recorded) {
        return tl::unexpected(recorded.error());
      }
    }
    const bool ok = trial.outcome == Outcome::ok;
    (ok ? ok_ : bad_) += 1;
    if (!flags_.time) {
      print(format_ == Format::human ? proof_lines(trial) : to_json(trial) + "\n");
    } else if (ok) {
      keep(std::move(trial), contender);
    } else {
      std::string text = proof_lines(trial);
      text.pop_back();
      line_.remark(text);
    }
    return {};
  }

  // An ok trial, for the tables.
  void keep(Trial trial, const Contender& contender) {
    if (contender.served) {
      if (const auto row = served_row(trial, *contender.served, baselines_.front())) {
        ServedRows& rows = served_rows_[trial.mode];
        if (contender.by_estimate) rows.estimate.push_back(*row);
        if (contender.by_timing) rows.timed.push_back(*row);
      }
    }
    if (contender.stands) timed_.push_back(std::move(trial));
  }

  // `steps`: how many modes of it come to nothing.
  Status pass_over(const Problem& problem, const Error& error, std::size_t steps) {
    bad_ += static_cast<int>(steps);
    if (steps_ == 1) return tl::unexpected(error);
    // A program that was typed must suit all problems; one that was chosen is another for each.
    if (error.code == ErrorCode::usage && flags_.chosen_in.empty()) {
      return fail(error.code, fmt::format("{}: {}", to_text(problem), error.message), error.hint);
    }
    if (error.code != ErrorCode::negative && ++errors_in_a_row_ >= kMostErrorsInARow) {
      return tl::unexpected(error);
    }
    line_.remark(fmt::format("{}: {}", to_text(problem), error.message));
    return {};
  }

  // Some modes of a problem are about to be timed, after `done` steps.
  void show(const Problem& problem, const std::vector<BenchMode>& modes, std::size_t done) {
    if (steps_ <= 1) return;
    Progress progress;
    progress.problem = to_text(problem);
    for (const BenchMode& mode : modes) progress.problem += " " + mode.name;
    progress.problem_index = static_cast<int>(done / modes_.size());
    progress.problem_count = static_cast<int>(problems_.list.size());
    progress.trials = taken_;
    progress.ok = ok_ - resumed_;
    progress.elapsed_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    progress.remaining_seconds =
        taken_ == 0 ? -1 : progress.elapsed_seconds / taken_ * static_cast<double>(steps_ - done);
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
        for (const BenchMode& mode : modes_) {
          std::vector<Trial> of_mode;
          std::ranges::copy_if(timed_, std::back_inserter(of_mode),
                               [&](const Trial& t) { return t.mode == mode.name; });
          if (!of_mode.empty()) print_mode(of_mode, mode.name);
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
  std::vector<BenchMode> modes_;
  Problems problems_;
  std::uint64_t seed_ = 1;
  Device device_;
  Context context_;
  std::optional<Database> database_;
  std::unique_ptr<Shop> shop_;
  Effort effort_ = Effort::normal;
  Form form_ = Form::plain;             // of programs
  std::vector<std::string> baselines_;  // only these; empty: all
  std::optional<ServedKernels> served_;
  std::map<std::string, ServedRows> served_rows_;  // by mode
  std::string run_;
  std::deque<Result<std::vector<Contender>>> next_;  // of the problems from the next one on
  std::size_t looked_at_ = 0;                        // problems that are, or were, in next_
  std::size_t step_ = 0, steps_ = 0;                 // problems times modes
  bool resume_ = false, said_to_search_ = false, cut_short_ = false;
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
  if (time) declare_timing_flags(*command, *flags);
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
      "  tilewright bench --suite grid1000 --chosen-in RUN --mode server --gap-us 1000,10000\n"
      "  tilewright bench --suite grid1000 --chosen-in RUN --mode chained\n"
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
