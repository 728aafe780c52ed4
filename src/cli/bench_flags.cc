// SPDX-License-Identifier: Apache-2.0
// See bench_flags.h.
#include "cli/bench_flags.h"

#include "base/hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace tilewright {
namespace {

struct ModeOfCuda {
  Mode mode;
  const char *what, *hint;
};
constexpr ModeOfCuda kModesOfCuda[] = {
    {Mode::wall, "launches by the host are", "on a CPU offline is what a caller sees"},
    {Mode::sustained, "a power cap is", "on a CPU measure offline"},
    {Mode::chained, "kernels that overlap are", ""},
};

}  // namespace

void declare_timing_flags(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--mode", flags.modes,
                  "offline, hot, cold, server, wall (CUDA), sustained (CUDA: as offline, but each "
                  "for 0.3 s at a time, at the clock that its own power leaves it); several, "
                  "comma-separated. Or chained (CUDA): as offline, with programmatic dependent "
                  "launch on our side")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option(
          "--gap-us", flags.gaps_us,
          "Mean of the exponential gaps between calls in mode server, microseconds; "
          "several, comma-separated, are a mode each (default: 1000 on a GPU, 200 on a CPU)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command.add_option("--baseline", flags.baselines,
                     "Only these baselines (default: all; with --served cublaslt_heuristic)");
  command.add_option("--server-baseline", flags.server_baselines,
                     "Only these baselines in mode server, where each costs 400 gaps");
  command
      .add_option(
          "--chosen-in", flags.chosen_in,
          "A run of tune or bench that chose both sides: its winner of each problem, and on "
          "CUDA the vendor library's algorithms as that run found them, without a search; "
          "'any': the fastest of each side in all runs")
      ->excludes("--program")
      ->excludes("--source");
  command
      .add_option("--precision", flags.precision,
                  "Except in mode server: up to four times as many rounds, until the interval of "
                  "the ratio to the fastest baseline is within so many per cent to either side")
      ->check(CLI::Range(0.01, 50.0));
  command.add_option("--effort", flags.effort, "normal, or sweep: shorter timings")
      ->capture_default_str();
  auto* served = command.add_flag(
      "--served", flags.served,
      "CUDA: the kernel that the runtime library would take from its bundles, whatever the "
      "vendor's library can do");
  command
      .add_option("--kernels", flags.library.kernels,
                  "A folder of bundles besides the installed ones")
      ->needs(served);
  command
      .add_option("--wisdom", flags.library.wisdom, "A wisdom file instead of the installed ones")
      ->needs(served);
  command
      .add_option(
          "--workspace-bytes", flags.library.workspace_bytes,
          "The workspace of a stream, as in tw_options: with less, large unaligned products "
          "take several launches, which are not timed")
      ->check(CLI::PositiveNumber)
      ->needs(served)
      ->capture_default_str();
  command
      .add_option("--choice", flags.choice,
                  "How the library chooses: by estimate, timed (as tw_prepare does), or both one "
                  "after the other")
      ->needs(served)
      ->capture_default_str();
  command.add_option("--run", flags.run, "Name of the run (default: derived from the flags)");
  command.add_flag("--fresh", flags.fresh, "Do not continue an earlier start");
}

Result<std::vector<BenchMode>> modes_of(const BenchFlags& flags, const Device& device) {
  std::vector<BenchMode> modes;
  const auto add = [&](Mode mode, double gap_us) {
    MeasureOptions options = options_for(device, mode);
    if (gap_us > 0) set_gap(options, gap_us);
    BenchMode made{mode, gap_us, recorded_mode(options, device)};
    const bool known = std::ranges::find(modes, made.name, &BenchMode::name) != modes.end();
    if (!known) modes.push_back(std::move(made));
  };
  for (const std::string& name : flags.modes) {
    const std::optional<Mode> mode = mode_from(name);
    if (!mode) {
      return fail(
          ErrorCode::usage, fmt::format("--mode: unknown mode '{}'", name),
          "modes: offline, hot, cold, server, wall (CUDA), sustained (CUDA), chained (CUDA)");
    }
    for (const ModeOfCuda& cuda : kModesOfCuda) {
      if (*mode != cuda.mode || device.kind == DeviceKind::cuda) continue;
      return fail(ErrorCode::usage, fmt::format("--mode {}: {} a matter of CUDA", name, cuda.what),
                  cuda.hint);
    }
    if (*mode == Mode::chained) {
      if (flags.modes.size() > 1) {
        return fail(ErrorCode::usage,
                    "--mode chained goes with no other mode: its kernels are made for it",
                    "measure it by a command of its own; report puts it beside the others");
      }
      if (flags.served || !flags.candidate.source_file.empty()) {
        return fail(ErrorCode::usage, "--mode chained: only programs can be generated for it",
                    "leave out --served and --source");
      }
    }
    if (*mode != Mode::server || flags.gaps_us.empty()) add(*mode, 0);
    if (*mode != Mode::server) continue;
    for (const double gap_us : flags.gaps_us) add(*mode, gap_us);
  }
  return modes;
}

std::string run_id(const BenchFlags& flags, const Cli& cli) {
  if (!flags.run.empty()) return flags.run;
  std::string text =
      fmt::format("bench|{}|{}|{}|{}", flags.candidate.program, flags.candidate.source_file,
                  flags.candidate.launch_file, cli.settings.text("tune.seed"));
  if (flags.served) text += "|served";
  if (!flags.chosen_in.empty()) text += "|chosen in " + flags.chosen_in;
  if (!flags.baselines.empty()) text += fmt::format("|only {}", fmt::join(flags.baselines, " "));
  if (!flags.server_baselines.empty()) {
    text += fmt::format("|server {}", fmt::join(flags.server_baselines, " "));
  }
  if (flags.effort != "normal") text += "|" + flags.effort;
  if (flags.precision > 0) text += fmt::format("|precision {}", flags.precision);
  if (flags.fresh) {
    text += fmt::format("|{}", std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return hash128(text).substr(0, 12);
}

}  // namespace tilewright
