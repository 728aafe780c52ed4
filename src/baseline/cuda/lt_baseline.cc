// SPDX-License-Identifier: Apache-2.0
// The baseline that launches what a chooser found.
#include "baseline/cuda/implementation.h"
#include "vendor/exact_algo.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tilewright {
namespace {

class LtBaseline final : public CudaBaseline {
 public:
  LtBaseline(std::string_view name, CudaShared& shared, const Problem& problem, ChooseLt choose)
      : name_(name), shared_(shared), problem_(problem), choose_(std::move(choose)) {}

  void recall(std::string algorithm) override { recalled_ = std::move(algorithm); }

  Status prepare(std::span<const CudaGemm> sets) override {
    auto search = LtSearch::open(shared_, problem_, sets);
    if (!search) return tl::unexpected(search.error());
    auto pick = this->pick(**search);
    if (!pick) return tl::unexpected(pick.error());
    // Loads its kernels, which a capture would not allow, and proves that the pick still runs where
    // it was remembered and not found.
    for (const CudaGemm& gemm : sets) {
      if (Status s = (*search)->run(pick->algo, gemm, shared_.stream()); !s) return s;
    }
    if (Status s = shared_.wait(); !s) return s;
    pick_ = std::move(*pick);
    exact_ = vendor::exact_text(pick_.algo, (*search)->stamp());
    matmul_.emplace((*search)->take_matmul());
    return {};
  }

  Status enqueue(const CudaGemm& gemm, cuda::Stream stream) override {
    if (!matmul_) return fail(ErrorCode::internal, fmt::format("{} was not prepared", name_));
    if (Status s = check_sizes(gemm, problem_); !s) return s;
    const vendor::ColumnGemm& made = matmul_->gemm();
    if (gemm.stride_a != made.stride_right || gemm.stride_b != made.stride_left ||
        gemm.stride_c != made.stride_out) {
      return fail(ErrorCode::internal, fmt::format("{} was prepared for other strides", name_));
    }
    return enqueue_lt(shared_, *matmul_, pick_.algo, gemm, stream);
  }

  std::string choice() const override { return pick_.text; }
  std::string algorithm() const override { return exact_; }

 private:
  Result<LtPick> pick(LtSearch& search) const {
    if (recalled_.empty()) return choose_once(name_, search, choose_);
    const auto algo = search.recall(recalled_);
    if (!algo) {
      auto found = choose_once(name_, search, choose_);
      if (found) found->text += fmt::format(" (chosen anew: {})", algo.error().message);
      return found;
    }
    const auto config = search.config_of(*algo);
    if (!config) return tl::unexpected(config.error());
    return LtPick{*algo, vendor::to_text(*config) + " (as chosen before)", {*algo}};
  }

  std::string name_;
  CudaShared& shared_;
  Problem problem_;
  ChooseLt choose_;
  LtPick pick_;
  std::string recalled_, exact_;  // as algorithm() tells it: asked for, taken
  std::optional<vendor::LtMatmul> matmul_;
};

}  // namespace

std::unique_ptr<CudaBaseline> make_lt_baseline(std::string_view name, CudaShared& shared,
                                               const Problem& problem, ChooseLt choose) {
  return std::make_unique<LtBaseline>(name, shared, problem, std::move(choose));
}

Result<LtPick> choose_once(std::string_view name, LtSearch& search, const ChooseLt& choose) {
  auto& memo = search.shared().memo;
  const std::string key = search.memo_key(name);
  if (const auto known = memo.find(key); known != memo.end()) return known->second;
  Result<LtPick> pick = choose(search);
  if (pick) memo.emplace(key, *pick);
  return pick;
}

}  // namespace tilewright
