// SPDX-License-Identifier: Apache-2.0
// tilewright gen: the source of a program, to read, change and time.
#include "cli/command.h"
#include "cli/program_argument.h"

#include "generate/generate.h"

#include <memory>

namespace tilewright {
namespace {

struct GenFlags {
  std::string program, problem;
  bool full = false, launch = false;
};

Result<int> gen(const Cli& cli, const GenFlags& flags) {
  const Result<Device> found = this_device(cli, Described::allowed);
  if (!found) return tl::unexpected(found.error());
  const Device& device = *found;
  Result<Program> program = parse_program(flags.program);
  if (!program) return tl::unexpected(program.error());
  Result<Problem> problem = problem_for(*program, flags.problem, device);
  if (!problem) return tl::unexpected(problem.error());
  Result<Source> source = generate(*program, *problem, device);
  if (!source) return tl::unexpected(source.error());
  if (flags.launch) {
    print(to_json(source->launch) + "\n");
  } else {
    print(flags.full ? self_contained(*source) : source->text);
  }
  return 0;
}

}  // namespace

void add_gen(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "gen",
      "Print the source of a program\n\nExamples:\n"
      "  tilewright gen 'cpu isa=avx2 form=direct threads=1 mr=4 nr=16 kc=0 nc=0 packa=f32 "
      "unroll=2 prefetch=0 order=nm sizes=runtime'\n"
      "  tilewright gen '<program>' --problem '8x1024x3584 bf16 nn' --full > kernel.cc\n"
      "  tilewright gen '<program>' --device devices/h200.json    for a device that is not here");
  const auto flags = std::make_shared<GenFlags>();
  command->add_option("program", flags->program, "Program text")->required();
  command->add_option("--problem", flags->problem,
                      "The problem it is for (default: the first simple one that it can serve)");
  command->add_flag("--full", flags->full, "One self-contained file, device headers included");
  command->add_flag("--launch", flags->launch, "The launch description instead, as JSON");
  command->callback([&cli, flags] { cli.action = [&cli, flags] { return gen(cli, *flags); }; });
}

}  // namespace tilewright
