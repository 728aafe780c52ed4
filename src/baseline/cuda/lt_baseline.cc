// SPDX-License-Identifier: Apache-2.0
// The baseline that launches what a chooser found.
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tilewright {
namespace {

class LtBaseline final : public CudaBaseline {
 public:
  LtBaseline(std::string_view name, CudaShared& shared, const Problem& problem, ChooseLt choose)
      : name_(name), shared_(shared), problem_(problem), choose_(std::move(choose)) {}

  Status prepare(std::span<const CudaGemm> sets) override {
    auto search = LtSearch::open(shared_, problem_, sets);
    if (!search) return tl::unexpected(search.error());
    auto pick = choose_once(name_, **search, choose_);
    if (!pick) return tl::unexpected(pick.error());
    // Loads its kernels, which a capture would not allow, and proves that the pick still runs where
    // it was remembered and not found.
    for (const CudaGemm& gemm : sets) {
      if (Status s = (*search)->run(pick->algo, gemm, shared_.stream()); !s) return s;
    }
    if (Status s = shared_.wait(); !s) return s;
    pick_ = std::move(*pick);
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

 private:
  std::string name_;
  CudaShared& shared_;
  Problem problem_;
  ChooseLt choose_;
  LtPick pick_;
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
