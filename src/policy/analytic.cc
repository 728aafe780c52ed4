// SPDX-License-Identifier: Apache-2.0
// Programs in the order of the cost model (cost_model.cc), a ranked sample (ranking.h) at a time;
// on a GPU after a diverse front (lineup.h).
#include "policy/lineup.h"
#include "policy/pool.h"

namespace tilewright {
namespace {

class AnalyticPolicy final : public Policy {
 public:
  explicit AnalyticPolicy(PolicyContext context)
      : context_(std::move(context)), pool_(context_), rng_(context_.seed) {}

  std::vector<Program> propose(std::size_t count) override {
    std::vector<Program> out;
    if (ranked_.empty() && !dry_ && context_.device.kind == DeviceKind::cuda &&
        context_.problem.is_gemm()) {
      ranked_ = rank_sample(pool_.spaces(), context_, pool_.seen(), rng_);
      front_ = lineup(context_.problem, context_.device, ranked_, kDiversePlaces);
    }
    for (; front_next_ < front_.size() && out.size() < count; ++front_next_) {
      if (pool_.take(front_[front_next_])) out.push_back(front_[front_next_]);
    }
    while (out.size() < count && !dry_) {
      if (next_ == ranked_.size()) {
        ranked_ = rank_sample(pool_.spaces(), context_, pool_.seen(), rng_);
        next_ = 0;
        dry_ = ranked_.empty();
        continue;
      }
      Program program = std::move(ranked_[next_++].program);
      if (pool_.take(program)) out.push_back(std::move(program));
    }
    return out;
  }

  void observe(const Trial& trial) override { pool_.take_text(trial.program); }
  [[nodiscard]] std::string_view name() const override { return "analytic"; }

 private:
  PolicyContext context_;
  Pool pool_;
  Rng rng_;
  std::vector<Program> front_;
  std::size_t front_next_ = 0;
  std::vector<Ranked> ranked_;
  std::size_t next_ = 0;
  bool dry_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_analytic(PolicyContext context) {
  return std::make_unique<AnalyticPolicy>(std::move(context));
}

}  // namespace tilewright
