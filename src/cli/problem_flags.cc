// SPDX-License-Identifier: Apache-2.0
// See problem_flags.h.
#include "cli/problem_flags.h"

#include "problem/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tilewright {
namespace {

struct Dimension {
  const char* flag;
  const char* field;  // of a problem, as words.h names it
  std::vector<std::string> ProblemFlags::* values;
};
// The last turns fastest: both layouts of a shape stand together.
constexpr Dimension kDimensions[] = {
    {"--types", "dtype", &ProblemFlags::types},
    {"--acc", "acc", &ProblemFlags::accumulators},
    {"--layouts", "layout", &ProblemFlags::layouts},
};

Result<Problem> with(Problem problem, const Dimension& dimension, const std::string& value) {
  const bool same_out = problem.out == problem.in;
  if (const auto error = set_field(problem, dimension.field, value)) {
    return fail(ErrorCode::usage, fmt::format("{}: {}", dimension.flag, error->what),
                error->suggestion.empty() ? std::string()
                                          : fmt::format("did you mean '{}'?", error->suggestion));
  }
  if (same_out) problem.out = problem.in;
  if (Status status = check(problem); !status) return tl::unexpected(status.error());
  return problem;
}

}  // namespace

void add_problem_flags(CLI::App& command, ProblemFlags& flags) {
  command.add_option("problems", flags.problems,
                     "MxNxK, problem texts, ranges, @suite, CSV files, or - for standard input");
  command.add_option("--suite", flags.suites, "A suite by name (same as @NAME), or a CSV file");
  command
      .add_option("--layouts", flags.layouts,
                  "Every problem in these layouts: nn, nt (what cuBLAS calls TN), tn, tt")
      ->delimiter(',');
  command.add_option("--types", flags.types, "Every problem in these types: f16, bf16")
      ->delimiter(',');
  command
      .add_option("--acc", flags.accumulators, "Every problem with these accumulators: f32, f16")
      ->delimiter(',');
  command.add_option(
      "--shuffle", flags.shuffle,
      "In a random order that follows from this seed: a stopped run is a fair sample");
  command.add_option("--part", flags.part,
                     "I/N: every N-th problem from the I-th on, to divide a suite between devices "
                     "(each with a --db of its own, then `tilewright db merge`)");
  command.add_flag("--strict", flags.strict, "A refused CSV row is an error");
}

std::string suite_argument(const std::string& name) {
  const std::vector<std::string> known = builtin_suites();
  return std::ranges::find(known, name) != known.end() ? "@" + name : name;
}

Result<std::vector<Problem>> expand(const std::vector<Problem>& problems,
                                    const ProblemFlags& flags) {
  std::vector<Problem> out = flags.shuffle ? shuffled(problems, *flags.shuffle) : problems;
  if (!flags.part.empty()) {
    Result<std::vector<Problem>> part = part_of(out, flags.part);
    if (!part) {
      part.error().message = "--part: " + part.error().message;
      return part;
    }
    out = *std::move(part);
  }
  for (const Dimension& dimension : kDimensions) {
    const std::vector<std::string>& values = flags.*dimension.values;
    if (values.empty()) continue;
    std::vector<Problem> crossed;
    for (const Problem& problem : out) {
      for (const std::string& value : values) {
        Result<Problem> one = with(problem, dimension, value);
        if (!one) return tl::unexpected(one.error());
        crossed.push_back(*std::move(one));
      }
    }
    out = std::move(crossed);
  }
  std::set<std::string> seen;
  std::erase_if(out, [&](const Problem& p) { return !seen.insert(to_text(p)).second; });
  return out;
}

Result<Problems> read_problems(const ProblemFlags& flags) {
  std::vector<std::string> arguments = flags.problems;
  for (const std::string& name : flags.suites) arguments.push_back(suite_argument(name));
  if (arguments.empty()) {
    return fail(ErrorCode::usage, "no problem was given",
                "name one as MxNxK, or a suite with --suite");
  }
  Result<Problems> problems = read_problems(arguments, flags.strict);
  if (!problems) return problems;
  Result<std::vector<Problem>> expanded = expand(problems->list, flags);
  if (!expanded) return tl::unexpected(expanded.error());
  problems->list = *std::move(expanded);
  return problems;
}

}  // namespace tilewright
