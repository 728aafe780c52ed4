// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx: what a program that calls BLAS gets.
#include "baseline/cuda/implementation.h"

namespace tilewright {
namespace {

class CublasBaseline final : public CudaBaseline {
 public:
  CublasBaseline(CudaShared& shared, const Problem& problem) : shared_(shared), problem_(problem) {}

  // Runs each set once: kernels are loaded by their first launch, which a capture would not allow.
  Status prepare(std::span<const CudaGemm> sets) override {
    for (const CudaGemm& gemm : sets) {
      if (Status s = enqueue(gemm, shared_.stream()); !s) return s;
    }
    return shared_.wait();
  }
  Status enqueue(const CudaGemm& gemm, cuda::Stream stream) override {
    return enqueue_cublas(shared_, problem_, gemm, stream);
  }
  std::string choice() const override { return "cublasGemmEx, default algorithm"; }

 private:
  CudaShared& shared_;
  Problem problem_;
};

const void* address(cuda::Pointer pointer) {
  return reinterpret_cast<const void*>(pointer);
}

}  // namespace

std::unique_ptr<CudaBaseline> make_cublas(CudaShared& shared, const Problem& problem) {
  return std::make_unique<CublasBaseline>(shared, problem);
}

vendor::ColumnGemm column_gemm_of(const CudaGemm& gemm, const Problem& problem) {
  return vendor::column_gemm(problem, {gemm.stride_a, gemm.stride_b, gemm.stride_c});
}

Status enqueue_cublas(CudaShared& shared, const Problem& problem, const CudaGemm& gemm,
                      cuda::Stream stream) {
  if (Status s = check_sizes(gemm, problem); !s) return s;
  const auto handle = shared.blas_on(stream, vendor::math_mode(problem));
  if (!handle) return tl::unexpected(handle.error());
  const vendor::ColumnGemm g = column_gemm_of(gemm, problem);
  const vendor::Scale alpha(g.scale, gemm.alpha), beta(g.scale, gemm.beta);
  void* const out = reinterpret_cast<void*>(gemm.c);
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };  // why_not() saw
  const int rows = narrow(g.rows), columns = narrow(g.columns), depth = narrow(g.depth);
  const int ld_left = narrow(g.ld_left), ld_right = narrow(g.ld_right), ld_out = narrow(g.ld_out);
  if (g.batch == 1) {
    return vendor::check(
        shared.blas().GemmEx(*handle, g.op_left, g.op_right, rows, columns, depth, alpha.pointer(),
                             address(gemm.b), g.in, ld_left, address(gemm.a), g.in, ld_right,
                             beta.pointer(), out, g.out, ld_out, g.compute, vendor::kDefaultAlgo),
        "cublasGemmEx");
  }
  return vendor::check(shared.blas().GemmStridedBatchedEx(
                           *handle, g.op_left, g.op_right, rows, columns, depth, alpha.pointer(),
                           address(gemm.b), g.in, ld_left, g.stride_left, address(gemm.a), g.in,
                           ld_right, g.stride_right, beta.pointer(), out, g.out, ld_out,
                           g.stride_out, narrow(g.batch), g.compute, vendor::kDefaultAlgo),
                       "cublasGemmStridedBatchedEx");
}

}  // namespace tilewright
