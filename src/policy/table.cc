// SPDX-License-Identifier: Apache-2.0
// Fills a dense table: each program of a given list, in its order, and then all of them again. The
// second time is what a report of a replay uses, minutes after the first, which a search sees. As
// what was recorded is observed first, an interrupted table goes on where it stopped.
#include "policy/policy.h"

#include "policy/proposers.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr int kTimings = 2;

class TablePolicy final : public Policy {
 public:
  explicit TablePolicy(PolicyContext context) : only_(std::move(context.only)) {
    if (only_) asked_.resize(only_->programs().size(), 0);
  }

  std::vector<Program> propose(std::size_t count) override {
    std::vector<Program> out;
    for (int round = 0; round < kTimings; ++round) {
      for (std::size_t i = 0; i < asked_.size() && out.size() < count; ++i) {
        if (asked_[i] > round) continue;
        ++asked_[i];
        out.push_back(only_->programs()[i]);
      }
    }
    return out;
  }

  // Results of what was proposed come in the same way as those of an earlier start, which count.
  void observe(const Trial& trial) override {
    const auto at = only_ ? only_->find(trial.program) : std::nullopt;
    if (!at) return;
    if (asked_.size() != observed_.size()) observed_.resize(asked_.size(), 0);
    ++observed_[*at];
    // What cannot be compiled cannot be timed a second time either.
    const bool hopeless = trial.outcome == Outcome::illegal ||
                          trial.outcome == Outcome::compile_error ||
                          trial.outcome == Outcome::compile_timeout;
    asked_[*at] = hopeless ? kTimings : std::max(asked_[*at], observed_[*at]);
  }
  [[nodiscard]] std::string_view name() const override { return "table"; }

 private:
  std::shared_ptr<const ProgramSet> only_;
  std::vector<int> asked_, observed_;
};

}  // namespace

std::unique_ptr<Policy> make_table(PolicyContext context) {
  return std::make_unique<TablePolicy>(std::move(context));
}

}  // namespace tilewright
