// SPDX-License-Identifier: Apache-2.0
// tilewright tune: the whole loop from the command line.
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/problem_flags.h"
#include "cli/tune_run.h"

#include "base/file.h"
#include "base/hash.h"
#include "tune/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace tilewright {
namespace {

struct TuneFlags {
  ProblemFlags problems;
  std::string budget, mode = "offline", effort = "normal", run, format = "human", summary_file;
  std::string begin_with;
  std::vector<std::string> baselines;
  bool fresh = false, require = false;
};

// The same command twice is one run: a second start continues it.
std::string run_id(const TuneFlags& flags, const Cli& cli) {
  if (!flags.run.empty()) return flags.run;
  return hash128(fmt::format("{}|{}|{}|{}|{}", flags.budget, flags.mode, flags.effort,
                             cli.settings.text("tune.policy"), cli.settings.text("tune.seed")))
      .substr(0, 12);
}

Result<TuneOptions> options_of(const TuneFlags& flags, const Cli& cli) {
  TuneOptions options;
  Result<Budget> budget = parse_budget(flags.budget);
  if (!budget) return tl::unexpected(budget.error());
  options.budget = *budget;
  const std::optional<Mode> mode = mode_from(flags.mode);
  if (!mode || !is_searched(*mode)) {
    return fail(ErrorCode::usage, fmt::format("--mode: '{}' is no mode to search in", flags.mode),
                "modes: offline, hot, cold, server, wall (CUDA)");
  }
  options.mode = *mode;
  const std::optional<Effort> effort = effort_from(flags.effort);
  if (!effort) {
    return fail(ErrorCode::usage, fmt::format("--effort: unknown effort '{}'", flags.effort),
                "efforts: normal, sweep, scout");
  }
  options.effort = *effort;
  if (Status status = add_settings(options, cli); !status) return tl::unexpected(status.error());
  options.policy = cli.settings.text("tune.policy");
  options.run = run_id(flags, cli);
  options.resume = !flags.fresh;
  options.baselines = flags.baselines;
  if (flags.fresh) {
    // A fresh start is a run of its own, or its trials would count as done before.
    options.run = hash128(fmt::format("{}|{}", options.run,
                                      std::chrono::system_clock::now().time_since_epoch().count()))
                      .substr(0, 12);
  }
  return options;
}

// The trials behind this command's results: all of them, for the outcome funnel.
Result<std::vector<Trial>> trials_of(const Database& database, const std::vector<Problem>& problems,
                                     const Device& device, const TuneOptions& options) {
  std::vector<Trial> all;
  for (const Problem& problem : problems) {
    TrialQuery query;
    query.problem = to_text(problem);
    query.device = device.fingerprint();
    query.run = options.run;
    Result<std::vector<Trial>> some = database.select(query);
    if (!some) return tl::unexpected(some.error());
    std::ranges::move(*some, std::back_inserter(all));
  }
  return all;
}

void print_next_step(const Cli& cli, const Trial& winner) {
  note(cli, "");
  note(cli, fmt::format("Prove and time a winner again:\n  tilewright bench '{}' --program '{}'",
                        winner.problem, winner.program));
  note(cli, "Ship the winners of this machine:\n  tilewright wisdom export --output wisdom.txt");
}

Result<int> tune_command(Cli& cli, const TuneFlags& flags) {
  Result<Format> format = format_from(flags.format);
  if (!format) return tl::unexpected(format.error());
  Result<TuneOptions> options = options_of(flags, cli);
  if (!options) return tl::unexpected(options.error());
  Result<Problems> problems = read_problems(flags.problems);
  if (!problems) return tl::unexpected(problems.error());
  Result<Database> database = open_database(cli, Database::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  const Result<Device> found = this_device(cli);
  if (!found) return tl::unexpected(found.error());
  const Device& device = *found;
  if (!flags.begin_with.empty()) {
    const Result<Wisdom> wisdom = load_wisdom(flags.begin_with, device);
    if (!wisdom) return tl::unexpected(wisdom.error());
    options->begin_with = std::make_shared<const NearbyPrograms>(*wisdom);
  }
  Context context = context_of(cli, device);
  Result<std::vector<TuneResult>> results =
      run_tune(problems->list, device, *database, *options, cli, context);
  if (!results) return tl::unexpected(results.error());

  std::vector<Trial> winners;
  bool interrupted = false;
  int resumed = 0;
  for (const TuneResult& result : *results) {
    if (result.winner) winners.push_back(*result.winner);
    interrupted = interrupted || result.interrupted;
    if (result.trials == 0 && result.resumed > 0 && result.winner) ++resumed;
    for (const std::string& what : result.skipped) {
      note(cli, fmt::format("{}: skipped: {}", to_text(result.problem), what));
    }
  }
  if (resumed > 0) {
    note(cli, fmt::format("{} of {} problems were finished by an earlier start of this run "
                          "(--fresh tunes them anew)",
                          resumed, results->size()));
  }
  Result<std::vector<Trial>> trials = trials_of(*database, problems->list, device, *options);
  if (!trials) return tl::unexpected(trials.error());
  const Summary summary = summarize(winners, *trials);
  print(render_winners(winners, *format, context));
  if (*format == Format::human || *format == Format::md) {
    print("\n" + render_summary(summary, *format, context));
  }
  if (!flags.summary_file.empty()) {
    const Status written =
        write_file_atomically(flags.summary_file, render_summary(summary, Format::json, context));
    if (!written) return tl::unexpected(written.error());
  }
  if (interrupted) return static_cast<int>(ErrorCode::interrupted);
  if (winners.empty()) {
    return fail(ErrorCode::exhausted, "the budget was spent without one valid program",
                "tilewright db show lists what was tried and how it ended");
  }
  print_next_step(cli, winners.front());
  if (problems->rows_refused) return static_cast<int>(ErrorCode::usage);
  // A tie or an ambiguous result beats nothing.
  const bool beaten = std::ranges::any_of(winners, [](const Trial& t) {
    const auto fastest = t.fastest_baseline();
    return fastest != nullptr && fastest->second.comparison == "faster";
  });
  return flags.require && !beaten ? static_cast<int>(ErrorCode::negative) : 0;
}

}  // namespace

void add_tune(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "tune",
      "Find the fastest program for each problem: propose, generate, compile, prove, time, "
      "record\n\n"
      "Examples:\n"
      "  tilewright tune 128x1536x1024\n"
      "  tilewright tune 'gemm 8x1024x3584 bf16 nt' --budget '40 trials'\n"
      "  tilewright tune shapes.csv --budget 10m --format md > table.md\n"
      "  tilewright tune --suite grid1000 --layouts nn,nt --budget 3h\n"
      "A second start of the same command continues where the first one stopped.");
  const auto flags = std::make_shared<TuneFlags>();
  add_problem_flags(*command, flags->problems);
  command->add_option("--budget", flags->budget,
                      "Time for all problems (90s, 10m, 1h), or '40 trials' for each; both may be "
                      "given, separated by a comma");
  command->add_option("--mode", flags->mode, "offline, hot, cold, server or wall (CUDA)")
      ->capture_default_str();
  command
      ->add_option("--effort", flags->effort,
                   "normal; sweep: shorter timings and one finalist, for many problems; scout: as "
                   "sweep, with finals too short for a verdict, before `bench --chosen-in`")
      ->capture_default_str();
  command->add_option("--begin-with", flags->begin_with,
                      "A wisdom file of this device: what it holds for the problem and the shapes "
                      "nearest to it, in any layout and type, is screened first (3 programs)");
  command->add_option("--baseline", flags->baselines, "Only these baselines in the final timing");
  command->add_option("--run", flags->run, "Name of the run (default: derived from the flags)");
  command->add_option("--format", flags->format, "human, md, csv, json or jsonl")
      ->capture_default_str();
  command->add_option("--summary", flags->summary_file, "Write the summary to this file, as JSON");
  command->add_flag("--fresh", flags->fresh, "Do not continue an earlier start");
  command->add_flag("--require", flags->require, "Exit 1 if nothing beat the fastest baseline");
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return tune_command(cli, *flags); }; });
}

}  // namespace tilewright
