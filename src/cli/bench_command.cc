// SPDX-License-Identifier: Apache-2.0
// tilewright bench: the full proof and the full timing of a program, against every baseline.
// tilewright verify: the proof alone.
#include "cli/command.h"
#include "cli/installed_wisdom.h"
#include "cli/program_argument.h"
#include "cli/self_check.h"

#include "policy/policy.h"
#include "tune/evaluate.h"

#include <fmt/format.h>

#include <memory>

namespace tilewright {
namespace {

struct BenchFlags {
  std::vector<std::string> problems;
  CandidateArgument candidate;
  std::vector<std::string> modes = {"offline"};
  std::string format = "human";
  bool time = true, strict = false;
};

// What to bench for a problem when no program was named: the fastest that is recorded, else what
// was imported, else the cost model's first choice.
Result<CandidateArgument> default_candidate(const Cli& cli, const Problem& problem,
                                            const Device& device) {
  CandidateArgument argument;
  if (Result<Database> database = open_database(cli, Database::Access::read_only)) {
    const auto best = database->best(to_text(problem), device.fingerprint(), "offline");
    if (best && *best && (*best)->program.rfind("source:", 0) != 0) {
      argument.program = (*best)->program;
      return argument;
    }
  }
  if (const auto winner = installed_winner(problem, device, "offline")) {
    argument.program = winner->program;
    return argument;
  }
  Result<std::unique_ptr<Policy>> policy = make_policy("analytic", {problem, device, 1, {}});
  if (!policy) return tl::unexpected(policy.error());
  const std::vector<Program> first = (*policy)->propose(1);
  if (first.empty()) {
    return fail(ErrorCode::negative, fmt::format("no legal program for {}", to_text(problem)),
                fmt::format("tilewright explain '{}' says why", to_text(problem)));
  }
  argument.program = first.front().text();
  return argument;
}

std::string verdict_line(const Trial& trial) {
  if (trial.outcome != Outcome::ok) {
    return fmt::format("{}: {} ({}: {})\n  {}\n", trial.problem, name_of(trial.outcome), trial.rule,
                       trial.detail, trial.program);
  }
  return fmt::format("{}: proven; largest error {:.3f} of the bound, {}\n  {}\n", trial.problem,
                     trial.max_bound_ratio,
                     trial.repeatable ? "bitwise repeatable" : "not bitwise repeatable",
                     trial.program);
}

struct Shop {
  Compiler compiler;
  Worker worker;
  QuietGate gate;
};

Result<Trial> bench_one(Cli& cli, Shop& shop, const BenchFlags& flags, const Problem& problem,
                        const Device& device, Mode mode, std::uint64_t seed) {
  CandidateArgument argument = flags.candidate;
  if (argument.program.empty() && argument.source_file.empty()) {
    Result<CandidateArgument> chosen = default_candidate(cli, problem, device);
    if (!chosen) return tl::unexpected(chosen.error());
    argument = *std::move(chosen);
  }
  Result<Candidate> candidate = read_candidate(argument, problem, device);
  if (!candidate) return tl::unexpected(candidate.error());
  Result<std::unique_ptr<Workbench>> bench =
      Workbench::create(problem, device, shop.worker, shop.gate, mode, seed);
  if (!bench) return tl::unexpected(bench.error());
  for (const std::string& remark : (*bench)->remarks()) {
    if (cli.verbose) note(cli, remark);
  }
  EvaluationPlan plan = final_plan(mode, (*bench)->baselines());
  plan.time = flags.time;
  Result<Trial> trial = (*bench)->evaluate(shop.compiler.compile(candidate->source), plan);
  if (!trial) return trial;
  trial->program = candidate->name;
  trial->compiler = shop.compiler.version();
  return trial;
}

Result<int> bench(Cli& cli, const BenchFlags& flags) {
  Result<Format> format = format_from(flags.format);
  if (!format) return tl::unexpected(format.error());
  Result<Problems> problems = read_problems(flags.problems, flags.strict);
  if (!problems) return tl::unexpected(problems.error());
  Result<std::int64_t> seed = cli.settings.number("tune.seed");
  if (!seed) return tl::unexpected(seed.error());
  const Result<Device> found = this_device(cli);
  if (!found) return tl::unexpected(found.error());
  const Device& device = *found;
  Context context = context_of(cli, device);
  if (flags.time) {
    if (Status status = require_honest_baselines(cli, device, context); !status) {
      return tl::unexpected(status.error());
    }
  }
  CompileOptions options;
  options.compiler = cli.settings.text("compile.cxx");
  options.cuda_compiler = cli.settings.text("compile.cuda");
  // For a GPU everything may be in the cache, made elsewhere.
  options.needs = device.kind == DeviceKind::cuda ? "" : "c++";
  options.cache_directory = cli.settings.text("cache.dir");
  options.warn = [&cli](const std::string& line) { note(cli, line); };
  Result<Compiler> compiler = Compiler::create(options);
  if (!compiler) return tl::unexpected(compiler.error());
  WorkerOptions worker_options;
  worker_options.runner = cli.settings.text("execute.runner");
  Result<Worker> worker = Worker::start(worker_options, device);
  if (!worker) return tl::unexpected(worker.error());
  Shop shop{*std::move(compiler), *std::move(worker), {}};

  bool all_ok = true;
  std::vector<Trial> timed;
  for (const std::string& mode_name : flags.modes) {
    const std::optional<Mode> mode = mode_from(mode_name);
    if (!mode) {
      return fail(ErrorCode::usage, fmt::format("--mode: unknown mode '{}'", mode_name),
                  "modes: offline, hot, cold, server");
    }
    for (const Problem& problem : problems->list) {
      Result<Trial> trial =
          bench_one(cli, shop, flags, problem, device, *mode, static_cast<std::uint64_t>(*seed));
      if (!trial) return tl::unexpected(trial.error());
      const bool ok = trial->outcome == Outcome::ok;
      all_ok = all_ok && ok;
      if (!flags.time && *format == Format::human) {
        print(verdict_line(*trial));
      } else if (!flags.time) {
        print(to_json(*trial) + "\n");
      } else if (!ok) {
        note(cli, verdict_line(*trial));
      }
      if (ok && flags.time) timed.push_back(*std::move(trial));
    }
  }
  if (flags.time && !timed.empty()) {
    print(render_winners(timed, *format, context));
    if (*format == Format::human || *format == Format::md) {
      print("\n" + render_summary(summarize(timed, timed), *format, context));
    }
  }
  if (problems->rows_refused) return static_cast<int>(ErrorCode::usage);
  return all_ok ? 0 : static_cast<int>(ErrorCode::negative);
}

void add(CLI::App& app, Cli& cli, const char* name, const char* help, bool time) {
  CLI::App* command = app.add_subcommand(name, help);
  const auto flags = std::make_shared<BenchFlags>();
  flags->time = time;
  command
      ->add_option("problems", flags->problems,
                   "MxNxK, problem texts, ranges, @suite, CSV files, or - for standard input")
      ->required();
  command->add_option("--program", flags->candidate.program,
                      "Program text (default: the best known)");
  command->add_option("--source", flags->candidate.source_file,
                      "A kernel from outside: C++ source with the symbol of its launch file");
  command->add_option("--launch", flags->candidate.launch_file,
                      "Its launch file (default: beside the source, .launch.json)");
  if (time) {
    command
        ->add_option("--mode", flags->modes, "offline, hot, cold, server; several, comma-separated")
        ->delimiter(',')
        ->capture_default_str();
  }
  command
      ->add_option("--format", flags->format,
                   time ? "human, md, csv, json or jsonl" : "human or json")
      ->capture_default_str();
  command->add_flag("--strict", flags->strict, "A refused CSV row is an error");
  command->callback([&cli, flags] { cli.action = [&cli, flags] { return bench(cli, *flags); }; });
}

}  // namespace

void add_bench(CLI::App& app, Cli& cli) {
  add(app, cli, "bench",
      "Prove a program and time it against every baseline\n\nExamples:\n"
      "  tilewright bench 128x1536x1024\n"
      "  tilewright bench @demo --mode offline,server --format csv\n"
      "  tilewright bench 'gemm 8x1024x3584 bf16 nn' --program '<program>'",
      true);
}

void add_verify(CLI::App& app, Cli& cli) {
  add(app, cli, "verify",
      "Prove a program right, or say which rule it breaks (exit 1)\n\nExamples:\n"
      "  tilewright verify 128x1536x1024 --program '<program>'\n"
      "  tilewright verify 64x64x64 --source kernel.cc --launch kernel.launch.json",
      false);
}

}  // namespace tilewright
