// SPDX-License-Identifier: Apache-2.0
// tilewright doctor: what works here, and why not, in one screen.
#include "cli/command.h"
#include "cli/doctor_lines.h"

#include "base/file.h"
#include "base/subprocess.h"
#include "baseline/baseline.h"
#include "compile/compile.h"
#include "device/fma_peak.h"
#include "execute/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace tilewright {
namespace {

using Line = DoctorLine;

std::string clock_setting() {
  const Result<std::string> governor =
      read_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor) return "the system does not show a governor; timings are paired, so drift cancels";
  return fmt::format("governor {}", governor->substr(0, governor->find('\n')));
}

// Whether the text of a kernel in `language` can be compiled here.
Line compiler_line(const Cli& cli, const std::filesystem::path& cache, const std::string& subject,
                   std::string_view language) {
  CompileOptions options;
  options.compiler = cli.settings.text("compile.cxx");
  options.cache_directory = cache;
  options.cuda_compiler = cli.settings.text("compile.cuda");
  options.needs = "";
  const Result<Compiler> compiler = Compiler::create(options);
  if (!compiler) return {subject, false, because(compiler.error())};
  const Result<std::string> version = compiler->version_for(language);
  return {subject, version.has_value(), version ? *version : because(version.error())};
}

Line runner_line(const Cli& cli, const Device& device) {
  WorkerOptions options;
  options.runner = cli.settings.text("execute.runner");
  const Result<Worker> worker = Worker::start(options, device);
  if (!worker) {
    return {"runner", false, fmt::format("{} {}", worker.error().message, worker.error().hint)};
  }
  const WorkerFacts& facts = worker->facts();
  const std::string isolation = fmt::format("isolation: {}", fmt::join(facts.isolation, ", "));
  if (facts.missing.empty()) return {"runner", true, isolation};
  return {"runner", false, fmt::format("{}; missing: {}", isolation, facts.missing)};
}

Line cache_line(const Cli& cli, std::filesystem::path& directory) {
  directory = cli.settings.text("cache.dir");
  if (directory.empty()) {
    Result<std::filesystem::path> standard = cache_home();
    if (!standard) return {"cache", false, standard.error().message + " (works without)"};
    directory = *std::move(standard);
  }
  const std::filesystem::path probe = directory / "doctor.probe";
  if (Status status = write_file_atomically(probe, "probe"); !status) {
    return {"cache", false, status.error().message + " (works without)"};
  }
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return {"cache", true, directory.string()};
}

Line database_line(const Cli& cli) {
  Result<Database> database = open_database(cli, Database::Access::read_only);
  if (!database) {
    const bool absent = database.error().code != ErrorCode::refused;
    return {"database", absent, database.error().message};
  }
  const Result<std::int64_t> count = database->count({});
  return {"database", count.has_value(),
          count ? fmt::format("{} trials", *count) : count.error().message};
}

// The device that --device chooses, or why not.
Line device_line(const Cli& cli, const Result<Device>& device) {
  if (!device) return {"in use", false, because(device.error())};
  return {"in use", true,
          fmt::format("{} (--device {})", device->fingerprint(), cli.settings.text("device.use"))};
}

std::vector<Line> examine(const Cli& cli, const Device& device) {
  std::vector<Line> lines;
  lines.push_back(
      {"device", true,
       fmt::format("{}, {} cores, L1 {} KiB, L2 {} KiB, L3 {} MiB", device.name, device.cores,
                   device.l1d_bytes >> 10, device.l2_bytes >> 10, device.l3_bytes >> 20)});
  lines.push_back({"fingerprint", true, device.fingerprint()});
  lines.push_back(
      {"instructions", device.has("avx2"), fmt::format("{}", fmt::join(device.isa, " "))});
  const double peak = measure_fma_peak(device, device.cores);
  lines.push_back({"FMA peak", true, fmt::format("{:.1f} GFLOP/s measured, f32", peak / 1e9)});
  lines.push_back({"clocks", true, clock_setting()});
  std::filesystem::path cache;
  lines.push_back(cache_line(cli, cache));
  lines.push_back(compiler_line(cli, cache, "compiler", "c++"));
  lines.push_back(runner_line(cli, device));
  const SelfCheck check = self_check(device, device.cores, peak);
  lines.push_back({"BLAS", check.passed,
                   check.passed ? fmt::format("OpenBLAS core {}, sgemm at {:.0f} % of the FMA peak",
                                              check.core_type, 100 * check.sgemm_fraction)
                                : check.reason});
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    Problem problem;
    problem.m = problem.n = problem.k = 256;
    problem.in = problem.out = type;
    for (const BaselineInfo& info : baselines_for(problem, device)) {
      lines.push_back({fmt::format("{} {}", name_of(type), info.name), info.available,
                       info.available ? info.library : info.why_not});
    }
  }
  lines.push_back(database_line(cli));
  for (Line& line : cuda_lines()) lines.push_back(std::move(line));
  lines.push_back(compiler_line(cli, cache, "CUDA compiler", "cuda"));
  return lines;
}

// The host, whichever device is to be tuned: it compiles, and it is the CPU that works without
// more.
Device host_of(const Cli& cli) {
  Device host = detect_cpu();
  const std::int64_t threads = cli.settings.number("execute.threads").value_or(0);
  if (threads > 0) host.cores = std::min(host.cores, static_cast<int>(threads));
  return host;
}

Result<int> doctor(const Cli& cli, const std::string& format) {
  const Result<Device> device = this_device(cli, Described::allowed);
  const Device host = host_of(cli);
  std::vector<Line> lines = examine(cli, host);
  lines.push_back(device_line(cli, device));
  if (device) {
    for (Line& line : runtime_lines(*device)) lines.push_back(std::move(line));
  }
  if (format == "json") {
    nlohmann::ordered_json json;
    json["schema_version"] = kReportSchemaVersion;
    json["context"] = context_of(cli, device ? *device : host);
    if (device) json["device"] = nlohmann::ordered_json::parse(to_json(*device));
    for (const Line& line : lines) {
      json["findings"].push_back(
          {{"subject", line.subject}, {"good", line.good}, {"finding", line.finding}});
    }
    print(json.dump(2) + "\n");
    return 0;
  }
  for (const Line& line : lines) {
    print(fmt::format("{} {:<20} {}\n", line.good ? "ok " : "-- ", line.subject, line.finding));
  }
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand("doctor", "What works on this machine, and why not");
  const auto format = std::make_shared<std::string>("human");
  command->add_option("--format", *format, "human or json")
      ->check(CLI::IsMember({"human", "json"}));
  command->callback(
      [&cli, format] { cli.action = [&cli, format] { return doctor(cli, *format); }; });
}

}  // namespace tilewright
