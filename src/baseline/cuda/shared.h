// SPDX-License-Identifier: Apache-2.0
// What the CUDA baselines of one process share: library handles, workspaces, a stream to search
// on, and what was already found.
#pragma once

#include "device/cuda/context.h"
#include "vendor/algo_config.h"
#include "vendor/cublas_api.h"
#include "vendor/gemm.h"

#include "baseline/cuda/cuda_baseline.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

// NVIDIA recommends 32 MiB on Hopper. More costs nothing, and a baseline must not want for it.
inline constexpr std::size_t kCublasWorkspace = std::size_t{64} << 20;
inline constexpr std::size_t kCublasLtWorkspace = std::size_t{512} << 20;

// An algorithm of cublasLt that was chosen, and the words for it.
struct LtPick {
  vendor::LtAlgo algo;
  std::string text;
  std::vector<vendor::LtAlgo> ranked;  // the best few of a search, the fastest first
};

class CudaShared {
 public:
  // The context must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<CudaShared>> open(const cuda::Context& context);
  ~CudaShared();
  CudaShared(const CudaShared&) = delete;
  CudaShared& operator=(const CudaShared&) = delete;

  [[nodiscard]] const cuda::Context& context() const { return context_; }
  [[nodiscard]] const cuda::Driver& driver() const { return context_.driver(); }
  [[nodiscard]] const vendor::Cublas& blas() const { return *blas_; }
  [[nodiscard]] const vendor::CublasLt& lt() const { return *lt_; }
  [[nodiscard]] vendor::LtHandle lt_handle() const { return lt_handle_; }
  // A stream of our own, for what prepare() runs.
  [[nodiscard]] cuda::Stream stream() const { return stream_; }
  [[nodiscard]] Status wait() const;

  // The cuBLAS handle, set to this stream and mode, with its workspace.
  [[nodiscard]] Result<vendor::CublasHandle> blas_on(cuda::Stream stream, vendor::MathMode mode);
  // Allocates the cublasLt workspace, the first time. Before that lt_workspace() has no bytes.
  [[nodiscard]] Status prepare_lt();
  [[nodiscard]] const cuda::Buffer& lt_workspace() const { return lt_workspace_; }

  SearchBudgets budgets;
  std::map<std::string, LtPick> memo;  // by baseline name, problem and alignment

 private:
  explicit CudaShared(const cuda::Context& context) : context_(context) {}

  const cuda::Context& context_;
  const vendor::Cublas* blas_ = nullptr;
  const vendor::CublasLt* lt_ = nullptr;
  vendor::CublasHandle blas_handle_ = nullptr;
  vendor::LtHandle lt_handle_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Buffer blas_workspace_, lt_workspace_;
  // What the cuBLAS handle is set to.
  bool bound_ = false;
  cuda::Stream bound_stream_ = nullptr;
  vendor::MathMode bound_mode_ = vendor::kDefaultMath;
};

}  // namespace tilewright
