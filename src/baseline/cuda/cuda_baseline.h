// SPDX-License-Identifier: Apache-2.0
// The libraries that a CUDA candidate is compared with, behind one interface. They run inside the
// CUDA runner, on the candidate's stream, captured into the same kind of graph.
#pragma once

#include "baseline/baseline.h"
#include "device/cuda/context.h"

#include <span>
#include <string_view>

namespace tilewright {

// C[b] = alpha * op(A[b]) * op(B[b]) + beta * C[b], row-major as in problem.h. Device addresses;
// strides in elements.
struct CudaGemm {
  cuda::Pointer a = 0, b = 0, c = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  float alpha = 1, beta = 0;
};

class CudaBaseline {
 public:
  virtual ~CudaBaseline() = default;
  // Before prepare(): to take this algorithm, which algorithm() told in an earlier process, and not
  // to choose. It is checked like any other. What is no algorithm of this library and device, or is
  // not accepted or wrong, is chosen anew, and choice() says why.
  virtual void recall(std::string algorithm) { static_cast<void>(algorithm); }
  // Chooses how to compute `sets` (the same problem in several operand sets), timing candidates if
  // the name says so, and leaves something in each C. Synchronous; called once before anything is
  // timed. Every status and the result of every algorithm that may be chosen is checked.
  [[nodiscard]] virtual Status prepare(std::span<const CudaGemm> sets) = 0;
  // Enqueues one product; capturable, no allocation, no synchronisation.
  [[nodiscard]] virtual Status enqueue(const CudaGemm& gemm, cuda::Stream stream) = 0;
  // What prepare() chose, for the record: "algo=66 tile=128x256 stages=35 cluster=2x1 splitk=1
  // ...".
  [[nodiscard]] virtual std::string choice() const = 0;
  // The same exactly, for recall(); empty where there is nothing to choose.
  [[nodiscard]] virtual std::string algorithm() const { return {}; }
};

// cublas, cublaslt_heuristic, cublaslt_autotune, cublaslt_neighbours: available or not, with the
// library's version or the reason and fix.
[[nodiscard]] std::vector<BaselineInfo> cuda_baselines_for(const Problem& problem,
                                                           const Device& device);

// Before the knobs of an algorithm (CudaBaseline::choice), a name that make() takes as well: that
// very algorithm, without a search.
inline constexpr std::string_view kGivenAlgorithm = "cublaslt ";

// How long a search may take for one problem, in seconds. A search that runs out keeps its best.
struct SearchBudgets {
  double autotune_seconds = 0.15;
  double neighbours_seconds = 0.3;  // beyond autotune's
};

// Library handles and workspaces, made once per process. What was chosen for a problem is
// remembered: preparing the same problem again does not search. `context` must outlive it.
class CudaLibraries {
 public:
  [[nodiscard]] static Result<CudaLibraries> open(const cuda::Context& context);
  ~CudaLibraries();
  CudaLibraries(CudaLibraries&&) noexcept;
  CudaLibraries& operator=(CudaLibraries&&) noexcept;
  [[nodiscard]] Result<std::unique_ptr<CudaBaseline>> make(std::string_view name,
                                                           const Problem& problem);
  void set_budgets(const SearchBudgets& budgets);

 private:
  struct State;
  explicit CudaLibraries(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
