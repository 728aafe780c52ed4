// SPDX-License-Identifier: Apache-2.0
// The `tilewright` program: parse, run the chosen subcommand, turn its result into an exit code.
//
// Exit codes: 0 done, 1 a negative answer, 2 usage, 3 environment, 4 budget spent without one valid
// program, 5 a file was refused, 70 internal error, 130 interrupted.
#include "cli/command.h"

#include <fmt/format.h>

#include <exception>

namespace {

constexpr const char* kVersion = "0.1.0";

int report(const tilewright::Error& error) {
  fmt::print(stderr, "tilewright: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "  {}\n", error.hint);
  return static_cast<int>(error.code);
}

int run(int argc, char** argv) {
  using namespace tilewright;
  CLI::App app{
      "Finds, proves and serves the fastest half-precision matrix multiplication for your own "
      "hardware.\n\nExamples:\n"
      "  tilewright tune 128x1536x1024            tune one shape for this machine\n"
      "  tilewright tune @demo --budget 5m        tune a suite\n"
      "  tilewright explain 8x1024x3584           what is known and possible for a shape\n"
      "  tilewright doctor                        what works here, and why not"};
  app.name("tilewright");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  Result<Settings> settings = Settings::load();
  if (!settings) return report(settings.error());
  Cli cli{*std::move(settings), false, false, false, nullptr};
  cli.settings.add_flags(app);
  app.add_flag("-q,--quiet", cli.quiet, "No progress and no remarks on stderr");
  app.add_flag("-v,--verbose", cli.verbose, "Every trial as it ends");
  app.add_flag("--skip-self-check", cli.skip_self_check,
               "Time against baselines that were not checked (for tests on busy machines); every "
               "output says so");
  add_tune(app, cli);
  add_bench(app, cli);
  add_verify(app, cli);
  add_gen(app, cli);
  add_compile(app, cli);
  add_bundle(app, cli);
  add_explain(app, cli);
  add_profile(app, cli);
  add_report(app, cli);
  add_policy_bench(app, cli);
  add_table(app, cli);
  add_train(app, cli);
  add_record(app, cli);
  add_db(app, cli);
  add_wisdom(app, cli);
  add_doctor(app, cli);
  add_config(app, cli);
  app.add_subcommand("version", "Print the version")->callback([&cli] {
    cli.action = [] {
      print(fmt::format("tilewright {}\n", kVersion));
      return Result<int>(0);
    };
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ErrorCode::usage);
  }
  const Result<int> code = cli.action();
  return code ? *code : report(code.error());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tilewright: internal error: {}\n", error.what());
    return static_cast<int>(tilewright::ErrorCode::internal);
  }
}
