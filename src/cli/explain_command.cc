// SPDX-License-Identifier: Apache-2.0
// tilewright explain: why a program is legal or not; what is possible and known for a problem.
#include "cli/command.h"
#include "cli/installed_wisdom.h"
#include "cli/program_argument.h"

#include "program/space.h"

#include <fmt/format.h>

#include <memory>

namespace tilewright {
namespace {

struct ExplainFlags {
  std::string subject, problem;
};

bool names_a_family(const std::string& text) {
  const std::string head = text.substr(0, text.find(' '));
  return find_family(head) != nullptr;
}

// Each decision of the program in words, then the verdict. 1 if it is illegal.
Result<int> explain_program(const ExplainFlags& flags, const Device& device) {
  Result<Program> program = parse_program(flags.subject);
  if (!program) return tl::unexpected(program.error());
  for (std::size_t i = 0; i < program->family().decisions.size(); ++i) {
    const Choice value = program->choices().at(i);
    if (value < 0) continue;
    const Decision& decision = program->family().decisions[i];
    print(fmt::format(
        "  {:<20} {}\n",
        fmt::format("{}={}", decision.key, decision.values[static_cast<std::size_t>(value)]),
        decision.help));
  }
  Result<Problem> problem = problem_for(*program, flags.problem, device);
  if (!problem) return tl::unexpected(problem.error());
  const std::vector<Refusal> refused = refusals(*program, *problem, device);
  if (refused.empty()) {
    print(fmt::format("legal for {} on this device\n", to_text(*problem)));
    return 0;
  }
  print(fmt::format("illegal for {} on this device:\n", to_text(*problem)));
  for (const Refusal& refusal : refused) {
    print(fmt::format("  {}: {}\n", refusal.rule, refusal.reason));
  }
  return static_cast<int>(ErrorCode::negative);
}

Result<int> explain_problem(const Cli& cli, const ExplainFlags& flags, const Device& device) {
  Result<Problem> problem = parse_problem(flags.subject);
  if (!problem) return tl::unexpected(problem.error());
  print(fmt::format("{}\n  {:.3g} FLOP, {:.3g} bytes, {:.1f} FLOP per byte\n", to_text(*problem),
                    problem->flop(), problem->bytes(), problem->flop() / problem->bytes()));
  for (const Family* family : families()) {
    if (!family->computes(problem->op)) continue;
    const Space space(*family, *problem, device);
    print(fmt::format("  family {}: {:.4g} legal programs on this device\n", family->name,
                      space.count()));
    if (space.count() > 0) continue;
    // Say why: the rules that look at nothing but the problem and the device.
    const Choices none(*family);
    for (const Rule& rule : family->rules) {
      if (!rule.reads.empty()) continue;
      if (auto reason = rule.refuse(none, *problem, device)) {
        print(fmt::format("    {}: {}\n", rule.name, *reason));
      }
    }
  }
  if (const auto winner = installed_winner(*problem, device, "offline")) {
    print(fmt::format("  imported wisdom: {:.2f} us, {:.3f}x {}\n    {}\n", winner->time_us,
                      winner->ratio, winner->reference, winner->program));
  }
  Result<Database> database = open_database(cli, Database::Access::read_only);
  if (!database) {
    print("  no trial of it is recorded here (there is no database yet)\n");
    return 0;
  }
  const auto best = database->best(to_text(*problem), device.fingerprint(), "offline");
  if (!best) return tl::unexpected(best.error());
  if (!*best) {
    print("  no trial of it is recorded here\n");
  } else {
    print(fmt::format("  fastest known: {:.2f} us, {:.3f}x the fastest baseline\n    {}\n",
                      (*best)->time_us, (*best)->speedup(), (*best)->program));
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Why a program is legal or not; what is possible and known for a problem\n\nExamples:\n"
      "  tilewright explain 8x1024x3584\n"
      "  tilewright explain '<program>' --problem '8x1024x3584 bf16 nt'\n"
      "  tilewright explain 8x1024x3584 --device devices/h200.json    for a device not here");
  const auto flags = std::make_shared<ExplainFlags>();
  command->add_option("subject", flags->subject, "A program or a problem")->required();
  command->add_option("--problem", flags->problem, "The problem to judge a program for");
  command->callback([&cli, flags] {
    cli.action = [&cli, flags] {
      const Result<Device> device = this_device(cli, Described::allowed);
      if (!device) return Result<int>(tl::unexpected(device.error()));
      return names_a_family(flags->subject) ? explain_program(*flags, *device)
                                            : explain_problem(cli, *flags, *device);
    };
  });
}

}  // namespace tilewright
