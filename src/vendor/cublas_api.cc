// SPDX-License-Identifier: Apache-2.0
// Finding the entry points of cuBLAS and cuBLASLt, and naming their statuses.
#include "vendor/cublas_api.h"

#include "device/cuda/libraries.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright::vendor {
namespace {

constexpr std::size_t kLeastVersion = 120000;  // cuBLAS 12: Hopper, cluster shapes

struct Name {
  Code code;
  std::string_view name;
};
constexpr std::array kStatusNames = {
    Name{0, "CUBLAS_STATUS_SUCCESS"},           Name{1, "CUBLAS_STATUS_NOT_INITIALIZED"},
    Name{3, "CUBLAS_STATUS_ALLOC_FAILED"},      Name{7, "CUBLAS_STATUS_INVALID_VALUE"},
    Name{8, "CUBLAS_STATUS_ARCH_MISMATCH"},     Name{11, "CUBLAS_STATUS_MAPPING_ERROR"},
    Name{13, "CUBLAS_STATUS_EXECUTION_FAILED"}, Name{14, "CUBLAS_STATUS_INTERNAL_ERROR"},
    Name{15, "CUBLAS_STATUS_NOT_SUPPORTED"},    Name{16, "CUBLAS_STATUS_LICENSE_ERROR"},
};

struct Finder {
  void* library;
  std::string missing;

  template <class Pointer>
  void operator()(Pointer& entry, const char* name) {
    entry = reinterpret_cast<Pointer>(dlsym(library, name));
    if (entry == nullptr && missing.empty()) missing = name;
  }
};

void find_entries(Finder& find, Cublas& c) {
  find(c.Create, "cublasCreate_v2");
  find(c.Destroy, "cublasDestroy_v2");
  find(c.GetVersion, "cublasGetVersion_v2");
  find(c.GetProperty, "cublasGetProperty");
  find(c.SetStream, "cublasSetStream_v2");
  find(c.SetWorkspace, "cublasSetWorkspace_v2");
  find(c.SetMathMode, "cublasSetMathMode");
  find(c.GemmEx, "cublasGemmEx");
  find(c.GemmStridedBatchedEx, "cublasGemmStridedBatchedEx");
}

void find_entries(Finder& find, CublasLt& c) {
  find(c.Create, "cublasLtCreate");
  find(c.Destroy, "cublasLtDestroy");
  find(c.GetVersion, "cublasLtGetVersion");
  find(c.MatmulDescCreate, "cublasLtMatmulDescCreate");
  find(c.MatmulDescDestroy, "cublasLtMatmulDescDestroy");
  find(c.MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  find(c.MatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  find(c.MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  find(c.MatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  find(c.MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  find(c.MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  find(c.MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  find(c.MatmulPreferenceGetAttribute, "cublasLtMatmulPreferenceGetAttribute");
  find(c.MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(c.Matmul, "cublasLtMatmul");
  find(c.MatmulAlgoGetIds, "cublasLtMatmulAlgoGetIds");
  find(c.MatmulAlgoInit, "cublasLtMatmulAlgoInit");
  find(c.MatmulAlgoCheck, "cublasLtMatmulAlgoCheck");
  find(c.MatmulAlgoCapGetAttribute, "cublasLtMatmulAlgoCapGetAttribute");
  find(c.MatmulAlgoConfigSetAttribute, "cublasLtMatmulAlgoConfigSetAttribute");
  find(c.MatmulAlgoConfigGetAttribute, "cublasLtMatmulAlgoConfigGetAttribute");
}

std::size_t version_of(const Cublas& library) {
  std::array<int, 3> part{};
  for (int i = 0; i < 3; ++i) {
    if (library.GetProperty(i, &part[static_cast<std::size_t>(i)]) != kSuccess) return 0;
  }
  return static_cast<std::size_t>(part[0] * 10000 + part[1] * 100 + part[2]);
}
std::size_t version_of(const CublasLt& library) {
  return library.GetVersion();
}

template <class Library>
Result<Library> open(std::string_view stem) {
  const Result<void*> handle = cuda::open_library(stem);
  if (!handle) return tl::unexpected(handle.error());
  Library library{};
  Finder find{*handle, {}};
  find_entries(find, library);
  library.path = cuda::path_of(*handle, stem);
  if (!find.missing.empty()) {
    return fail(ErrorCode::environment, fmt::format("{} lacks {}", library.path, find.missing),
                "cuBLAS 12 or newer is needed");
  }
  const std::size_t version = version_of(library);
  library.version = version_text(version);
  if (version < kLeastVersion) {
    return fail(ErrorCode::environment, fmt::format("{} is {}", library.path, library.version),
                "cuBLAS 12 or newer is needed");
  }
  return library;
}

}  // namespace

std::string status_text(Code status) {
  const auto* row = std::ranges::find(kStatusNames, status, &Name::code);
  return row == kStatusNames.end() ? fmt::format("cuBLAS status {}", status)
                                   : fmt::format("{} ({})", row->name, status);
}

Status check(Code status, std::string_view what) {
  if (status == kSuccess) return {};
  return fail(ErrorCode::environment, fmt::format("{}: {}", what, status_text(status)));
}

std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<const Cublas*> cublas() {
  static const Result<Cublas> opened = open<Cublas>("cublas");
  if (!opened) return tl::unexpected(opened.error());
  return &*opened;
}

Result<const CublasLt*> cublas_lt() {
  static const Result<CublasLt> opened = open<CublasLt>("cublasLt");
  if (!opened) return tl::unexpected(opened.error());
  return &*opened;
}

}  // namespace tilewright::vendor
