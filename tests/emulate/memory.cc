// SPDX-License-Identifier: Apache-2.0
// Shared memory as addresses, global memory as regions, and stores that others see late. See
// machine.h.
#include "emulate/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

// An address of shared memory: the CTA's rank in its cluster, and an offset.
constexpr u32 kRankShift = 24;
constexpr u32 kOffsetMask = (1U << kRankShift) - 1;

}  // namespace

Cta& cta_of(u32 address, const char* what) {
  Cluster& cluster = *self().cta->cluster;
  const u32 rank = address >> kRankShift;
  if (rank >= cluster.ctas.size()) {
    fault(fmt::format("{}: address {:#x} is of CTA {} of a cluster of {}", what, address, rank,
                      cluster.ctas.size()));
  }
  Cta& cta = *cluster.ctas[rank];
  if (cta.live == 0) fault(fmt::format("{}: CTA {} of the cluster has left", what, rank));
  return cta;
}

unsigned char* shared_at(u32 address, int bytes, int alignment, const char* what, Cta** whose) {
  Cta& cta = cta_of(address, what);
  const u32 offset = address & kOffsetMask;
  if (offset < cta.start || offset + static_cast<u32>(bytes) > cta.end) {
    fault(fmt::format("{}: {} bytes at {:#x}, shared memory is {:#x} to {:#x}", what, bytes, offset,
                      cta.start, cta.end));
  }
  if (offset % static_cast<u32>(alignment) != 0) {
    fault(fmt::format("{}: address {:#x} is not a multiple of {}", what, offset, alignment));
  }
  if (whose != nullptr) *whose = &cta;
  return cta.memory + offset;
}

unsigned char* dynamic_shared() {
  Cta& cta = *self().cta;
  return cta.memory + cta.start;
}

u32 shared_address(const void* pointer) {
  Cta& cta = *self().cta;
  const auto* at = static_cast<const unsigned char*>(pointer);
  if (at < cta.memory + cta.start || at > cta.memory + cta.end) {
    fault("the address of something that is not in shared memory");
  }
  return cta.rank << kRankShift | static_cast<u32>(at - cta.memory);
}

void store_shared(u32 address, const void* from, int bytes) {
  std::memcpy(shared_at(address, bytes, bytes, "st.shared", nullptr), from,
              static_cast<std::size_t>(bytes));
  note_written(self(), *self().cta, address & kOffsetMask);
}

void load_shared(u32 address, void* to, int bytes) {
  pause_sometimes();
  std::memcpy(to, shared_at(address, bytes, bytes, "ld.shared", nullptr),
              static_cast<std::size_t>(bytes));
}

u32 peer_address(u32 address, u32 rank) {
  return rank << kRankShift | (address & kOffsetMask);
}

void check_global(const void* pointer, int bytes, bool write, const char* what) {
  if (bytes == 0) return;
  const auto* at = static_cast<const std::byte*>(pointer);
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes & -bytes) !=
      0) {
    fault(fmt::format("{}: {} bytes at an address that is no multiple of it", what, bytes));
  }
  for (const Region& region : machine->grid.regions) {
    if (at < region.begin || at + bytes > region.begin + region.bytes) continue;
    if (write && !region.writable) fault(fmt::format("{} writes to {}", what, region.name));
    return;
  }
  std::string near;
  for (const Region& region : machine->grid.regions) {
    near += fmt::format(" {}{:+}", region.name, at - region.begin);
  }
  fault(fmt::format("{}: {} bytes of global memory out of bounds:{}", what, bytes, near));
}

void load_global(const void* from, void* to, int bytes) {
  check_global(from, bytes, false, "a load");
  Thread& thread = self();
  // A thread sees its own stores.
  if (thread.written && !thread.written->stores.empty()) publish(thread);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void store_global(void* to, const void* from, int bytes) {
  pause_sometimes();
  check_global(to, bytes, true, "a store");
  if (!is_late()) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  Thread& thread = self();
  if (!thread.written) thread.written = std::make_shared<Batch>();
  Batch::Store store;
  store.to = static_cast<std::byte*>(to);
  store.bytes = bytes;
  std::memcpy(store.value, from, static_cast<std::size_t>(bytes));
  std::memset(to, kPoison, static_cast<std::size_t>(bytes));
  thread.written->stores.push_back(store);
}

void merge(Batches& into, const Batches& from) {
  for (const auto& batch : from) {
    if (batch->stores.empty() || std::ranges::find(into, batch) != into.end()) continue;
    into.push_back(batch);
  }
}

Batches taken(Thread& thread) {
  if (thread.written) {
    // What it writes from now on is another matter.
    if (!thread.written->stores.empty()) {
      thread.seen.push_back(thread.written);
      machine->unpublished.push_back(thread.written);
    }
    thread.written.reset();
  }
  return thread.seen;
}

void publish(Thread& thread) {
  for (const auto& batch : taken(thread)) {
    for (const Batch::Store& s : batch->stores) {
      std::memcpy(s.to, s.value, static_cast<std::size_t>(s.bytes));
    }
    batch->stores.clear();
  }
  thread.seen.clear();
}

void thread_fence() {
  pause_sometimes();
  publish(self());
}

u32 add_to_counter(u32* counter, u32 amount, bool releases) {
  pause_sometimes();
  check_global(counter, 4, true, "atom");
  if (releases) publish(self());
  const u32 before = *counter;
  *counter += amount;
  return before;
}

u32 read_counter(const u32* counter) {
  // Others run before it looks again: a look takes long.
  for (u32 turns = random_below(8); turns > 0; --turns) {
    wake(self());
    block("a look at a counter");
  }
  check_global(counter, 4, false, "ld.acquire");
  return *counter;
}

}  // namespace emu
