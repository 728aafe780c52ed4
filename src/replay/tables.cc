// SPDX-License-Identifier: Apache-2.0
// See tables.h.
#include "replay/tables.h"

#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilewright {
namespace {

bool is_zipped(const std::filesystem::path& path) {
  return path.extension() == ".gz";
}

Result<std::string> text_of(const std::filesystem::path& path) {
  if (!is_zipped(path)) return read_file(path);
  Command command;
  command.argv = {"gzip", "-dc", path.string()};
  command.output_cap = std::size_t{1} << 31;
  Result<Completion> done = run(command);
  if (!done) return tl::unexpected(done.error());
  if (done->signal != 0 || done->exit_code != 0 || done->output_dropped > 0) {
    return fail(ErrorCode::refused, fmt::format("{} cannot be unpacked", path.string()),
                done->output.substr(0, 200));
  }
  return std::move(done->output);
}

}  // namespace

Result<std::vector<Trial>> read_trials(const std::filesystem::path& path) {
  const Result<std::string> text = text_of(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<Trial> trials;
  int number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    Result<Trial> trial = trial_from_json(line);
    if (!trial) {
      return fail(ErrorCode::refused,
                  fmt::format("{}:{}: {}", path.string(), number, trial.error().message),
                  "one trial a line, as `tilewright db show --format jsonl` writes them");
    }
    trials.push_back(*std::move(trial));
  }
  return trials;
}

Result<std::vector<Trial>> select_trials(std::vector<Trial> trials, const std::string& device,
                                         const std::string& mode) {
  std::set<std::string> devices, ids;
  std::erase_if(trials, [&](const Trial& trial) {
    if (!trial.device.starts_with(device) || trial.mode != mode) return true;
    devices.insert(trial.device);
    return !ids.insert(trial.id()).second;
  });
  if (trials.empty()) {
    return fail(ErrorCode::negative,
                fmt::format("no trials of mode '{}' on a device '{}...'", mode, device),
                "tilewright table fills a table; tilewright db show lists what is recorded");
  }
  if (devices.size() > 1) {
    return fail(
        ErrorCode::usage,
        fmt::format("there are trials of {} devices: {}", devices.size(), fmt::join(devices, ", ")),
        "choose one with --of FINGERPRINT (its beginning will do)");
  }
  std::ranges::stable_sort(trials, {}, &Trial::unix_ms);
  return trials;
}

std::vector<ReplayWorld> make_worlds(const std::vector<Trial>& trials, const Device& device,
                                     std::size_t least, std::vector<std::string>* left_out) {
  std::map<std::string, std::vector<Trial>> by_problem;
  for (const Trial& trial : trials) by_problem[trial.problem].push_back(trial);
  std::vector<ReplayWorld> worlds;
  for (auto& [text, group] : by_problem) {
    const Result<Problem> problem = parse_problem(text);
    if (!problem) continue;
    ReplayWorld world{*problem, ReplayTable::of(std::move(group)), nullptr, 0, false};
    std::vector<Program> programs;
    for (const std::string& line : world.table.programs()) {
      if (Result<Program> program = parse_program(line)) programs.push_back(*std::move(program));
    }
    world.programs = std::make_shared<ProgramSet>(world.problem, device, programs);
    // What the rules of today refuse is no part of the table, so not its best either.
    for (const Program& program : world.programs->programs()) {
      const Trial* reported = world.table.reported(program.text());
      if (reported->outcome != Outcome::ok || !(reported->time_us > 0)) continue;
      if (world.oracle_us == 0 || reported->time_us < world.oracle_us) {
        world.oracle_us = reported->time_us;
      }
    }
    world.held_out = split_of(world.problem) == "held-out";
    if (world.programs->programs().size() < least || world.oracle_us == 0) {
      if (left_out != nullptr) left_out->push_back(text);
      continue;
    }
    worlds.push_back(std::move(world));
  }
  return worlds;
}

TableFacts facts_of(const std::vector<ReplayWorld>& worlds, const Device& device) {
  TableFacts facts;
  std::map<std::string, Program> programs;
  std::set<std::string> proposers;
  std::vector<double> noise;
  for (const ReplayWorld& world : worlds) {
    facts.timed_again += world.table.timed_again();
    for (const Program& program : world.programs->programs()) {
      const std::string text = program.text();
      const Trial& seen = *world.table.seen(text);
      const Trial& reported = *world.table.reported(text);
      ++facts.cells;
      if (reported.outcome != Outcome::ok) ++facts.failures;
      programs.try_emplace(text, program);
      proposers.insert(seen.policy);
      if (seen.time_us > 0 && reported.time_us > 0 && seen.unix_ms != reported.unix_ms) {
        noise.push_back(std::abs(std::log(reported.time_us / seen.time_us)));
      }
    }
  }
  facts.programs = programs.size();
  double possible = 0;
  for (const ReplayWorld& world : worlds) {
    for (const auto& [text, program] : programs) {
      if (is_legal(program, world.problem, device)) ++possible;
    }
  }
  if (possible > 0) facts.density = static_cast<double>(facts.cells) / possible;
  if (!noise.empty()) {
    std::ranges::nth_element(noise, noise.begin() + static_cast<std::ptrdiff_t>(noise.size() / 2));
    facts.noise = noise[noise.size() / 2];
  }
  facts.proposers.assign(proposers.begin(), proposers.end());
  return facts;
}

}  // namespace tilewright
