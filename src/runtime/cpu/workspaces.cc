// SPDX-License-Identifier: Apache-2.0
// See workspaces.h.
#include "runtime/cpu/workspaces.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tilewright::runtime::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::byte* allocate(std::size_t bytes) {
  return static_cast<std::byte*>(
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
}

}  // namespace

Workspaces::~Workspaces() {
  for (Piece& piece : pieces_) std::free(piece.memory);
}

bool Workspaces::grow(Piece& piece, std::size_t bytes) {
  if (piece.bytes >= bytes) return true;
  std::free(piece.memory);
  piece.memory = allocate(bytes);
  piece.bytes = piece.memory == nullptr ? 0 : bytes;
  return piece.memory != nullptr;
}

Workspaces::Lease::Lease(Workspaces& owner, std::size_t bytes) {
  for (std::size_t i = 0; i < kPieces; ++i) {
    Piece& piece = owner.pieces_[i];
    if (piece.busy.load(std::memory_order_relaxed) ||
        piece.busy.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    std::size_t used = owner.used_.load(std::memory_order_relaxed);
    while (used < i + 1 && !owner.used_.compare_exchange_weak(used, i + 1)) {
    }
    busy_ = &piece.busy;
    if (grow(piece, bytes)) data_ = piece.memory;
    return;
  }
  data_ = allocate(bytes);
}

Workspaces::Lease::~Lease() {
  if (busy_ != nullptr) {
    busy_->store(false, std::memory_order_release);
  } else {
    std::free(data_);
  }
}

bool Workspaces::prepare(std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(used_.load(), 1);
  bool all = true;
  for (std::size_t i = 0; i < count; ++i) {
    Piece& piece = pieces_[i];
    while (piece.busy.exchange(true, std::memory_order_acquire)) sched_yield();
    const bool larger = piece.bytes < bytes;
    if (!grow(piece, bytes)) {
      all = false;
    } else if (larger) {
      std::memset(piece.memory, 0, bytes);  // the kernel hands out its pages now
    }
    piece.busy.store(false, std::memory_order_release);
  }
  return all;
}

}  // namespace tilewright::runtime::cpu
