// SPDX-License-Identifier: Apache-2.0
// tilewright bundle: compiles kernels for the runtime library into one file. Needs NVRTC and a
// description of the device, not the device. Cubins come from the cache where it has them.
#include "cli/bundle_kernels.h"
#include "cli/command.h"
#include "cli/interrupt.h"

#include "base/file.h"
#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace tilewright {
namespace {

struct BundleFlags {
  std::string wisdom, output;
  bool core = false;
};

struct Compiled {
  std::vector<std::string> cubins;  // of each kernel; empty where it failed
  std::vector<std::string> failures;
};

Compiled compile_all(const Cli& cli, Compiler& compiler, const std::vector<PlannedKernel>& kernels,
                     const std::atomic<bool>& stop) {
  Compiled out;
  out.cubins.resize(kernels.size());
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < kernels.size() && !stop; i = next++) {
      const CompileResult built =
          compiler.compile(kernels[i].source, {[&] { return stop.load(); }, nullptr});
      std::string failure;
      if (!built.binary) {
        failure = fmt::format("{}: {}", built.finding.rule, built.finding.detail);
      } else if (auto cubin = read_file(built.binary->path)) {
        out.cubins[i] = *std::move(cubin);
      } else {
        failure = cubin.error().message;
      }
      const std::scoped_lock lock(mutex);
      if (!failure.empty()) {
        out.failures.push_back(fmt::format("'{}' for {}: {}", kernels[i].kernel.program,
                                           kernels[i].kernel.problem, failure));
      }
      if (++done % 50 == 0) note(cli, fmt::format("{} of {}", done.load(), kernels.size()));
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back(work);
  }
  workers.clear();
  return out;
}

Result<int> bundle_command(const Cli& cli, const BundleFlags& flags) {
  const Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  if (device->kind != DeviceKind::cuda) {
    return fail(ErrorCode::usage, "bundles are for GPUs: a CPU's kernels are in the library",
                "name one with --device cuda or --device devices/h200.json");
  }
  if (!flags.core && flags.wisdom.empty()) {
    return fail(ErrorCode::usage, "nothing to put into a bundle",
                "--core for kernels that serve any product, --wisdom FILE for tuned ones, or both");
  }
  std::vector<PlannedKernel> kernels;
  if (flags.core) {
    auto core = core_kernels(*device);
    if (!core) return tl::unexpected(core.error());
    kernels = *std::move(core);
  }
  if (!flags.wisdom.empty()) {
    const Result<Wisdom> wisdom = load_wisdom(flags.wisdom, *device);
    if (!wisdom) return tl::unexpected(wisdom.error());
    std::vector<std::string> notes;
    for (PlannedKernel& kernel : winners(*wisdom, *device, notes)) {
      kernels.push_back(std::move(kernel));
    }
    for (const std::string& line : notes) note(cli, line);
  }
  CompileOptions options;
  options.cuda_compiler = cli.settings.text("compile.cuda");
  options.compiler = cli.settings.text("compile.cxx");
  options.needs = "cuda";
  options.cache_directory = cli.settings.text("cache.dir");
  options.warn = [&cli](const std::string& line) { note(cli, line); };
  Result<Compiler> compiler = Compiler::create(options);
  if (!compiler) return tl::unexpected(compiler.error());
  const std::atomic<bool>& stop = stop_on_signals();
  const Compiled compiled = compile_all(cli, *compiler, kernels, stop);
  if (stop) return static_cast<int>(ErrorCode::interrupted);
  for (const std::string& failure : compiled.failures) note(cli, failure);

  runtime::Bundle bundle{device->silicon, device->cuda.capability, {}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (compiled.cubins[i].empty()) continue;
    bundle.kernels.push_back(std::move(kernels[i].kernel));
    bundle.kernels.back().cubin = compiled.cubins[i];
  }
  const std::string bytes = runtime::to_bytes(bundle);
  if (Status written = write_file_atomically(flags.output, bytes); !written) {
    return tl::unexpected(written.error());
  }
  print(fmt::format("{}: {} kernels for {}, {:.1f} MB, {} failed\n", flags.output,
                    bundle.kernels.size(), device->silicon, static_cast<double>(bytes.size()) / 1e6,
                    compiled.failures.size()));
  return compiled.failures.empty() ? 0 : static_cast<int>(ErrorCode::negative);
}

}  // namespace

void add_bundle(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "bundle",
      "Compile kernels for the runtime library into one file\n\nExamples:\n"
      "  tilewright bundle --core --device devices/h200.json -o h200.twk\n"
      "  tilewright bundle --core --wisdom wisdom.txt --device cuda -o mine.twk\n"
      "The library reads *.twk in ~/.local/share/tilewright/kernels, in the installed\n"
      "share/tilewright/kernels, and what TILEWRIGHT_KERNELS lists.");
  const auto flags = std::make_shared<BundleFlags>();
  command->add_flag("--core", flags->core, "Kernels that together serve any product");
  command->add_option("--wisdom", flags->wisdom, "The winners of this wisdom file");
  command->add_option("-o,--output", flags->output, "The file to write")->required();
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return bundle_command(cli, *flags); }; });
}

}  // namespace tilewright
