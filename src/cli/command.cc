// SPDX-License-Identifier: Apache-2.0
// See command.h.
#include "cli/command.h"

#include "base/hash.h"
#include "cli/chosen_device.h"
#include "device/cuda/detect.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace tilewright {
std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Result<Problems> read_problems(const std::vector<std::string>& arguments, bool strict) {
  Problems problems;
  for (const std::string& argument : arguments) {
    Result<Suite> suite = read_suite(argument);
    if (!suite) return tl::unexpected(suite.error());
    for (const BadRow& row : suite->notes) {
      fmt::print(stderr, "tilewright: {}:{}: {}\n", suite->name, row.line, row.reason);
    }
    for (const BadRow& row : suite->bad) {
      fmt::print(stderr, "tilewright: {}:{}: refused: {}\n", suite->name, row.line, row.reason);
    }
    if (!suite->bad.empty()) {
      problems.rows_refused = true;
      if (strict) {
        return fail(ErrorCode::usage, fmt::format("{}: {} rows refused, and --strict was given",
                                                  suite->name, suite->bad.size()));
      }
    }
    for (const SuiteEntry& entry : suite->entries) {
      if (std::ranges::find(problems.list, entry.problem) == problems.list.end()) {
        problems.list.push_back(entry.problem);
      }
    }
  }
  if (problems.list.empty()) return fail(ErrorCode::usage, "no problem is left to work on");
  return problems;
}

Result<Database> open_database(const Cli& cli, Database::Access access) {
  std::filesystem::path path = cli.settings.text("database.path");
  if (path.empty()) {
    Result<std::filesystem::path> standard = default_database();
    if (!standard) {
      return fail(standard.error().code, standard.error().message,
                  "name a database with --db or TILEWRIGHT_DB");
    }
    path = *std::move(standard);
  }
  return Database::open(path, access);
}

Result<Device> this_device(const Cli& cli, Described described) {
  Result<ChosenDevice> chosen = chosen_device(cli.settings.text("device.use"));
  if (!chosen) return tl::unexpected(chosen.error());
  if (chosen->described && described == Described::refused) {
    return fail(ErrorCode::usage,
                fmt::format("--device {}: a described device can run nothing",
                            cli.settings.text("device.use")),
                "gen, explain and wisdom work with it; elsewhere cpu, cuda, cuda:N or auto");
  }
  Device device = std::move(chosen->device);
  const std::int64_t threads = cli.settings.number("execute.threads").value_or(0);
  if (threads > 0 && !chosen->described) {
    device.cores = std::min(device.cores, static_cast<int>(threads));
  }
  return device;
}

Context context_of(const Cli& cli, const Device& device) {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  Context context = {{"date", utc_now()},
                     {"host", hash128(host).substr(0, 8)},
                     {"device", device.name},
                     {"fingerprint", device.fingerprint()},
                     {"cores", std::to_string(device.cores)},
                     {"seed", cli.settings.text("tune.seed")}};
  if (device.kind == DeviceKind::cuda) {
    context["cuda_driver"] = cuda::version_text(device.cuda.driver);
    context["multiprocessors"] = std::to_string(device.cuda.multiprocessors);
  }
  return context;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void note(const Cli& cli, const std::string& line) {
  if (cli.quiet) return;
  std::fflush(stdout);  // on a terminal both streams are one text
  fmt::print(stderr, "{}\n", line);
}

}  // namespace tilewright
