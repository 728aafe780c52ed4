// SPDX-License-Identifier: Apache-2.0
// See table_programs.h.
#include "replay/table_programs.h"

#include "base/text.h"
#include "policy/experience.h"
#include "policy/experts.h"
#include "policy/proposers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr int kTriesPerProgram = 200;     // uniform draws that may be illegal elsewhere
constexpr std::size_t kLookAhead = 4000;  // of a ranking, for programs that are legal elsewhere too

// Lists that are read by turns.
using Lists = std::vector<std::vector<Program>>;

class Chooser {
 public:
  Chooser(const std::vector<Problem>& problems, const Device& device,
          const CommonSetOptions& options)
      : problems_(problems), device_(device), options_(options) {}

  bool take(const Program& program) {
    if (!has_fixed(program) || seen_.contains(program)) return false;
    const auto legal = std::ranges::count_if(
        problems_, [&](const Problem& problem) { return is_legal(program, problem, device_); });
    if (static_cast<double>(legal) < options_.most * static_cast<double>(problems_.size())) {
      return false;
    }
    seen_.add(program);
    programs.push_back(program);
    return true;
  }

  void take_by_turns(const Lists& lists, std::size_t count) {
    std::vector<std::size_t> at(lists.size(), 0);
    for (bool more = true; more && count > 0;) {
      more = false;
      for (std::size_t i = 0; i < lists.size() && count > 0; ++i) {
        while (at[i] < lists[i].size() && !take(lists[i][at[i]])) ++at[i];
        if (at[i] >= lists[i].size()) continue;
        ++at[i];
        --count;
        more = true;
      }
    }
  }

  std::vector<Program> programs;

 private:
  [[nodiscard]] bool has_fixed(const Program& program) const {
    return std::ranges::all_of(options_.fixed, [&](const auto& decision) {
      return program.find_word(decision.first) == decision.second;
    });
  }

  const std::vector<Problem>& problems_;
  const Device& device_;
  const CommonSetOptions& options_;
  Seen seen_;
};

// Each problem's recorded programs, fittest first.
Lists elites(const std::vector<Problem>& problems, const std::vector<Trial>& recorded) {
  const Experience experience(recorded);
  Lists lists;
  for (const Problem& problem : problems) {
    std::vector<const Known*> known;
    for (const Known& k : experience.known()) {
      if (k.ok && k.problem == problem) known.push_back(&k);
    }
    std::ranges::stable_sort(known, std::ranges::greater(), &Known::fitness);
    std::vector<Program> list;
    for (const Known* k : known) list.push_back(k->program);
    lists.push_back(std::move(list));
  }
  // And what won on shapes near them.
  for (const Problem& problem : problems) lists.push_back(winners_near(experience, problem, 2));
  return lists;
}

Result<Lists> rankings(const std::vector<Problem>& problems, const Device& device,
                       std::uint64_t seed) {
  Lists lists;
  for (const Problem& problem : problems) {
    PolicyContext context;
    context.problem = problem;
    context.device = device;
    context.seed = seed;
    std::vector<Program> list = expert_programs(legal_spaces(problem, device), context);
    Result<std::unique_ptr<Policy>> analytic = make_policy("analytic", std::move(context));
    if (!analytic) return tl::unexpected(analytic.error());
    for (Program& program : (*analytic)->propose(kLookAhead)) list.push_back(std::move(program));
    lists.push_back(std::move(list));
  }
  return lists;
}

std::size_t share_of(double share, std::size_t count) {
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(count)));
}

}  // namespace

Result<CommonSet> common_set(const std::vector<Problem>& problems, const Device& device,
                             const std::vector<Trial>& recorded, const CommonSetOptions& options) {
  Chooser chooser(problems, device, options);
  CommonSet set;
  const auto note = [&](const char* source) {
    std::size_t before = 0;
    for (const auto& [name, count] : set.sources) before += count;
    set.sources[source] = chooser.programs.size() - before;
  };
  chooser.take_by_turns(elites(problems, recorded), share_of(options.elite, options.programs));
  note("elite");
  if (options.analytic > 0) {
    Result<Lists> ranked = rankings(problems, device, options.seed);
    if (!ranked) return tl::unexpected(ranked.error());
    chooser.take_by_turns(*ranked, share_of(options.analytic, options.programs));
  }
  note("analytic");
  Rng rng(options.seed, 0x7ab1e);
  std::vector<std::vector<Space>> spaces;
  for (const Problem& problem : problems) spaces.push_back(legal_spaces(problem, device));
  std::size_t tries = kTriesPerProgram * options.programs;
  for (; chooser.programs.size() < options.programs && tries > 0; --tries) {
    const auto program = sample_any(spaces[rng.below(spaces.size())], rng);
    if (program) chooser.take(*program);
  }
  note("uniform");
  set.programs = std::move(chooser.programs);
  for (std::size_t i = set.programs.size(); i > 1; --i) {
    std::swap(set.programs[i - 1], set.programs[rng.below(i)]);
  }
  if (set.programs.empty()) {
    return fail(ErrorCode::negative, "no program is legal on enough of the problems",
                "--legal-on with a smaller share, or fewer --with");
  }
  return set;
}

std::string to_text(const CommonSet& set, const CommonSetOptions& options, std::size_t problems) {
  std::string out =
      fmt::format("# {} programs, each legal on at least {:.0f} % of {} problems; seed {}\n#",
                  set.programs.size(), 100 * options.most, problems, options.seed);
  for (const auto& [source, count] : set.sources) out += fmt::format(" {}: {}", source, count);
  for (const auto& [key, value] : options.fixed) out += fmt::format(" {}={}", key, value);
  out += '\n';
  for (const Program& program : set.programs) out += program.text() + '\n';
  return out;
}

Result<std::vector<Program>> programs_from(const std::string& text, const std::string& name) {
  std::vector<Program> programs;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with('#')) continue;
    Result<Program> program = parse_program(words);
    if (!program) {
      return fail(ErrorCode::refused,
                  fmt::format("{}:{}: {}", name, number, program.error().message),
                  program.error().hint);
    }
    programs.push_back(*std::move(program));
  }
  if (programs.empty()) {
    return fail(ErrorCode::refused, fmt::format("{} holds no program", name));
  }
  return programs;
}

}  // namespace tilewright
