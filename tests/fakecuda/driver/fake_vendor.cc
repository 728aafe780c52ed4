// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cublasLt for the driver of fake_driver.cc, in one file: every product is zero, which
// is enough for tests of who chooses an algorithm, when, and whether its result is looked at.
//
// An algorithm's first word is its id. cublasLt suggests 1, 2 and 3; others are known as well, but
// 7 computes something else and 8 is not accepted. Signatures are those of vendor/cublas_api.h.
#include "vendor/cublas_api.h"

#include <algorithm>
#include <cstring>

using namespace tilewright;
using namespace tilewright::vendor;

namespace {

constexpr Code kInvalid = 7;
constexpr std::uint64_t kSuggested = 3, kWrong = 7, kRefused = 8;

struct Layout {
  std::uint64_t rows, columns;
  std::int64_t stride;
};

std::uint64_t workspace_limit = 0;

// A column-major matrix of two-byte elements.
void fill(void* at, std::uint64_t rows, std::uint64_t columns, std::int64_t stride, int value) {
  for (std::uint64_t column = 0; column < columns; ++column) {
    std::memset(static_cast<char*>(at) + 2 * static_cast<std::int64_t>(column) * stride, value,
                2 * rows);
  }
}

}  // namespace

extern "C" {

Code cublasCreate_v2(CublasHandle* handle) {
  *handle = reinterpret_cast<CublasHandle>(handle);
  return kSuccess;
}
Code cublasGetProperty(int part, int* value) {
  *value = part == 0 ? 13 : part;  // 13.1.2
  return kSuccess;
}
Code cublasGemmEx(CublasHandle, int, int, int m, int n, int, const void*, const void*, int, int,
                  const void*, int, int, const void*, void* c, int, int ldc, int, int) {
  fill(c, static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(n), ldc, 0);
  return kSuccess;
}

Code cublasLtCreate(LtHandle* handle) {
  *handle = reinterpret_cast<LtHandle>(handle);
  return kSuccess;
}
std::size_t cublasLtGetVersion() {
  return 130102;
}
Code cublasLtMatrixLayoutCreate(LtLayout* layout, int, std::uint64_t rows, std::uint64_t columns,
                                std::int64_t stride) {
  *layout = reinterpret_cast<LtLayout>(new Layout{rows, columns, stride});
  return kSuccess;
}
Code cublasLtMatrixLayoutDestroy(LtLayout layout) {
  delete reinterpret_cast<Layout*>(layout);
  return kSuccess;
}
Code cublasLtMatmulPreferenceSetAttribute(LtPreference, int attribute, const void* value,
                                          std::size_t bytes) {
  if (attribute == kPreferWorkspace) std::memcpy(&workspace_limit, value, bytes);
  return kSuccess;
}
Code cublasLtMatmulPreferenceGetAttribute(LtPreference, int, void* value, std::size_t bytes,
                                          std::size_t* written) {
  std::memcpy(value, &workspace_limit, bytes);
  *written = bytes;
  return kSuccess;
}
Code cublasLtMatmulAlgoGetHeuristic(LtHandle, LtMatmulDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                                    LtPreference, int requested, LtHeuristic* results,
                                    int* returned) {
  *returned = std::min(requested, static_cast<int>(kSuggested));
  for (int i = 0; i < *returned; ++i) {
    results[i] = {};
    results[i].algo.data[0] = static_cast<std::uint64_t>(i) + 1;
  }
  return kSuccess;
}
Code cublasLtMatmul(LtHandle, LtMatmulDesc, const void*, const void*, LtLayout, const void*,
                    LtLayout, const void*, const void*, LtLayout, void* d, LtLayout layout,
                    const LtAlgo* algo, void*, std::size_t, cuda::Stream) {
  if (algo->data[0] == 0 || algo->data[0] == kRefused) return kInvalid;
  const auto& c = *reinterpret_cast<const Layout*>(layout);
  fill(d, c.rows, c.columns, c.stride, algo->data[0] == kWrong ? 0x3c : 0);
  return kSuccess;
}
Code cublasLtMatmulAlgoCheck(LtHandle, LtMatmulDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                             const LtAlgo* algo, LtHeuristic* result) {
  *result = {};
  return algo->data[0] == kRefused ? kInvalid : kSuccess;
}
Code cublasLtMatmulAlgoConfigGetAttribute(const LtAlgo* algo, int attribute, void* value,
                                          std::size_t bytes, std::size_t* written) {
  std::memset(value, 0, bytes);
  if (attribute == kConfigId) std::memcpy(value, algo->data, bytes);
  *written = bytes;
  return kSuccess;
}
// Without capabilities an algorithm has no neighbours.
Code cublasLtMatmulAlgoCapGetAttribute() {
  return kInvalid;
}
Code cublasLtMatmulAlgoInit() {
  return kInvalid;
}

// What the tests do not look at.
Code cublasDestroy_v2() {
  return kSuccess;
}
Code cublasGetVersion_v2() {
  return kSuccess;
}
Code cublasSetStream_v2() {
  return kSuccess;
}
Code cublasSetWorkspace_v2() {
  return kSuccess;
}
Code cublasSetMathMode() {
  return kSuccess;
}
Code cublasGemmStridedBatchedEx() {
  return kSuccess;
}
Code cublasLtDestroy() {
  return kSuccess;
}
Code cublasLtMatmulDescCreate() {
  return kSuccess;
}
Code cublasLtMatmulDescDestroy() {
  return kSuccess;
}
Code cublasLtMatmulDescSetAttribute() {
  return kSuccess;
}
Code cublasLtMatrixLayoutSetAttribute() {
  return kSuccess;
}
Code cublasLtMatmulPreferenceCreate() {
  return kSuccess;
}
Code cublasLtMatmulPreferenceDestroy() {
  return kSuccess;
}
Code cublasLtMatmulAlgoGetIds() {
  return kSuccess;
}
Code cublasLtMatmulAlgoConfigSetAttribute() {
  return kSuccess;
}

}  // extern "C"
