// SPDX-License-Identifier: Apache-2.0
// See workspaces.h.
#include "runtime/cuda/workspaces.h"

namespace tilewright::runtime {
namespace {

// The legacy default stream has two names; the per-thread one is another stream on each thread.
constexpr std::uintptr_t kLegacyStream = 1, kPerThreadStream = 2;

}  // namespace

Result<std::unique_ptr<Workspaces>> Workspaces::make(const cuda::Context& context, int streams,
                                                     std::int64_t bytes) {
  const std::int64_t rounded =
      (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  std::unique_ptr<Workspaces> made(new Workspaces(static_cast<std::size_t>(streams), rounded));
  const auto each = static_cast<std::size_t>(kWorkspaceHead + rounded);
  auto memory = cuda::Buffer::allocate(context, each * static_cast<std::size_t>(streams));
  if (!memory) return tl::unexpected(memory.error());
  made->memory_ = *std::move(memory);
  const cuda::Driver& driver = context.driver();
  for (std::size_t i = 0; i < made->owners_.size(); ++i) {
    if (Status s =
            driver.check(driver.MemsetD8Async(made->memory_.address() + i * each, 0,
                                              static_cast<std::size_t>(kWorkspaceHead), nullptr),
                         "zeroing workspaces");
        !s) {
      return tl::unexpected(s.error());
    }
  }
  if (Status s = context.synchronize(); !s) return tl::unexpected(s.error());
  return made;
}

bool Workspaces::fits(std::int64_t bytes, std::int64_t zeroed) const {
  return !owners_.empty() && zeroed <= kWorkspaceHead && zeroed % kWorkspaceAlignment == 0 &&
         bytes - zeroed <= bytes_;
}

cuda::Pointer Workspaces::claim(cuda::Stream stream, std::int64_t zeroed) {
  std::uintptr_t owner = reinterpret_cast<std::uintptr_t>(stream);
  if (owner == 0) owner = kLegacyStream;
  if (owner == kPerThreadStream) return 0;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    std::uintptr_t found = owners_[i].load(std::memory_order_relaxed);
    if (found == 0 && owners_[i].compare_exchange_strong(found, owner)) found = owner;
    if (found != owner) continue;
    return memory_.address() + i * static_cast<std::size_t>(kWorkspaceHead + bytes_) +
           static_cast<std::size_t>(kWorkspaceHead - zeroed);
  }
  return 0;
}

}  // namespace tilewright::runtime
