// SPDX-License-Identifier: Apache-2.0
// See memory_pool.h.
#include "verify/cuda/memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tilewright {
namespace {

constexpr std::size_t kLeast = 512;
constexpr std::size_t kPage = std::size_t{2} << 20;  // beyond it sizes are whole pages
constexpr std::size_t kMostKept = std::size_t{256} << 20;

// Few sizes, so that a piece fits many.
std::size_t rounded(std::size_t bytes) {
  if (bytes > kPage) return (bytes + kPage - 1) / kPage * kPage;
  return std::bit_ceil(std::max(bytes, kLeast));
}

}  // namespace

PooledMemory::~PooledMemory() {
  if (pool_) pool_->give_back(std::move(buffer_));
}

PooledMemory& PooledMemory::operator=(PooledMemory&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Result<PooledMemory> MemoryPool::take(std::size_t bytes) {
  if (bytes == 0) return PooledMemory();
  const std::size_t wanted = rounded(bytes);
  const auto found = free_.lower_bound(wanted);
  if (found != free_.end() && found->first <= 2 * wanted) {
    kept_bytes_ -= found->first;
    PooledMemory taken(shared_from_this(), std::move(found->second));
    free_.erase(found);
    return taken;
  }
  Result<cuda::Buffer> made = cuda::Buffer::allocate(context_, wanted);
  if (!made && !free_.empty()) {
    free_.clear();
    kept_bytes_ = 0;
    made = cuda::Buffer::allocate(context_, wanted);
  }
  if (!made) return tl::unexpected(made.error());
  return PooledMemory(shared_from_this(), *std::move(made));
}

void MemoryPool::give_back(cuda::Buffer buffer) {
  const std::size_t bytes = buffer.bytes();
  if (bytes == 0 || kept_bytes_ + bytes > kMostKept) return;  // freed
  kept_bytes_ += bytes;
  free_.emplace(bytes, std::move(buffer));
}

}  // namespace tilewright
