// SPDX-License-Identifier: Apache-2.0
// Device memory that a checker uses again and again.
//
// A check of one operand set needs a handful of small buffers, a measurement hundreds of such
// checks. To allocate each would cost more than the kernels that fill it, and to free one waits for
// the device. All work on pooled memory is on one stream, so whoever gets a piece next comes after
// whoever had it before.
#pragma once

#include "device/cuda/context.h"

#include <cstddef>
#include <map>
#include <memory>

namespace tilewright {

class MemoryPool;

// Goes back to its pool, which it keeps alive.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(std::shared_ptr<MemoryPool> pool, cuda::Buffer buffer)
      : pool_(std::move(pool)), buffer_(std::move(buffer)) {}
  ~PooledMemory();
  PooledMemory(PooledMemory&&) noexcept = default;
  PooledMemory& operator=(PooledMemory&& other) noexcept;

  [[nodiscard]] cuda::Pointer address() const { return buffer_.address(); }
  // As many as were asked for, or more.
  [[nodiscard]] std::size_t bytes() const { return buffer_.bytes(); }

 private:
  std::shared_ptr<MemoryPool> pool_;
  cuda::Buffer buffer_;
};

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // The context must outlive the pool, and be current wherever its memory is given back.
  explicit MemoryPool(const cuda::Context& context) : context_(context) {}

  // Contents are undefined; of 0 bytes nothing, at no address. An Error if the device is full even
  // without what is kept here.
  [[nodiscard]] Result<PooledMemory> take(std::size_t bytes);
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  friend class PooledMemory;
  void give_back(cuda::Buffer buffer);

  const cuda::Context& context_;
  std::multimap<std::size_t, cuda::Buffer> free_;  // by size
  std::size_t kept_bytes_ = 0;
};

}  // namespace tilewright
