// SPDX-License-Identifier: Apache-2.0
// See program_argument.h.
#include "cli/program_argument.h"

#include "base/file.h"
#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace tilewright {

Result<Problem> problem_for(const Program& program, const std::string& text, const Device& device) {
  if (!text.empty()) return parse_problem(text);
  std::string reason;
  constexpr std::array kSimple = {
      "1024x1024x1024 f16 nn",  "1024x1024x1024 bf16 nn",  "1024x1024x1024 f16 nt",
      "1024x1024x1024 bf16 nt", "1024x1024x1024 f16 tn",   "1024x1024x1024 f16 tt",
      "softmax 1024x1024 f16",  "layernorm 1024x1024 f16", "reduce 1024x1024 f16",
      "map 1024x1024 f16",      "transpose 1024x1024 f16", "conv2d 1x32x32x64 3x3x64 f16 pad=1"};
  for (const char* simple : kSimple) {
    Problem problem = *parse_problem(simple);
    const std::vector<Refusal> refused = refusals(program, problem, device);
    if (refused.empty()) return problem;
    reason = fmt::format("{}: {}", refused.front().rule, refused.front().reason);
  }
  return fail(ErrorCode::usage,
              fmt::format("no simple problem suits this program here ({})", reason),
              "name one with --problem; tilewright explain says what is wrong with it");
}

Result<Candidate> read_candidate(const CandidateArgument& argument, const Problem& problem,
                                 const Device& device, Form form) {
  if (argument.program.empty() == argument.source_file.empty()) {
    return fail(ErrorCode::usage, "give either --program or --source");
  }
  if (!argument.program.empty()) {
    Result<Program> program = parse_program(argument.program);
    if (!program) return tl::unexpected(program.error());
    Result<Source> source = generate(*program, problem, device, form);
    if (!source) return tl::unexpected(source.error());
    return Candidate{program->text(), *std::move(source)};
  }
  Result<std::string> text = read_file(argument.source_file);
  if (!text) return tl::unexpected(text.error());
  std::filesystem::path launch_file = argument.launch_file;
  if (launch_file.empty()) {
    launch_file = argument.source_file;
    launch_file.replace_extension(".launch.json");
  }
  Result<std::string> launch_text = read_file(launch_file);
  if (!launch_text) {
    return fail(ErrorCode::usage, launch_text.error().message,
                "a source from outside needs a launch file: tilewright gen --launch prints one");
  }
  Result<Launch> launch = launch_from_json(*launch_text);
  if (!launch) return tl::unexpected(launch.error());
  std::string name = fmt::format("source:{}", hash128(*text).substr(0, 16));
  return Candidate{std::move(name), foreign_source(*std::move(text), *std::move(launch), device)};
}

}  // namespace tilewright
