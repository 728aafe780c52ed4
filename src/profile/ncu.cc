// SPDX-License-Identifier: Apache-2.0
// Implementation of ncu.h. The options stand in run_once(); each was chosen for a reason given
// there.
#include "profile/ncu.h"

#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <set>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t kMostOutput = std::size_t{32} << 20;
constexpr auto kQuestionLimit = 60s;

bool executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// Entries of `folder` whose names begin with `prefix`, the greatest name first, versions compared
// as numbers.
std::vector<fs::path> newest_first(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
    return strverscmp(a.filename().c_str(), b.filename().c_str()) > 0;
  });
  return found;
}

std::vector<fs::path> usual_places(const fs::path& root) {
  std::vector<fs::path> places;
  for (const fs::path& cuda : newest_first(root / "usr/local", "cuda")) {
    places.push_back(cuda / "bin/ncu");
  }
  for (const fs::path& version : newest_first(root / "opt/nvidia/nsight-compute", "")) {
    places.push_back(version / "ncu");
  }
  return places;
}

struct Chip {
  int capability;
  const char* name;
};
constexpr std::array kChips = {Chip{80, "ga100"}, Chip{86, "ga102"},  Chip{89, "ad102"},
                               Chip{90, "gh100"}, Chip{100, "gb100"}, Chip{120, "gb202"}};

// Facts of a launch are listed apart from counters; a version that does not list them has these.
constexpr std::array kOldLaunchFacts = {"launch__registers_per_thread",
                                        "launch__shared_mem_per_block",
                                        "launch__block_size",
                                        "launch__grid_size",
                                        "launch__waves_per_multiprocessor",
                                        "launch__occupancy_limit_registers",
                                        "launch__occupancy_limit_shared_mem",
                                        "launch__occupancy_limit_warps"};

Result<Completion> ask(const fs::path& program, std::vector<std::string> arguments) {
  Command command;
  command.argv = {program.string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.limit = kQuestionLimit;
  command.output_cap = kMostOutput;
  return run(command);
}

struct Meaning {
  std::string_view word, message, hint;
};
constexpr Meaning kMeanings[] = {
    {"ERR_NVGPUCTRPERM", "the driver does not let this user read performance counters",
     "run it as root, give the container CAP_SYS_ADMIN, or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0 (developer.nvidia.com/ERR_NVGPUCTRPERM)"},
    {"LibraryNotLoaded", "ncu cannot reach the driver's profiling interface",
     "some virtual machines and containers have none; else ncu is too old or too new for the "
     "driver"},
    {"concurrently", "another process is profiling this device", "wait until it has ended"},
    {"InterprocessLockFailed", "ncu cannot lock its file in the temporary folder",
     "another user's ncu left it: set TMPDIR to a folder of yours"},
};

}  // namespace

Result<Ncu> Ncu::find(const fs::path& root) {
  const char* const variable = std::getenv("TILEWRIGHT_NCU");
  std::optional<fs::path> path;
  if (variable != nullptr && *variable != '\0') {
    if (!executable(variable)) {
      return fail(ErrorCode::environment, fmt::format("TILEWRIGHT_NCU={}: no program", variable),
                  "it names the program ncu of Nsight Compute");
    }
    path = variable;
  } else if (auto in_path = find_program("ncu")) {
    path = *in_path;
  } else {
    for (const fs::path& place : usual_places(root)) {
      if (!executable(place)) continue;
      path = place;
      break;
    }
  }
  if (!path) {
    return fail(
        ErrorCode::environment,
        "ncu, the command-line program of Nsight Compute, is neither in PATH nor in "
        "/usr/local/cuda*/bin nor in /opt/nvidia/nsight-compute",
        "it comes with the CUDA toolkit (package nsight-compute); TILEWRIGHT_NCU may name it");
  }
  Ncu ncu(*path);
  if (const auto answer = ask(*path, {"--version"})) {
    for (const std::string_view line : split(answer->output, '\n')) {
      const auto parts = words(line);
      if (parts.size() >= 2 && parts[0] == "Version") ncu.version_ = parts[1];
    }
  }
  return ncu;
}

std::vector<std::string> Ncu::metrics(int capability) const {
  std::vector<std::string> chip;
  for (const Chip& known : kChips) {
    if (known.capability == capability) chip = {"--chip", known.name};
  }
  const auto listed = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), chip.begin(), chip.end());
    const auto answer = ask(path_, std::move(arguments));
    return answer ? parse_metric_list(answer->output) : std::vector<std::string>();
  };
  std::vector<std::string> names = listed({"--query-metrics"});
  if (names.empty() && !chip.empty()) {  // a version that does not know the chip: this device, then
    chip.clear();
    names = listed({"--query-metrics"});
  }
  if (names.empty()) return {};
  std::vector<std::string> facts = listed({"--query-metrics-collection", "launch"});
  std::erase_if(facts, [](const std::string& name) { return !name.starts_with("launch__"); });
  if (facts.empty()) facts.assign(kOldLaunchFacts.begin(), kOldLaunchFacts.end());
  names.insert(names.end(), facts.begin(), facts.end());
  return names;
}

Error explain_ncu(const std::vector<std::string>& errors, const std::string& output) {
  std::string all = output;
  for (const std::string& error : errors) all += "\n" + error;
  for (const Meaning& meaning : kMeanings) {
    if (all.find(meaning.word) == std::string::npos) continue;
    return {ErrorCode::environment, fmt::format("ncu: {} ({})", meaning.message, meaning.word),
            std::string(meaning.hint)};
  }
  const std::string said = errors.empty() ? std::string(trim(output.substr(0, 300)))
                                          : fmt::format("{}", fmt::join(errors, "; "));
  return {ErrorCode::environment,
          fmt::format("ncu: {}", said.empty() ? "it profiled nothing and did not say why" : said),
          ""};
}

namespace {

struct Attempt {
  NcuReport report;
  std::string output;  // what is left of it besides the report
};

Result<Attempt> run_once(const fs::path& ncu, const Ncu::Request& request) {
  Command command;
  command.argv = {
      ncu.string(), "--csv", "--page", "raw",
      // Numbers in one unit each, and with all their digits.
      "--print-units", "base", "--print-fp",
      // The clocks are the machine's own business, and a kernel's at its base clock is another one.
      "--clock-control", "none",
      // Only what lies between the marks.
      "--profile-from-start", "off", "--target-processes", "application-only", "--replay-mode",
      "kernel", "--cache-control", request.flush ? "all" : "none", "--metrics",
      fmt::format("{}", fmt::join(request.metrics, ",")), "--log-file", request.log.string()};
  command.argv.insert(command.argv.end(), request.program.begin(), request.program.end());
  command.environment = {"CUDA_LAUNCH_BLOCKING=0"};
  command.limit = request.limit;
  std::error_code ignored;
  fs::remove(request.log, ignored);
  const auto done = run(command);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out) {
    return fail(
        ErrorCode::environment,
        fmt::format("ncu: not done after {} s",
                    std::chrono::duration_cast<std::chrono::seconds>(request.limit).count()),
        "fewer metrics (--metrics) take fewer passes");
  }
  // Before it has opened its log it prints.
  const auto log = read_file(request.log);
  auto report = parse_ncu(log ? *log : done->output);
  if (!report) return tl::unexpected(report.error());
  return Attempt{*std::move(report), done->output};
}

}  // namespace

Result<Ncu::Answer> Ncu::profile(Request request) const {
  Answer answer;
  for (int attempt = 0;; ++attempt) {
    auto tried = run_once(path_, request);
    if (!tried) return tl::unexpected(tried.error());
    if (!tried->report.kernels.empty()) {
      answer.report = std::move(tried->report);
      return answer;
    }
    // A name that the tool lists and then does not know: others are worth more than it.
    std::string said = tried->output;
    for (const auto* list : {&tried->report.errors, &tried->report.warnings}) {
      for (const std::string& line : *list) said += "\n" + line;
    }
    const auto named = std::erase_if(request.metrics, [&](const std::string& metric) {
      const bool blamed = said.find(metric) != std::string::npos;
      if (blamed) answer.dropped.push_back(metric);
      return blamed;
    });
    if (named == 0 || attempt > 0 || request.metrics.empty()) {
      return tl::unexpected(explain_ncu(tried->report.errors, said));
    }
  }
}

}  // namespace tilewright
