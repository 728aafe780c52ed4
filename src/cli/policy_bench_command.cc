// SPDX-License-Identifier: Apache-2.0
// tilewright policy-bench: policies compared at equal measurements on recorded tables. Measures
// nothing itself.
#include "cli/chosen_device.h"
#include "cli/command.h"

#include "base/file.h"
#include "replay/online.h"
#include "replay/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <thread>

namespace tilewright {
namespace {

struct BenchFlags {
  std::vector<std::string> files, databases, policies, knobs, runs;
  std::string shapes = "held-out", mode = "offline", reference, fingerprint, format = "human",
              output, plot;
  std::size_t most = 256, least = 32;
  int seeds = 10, resamples = 2000;
  bool cold = false;
};

struct Source {
  std::vector<Trial> trials;
  std::vector<Device> devices;
};

Status read_database(const Database& database, const BenchFlags& flags, Source& source) {
  TrialQuery query;
  query.mode = flags.mode;
  Result<std::vector<Trial>> some = database.select(query);
  if (!some) return tl::unexpected(some.error());
  std::ranges::move(*some, std::back_inserter(source.trials));
  Result<std::vector<Device>> devices = database.devices();
  if (!devices) return tl::unexpected(devices.error());
  std::ranges::move(*devices, std::back_inserter(source.devices));
  return {};
}

Result<Source> read_source(const Cli& cli, const BenchFlags& flags) {
  Source source;
  for (const std::string& path : flags.files) {
    Result<std::vector<Trial>> some = read_trials(path);
    if (!some) return tl::unexpected(some.error());
    std::ranges::move(*some, std::back_inserter(source.trials));
  }
  const bool fallback = flags.files.empty() && flags.databases.empty();
  for (const std::string& path : flags.databases) {
    Result<Database> database = Database::open(path, Database::Access::read_only);
    if (!database) return tl::unexpected(database.error());
    if (Status s = read_database(*database, flags, source); !s) return tl::unexpected(s.error());
  }
  if (fallback) {
    Result<Database> database = open_database(cli, Database::Access::read_only);
    if (!database) return tl::unexpected(database.error());
    if (Status s = read_database(*database, flags, source); !s) return tl::unexpected(s.error());
  }
  return source;
}

// Legality is a question to a device: the database's, or the file of --device, or this machine.
Result<Device> device_of(const Cli& cli, const Source& source, const std::string& fingerprint) {
  for (const Device& device : source.devices) {
    if (device.fingerprint() == fingerprint) return device;
  }
  Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  if (device->fingerprint() == fingerprint) return device;
  return fail(
      ErrorCode::usage,
      fmt::format("the trials are of {}, which is not {}", fingerprint, device->fingerprint()),
      "--device FILE describes a device, such as devices/h200.json");
}

Result<PolicyBenchOptions> options_of(const Cli& cli, const BenchFlags& flags) {
  PolicyBenchOptions options;
  const std::vector<std::string> kinds = {"held-out", "train", "all"};
  const auto kind = std::ranges::find(kinds, flags.shapes);
  if (kind == kinds.end()) {
    return fail(ErrorCode::usage, fmt::format("--shapes: unknown word '{}'", flags.shapes),
                fmt::format("one of {}", fmt::join(kinds, ", ")));
  }
  options.shapes = static_cast<Shapes>(kind - kinds.begin());
  if (flags.seeds < 1 || flags.resamples < 1 || flags.most < 1) {
    return fail(ErrorCode::usage, "--seeds, --resamples and --most are at least 1");
  }
  for (const std::string& assignment : flags.knobs) {
    if (Status status = options.knobs.set(assignment); !status) {
      return tl::unexpected(status.error());
    }
  }
  Result<std::int64_t> seed = cli.settings.number("tune.seed");
  if (!seed) return tl::unexpected(seed.error());
  Result<std::int64_t> threads = cli.settings.number("execute.threads");
  if (!threads) return tl::unexpected(threads.error());
  options.policies = flags.policies;
  if (options.policies.empty()) {
    for (const PolicyInfo& info : policies()) {
      if (!info.outside) options.policies.emplace_back(info.name);
    }
  }
  options.reference = flags.reference.empty() ? options.policies.front() : flags.reference;
  options.first_seed = static_cast<std::uint64_t>(*seed);
  options.threads = *threads > 0
                        ? static_cast<int>(*threads)
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.most = flags.most;
  options.seeds = flags.seeds;
  options.resamples = flags.resamples;
  options.prior = !flags.cold;
  options.learner = {cli.settings.text("policy.learner"), cli.settings.text("policy.weights"), {}};
  return options;
}

Status write(const std::string& text, const BenchFlags& flags) {
  if (!flags.output.empty()) return write_file_atomically(flags.output, text);
  print(text);
  return {};
}

// --runs: what tunes found on a device, instead of searches in tables.
Result<int> compare_runs(const std::vector<Trial>& trials, const BenchFlags& flags,
                         const PolicyBenchOptions& options, Format format) {
  const Result<OnlineBench> bench =
      online_bench(trials, flags.runs, options.resamples, options.first_seed);
  if (!bench) return tl::unexpected(bench.error());
  const Result<std::string> text = render_online(
      *bench, format,
      {{"date", utc_now()}, {"fingerprint", trials.front().device}, {"mode", flags.mode}});
  if (!text) return tl::unexpected(text.error());
  if (Status s = write(*text, flags); !s) return tl::unexpected(s.error());
  return 0;
}

Result<int> policy_bench_command(const Cli& cli, const BenchFlags& flags) {
  Result<Format> format = format_from(flags.format);
  if (!format) return tl::unexpected(format.error());
  Result<PolicyBenchOptions> options = options_of(cli, flags);
  if (!options) return tl::unexpected(options.error());
  Result<Source> source = read_source(cli, flags);
  if (!source) return tl::unexpected(source.error());
  Result<std::vector<Trial>> trials =
      select_trials(std::move(source->trials), flags.fingerprint, flags.mode);
  if (!trials) return tl::unexpected(trials.error());
  if (!flags.runs.empty()) return compare_runs(*trials, flags, *options, *format);
  const Result<Device> device = device_of(cli, *source, trials->front().device);
  if (!device) return tl::unexpected(device.error());

  PolicyReport report;
  report.options = *options;
  const std::vector<ReplayWorld> worlds =
      make_worlds(*trials, *device, flags.least, &report.left_out);
  report.facts = facts_of(worlds, *device);
  Result<PolicyBench> bench =
      policy_bench(worlds, *trials, *device, *options, [&](std::size_t done, std::size_t of) {
        if (cli.verbose && done % 100 == 0) note(cli, fmt::format("{} of {} searches", done, of));
      });
  if (!bench) return tl::unexpected(bench.error());
  report.bench = *std::move(bench);

  Context context = {{"date", utc_now()},
                     {"device", device->name},
                     {"fingerprint", trials->front().device},
                     {"mode", flags.mode}};
  Result<std::string> text = render_policies(report, *format, context);
  if (!text) return tl::unexpected(text.error());
  if (Status s = write(*text, flags); !s) return tl::unexpected(s.error());
  if (!flags.plot.empty()) {
    if (Status s = write_file_atomically(flags.plot, plot_policies(report)); !s) {
      return tl::unexpected(s.error());
    }
  }
  return 0;
}

std::string knob_list() {
  std::string out;
  for (const Knob& knob : all_knobs()) {
    out += fmt::format("\n  {} = {}: {}", knob.name, knob.fallback, knob.help);
  }
  return out;
}

}  // namespace

void add_policy_bench(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "policy-bench",
      "Compare policies at equal measurements, by replay of recorded tables\n\n"
      "Examples:\n"
      "  tilewright policy-bench --policies random,evolve,tpe,boost\n"
      "  tilewright policy-bench trials.jsonl.gz --device devices/h200.json --plot curve.svg\n"
      "  tilewright policy-bench --policies lm,evolve --weights run/weights.safetensors\n"
      "  tilewright policy-bench --policies lm,lm:learn=0,lm:exemplars=0\n"
      "  tilewright policy-bench --runs by-lm,by-evolve,long --database online.db\n"
      "  tilewright policy-bench --shapes train --policies anneal --set anneal.cooling=0.8\n"
      "A policy may propose only what the table holds, sees the first timing of a cell, and is "
      "judged by the second. It may learn from trials of shapes that are not held out. With --runs "
      "what tunes have found on the device is compared instead, against the best of them. "
      "docs/policy.md has the protocol; `tilewright table` fills a dense table.\n\n"
      "Numbers of --set:" +
          knob_list());
  const auto flags = std::make_shared<BenchFlags>();
  command->add_option("trials", flags->files, "Files of trials, .jsonl or .jsonl.gz");
  command->add_option("--database", flags->databases,
                      "Databases to read together (default, without files: that of --db)");
  command
      ->add_option("--policies", flags->policies,
                   "Policies to compare (default: all but lm and heuristics); "
                   "NAME:KNOB=VALUE+KNOB=VALUE is one with numbers of its own, so that what a part "
                   "of it is worth can be told")
      ->delimiter(',');
  command
      ->add_option(
          "--runs", flags->runs,
          "Compare these runs of `tune` over the same problems; the first is the reference")
      ->delimiter(',');
  command->add_option("--reference", flags->reference,
                      "The policy that differences are against (default: the first)");
  command
      ->add_option("--shapes", flags->shapes, "Search in tables of held-out shapes, train or all")
      ->capture_default_str();
  command->add_option("--most", flags->most, "Most measurements of a search")
      ->capture_default_str();
  command->add_option("--seeds", flags->seeds, "Searches of each table by each policy")
      ->capture_default_str();
  command->add_option("--min-programs", flags->least, "Leave smaller tables out")
      ->capture_default_str();
  command->add_option("--resamples", flags->resamples, "Of the bootstrap")->capture_default_str();
  command->add_option("--set", flags->knobs, "A number of a policy, NAME=VALUE; may be repeated");
  command->add_flag("--cold", flags->cold, "Tell no policy of other shapes");
  command->add_option("--mode", flags->mode, "Mode of the trials")->capture_default_str();
  command->add_option("--of", flags->fingerprint,
                      "Trials of this device (start of its fingerprint)");
  command->add_option("--format", flags->format, "human, md or json")->capture_default_str();
  command->add_option("--output", flags->output, "Write to this file");
  command->add_option("--plot", flags->plot, "Write the curves to this file, as SVG");
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return policy_bench_command(cli, *flags); }; });
}

}  // namespace tilewright
