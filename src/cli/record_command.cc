// SPDX-License-Identifier: Apache-2.0
// tilewright record: runs a program and collects the problems that it asks libtilewright for.
//
// The library does the work (runtime/recorder.h); here the program gets the variable that turns it
// on, and what processes could not add to the one file is added to it. The program has our
// terminal, and its exit code becomes ours.
#include "cli/command.h"

#include "base/file.h"
#include "base/text.h"
#include "runtime/record_csv.h"

#include <fmt/format.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using runtime::AskedProblems;

struct RecordFlags {
  std::string output;
  std::vector<std::string> program;
};

// Ctrl-C is for the program; we wait for what it does about it.
class SignalsForTheProgram {
 public:
  SignalsForTheProgram() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], &ignore, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaddset(&defaults_, kSignals[i]);
    }
  }
  SignalsForTheProgram(const SignalsForTheProgram&) = delete;
  SignalsForTheProgram& operator=(const SignalsForTheProgram&) = delete;
  ~SignalsForTheProgram() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  // Those that a child must not find ignored.
  [[nodiscard]] const sigset_t& defaults() const { return defaults_; }

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGQUIT};
  std::array<struct sigaction, kSignals.size()> before_{};
  sigset_t defaults_{};
};

// Its exit code as a shell has it: 128 and the signal for one that was killed.
Result<int> run_program(const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const SignalsForTheProgram signals;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigdefault(&attributes, &signals.defaults());
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return fail(ErrorCode::usage, fmt::format("cannot start '{}': {}", program[0],
                                              std::generic_category().message(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Nothing yet is fine; what is not a record is not ours to write over.
Result<AskedProblems> recorded(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return AskedProblems{};
  const Result<std::string> text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  Result<AskedProblems> problems = runtime::parse_record(*text);
  if (!problems) {
    return fail(ErrorCode::refused,
                fmt::format("'{}': {}", file.string(), problems.error().message),
                "name a new file with --output");
  }
  return problems;
}

// <file>.<process>: what a process could not add to the file itself.
Status gather(const fs::path& file) {
  const std::string prefix = file.filename().string() + ".";
  std::error_code ignored;
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && parse_integer(name.substr(prefix.size()))) {
      parts.push_back(entry.path());
    }
  }
  for (const fs::path& part : parts) {
    const Result<AskedProblems> problems = recorded(part);
    if (!problems) continue;
    if (Status done = runtime::add_to_file(file, *problems); !done) return done;
    fs::remove(part, ignored);
  }
  return {};
}

std::uint64_t calls_in(const AskedProblems& problems) {
  std::uint64_t calls = 0;
  for (const auto& [text, asked] : problems) calls += asked.calls;
  return calls;
}

Result<int> record(const Cli& cli, const RecordFlags& flags) {
  std::error_code error;
  const fs::path file = fs::absolute(flags.output, error);
  if (error) return fail(ErrorCode::environment, "the current folder is gone");
  const Result<AskedProblems> before = recorded(file);
  if (!before) return tl::unexpected(before.error());
  ::setenv("TILEWRIGHT_RECORD", file.c_str(), 1);
  const Result<int> code = run_program(flags.program);
  if (!code) return code;
  if (Status done = gather(file); !done) return tl::unexpected(done.error());
  const Result<AskedProblems> after = recorded(file);
  if (!after) return tl::unexpected(after.error());
  const std::uint64_t calls = calls_in(*after) - calls_in(*before);
  if (calls == 0) {
    note(cli, fmt::format("tilewright: '{}' asked libtilewright for no product; does it link it?",
                          flags.program[0]));
  } else {
    note(cli, fmt::format("tilewright: {} calls; {} problems in {}; next: tilewright tune {}",
                          calls, after->size(), flags.output, flags.output));
  }
  return code;
}

}  // namespace

void add_record(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "record",
      "Run a program and collect the problems that it asks libtilewright for, as a CSV to tune\n\n"
      "Examples:\n"
      "  tilewright record -o shapes.csv -- ./my_program --its arguments\n"
      "  tilewright tune shapes.csv --budget 1h\n"
      "  tilewright wisdom export --output wisdom.txt     ship it: TILEWRIGHT_WISDOM=wisdom.txt\n\n"
      "A file that exists is added to. Where a program cannot be started this way, "
      "TILEWRIGHT_RECORD=<file>\nin its environment does the same. The exit code is the "
      "program's.");
  const auto flags = std::make_shared<RecordFlags>();
  command->add_option("-o,--output", flags->output, "The CSV file")->required();
  command->add_option("program", flags->program, "The program and its arguments, after --")
      ->required();
  command->callback([&cli, flags] { cli.action = [&cli, flags] { return record(cli, *flags); }; });
}

}  // namespace tilewright
