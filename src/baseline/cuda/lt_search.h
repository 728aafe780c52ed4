// SPDX-License-Identifier: Apache-2.0
// Algorithms of cublasLt for one problem and its operand sets: proposing, checking, timing. What
// the three cublasLt baselines have in common; how each decides stands in its own file.
#pragma once

#include "baseline/cuda/sampled_rows.h"
#include "baseline/cuda/shared.h"
#include "launch/cuda/graph_timer.h"
#include "vendor/lt_matmul.h"

#include <optional>
#include <span>
#include <vector>

namespace tilewright {

class LtSearch {
 public:
  // Allocates the workspace if need be. `shared` and `sets` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<LtSearch>> open(CudaShared& shared,
                                                              const Problem& problem,
                                                              std::span<const CudaGemm> sets);

  [[nodiscard]] CudaShared& shared() const { return shared_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const vendor::LtMatmul& matmul() const { return *matmul_; }
  [[nodiscard]] const vendor::LtLimits& limits() const { return limits_; }
  [[nodiscard]] const CudaGemm& first() const { return sets_.front(); }

  struct Proposals {
    std::vector<vendor::LtAlgo> usable;  // in the library's order
    int returned = 0;
  };
  // Asks for up to 100; drops what failed or needs more workspace than there is. Never empty.
  [[nodiscard]] Result<Proposals> propose() const;

  [[nodiscard]] Status run(const vendor::LtAlgo& algo, const CudaGemm& gemm,
                           cuda::Stream stream) const;
  // Runs it once, outside any capture; an Error says which sampled result differs from cuBLAS'.
  [[nodiscard]] Status verify(const vendor::LtAlgo& algo);
  // Of an algorithm that has run once.
  [[nodiscard]] Result<GraphTimer> timer(const vendor::LtAlgo& algo) const;
  // `from` turned to these knobs, or the library's plain algorithm of that id turned to them:
  // the first that the library accepts within our limits.
  [[nodiscard]] Result<vendor::LtAlgo> admit(const vendor::LtAlgo& from,
                                             const vendor::AlgoConfig& config) const;

  // The algorithm that `exact` (vendor::exact_text) means here, if the library accepts it within
  // our limits and its result is right.
  [[nodiscard]] Result<vendor::LtAlgo> recall(std::string_view exact);
  // Library and device, whose algorithms mean nothing to another.
  [[nodiscard]] std::string stamp() const;

  [[nodiscard]] Result<vendor::AlgoConfig> config_of(const vendor::LtAlgo& algo) const;
  [[nodiscard]] Result<vendor::AlgoCapabilities> capabilities(std::int32_t id);
  // "cublaslt_autotune|gemm 64x64x64 ...|256 256 256": what a search's result depends on.
  [[nodiscard]] std::string memo_key(std::string_view name) const;

  // Hands over the descriptors to the one who will launch.
  [[nodiscard]] vendor::LtMatmul take_matmul() { return std::move(*matmul_); }

 private:
  LtSearch(CudaShared& shared, const Problem& problem, std::span<const CudaGemm> sets)
      : shared_(shared), problem_(problem), sets_(sets) {}
  // The sampled rows as cuBLAS computes them, the first time.
  [[nodiscard]] Result<const std::vector<std::byte>*> trusted();
  [[nodiscard]] CudaGemm check_gemm() const;
  [[nodiscard]] Result<vendor::LtAlgo> within_limits(const Result<vendor::LtAlgo>& algo) const;

  CudaShared& shared_;
  Problem problem_;
  std::span<const CudaGemm> sets_;
  std::optional<vendor::LtMatmul> matmul_;
  vendor::LtLimits limits_;
  std::optional<std::vector<std::byte>> trusted_;
  std::map<std::int32_t, vendor::AlgoCapabilities> capabilities_;
};

// Enqueues `gemm` with `algo`. The workspace is the shared one.
[[nodiscard]] Status enqueue_lt(const CudaShared& shared, const vendor::LtMatmul& matmul,
                                const vendor::LtAlgo& algo, const CudaGemm& gemm,
                                cuda::Stream stream);

}  // namespace tilewright
