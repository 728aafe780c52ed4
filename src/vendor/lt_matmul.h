// SPDX-License-Identifier: Apache-2.0
// One product as cublasLt describes it: descriptor and layouts, released when the owner goes.
#pragma once

#include "vendor/cublas_api.h"
#include "vendor/gemm.h"

#include <array>
#include <utility>
#include <vector>

namespace tilewright::vendor {

// Bounds on what the library may propose.
struct LtLimits {
  std::uint64_t workspace = 0;                                         // bytes that will be there
  std::uint32_t reductions = kReductionAny;                            // mask of ReductionScheme
  std::uint32_t align_left = 256, align_right = 256, align_out = 256;  // bytes, of the pointers
};
// The largest power of two, at most 256, that divides every address.
[[nodiscard]] std::uint32_t common_alignment(const std::vector<cuda::Pointer>& addresses);

class LtMatmul {
 public:
  // `library` and `handle` must outlive it.
  [[nodiscard]] static Result<LtMatmul> make(const CublasLt& library, LtHandle handle,
                                             const ColumnGemm& gemm);
  ~LtMatmul();
  LtMatmul(LtMatmul&& other) noexcept;
  LtMatmul& operator=(LtMatmul&&) = delete;

  [[nodiscard]] const ColumnGemm& gemm() const { return gemm_; }
  // Up to `requested` proposals, best guess first, as the library returned them, failed ones
  // included. Empty if it has none. The workspace limit is read back from the preference before it
  // is used: a size that an int swallowed would make a weak baseline.
  [[nodiscard]] Result<std::vector<LtHeuristic>> propose(const LtLimits& limits,
                                                         int requested) const;
  // Whether the library accepts `algo` for this product, and the workspace that it then needs.
  [[nodiscard]] Result<LtHeuristic> check(const LtAlgo& algo) const;
  // Enqueues. `left` is our B, `right` our A (gemm.h); the result is written over `out`.
  [[nodiscard]] Status run(const LtAlgo& algo, float alpha, cuda::Pointer left, cuda::Pointer right,
                           float beta, cuda::Pointer out, cuda::Pointer workspace,
                           std::size_t workspace_bytes, cuda::Stream stream) const;

 private:
  LtMatmul(const CublasLt& library, LtHandle handle, const ColumnGemm& gemm)
      : library_(&library), handle_(handle), gemm_(gemm) {}
  [[nodiscard]] Status describe();

  const CublasLt* library_ = nullptr;
  LtHandle handle_ = nullptr;
  ColumnGemm gemm_;
  LtMatmulDesc desc_ = nullptr;
  LtLayout left_ = nullptr, right_ = nullptr, out_ = nullptr;
};

}  // namespace tilewright::vendor
