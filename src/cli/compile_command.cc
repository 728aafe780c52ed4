// SPDX-License-Identifier: Apache-2.0
// tilewright compile: fills the cache of binaries without measuring anything, also for a GPU that
// is not here. Cubins are found again by their text alone, so the cache can be carried to a GPU
// host that has no compiler.
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/problem_flags.h"
#include "cli/progress.h"

#include "base/hash.h"
#include "compile/compile.h"
#include "policy/policy.h"
#include "verify/cuda/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace tilewright {
namespace {

struct CompileFlags {
  ProblemFlags problems;
  std::string program;
  int count = 6;
};

// The sources that `tune` would compile first, each once, and what the proof itself needs.
Result<std::vector<Source>> sources_for(const Cli& cli, const CompileFlags& flags,
                                        const std::vector<Problem>& problems,
                                        const Device& device) {
  std::vector<Source> sources;
  if (device.kind == DeviceKind::cuda) sources.push_back(checker_source(device.cuda.capability));
  std::set<std::string> known;
  const auto add = [&](const Program& program, const Problem& problem) {
    if (Result<Source> source = generate(program, problem, device)) {
      if (known.insert(hash128(source->text + to_json(source->launch))).second) {
        sources.push_back(*std::move(source));
      }
    }
  };
  for (const Problem& problem : problems) {
    if (!flags.program.empty()) {
      const Result<Program> program = parse_program(flags.program);
      if (!program) return tl::unexpected(program.error());
      const std::vector<Refusal> refused = refusals(*program, problem, device);
      if (!refused.empty()) {
        return fail(ErrorCode::negative, fmt::format("{}: {}: {}", to_text(problem),
                                                     refused.front().rule, refused.front().reason));
      }
      add(*program, problem);
      continue;
    }
    const Result<std::int64_t> seed = cli.settings.number("tune.seed");
    if (!seed) return tl::unexpected(seed.error());
    Result<std::unique_ptr<Policy>> policy =
        make_policy("analytic", {problem, device, static_cast<std::uint64_t>(*seed), {}});
    if (!policy) return tl::unexpected(policy.error());
    for (const Program& program : (*policy)->propose(static_cast<std::size_t>(flags.count))) {
      add(program, problem);
    }
  }
  return sources;
}

Result<int> compile_command(Cli& cli, const CompileFlags& flags) {
  const Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  const Result<Problems> problems = read_problems(flags.problems);
  if (!problems) return tl::unexpected(problems.error());
  CompileOptions options;
  options.compiler = cli.settings.text("compile.cxx");
  options.cuda_compiler = cli.settings.text("compile.cuda");
  options.needs = device->kind == DeviceKind::cuda ? "cuda" : "c++";
  options.cache_directory = cli.settings.text("cache.dir");
  options.warn = [&cli](const std::string& line) { note(cli, line); };
  Result<Compiler> compiler = Compiler::create(options);
  if (!compiler) return tl::unexpected(compiler.error());
  const auto sources = sources_for(cli, flags, problems->list, *device);
  if (!sources) return tl::unexpected(sources.error());

  const std::atomic<bool>& stop = stop_on_signals();
  std::atomic<std::size_t> next = 0, cached = 0, made = 0;
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources->size() && !stop; i = next++) {
      const CompileResult built =
          compiler->compile((*sources)[i], {[&] { return stop.load(); }, nullptr});
      if (built.binary) {
        ++(built.binary->from_cache ? cached : made);
      } else if (!stop) {
        const std::scoped_lock lock(mutex);
        failures.push_back(fmt::format("{}: {}", built.finding.rule, built.finding.detail));
      }
      if (i % 100 == 99) {
        const std::scoped_lock lock(mutex);
        note(cli, fmt::format("{} of {}", i + 1, sources->size()));
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back(work);
    }
  }
  for (const std::string& failure : failures) note(cli, failure);
  print(fmt::format("{} kernels: {} compiled, {} were in the cache, {} failed\n", sources->size(),
                    made.load(), cached.load(), failures.size()));
  if (stop) return static_cast<int>(ErrorCode::interrupted);
  return failures.empty() ? 0 : static_cast<int>(ErrorCode::negative);
}

}  // namespace

void add_compile(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "compile",
      "Fill the cache with the kernels that tune would try first\n\nExamples:\n"
      "  tilewright compile --suite grid1000 --layouts nn,nt --device devices/h200.json\n"
      "  tilewright compile 4096x4096x4096 --program '<program>' --cache-dir cubins\n"
      "Carry the cache directory to the GPU host and name it there with --cache-dir.");
  const auto flags = std::make_shared<CompileFlags>();
  add_problem_flags(*command, flags->problems);
  command->add_option("--program", flags->program, "This program alone");
  command->add_option("--count", flags->count, "Programs for each problem")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return compile_command(cli, *flags); }; });
}

}  // namespace tilewright
