// SPDX-License-Identifier: Apache-2.0
// See shared.h.
#include "baseline/cuda/shared.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

// A mis-sized workspace is the classic way to cripple a baseline: an int that overflows to 0.
Result<cuda::Buffer> workspace(const cuda::Context& context, std::size_t bytes) {
  auto buffer = cuda::Buffer::allocate(context, bytes);
  if (!buffer) return tl::unexpected(buffer.error());
  if (buffer->bytes() != bytes || buffer->address() == 0) {
    return fail(ErrorCode::internal,
                fmt::format("a workspace has {} bytes, not {}", buffer->bytes(), bytes));
  }
  return buffer;
}

}  // namespace

Result<std::unique_ptr<CudaShared>> CudaShared::open(const cuda::Context& context) {
  std::unique_ptr<CudaShared> made(new CudaShared(context));
  const auto blas = vendor::cublas();
  if (!blas) return tl::unexpected(blas.error());
  const auto lt = vendor::cublas_lt();
  if (!lt) return tl::unexpected(lt.error());
  made->blas_ = *blas;
  made->lt_ = *lt;
  if (Status s = context.make_current(); !s) return tl::unexpected(s.error());
  if (Status s = vendor::check((*blas)->Create(&made->blas_handle_), "starting cuBLAS"); !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = vendor::check((*lt)->Create(&made->lt_handle_), "starting cuBLASLt"); !s) {
    return tl::unexpected(s.error());
  }
  const cuda::Driver& d = context.driver();
  if (Status s = d.check(d.StreamCreate(&made->stream_, kNonBlocking), "making a stream"); !s) {
    return tl::unexpected(s.error());
  }
  auto bytes = workspace(context, kCublasWorkspace);
  if (!bytes) return tl::unexpected(bytes.error());
  made->blas_workspace_ = std::move(*bytes);
  return made;
}

CudaShared::~CudaShared() {
  if (blas_handle_ != nullptr) blas_->Destroy(blas_handle_);
  if (lt_handle_ != nullptr) lt_->Destroy(lt_handle_);
  if (stream_ != nullptr) driver().StreamDestroy(stream_);
}

Status CudaShared::wait() const {
  return driver().check(driver().StreamSynchronize(stream_), "waiting for a baseline");
}

Result<vendor::CublasHandle> CudaShared::blas_on(cuda::Stream stream, vendor::MathMode mode) {
  if (bound_ && bound_stream_ == stream && bound_mode_ == mode) return blas_handle_;
  bound_ = false;
  if (Status s = vendor::check(blas_->SetStream(blas_handle_, stream), "setting cuBLAS' stream");
      !s) {
    return tl::unexpected(s.error());
  }
  // Setting the stream falls back to a pool of the library's own, which may not be captured.
  if (Status s = vendor::check(
          blas_->SetWorkspace(blas_handle_, reinterpret_cast<void*>(blas_workspace_.address()),
                              blas_workspace_.bytes()),
          fmt::format("giving cuBLAS {} bytes of workspace", blas_workspace_.bytes()));
      !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = vendor::check(blas_->SetMathMode(blas_handle_, mode), "setting cuBLAS' math mode");
      !s) {
    return tl::unexpected(s.error());
  }
  bound_ = true;
  bound_stream_ = stream;
  bound_mode_ = mode;
  return blas_handle_;
}

Status CudaShared::prepare_lt() {
  if (lt_workspace_.bytes() == kCublasLtWorkspace) return {};
  auto bytes = workspace(context_, kCublasLtWorkspace);
  if (!bytes) return tl::unexpected(bytes.error());
  lt_workspace_ = std::move(*bytes);
  return {};
}

}  // namespace tilewright
