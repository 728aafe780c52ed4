// SPDX-License-Identifier: Apache-2.0
// See context.h.
#include "device/cuda/context.h"

#include <fmt/format.h>

namespace tilewright::cuda {

Result<Context> Context::open(int ordinal) {
  Result<const Driver*> found = tilewright::cuda::driver();
  if (!found) return tl::unexpected(found.error());
  Context context;
  const Driver& d = **found;
  int count = 0;
  if (Status status = d.check(d.DeviceGetCount(&count), "counting CUDA devices"); !status) {
    return tl::unexpected(status.error());
  }
  if (ordinal < 0 || ordinal >= count) {
    return fail(ErrorCode::usage, fmt::format("CUDA device {}: there are {}", ordinal, count),
                "devices count from 0; CUDA_VISIBLE_DEVICES may hide some");
  }
  const std::string what = fmt::format("opening CUDA device {}", ordinal);
  if (Status s = d.check(d.DeviceGet(&context.device_, ordinal), what); !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = d.check(d.DevicePrimaryCtxRetain(&context.handle_, context.device_), what); !s) {
    return tl::unexpected(s.error());
  }
  context.driver_ = &d;
  if (Status s = context.make_current(); !s) return tl::unexpected(s.error());
  return context;
}

Context::~Context() {
  if (driver_ != nullptr) driver_->DevicePrimaryCtxRelease(device_);
}

Context::Context(Context&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      device_(other.device_),
      handle_(other.handle_) {}

Status Context::make_current() const {
  return driver_->check(driver_->CtxSetCurrent(handle_), "making the CUDA context current");
}

Status Context::synchronize() const {
  return driver_->check(driver_->CtxSynchronize(), "waiting for the CUDA device");
}

int Context::attribute(Attribute which) const {
  int value = 0;
  return driver_->DeviceGetAttribute(&value, which, device_) == kSuccess ? value : 0;
}

Result<Buffer> Buffer::allocate(const Context& context, std::size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  const Driver& d = context.driver();
  if (Status s = d.check(d.MemAlloc(&buffer.address_, bytes),
                         fmt::format("allocating {} bytes of device memory", bytes));
      !s) {
    return tl::unexpected(s.error());
  }
  buffer.driver_ = &d;
  buffer.bytes_ = bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (driver_ != nullptr) driver_->MemFree(address_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Result<OwnStream> OwnStream::make(const Context& context) {
  constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
  OwnStream own;
  const Driver& d = context.driver();
  if (Status s = d.check(d.StreamCreate(&own.stream_, kNonBlocking), "making a stream"); !s) {
    return tl::unexpected(s.error());
  }
  own.driver_ = &d;
  return own;
}

OwnStream::~OwnStream() {
  if (driver_ != nullptr) driver_->StreamDestroy(stream_);
}

OwnStream::OwnStream(OwnStream&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      stream_(std::exchange(other.stream_, nullptr)) {}

Result<LoadedModule> LoadedModule::load(const Context& context, const void* cubin) {
  LoadedModule loaded;
  const Driver& d = context.driver();
  if (Status s = d.check(d.ModuleLoadData(&loaded.module_, cubin), "loading a cubin"); !s) {
    return tl::unexpected(s.error());
  }
  loaded.driver_ = &d;
  return loaded;
}

LoadedModule::~LoadedModule() {
  if (driver_ != nullptr) driver_->ModuleUnload(module_);
}

LoadedModule::LoadedModule(LoadedModule&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      module_(std::exchange(other.module_, nullptr)) {}

LoadedModule& LoadedModule::operator=(LoadedModule&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(module_, other.module_);
  return *this;
}

Result<Function> LoadedModule::function(const std::string& name) const {
  Function found = nullptr;
  if (Status s = driver_->check(driver_->ModuleGetFunction(&found, module_, name.c_str()),
                                fmt::format("finding the kernel '{}'", name));
      !s) {
    return tl::unexpected(s.error());
  }
  return found;
}

}  // namespace tilewright::cuda
