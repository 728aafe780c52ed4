// SPDX-License-Identifier: Apache-2.0
// Is the CUDA baseline rigged? A mis-set cublasLt (no workspace, 32F compute with a 16F scale) is
// up to twice as slow as plain cuBLAS and makes every candidate look good (CASES B24).
#pragma once

#include "baseline/cuda/cuda_baseline.h"

#include <string>
#include <vector>

namespace tilewright {

struct CudaSelfCheck {
  bool passed = false;
  double heuristic_over_cublas = 0;  // geometric mean of the times' ratios
  double tflops = 0;                 // of the faster of the two on the largest shape
  std::string reason;                // if not passed: what is mis-set
  std::string fix;
};

// A shape of the check and how long one call took.
struct SelfCheckTimes {
  Problem problem;
  double cublas_seconds = 0, heuristic_seconds = 0;
};
// The verdict on such times, apart from the device.
[[nodiscard]] CudaSelfCheck judge(const std::vector<SelfCheckTimes>& times);

// Times the heuristic and cuBLAS on a few shapes, in turn, on random data of its own, after the
// preparations that every baseline makes: workspaces of the asserted size, results that agree.
// Takes about a second and 100 MiB beside the workspaces.
[[nodiscard]] CudaSelfCheck cuda_self_check(CudaLibraries& libraries, const cuda::Context& context);

}  // namespace tilewright
