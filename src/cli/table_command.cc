// SPDX-License-Identifier: Apache-2.0
// tilewright table: measures one common set of programs on all given problems, each twice, for
// comparisons of policies by replay.
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/problem_flags.h"
#include "cli/tune_run.h"

#include "base/file.h"
#include "base/hash.h"
#include "replay/table_programs.h"
#include "tune/tune.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace tilewright {
namespace {

struct TableFlags {
  ProblemFlags problems;
  CommonSetOptions set;
  std::vector<std::string> fixed;
  std::string file, budget, mode = "offline", effort = "sweep", run;
  bool draw_only = false;
};

Status parse_fixed(TableFlags& flags) {
  for (const std::string& text : flags.fixed) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::usage, fmt::format("--with {}: not KEY=VALUE", text),
                  "such as --with sizes=runtime");
    }
    flags.set.fixed.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!(flags.set.most > 0 && flags.set.most <= 1) || flags.set.programs < 1 ||
      flags.set.analytic < 0 || flags.set.elite < 0 || flags.set.analytic + flags.set.elite > 1) {
    return fail(ErrorCode::usage,
                "--programs is at least 1, --legal-on above 0 and at most 1, and --analytic and "
                "--elite are shares that add up to at most 1");
  }
  return {};
}

// The file's programs; drawn and written there if it does not exist. A table goes on with the set
// it began with, although its own trials would change the elites of a new draw.
Result<std::vector<Program>> programs_of(const Cli& cli, const TableFlags& flags,
                                         const std::vector<Problem>& problems, const Device& device,
                                         const Database& database) {
  if (std::filesystem::exists(flags.file)) {
    const Result<std::string> text = read_file(flags.file);
    if (!text) return tl::unexpected(text.error());
    return programs_from(*text, flags.file);
  }
  TrialQuery query;
  query.device = device.fingerprint();
  query.mode = flags.mode;
  const Result<std::vector<Trial>> recorded = database.select(query);
  if (!recorded) return tl::unexpected(recorded.error());
  Result<CommonSet> set = common_set(problems, device, *recorded, flags.set);
  if (!set) return tl::unexpected(set.error());
  if (Status s = write_file_atomically(flags.file, to_text(*set, flags.set, problems.size())); !s) {
    return tl::unexpected(s.error());
  }
  note(cli, fmt::format("{} programs written to {}", set->programs.size(), flags.file));
  return std::move(set->programs);
}

Result<TuneOptions> options_of(const TableFlags& flags, const Cli& cli) {
  TuneOptions options;
  Result<Budget> budget = parse_budget(flags.budget);
  if (!budget) return tl::unexpected(budget.error());
  options.budget = *budget;
  const std::optional<Mode> mode = mode_from(flags.mode);
  const std::optional<Effort> effort = effort_from(flags.effort);
  if (!mode || !is_searched(*mode) || !effort) {
    return fail(ErrorCode::usage,
                fmt::format("--mode {} --effort {}: unknown word", flags.mode, flags.effort),
                "modes: offline, hot, cold, server, wall (CUDA); efforts: normal, sweep");
  }
  if (Status status = add_settings(options, cli); !status) return tl::unexpected(status.error());
  options.policy = "table";
  options.mode = *mode;
  options.effort = *effort;
  options.finals = false;
  options.run = flags.run;
  return options;
}

Result<int> table_command(Cli& cli, TableFlags& flags) {
  if (Status status = parse_fixed(flags); !status) return tl::unexpected(status.error());
  Result<TuneOptions> options = options_of(flags, cli);
  if (!options) return tl::unexpected(options.error());
  flags.set.seed = options->seed;
  Result<Problems> problems = read_problems(flags.problems);
  if (!problems) return tl::unexpected(problems.error());
  Result<Database> database = open_database(cli, Database::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  // Only a draw may be for a device that is not here.
  const Result<Device> device =
      this_device(cli, flags.draw_only ? Described::allowed : Described::refused);
  if (!device) return tl::unexpected(device.error());
  Result<std::vector<Program>> programs =
      programs_of(cli, flags, problems->list, *device, *database);
  if (!programs) return tl::unexpected(programs.error());
  if (flags.draw_only) return 0;
  if (options->run.empty()) {
    std::string all;
    for (const Program& program : *programs) all += program.text() + '\n';
    options->run = hash128(all).substr(0, 12);
  }
  if (!options->budget.time && !options->budget.trials) {
    options->budget.trials = static_cast<int>(2 * programs->size());
  }
  options->only = *std::move(programs);
  Context context = context_of(cli, *device);
  Result<std::vector<TuneResult>> results =
      run_tune(problems->list, *device, *database, *options, cli, context);
  if (!results) return tl::unexpected(results.error());
  int measured = 0, before = 0;
  bool interrupted = false;
  for (const TuneResult& result : *results) {
    measured += result.trials;
    before += result.resumed;
    interrupted = interrupted || result.interrupted;
  }
  print(fmt::format("{} timings of {} programs on {} problems, and {} from before\n", measured,
                    options->only.size(), results->size(), before));
  note(cli, "Compare policies on it:\n  tilewright policy-bench --shapes all");
  return interrupted ? static_cast<int>(ErrorCode::interrupted) : 0;
}

}  // namespace

void add_table(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "table",
      "Measure one common set of programs on all problems, for policy-bench\n\n"
      "Examples:\n"
      "  tilewright table --suite held-out.csv --file programs.txt\n"
      "  tilewright table --suite held-out.csv --file programs.txt --with sizes=runtime "
      "--budget 10m\n"
      "  tilewright table 64x64x64 96x64x32 --file few.txt --programs 20\n"
      "Each program is proven quickly and timed as in a screening, all of them once and then all "
      "of them again. A second start continues; the programs are those of --file, which is "
      "written if it does not exist. docs/policy.md says what the table is for.");
  const auto flags = std::make_shared<TableFlags>();
  add_problem_flags(*command, flags->problems);
  command->add_option("--file", flags->file, "The programs: read, or drawn and written")
      ->required();
  command->add_option("--programs", flags->set.programs, "How many to draw")->capture_default_str();
  command
      ->add_option("--legal-on", flags->set.most,
                   "Share of the problems on which a program must be legal")
      ->capture_default_str();
  command
      ->add_option("--analytic", flags->set.analytic,
                   "Share of experts and of the cost model's first choices")
      ->capture_default_str();
  command->add_option("--elite", flags->set.elite, "Share of the fittest recorded programs")
      ->capture_default_str();
  command->add_option("--with", flags->fixed, "A decision that all have, KEY=VALUE");
  command->add_flag("--draw-only", flags->draw_only, "Write --file and measure nothing");
  command->add_option("--budget", flags->budget, "Time for all problems (90s, 10m, 1h)");
  command->add_option("--mode", flags->mode, "offline, hot, cold, server or wall (CUDA)")
      ->capture_default_str();
  command->add_option("--effort", flags->effort, "sweep, or normal: longer timings")
      ->capture_default_str();
  command->add_option("--run", flags->run, "Name of the run (default: derived from the programs)");
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return table_command(cli, *flags); }; });
}

}  // namespace tilewright
