// SPDX-License-Identifier: Apache-2.0
// See archive.h.
#include "train/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {

std::string cell_of(const Problem& problem, const Program& program) {
  // FLOP per byte in powers of four: where on the roofline the problem stands.
  const double intensity = problem.flop() / std::max(problem.bytes(), 1.0);
  const int roof = static_cast<int>(std::floor(std::log2(std::max(intensity, 1.0)) / 2));
  const auto number = [&](std::string_view key) {
    return program.family().find(key) ? program.number(key) : 0;
  };
  const std::int64_t tile = program.family().name == "cpu" ? number("mr") * number("nr")
                                                           : number("tile_m") * number("tile_n");
  const int tile_class =
      static_cast<int>(std::log2(static_cast<double>(std::max<std::int64_t>(tile, 1))));
  const std::string_view form = program.find_word("form");
  const std::string_view split = program.find_word("split");
  const std::string_view reduce = program.find_word("reduce");
  return fmt::format("{} {} r{} t{} {} {} {}", program.family().name, form, roof, tile_class, split,
                     number("split_k"), reduce);
}

bool Archive::add(const Trial& trial) {
  const Result<Problem> problem = parse_problem(trial.problem);
  Result<Program> program = parse_program(trial.program);
  if (!problem || !program) return false;
  std::deque<Entry>& list = entries_[trial.problem];
  if (!index_[trial.problem].try_emplace(trial.program, list.size()).second) return false;
  const bool ok = trial.outcome == Outcome::ok && trial.time_us > 0;
  list.push_back({*problem, *std::move(program), trial, raw_score(trial, basis_), ok});
  ++size_;
  return true;
}

const Trial* Archive::find(const std::string& problem, const std::string& program) const {
  const auto list = index_.find(problem);
  if (list == index_.end()) return nullptr;
  const auto at = list->second.find(program);
  return at == list->second.end() ? nullptr : &entries_.at(problem)[at->second].trial;
}

std::vector<const Archive::Entry*> Archive::of(const std::string& problem) const {
  std::vector<const Entry*> out;
  const auto list = entries_.find(problem);
  if (list == entries_.end()) return out;
  for (const Entry& entry : list->second) out.push_back(&entry);
  return out;
}

std::vector<double> Archive::ok_scores(const std::string& problem) const {
  std::vector<double> out;
  for (const Entry* entry : of(problem)) {
    if (entry->ok) out.push_back(entry->score);
  }
  return out;
}

std::vector<const Archive::Entry*> Archive::elites(const std::string& problem) const {
  std::vector<const Entry*> all = of(problem), out;
  std::erase_if(all, [](const Entry* entry) { return !entry->ok; });
  std::ranges::stable_sort(all, std::ranges::greater(), &Entry::score);
  std::map<std::string, std::size_t> cells;
  std::set<std::string> binaries;
  for (const Entry* entry : all) {
    const std::string& binary = entry->trial.binary_hash;
    if (!binary.empty() && !binaries.insert(binary).second) continue;
    if (++cells[cell_of(entry->problem, entry->program)] <= kElitesOfACell) out.push_back(entry);
  }
  return out;
}

std::vector<const Archive::Entry*> Archive::best_decile(const std::string& problem) const {
  std::vector<const Entry*> all = of(problem);
  std::erase_if(all, [](const Entry* entry) { return !entry->ok; });
  std::ranges::stable_sort(all, std::ranges::greater(), &Entry::score);
  if (!all.empty()) all.resize((all.size() + 9) / 10);
  return all;
}

std::vector<std::string> Archive::problems() const {
  std::vector<std::string> out;
  for (const auto& [problem, list] : entries_) out.push_back(problem);
  return out;
}

}  // namespace tilewright
