// SPDX-License-Identifier: Apache-2.0
// What was measured while learning: every trial once, and the elites - the best few of each cell
// (family, roofline class, tile class, form of the split), so that a good program of another kind
// is not lost to the tenth copy of the best. Duplicates of one binary count once.
#pragma once

#include "learn/objective.h"
#include "policy/exemplars.h"
#include "program/program.h"
#include "trial/trial.h"

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

class Archive {
 public:
  explicit Archive(const RewardBasis& basis) : basis_(basis) {}

  struct Entry {
    Problem problem;
    Program program;
    Trial trial;
    double score = 0;  // raw_score(), before smoothing
    bool ok = false;
  };
  // False if the program was known for the problem, or its text is none.
  bool add(const Trial& trial);
  [[nodiscard]] const Trial* find(const std::string& problem, const std::string& program) const;
  // Of one problem, in the order of adding.
  [[nodiscard]] std::vector<const Entry*> of(const std::string& problem) const;
  [[nodiscard]] std::vector<double> ok_scores(const std::string& problem) const;
  // The best of each cell of the problem, best first.
  [[nodiscard]] std::vector<const Entry*> elites(const std::string& problem) const;
  // The best tenth of the problem's right ones, at least one.
  [[nodiscard]] std::vector<const Entry*> best_decile(const std::string& problem) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::vector<std::string> problems() const;

 private:
  RewardBasis basis_;
  std::map<std::string, std::deque<Entry>> entries_;  // they stay where they are
  std::map<std::string, std::map<std::string, std::size_t>> index_;
  std::size_t size_ = 0;
};

inline constexpr std::size_t kElitesOfACell = 4;
[[nodiscard]] std::string cell_of(const Problem& problem, const Program& program);

}  // namespace tilewright
