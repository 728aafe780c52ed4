// SPDX-License-Identifier: Apache-2.0
// tilewright report: what the databases hold of a suite, as one table. Measures nothing.
#include "cli/problem_flags.h"

#include "base/file.h"
#include "report/compare_table.h"
#include "report/groups.h"
#include "report/suite_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

namespace tilewright {
namespace {

struct ReportFlags {
  std::vector<std::string> databases, suites, types, accumulators;
  std::string run, format = "human", output, command;
  std::string compare;
  std::vector<std::string> matches, keys = {"m", "n", "k"};
};

struct Records {
  std::vector<Trial> trials;  // final and bench, each once
  std::map<std::string, Device> devices;
};

// Databases of several hosts overlap; a trial's id tells what is the same.
Status read_records(const Database& database, const std::string& run, std::set<std::string>& seen,
                    Records& records) {
  for (const char* stage : {"final", "bench"}) {
    TrialQuery query;
    query.stage = stage;
    query.run = run;
    Result<std::vector<Trial>> some = database.select(query);
    if (!some) return tl::unexpected(some.error());
    for (Trial& trial : *some) {
      if (seen.insert(trial.id()).second) records.trials.push_back(std::move(trial));
    }
  }
  Result<std::vector<Device>> devices = database.devices();
  if (!devices) return tl::unexpected(devices.error());
  for (const Device& device : *devices) records.devices.emplace(device.fingerprint(), device);
  return {};
}

Result<Records> read_all(const Cli& cli, const ReportFlags& flags) {
  Records records;
  std::set<std::string> seen;
  if (flags.databases.empty()) {
    Result<Database> database = open_database(cli, Database::Access::read_only);
    if (!database) return tl::unexpected(database.error());
    if (Status s = read_records(*database, flags.run, seen, records); !s) {
      return tl::unexpected(s.error());
    }
  }
  for (const std::string& path : flags.databases) {
    Result<Database> database = Database::open(path, Database::Access::read_only);
    if (!database) return tl::unexpected(database.error());
    if (Status s = read_records(*database, flags.run, seen, records); !s) {
      return tl::unexpected(s.error());
    }
  }
  return records;
}

// The word of --device, here the start of a fingerprint: the device need not be present. "cuda:1"
// is any CUDA device, "auto" any at all.
std::string wanted_device(const Cli& cli) {
  if (cli.settings.origin("device.use") == "built-in") return {};
  const std::string word = cli.settings.text("device.use");
  return word == "auto" ? std::string() : word.substr(0, word.find(':'));
}

// Keeps the trials of one device and of the types asked for; returns the fingerprint.
Result<std::string> keep_wanted(const Cli& cli, const ReportFlags& flags, Records& records) {
  const std::string prefix = wanted_device(cli);
  const auto listed = [](const std::vector<std::string>& list, std::string_view word) {
    return list.empty() || std::ranges::find(list, word) != list.end();
  };
  std::set<std::string> fingerprints;
  std::erase_if(records.trials, [&](const Trial& trial) {
    const Result<Problem> problem = parse_problem(trial.problem);
    const bool wanted =
        trial.device.starts_with(prefix) && problem && listed(flags.types, name_of(problem->in)) &&
        listed(flags.accumulators, problem->acc == Accumulator::f16 ? "f16" : "f32");
    if (wanted) fingerprints.insert(trial.device);
    return !wanted;
  });
  if (fingerprints.size() > 1) {
    return fail(ErrorCode::usage,
                fmt::format("there are trials of {} devices: {}", fingerprints.size(),
                            fmt::join(fingerprints, ", ")),
                "choose one with --device FINGERPRINT (its beginning will do)");
  }
  return fingerprints.empty() ? std::string() : *fingerprints.begin();
}

Result<std::vector<ColumnMatch>> matches_of(const ReportFlags& flags, const NumberTable& table,
                                            const SuiteReport& report) {
  if (flags.matches.empty()) return guess_matches(table, report);
  std::vector<ColumnMatch> matches;
  for (const std::string& text : flags.matches) {
    Result<ColumnMatch> match = parse_match(text);
    if (!match) return tl::unexpected(match.error());
    matches.push_back(*std::move(match));
  }
  return matches;
}

Result<std::string> comparison_text(const ReportFlags& flags, const SuiteReport& report,
                                    Format format, const Context& context) {
  const Result<std::string> text = read_file(flags.compare);
  if (!text) return tl::unexpected(text.error());
  const Result<NumberTable> table = read_number_table(*text, flags.compare);
  if (!table) return tl::unexpected(table.error());
  const Result<std::vector<ColumnMatch>> matches = matches_of(flags, *table, report);
  if (!matches) return tl::unexpected(matches.error());
  const Result<TableComparison> comparison = compare_with(report, *table, flags.keys, *matches);
  if (!comparison) return tl::unexpected(comparison.error());
  return render_comparison(*comparison, format, context);
}

Result<int> report_command(const Cli& cli, const ReportFlags& flags) {
  Result<Format> format = format_from(flags.format);
  if (!format) return tl::unexpected(format.error());
  ProblemFlags of_suite;
  of_suite.suites = flags.suites;
  Result<Problems> problems = read_problems(of_suite);
  if (!problems) return tl::unexpected(problems.error());
  Result<Records> records = read_all(cli, flags);
  if (!records) return tl::unexpected(records.error());
  Result<std::string> fingerprint = keep_wanted(cli, flags, *records);
  if (!fingerprint) return tl::unexpected(fingerprint.error());

  const auto device = records->devices.find(*fingerprint);
  const SuiteReport report = suite_report(
      fmt::format("{}", fmt::join(flags.suites, " + ")), problems->list, records->trials,
      device == records->devices.end() ? std::nullopt : sustained_rates(device->second));
  Context context = {{"date", utc_now()}, {"fingerprint", *fingerprint}};
  if (device != records->devices.end()) context["device"] = device->second.name;
  if (!flags.run.empty()) context["run"] = flags.run;
  if (!flags.command.empty()) context["command"] = flags.command;

  Result<std::string> text = flags.compare.empty()
                                 ? render_suite(report, *format, context)
                                 : comparison_text(flags, report, *format, context);
  if (!text) return tl::unexpected(text.error());
  if (flags.output.empty()) {
    print(*text);
  } else {
    if (Status s = write_file_atomically(flags.output, *text); !s) return tl::unexpected(s.error());
    const std::string about = render_about(
        report, device == records->devices.end() ? std::string() : to_json(device->second),
        context);
    if (Status s = write_file_atomically(flags.output + ".about.json", about); !s) {
      return tl::unexpected(s.error());
    }
  }
  if (report.rows.empty()) {
    return fail(ErrorCode::negative, "nothing is recorded for this suite",
                "tilewright tune --suite NAME, then tilewright bench --suite NAME");
  }
  return problems->rows_refused ? static_cast<int>(ErrorCode::usage) : 0;
}

}  // namespace

void add_report(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "report",
      "Tables of a suite from recorded trials: per shape as CSV, per decade of FLOP otherwise\n\n"
      "Examples:\n"
      "  tilewright report --suite grid1000\n"
      "  tilewright report --suite grid1000 --format csv --output grid1000.csv\n"
      "  tilewright report host1.db host2.db --suite grid1000 --device cuda --types f16\n"
      "  tilewright report --suite grid1000 --compare other.csv --match lt_auto_nn=nn.lt_auto\n"
      "Of several trials of a problem and mode the newest stands. docs/measurement.md has the "
      "columns.");
  const auto flags = std::make_shared<ReportFlags>();
  command->add_option("databases", flags->databases,
                      "Databases to read together (default: that of --db)");
  command->add_option("--suite", flags->suites, "A suite by name, or a CSV file")->required();
  command->add_option("--run", flags->run, "Only trials of this run");
  command->add_option("--types", flags->types, "Only these types: f16, bf16")->delimiter(',');
  command->add_option("--acc", flags->accumulators, "Only these accumulators: f32, f16")
      ->delimiter(',');
  command->add_option("--format", flags->format, "human, md, csv or json")->capture_default_str();
  command->add_option("--output", flags->output,
                      "Write to this file, and what it was made from to FILE.about.json");
  command->add_option("--command", flags->command, "How the trials were made, for the record");
  command->add_option("--compare", flags->compare,
                      "Compare with a CSV of times in microseconds instead of reporting");
  command->add_option("--match", flags->matches,
                      "TABLE_COLUMN=LAYOUT.COLUMN (default: columns named NAME_nn and NAME_tn)");
  command->add_option("--keys", flags->keys, "The table's columns of M, N and K")
      ->delimiter(',')
      ->capture_default_str();
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return report_command(cli, *flags); }; });
}

}  // namespace tilewright
