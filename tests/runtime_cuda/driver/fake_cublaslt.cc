// SPDX-License-Identifier: Apache-2.0
// A cublasLt that computes what it is asked for in f64, on host memory, with one algorithm that
// wants a workspace of an odd size, as some of the real one do. Signatures: vendor/cublas_api.h.
#include "base/element.h"
#include "driver/fake_state.h"
#include "vendor/cublas_api.h"

#include <dlfcn.h>

#include <cstring>

using namespace tilewright;
using namespace tilewright::vendor;

namespace {

constexpr std::size_t kWorkspace = 1987;
constexpr Code kInvalid = 7;  // CUBLAS_STATUS_INVALID_VALUE

struct Layout {
  int type = kReal16F;
  std::int64_t ld = 0, batch = 1, stride = 0;
  std::uint64_t columns = 0, rows = 0;
};
struct Desc {
  int transposed_a = 0, transposed_b = 0;
};

ElementType type_of(const Layout& layout) {
  return layout.type == kReal32F   ? ElementType::f32
         : layout.type == kReal16F ? ElementType::f16
                                   : ElementType::bf16;
}
Layout& of(LtLayout layout) {
  return *reinterpret_cast<Layout*>(layout);
}

}  // namespace

extern "C" {

Code cublasLtCreate(LtHandle* handle) {
  *handle = reinterpret_cast<LtHandle>(new int);
  return kSuccess;
}
Code cublasLtDestroy(LtHandle handle) {
  delete reinterpret_cast<int*>(handle);
  return kSuccess;
}
std::size_t cublasLtGetVersion() {
  return 130100;
}
Code cublasLtMatmulDescCreate(LtMatmulDesc* desc, int, int) {
  *desc = reinterpret_cast<LtMatmulDesc>(new Desc);
  return kSuccess;
}
Code cublasLtMatmulDescDestroy(LtMatmulDesc desc) {
  delete reinterpret_cast<Desc*>(desc);
  return kSuccess;
}
Code cublasLtMatmulDescSetAttribute(LtMatmulDesc desc, int attribute, const void* value,
                                    std::size_t) {
  Desc& d = *reinterpret_cast<Desc*>(desc);
  std::memcpy(attribute == kDescTransA ? &d.transposed_a : &d.transposed_b, value, sizeof(int));
  return kSuccess;
}
Code cublasLtMatrixLayoutCreate(LtLayout* layout, int type, std::uint64_t rows,
                                std::uint64_t columns, std::int64_t ld) {
  auto* const made = new Layout;
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->ld = ld;
  *layout = reinterpret_cast<LtLayout>(made);
  return static_cast<std::int64_t>(rows) <= ld ? kSuccess : kInvalid;
}
Code cublasLtMatrixLayoutDestroy(LtLayout layout) {
  delete &of(layout);
  return kSuccess;
}
Code cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void* value,
                                      std::size_t) {
  if (attribute == kLayoutStride) {
    std::memcpy(&of(layout).stride, value, sizeof(std::int64_t));
  } else {
    std::int32_t batch = 0;
    std::memcpy(&batch, value, sizeof batch);
    of(layout).batch = batch;
  }
  return kSuccess;
}
Code cublasLtMatmulPreferenceCreate(LtPreference* preference) {
  *preference = reinterpret_cast<LtPreference>(new std::uint64_t(0));
  return kSuccess;
}
Code cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  delete reinterpret_cast<std::uint64_t*>(preference);
  return kSuccess;
}
Code cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute, const void* value,
                                          std::size_t bytes) {
  if (attribute == kPreferWorkspace) std::memcpy(preference, value, bytes);
  return kSuccess;
}
Code cublasLtMatmulPreferenceGetAttribute(LtPreference preference, int, void* value,
                                          std::size_t bytes, std::size_t* written) {
  std::memcpy(value, preference, bytes);
  *written = bytes;
  return kSuccess;
}
Code cublasLtMatmulAlgoGetHeuristic(LtHandle, LtMatmulDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                                    LtPreference preference, int, LtHeuristic* results,
                                    int* returned) {
  const bool fits = *reinterpret_cast<std::uint64_t*>(preference) >= kWorkspace;
  results[0] = LtHeuristic{};
  results[0].workspace = kWorkspace;
  *returned = fits ? 1 : 0;
  return kSuccess;
}
// Column-major: D = alpha op(A) op(B) + beta C.
Code cublasLtMatmul(LtHandle, LtMatmulDesc desc, const void* alpha, const void* a, LtLayout la,
                    const void* b, LtLayout lb, const void* beta, const void* c, LtLayout, void* d,
                    LtLayout ld, const LtAlgo*, void* workspace, std::size_t bytes,
                    cuda::Stream stream) {
  if (workspace == nullptr || bytes < kWorkspace) return kInvalid;
  std::memset(workspace, 0xff, bytes);
  FakeState& device = *reinterpret_cast<FakeState* (*)()>(dlsym(RTLD_DEFAULT, "tw_fake_state"))();
  if (!device.compute) {
    return device.enqueue(stream, [] { return cuda::kSuccess; }, device.vendor_us);
  }
  float by = 0, keep = 0;
  std::memcpy(&by, alpha, sizeof by);
  std::memcpy(&keep, beta, sizeof keep);
  const auto product = [how = *reinterpret_cast<Desc*>(desc), x = of(la), y = of(lb), z = of(ld),
                        by, keep, a, b, c, d] {
    const auto depth = static_cast<std::int64_t>(how.transposed_a != 0 ? x.rows : x.columns);
    for (std::int64_t e = 0; e < z.batch; ++e) {
      for (std::int64_t j = 0; j < static_cast<std::int64_t>(z.columns); ++j) {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(z.rows); ++i) {
          double sum = 0;
          for (std::int64_t l = 0; l < depth; ++l) {
            sum += load(type_of(x), a,
                        e * x.stride + (how.transposed_a != 0 ? i * x.ld + l : l * x.ld + i)) *
                   load(type_of(y), b,
                        e * y.stride + (how.transposed_b != 0 ? l * y.ld + j : j * y.ld + l));
          }
          const std::int64_t at = e * z.stride + j * z.ld + i;
          store(type_of(z), d, at, by * sum + (keep != 0 ? keep * load(type_of(z), c, at) : 0));
        }
      }
    }
    return cuda::kSuccess;
  };
  return device.enqueue(stream, product, device.vendor_us);
}
Code cublasLtMatmulAlgoGetIds() {
  return kNotSupported;
}
Code cublasLtMatmulAlgoInit() {
  return kNotSupported;
}
Code cublasLtMatmulAlgoCheck() {
  return kNotSupported;
}
Code cublasLtMatmulAlgoCapGetAttribute() {
  return kNotSupported;
}
Code cublasLtMatmulAlgoConfigSetAttribute() {
  return kNotSupported;
}
Code cublasLtMatmulAlgoConfigGetAttribute(const LtAlgo*, int, void* value, std::size_t bytes,
                                          std::size_t* written) {
  std::memset(value, 0, bytes);
  *written = bytes;
  return kSuccess;
}

}  // extern "C"
