// SPDX-License-Identifier: Apache-2.0
// See toolchain.h.
#include "compile/toolchain.h"

#include "base/subprocess.h"
#include "base/text.h"
#include "compile/entry.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 2> kUsualNames = {"g++", "c++"};
constexpr const char* kHint =
    "install one (Debian: apt install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++), or "
    "set TILEWRIGHT_CXX to its path";

// Exports are listed by name (export_list), so a candidate need not know about visibility; without
// interposition GCC may still inline and call directly.
constexpr std::array<std::string_view, 8> kAlways = {"-std=c++20",
                                                     "-O3",
                                                     "-fPIC",
                                                     "-shared",
                                                     "-fno-semantic-interposition",
                                                     "-fvisibility-inlines-hidden",
                                                     "-fno-stack-protector",
                                                     "-fdiagnostics-color=never"};
// `now` and `relro` make everything that the loader writes read-only afterwards, so that what
// remains writable is the candidate's. No build id: it would differ where nothing else does.
constexpr std::array<std::string_view, 2> kLink = {"-Wl,--build-id=none",
                                                   "-Wl,-z,relro,-z,now,-z,noexecstack,-z,text"};
// -nostdlib includes -nostartfiles: no initialisers of the toolchain's either.
constexpr std::array<std::string_view, 4> kStrict = {"-fno-exceptions", "-fno-rtti",
                                                     "-fno-threadsafe-statics", "-nostdlib"};
constexpr std::string_view kLoose = "-pthread";

template <class Flags>
void append(std::vector<std::string>& to, const Flags& flags) {
  to.insert(to.end(), flags.begin(), flags.end());
}

}  // namespace

Result<Toolchain> probe(Toolchain toolchain, const std::string& origin, const std::string& hint,
                        std::string_view mark) {
  const std::vector<std::string>& program = toolchain.program;
  Command command;
  command.argv = program;
  command.argv.emplace_back("--version");
  command.environment = toolchain.environment;
  command.environment.emplace_back("LC_ALL=C");
  command.limit = std::chrono::seconds(20);
  const auto wrong = [&](const std::string& reason) {
    return fail(ErrorCode::environment,
                fmt::format("the compiler '{}'{} does not work: {}",
                            fmt::join(program.begin(), program.end(), " "), origin, reason),
                hint);
  };
  const auto done = run(command);
  if (!done) return wrong(done.error().message);
  if (done->timed_out) return wrong("`--version` did not return");
  if (done->signal != 0) return wrong(fmt::format("`--version` ended by signal {}", done->signal));
  if (done->exit_code != 0) {
    const std::string_view said = trim(split(done->output, '\n').front());
    return wrong(fmt::format("`--version` ended with status {}{}{}", done->exit_code,
                             said.empty() ? "" : ": ", said));
  }
  for (const std::string_view line : split(done->output, '\n')) {
    if (line.find(mark) == std::string_view::npos) continue;
    toolchain.version = trim(line);
    break;
  }
  if (toolchain.version.empty()) return wrong("`--version` printed nothing");
  return toolchain;
}

Result<Toolchain> find_toolchain(const std::string& requested) {
  const char* variable = std::getenv("TILEWRIGHT_CXX");
  const bool from_variable = requested.empty() && variable != nullptr && *variable != '\0';
  const std::string name = from_variable ? variable : requested;
  if (name.empty()) {
    for (const auto usual : kUsualNames) {
      const auto path = find_program(std::string(usual));
      if (path) return probe({{path->string()}, {}, {}, {}}, "", kHint);
    }
    return fail(ErrorCode::environment, "no C++ compiler: neither g++ nor c++ is in PATH", kHint);
  }
  const std::string origin = from_variable ? " (from TILEWRIGHT_CXX)" : "";
  // A path may contain blanks; only what is no program as a whole is taken apart.
  std::vector<std::string> program = {name};
  if (!find_program(name)) {
    program.clear();
    append(program, words(name));
  }
  const auto path = program.empty() ? std::nullopt : find_program(program.front());
  if (!path) {
    return fail(ErrorCode::environment,
                fmt::format("no C++ compiler: '{}'{} is not a program", name, origin), kHint);
  }
  // Compilers run in folders of their own, where a relative path would mean something else.
  std::error_code error;
  program.front() = std::filesystem::absolute(*path, error).string();
  return probe({std::move(program), {}, {}, {}}, origin, kHint);
}

std::vector<std::string> arguments(const Source& source, bool strict) {
  std::vector<std::string> list;
  append(list, kAlways);
  if (strict) append(list, kStrict);
  append(list, source.flags);
  list.push_back(fmt::format("-I{}", kHeaderFolder));
  append(list, kLink);
  list.push_back(fmt::format("-Wl,--version-script={}", kExportsFile));
  append(list, std::array{std::string_view("-o"), kCpuEntry.object, kCpuEntry.source});
  list.emplace_back(strict ? "-lgcc" : kLoose);
  return list;
}

std::vector<std::string> environment(const std::filesystem::path& temporary) {
  return {"LC_ALL=C",             // messages that can be read back
          "SOURCE_DATE_EPOCH=0",  // __DATE__ and __TIME__
          "CPATH=",
          "C_INCLUDE_PATH=",
          "CPLUS_INCLUDE_PATH=",            // headers that no key covers
          "TMPDIR=" + temporary.string()};  // so that a killed compiler leaves nothing elsewhere
}

std::string export_list(const Launch& launch) {
  return fmt::format("{{ global: {}; local: *; }};\n", launch.symbol);
}

}  // namespace tilewright
