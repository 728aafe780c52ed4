// SPDX-License-Identifier: Apache-2.0
// What cuda_baseline.cc's table holds of each baseline, and what they lend each other. A new one is
// one file and one row.
#pragma once

#include "baseline/cuda/lt_search.h"
#include "baseline/cuda/shared.h"
#include "baseline/implementation.h"

#include <functional>
#include <memory>
#include <span>

namespace tilewright {

using MakeCuda = std::unique_ptr<CudaBaseline> (*)(CudaShared& shared, const Problem& problem);

std::unique_ptr<CudaBaseline> make_cublas(CudaShared&, const Problem&);
std::unique_ptr<CudaBaseline> make_cublaslt_heuristic(CudaShared&, const Problem&);
std::unique_ptr<CudaBaseline> make_cublaslt_autotune(CudaShared&, const Problem&);
std::unique_ptr<CudaBaseline> make_cublaslt_neighbours(CudaShared&, const Problem&);
// This algorithm and no search: what one of the above chose in another process.
std::unique_ptr<CudaBaseline> make_cublaslt_given(CudaShared&, const Problem&,
                                                  const vendor::AlgoConfig& config);

// Three of them differ only in how they choose an algorithm.
using ChooseLt = std::function<Result<LtPick>(LtSearch& search)>;
std::unique_ptr<CudaBaseline> make_lt_baseline(std::string_view name, CudaShared& shared,
                                               const Problem& problem, ChooseLt choose);
[[nodiscard]] Result<LtPick> choose_autotuned(LtSearch& search);
// What `choose` finds, or found before for the same name, problem and alignment in this process.
[[nodiscard]] Result<LtPick> choose_once(std::string_view name, LtSearch& search,
                                         const ChooseLt& choose);

[[nodiscard]] vendor::ColumnGemm column_gemm_of(const CudaGemm& gemm, const Problem& problem);
// Enqueues the product with cuBLAS' own choice of algorithm.
[[nodiscard]] Status enqueue_cublas(CudaShared& shared, const Problem& problem,
                                    const CudaGemm& gemm, cuda::Stream stream);

}  // namespace tilewright
