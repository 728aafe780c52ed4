// SPDX-License-Identifier: Apache-2.0
// The part of OpenBLAS' C API that we call, and what a look from outside tells about it.
#pragma once

#include "base/error.h"
#include "baseline/library.h"

#include <cstdint>
#include <string>

namespace tilewright {

struct OpenblasApi {
  Library library;
  // CBLAS with 32-bit integers, as distributions build it.
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c,
                int ldc) = nullptr;
  // bf16 operands, f32 result; null in builds without it, Debian's among them.
  void (*sbgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const std::uint16_t* a, int lda, const std::uint16_t* b, int ldb, float beta,
                 float* c, int ldc) = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int (*get_num_threads)() = nullptr;
  const char* (*get_config)() = nullptr;
  const char* (*get_corename)() = nullptr;

  // Starts threads: only in the process that will run it.
  [[nodiscard]] static Result<OpenblasApi> open();
};

inline constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;  // cblas.h

struct OpenblasFacts {
  bool found = false;
  std::string error;      // why not found
  std::string path;       // of the library
  std::string version;    // "OpenBLAS 0.3.21"
  std::string core_type;  // that it chooses under this process' environment
  bool sbgemm = false;
};
// Asked in a child, once: what is installed does not change while we run.
[[nodiscard]] const OpenblasFacts& openblas_facts();
// The same, asked anew.
[[nodiscard]] OpenblasFacts look_at_openblas();

}  // namespace tilewright
