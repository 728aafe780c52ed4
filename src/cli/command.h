// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `tilewright` share. Each subcommand is one file with one add_ function
// that declares its flags; main.cc runs the chosen one and turns an Error into an exit code.
//
// stdout is data, stderr is log and progress.
#pragma once

#include "base/error.h"
#include "cli/settings.h"
#include "device/device.h"
#include "problem/suite.h"
#include "record/database.h"
#include "report/report.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

// The process exit code, or what went wrong.
using Action = std::function<Result<int>()>;

struct Cli {
  Settings settings;
  bool quiet = false, verbose = false, skip_self_check = false;
  Action action;  // set by the subcommand that was given
};

void add_tune(CLI::App& app, Cli& cli);
void add_bench(CLI::App& app, Cli& cli);
void add_verify(CLI::App& app, Cli& cli);
void add_gen(CLI::App& app, Cli& cli);
void add_explain(CLI::App& app, Cli& cli);
void add_profile(CLI::App& app, Cli& cli);
void add_report(CLI::App& app, Cli& cli);
void add_policy_bench(CLI::App& app, Cli& cli);
void add_train(CLI::App& app, Cli& cli);
void add_table(CLI::App& app, Cli& cli);
void add_compile(CLI::App& app, Cli& cli);
void add_bundle(CLI::App& app, Cli& cli);
void add_record(CLI::App& app, Cli& cli);
void add_db(CLI::App& app, Cli& cli);
void add_wisdom(CLI::App& app, Cli& cli);
void add_doctor(CLI::App& app, Cli& cli);
void add_config(CLI::App& app, Cli& cli);

// Problems of all arguments in order. Bad rows go to stderr with line number and reason; with
// `strict` one of them is an error. `rows_refused` tells whether there were any.
struct Problems {
  std::vector<Problem> list;
  bool rows_refused = false;
};
[[nodiscard]] Result<Problems> read_problems(const std::vector<std::string>& arguments,
                                             bool strict);

// The database of --db, created if missing unless `read_only`.
[[nodiscard]] Result<Database> open_database(const Cli& cli, Database::Access access);

// The device of --device, which must be here, with the host's cores that --threads allows. For what
// only reads or writes text, `described` also allows a file that describes a device.
enum class Described { refused, allowed };
[[nodiscard]] Result<Device> this_device(const Cli& cli, Described described = Described::refused);

[[nodiscard]] std::string utc_now();  // 2026-01-31T12:00:00Z

// Date, host, device, versions: the head of every machine-readable output.
[[nodiscard]] Context context_of(const Cli& cli, const Device& device);

// Prints to stdout / to stderr (not with --quiet).
void print(const std::string& text);
void note(const Cli& cli, const std::string& line);

}  // namespace tilewright
