// SPDX-License-Identifier: Apache-2.0
// LibTorch as a whole: its threads and what it can run on.
//
// One thread inside an operation, and several that compute parts of a batch (workers.h). Products
// are those of a BLAS with a pool of its own, which is held to one thread too: its variables are
// read before main(), so its setter is looked up among what is loaded.
#include "learn/model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/version.h>

namespace tilewright {

void set_learning_threads(int threads) {
  at::set_num_threads(1);
  try {
    at::set_num_interop_threads(threads);
  } catch (const c10::Error&) {
    // LibTorch takes this number once, and keeps it.
  }
  using Setter = void (*)(int);
  if (const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(1);
  }
}

void allow_tf32(bool on) {
  at::globalContext().setFloat32MatmulPrecision(on ? "high" : "highest");
}

std::string learning_library() {
  const std::size_t devices = torch::cuda::device_count();
  return fmt::format("LibTorch {}, {}", TORCH_VERSION,
                     devices > 0 ? fmt::format("{} CUDA devices", devices) : "CPU");
}

}  // namespace tilewright
