// SPDX-License-Identifier: Apache-2.0
// tilewright db: what is recorded, and merging databases of several hosts.
#include "cli/command.h"

#include "replay/tables.h"
#include "trial/trial.h"

#include <fmt/format.h>

#include <map>
#include <memory>

namespace tilewright {
namespace {

struct DbFlags {
  std::vector<std::string> sources;
  std::string problem, outcome, format = "human";
  std::size_t limit = 20;
};

Result<TrialQuery> query_of(const DbFlags& flags) {
  TrialQuery query;
  query.limit = flags.limit;
  if (!flags.problem.empty()) {
    Result<Problem> problem = parse_problem(flags.problem);
    if (!problem) return tl::unexpected(problem.error());
    query.problem = to_text(*problem);
  }
  if (!flags.outcome.empty()) {
    query.outcome = outcome_from(flags.outcome);
    if (!query.outcome) {
      return fail(ErrorCode::usage, fmt::format("--outcome: unknown outcome '{}'", flags.outcome),
                  fmt::format("outcomes: {}", fmt::join(kOutcomeNames, ", ")));
    }
  }
  return query;
}

std::string line_of(const Trial& trial) {
  std::string line =
      fmt::format("{} {:<6} {:<11} ", trial.problem, trial.stage, name_of(trial.outcome));
  if (trial.time_us > 0) line += fmt::format("{:.2f} us {:.3f}x ", trial.time_us, trial.speedup());
  if (!trial.rule.empty()) line += fmt::format("({}: {}) ", trial.rule, trial.detail);
  return line + "| " + trial.program + "\n";
}

Result<int> show(const Cli& cli, const DbFlags& flags) {
  Result<Database> database = open_database(cli, Database::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  Result<TrialQuery> query = query_of(flags);
  if (!query) return tl::unexpected(query.error());
  Result<std::vector<Trial>> trials = database->select(*query);
  if (!trials) return tl::unexpected(trials.error());
  for (const Trial& trial : *trials) {
    print(flags.format == "jsonl" ? to_json(trial) + "\n" : line_of(trial));
  }
  return 0;
}

Result<int> stats(const Cli& cli) {
  Result<Database> database = open_database(cli, Database::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  Result<std::vector<Trial>> trials = database->select({});
  if (!trials) return tl::unexpected(trials.error());
  std::map<std::string, int> outcomes, problems;
  for (const Trial& trial : *trials) {
    ++outcomes[std::string(name_of(trial.outcome))];
    ++problems[trial.problem];
  }
  print(fmt::format("{} trials of {} problems\n", trials->size(), problems.size()));
  for (const auto& [name, count] : outcomes) print(fmt::format("  {:<17} {}\n", name, count));
  const Result<std::vector<Device>> devices = database->devices();
  if (!devices) return tl::unexpected(devices.error());
  for (const Device& device : *devices) {
    print(fmt::format("  device {} ({})\n", device.fingerprint(), device.name));
  }
  return 0;
}

// From another database, or from a file of trials such as those in results/.
Result<std::int64_t> merge_from(Database& database, const std::string& path) {
  if (path.ends_with(".jsonl") || path.ends_with(".jsonl.gz")) {
    const Result<std::vector<Trial>> trials = read_trials(path);
    if (!trials) return tl::unexpected(trials.error());
    return database.insert(*trials);
  }
  const Result<Database> other = Database::open(path, Database::Access::read_only);
  if (!other) return tl::unexpected(other.error());
  return database.merge(*other);
}

Result<int> merge_into(const Cli& cli, const DbFlags& flags) {
  Result<Database> database = open_database(cli, Database::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  for (const std::string& path : flags.sources) {
    const Result<std::int64_t> added = merge_from(*database, path);
    if (!added) return tl::unexpected(added.error());
    print(fmt::format("{}: {} new trials\n", path, *added));
  }
  return 0;
}

}  // namespace

void add_db(CLI::App& app, Cli& cli) {
  CLI::App* db = app.add_subcommand(
      "db",
      "The trial database\n\nExamples:\n"
      "  tilewright db stats\n"
      "  tilewright db show --problem 'gemm 8x1024x3584 bf16 nn' --outcome wrong\n"
      "  tilewright db merge host1.db host2.db --db all.db\n"
      "  tilewright db merge results/h200/sweep.jsonl.gz --db all.db");
  db->require_subcommand(1);
  const auto flags = std::make_shared<DbFlags>();
  CLI::App* show_command = db->add_subcommand("show", "Trials, newest last");
  show_command->add_option("--problem", flags->problem, "Only of this problem");
  show_command->add_option("--outcome", flags->outcome, "Only of this outcome");
  show_command->add_option("--limit", flags->limit, "At most this many (0: all)")
      ->capture_default_str();
  show_command->add_option("--format", flags->format, "human or jsonl")
      ->check(CLI::IsMember({"human", "jsonl"}));
  show_command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return show(cli, *flags); }; });
  db->add_subcommand("stats", "How many trials, how they ended, on which devices")
      ->callback([&cli] { cli.action = [&cli] { return stats(cli); }; });
  CLI::App* merge_command = db->add_subcommand("merge", "Add the trials of others");
  merge_command
      ->add_option("sources", flags->sources, "Databases, or files of trials: .jsonl, .jsonl.gz")
      ->required();
  merge_command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return merge_into(cli, *flags); }; });
}

}  // namespace tilewright
