// SPDX-License-Identifier: Apache-2.0
// Memory that kernels work in: one piece for each call that is under way at once, kept and only
// ever made larger, so that calls that come again allocate nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace tilewright::runtime::cpu {

class Workspaces {
 public:
  Workspaces() = default;
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // `bytes` at a multiple of 64, or nullptr if there is no memory; back in the destructor.
  class Lease {
   public:
    Lease(Workspaces& owner, std::size_t bytes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] std::byte* data() const { return data_; }

   private:
    std::atomic<bool>* busy_ = nullptr;  // of the piece; none: it is this lease's own memory
    std::byte* data_ = nullptr;
  };

  // As many pieces as there were calls at once so far, one at least, have `bytes` afterwards, each
  // touched. Waits for calls that hold one. False if there is no memory.
  [[nodiscard]] bool prepare(std::size_t bytes);

 private:
  struct alignas(64) Piece {
    std::atomic<bool> busy{false};
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kPieces = 64;  // more calls at once allocate

  [[nodiscard]] static bool grow(Piece& piece, std::size_t bytes);

  std::array<Piece, kPieces> pieces_;
  std::atomic<std::size_t> used_{0};  // pieces that were ever held: the first ones
};

}  // namespace tilewright::runtime::cpu
