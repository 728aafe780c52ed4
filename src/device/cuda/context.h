// SPDX-License-Identifier: Apache-2.0
// A device's primary context and what is owned within it, released when the owner goes.
#pragma once

#include "device/cuda/driver.h"

#include <utility>

namespace tilewright::cuda {

// Retains the primary context of device `ordinal` and makes it current on this thread. Other
// threads call make_current() before they use it.
class Context {
 public:
  [[nodiscard]] static Result<Context> open(int ordinal);
  ~Context();
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] DeviceId device() const { return device_; }
  [[nodiscard]] ContextHandle handle() const { return handle_; }
  [[nodiscard]] Status make_current() const;
  [[nodiscard]] Status synchronize() const;
  // A device attribute, or 0 if the driver does not know it.
  [[nodiscard]] int attribute(Attribute which) const;

 private:
  Context() = default;
  const Driver* driver_ = nullptr;
  DeviceId device_ = 0;
  ContextHandle handle_ = nullptr;
};

// Device memory. The context must outlive it.
class Buffer {
 public:
  Buffer() = default;
  // Contents are undefined. `bytes` may be 0.
  [[nodiscard]] static Result<Buffer> allocate(const Context& context, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  [[nodiscard]] Pointer address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  const Driver* driver_ = nullptr;
  Pointer address_ = 0;
  std::size_t bytes_ = 0;
};

// A stream that neither waits for the legacy one nor lets it wait. The context must outlive it.
class OwnStream {
 public:
  [[nodiscard]] static Result<OwnStream> make(const Context& context);
  ~OwnStream();
  OwnStream(OwnStream&& other) noexcept;
  OwnStream& operator=(OwnStream&&) = delete;
  [[nodiscard]] Stream get() const { return stream_; }

 private:
  OwnStream() = default;
  const Driver* driver_ = nullptr;
  Stream stream_ = nullptr;
};

// A loaded cubin.
class LoadedModule {
 public:
  LoadedModule() = default;
  [[nodiscard]] static Result<LoadedModule> load(const Context& context, const void* cubin);
  ~LoadedModule();
  LoadedModule(LoadedModule&& other) noexcept;
  LoadedModule& operator=(LoadedModule&& other) noexcept;
  [[nodiscard]] Result<Function> function(const std::string& name) const;

 private:
  const Driver* driver_ = nullptr;
  Module module_ = nullptr;
};

}  // namespace tilewright::cuda
