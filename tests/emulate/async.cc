// SPDX-License-Identifier: Apache-2.0
// What the copy engines do while threads go on: cp.async, tensor copies, mbarriers. See machine.h.
#include "emulate/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

constexpr u32 kOffsetMask = (1U << 24) - 1;
constexpr int kSmallest = 16;  // bytes that a tensor store clips to

// Where 16 bytes at `offset` of shared memory lie in a swizzled box: bits of the address are
// exchanged by those of the row (PTX ISA, "Swizzling modes").
u32 swizzled(u32 offset, int swizzle) {
  const u32 rows = swizzle == 128 ? 7U : swizzle == 64 ? 3U : swizzle == 32 ? 1U : 0U;
  return offset ^ (offset >> 7 & rows) << 4;
}

const Map& map_at(const void* pointer) {
  const auto& map = *static_cast<const Map*>(pointer);
  if (reinterpret_cast<std::uintptr_t>(pointer) % 64 != 0 || map.magic != Map::kMagic) {
    fault("a tensor map that is none");
  }
  return map;
}

MBarrier& barrier_at(Cta& cta, u32 address, const char* what) {
  const auto found = cta.barriers.find(address & kOffsetMask);
  if (found == cta.barriers.end()) fault(fmt::format("{} at a barrier that is not there", what));
  return found->second;
}

void settle(MBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.arrivals;
  ++barrier.phase;
  wake_all(barrier.waiting);
}

void arrive_once(MBarrier& barrier) {
  if (--barrier.pending < 0) {
    fault(fmt::format("more than {} arrivals in a phase of a barrier", barrier.arrivals));
  }
  settle(barrier);
}

// Shared memory that the copy engine uses must hold no barrier.
void check_no_barrier(const Cta& cta, u32 offset, int bytes) {
  const auto next = cta.barriers.lower_bound(offset < 8 ? 0 : offset - 7);
  if (next != cta.barriers.end() && next->first < offset + static_cast<u32>(bytes)) {
    fault("a tensor copy over a barrier");
  }
}

void land(Thread& thread, const Copy& copy) {
  unsigned char* to = shared_at(copy.to, copy.bytes, copy.bytes, "cp.async", nullptr);
  std::memset(to, 0, static_cast<std::size_t>(copy.bytes));
  std::memcpy(to, copy.from, static_cast<std::size_t>(copy.valid));
  note_written(thread, *thread.cta, copy.to & kOffsetMask);
}

// Calls visit(offset in the box, row, first column) for each 16 bytes of a box.
template <class Visit>
void each_chunk(const Map& map, const Visit& visit) {
  const int row_bytes = static_cast<int>(map.box[0]) * map.size;
  for (int row = 0; row < static_cast<int>(map.box[1]); ++row) {
    for (int at = 0; at < row_bytes; at += kSmallest) {
      visit(static_cast<u32>(row * row_bytes + at), row, at / map.size);
    }
  }
}

// The element, if there is one. Columns that tensor stores round up to exist for them.
std::byte* element(const Map& map, int column, int row, int entry) {
  if (column < 0 || row < 0 || entry < 0 || static_cast<u64>(column) >= map.dimensions[0] ||
      static_cast<u64>(row) >= map.dimensions[1] || static_cast<u64>(entry) >= map.dimensions[2]) {
    return nullptr;
  }
  return map.base + static_cast<u64>(column) * static_cast<u64>(map.size) +
         static_cast<u64>(row) * map.strides[0] + static_cast<u64>(entry) * map.strides[1];
}

void write_box(const BoxStore& store, const Cta& cta) {
  const u32 from = store.from & kOffsetMask;
  each_chunk(store.map, [&](u32 at, int row, int column) {
    std::byte* to = element(store.map, store.column + column, store.row + row, store.entry);
    if (to == nullptr) return;
    check_global(to, kSmallest, true, "a tensor store");
    std::memcpy(to, cta.memory + swizzled(from + at, store.map.swizzle), kSmallest);
  });
}

void check_box(const Map& map, u32 address) {
  const int row_bytes = static_cast<int>(map.box[0]) * map.size;
  if (map.swizzle != 0 && row_bytes != map.swizzle) {
    fault("boxes narrower than their swizzle are not emulated");
  }
  if (address % 128 != 0) fault("a box at an address that is no multiple of 128");
}

}  // namespace

int BoxLoad::bytes() const {
  return static_cast<int>(map.box[0] * map.box[1] * map.box[2]) * map.size;
}

// ---- cp.async

void copy_async(u32 to, const void* from, int bytes, int valid) {
  pause_sometimes();
  if (valid < 0 || valid > bytes) fault(fmt::format("cp.async of {} of {} bytes", valid, bytes));
  if (reinterpret_cast<std::uintptr_t>(from) % static_cast<std::uintptr_t>(bytes) != 0) {
    fault(fmt::format("cp.async of {} bytes from an address that is no multiple of it", bytes));
  }
  check_global(from, valid & ~1, false, "cp.async");
  unsigned char* target = shared_at(to, bytes, bytes, "cp.async", nullptr);
  std::memset(target, kPoison, static_cast<std::size_t>(bytes));
  const Copy copy{to, from, bytes, valid};
  if (is_late()) {
    self().copies.back().push_back(copy);
  } else {
    land(self(), copy);
  }
}

void commit_copies() {
  self().copies.emplace_back();
}

void land_copies(Thread& thread, std::size_t pending) {
  while (thread.copies.size() > pending + 1) {  // the open group is not waited for
    for (const Copy& copy : thread.copies.front()) land(thread, copy);
    thread.copies.pop_front();
  }
}

void wait_copies(int pending) {
  pause_sometimes();
  land_copies(self(), static_cast<std::size_t>(pending));
}

// ---- mbarriers

void init_barrier(u32 address, int arrivals) {
  Cta* cta = nullptr;
  shared_at(address, 8, 8, "mbarrier.init", &cta);
  if (arrivals < 1) fault(fmt::format("a barrier of {} arrivals", arrivals));
  const auto [at, fresh] = cta->barriers.try_emplace(address & kOffsetMask);
  if (!fresh) fault("a barrier is initialised again");
  at->second.arrivals = at->second.pending = arrivals;
}

void fence_barrier_init() {
  for (auto& [address, barrier] : self().cta->barriers) barrier.fenced = true;
}

void arrive(u32 address, int bytes) {
  pause_sometimes();
  MBarrier& barrier = barrier_at(*self().cta, address, "an arrival");
  barrier.bytes += bytes;
  arrive_once(barrier);
}

void arrive_at(u32 address, u32 rank) {
  pause_sometimes();
  Cta& cta = cta_of(peer_address(address, rank), "an arrival");
  MBarrier& barrier = barrier_at(cta, address, "an arrival from a peer");
  if (!barrier.fenced) fault("an arrival from a peer at a barrier before its fence");
  arrive_once(barrier);
}

void wait(u32 address, u32 parity) {
  pause_sometimes();
  for (;;) {
    MBarrier& barrier = barrier_at(*self().cta, address, "waiting");
    if ((barrier.phase & 1U) != parity) return;
    barrier.waiting.push_back(&self());
    block("an mbarrier");
  }
}

// ---- tensor copies

void check_map(const void* map) {
  static_cast<void>(map_at(map));
}

void load_box(u32 to, const void* pointer, int column, int row, int entry, u32 barrier, int mask) {
  pause_sometimes();
  const Map& map = map_at(pointer);
  Cluster& cluster = *self().cta->cluster;
  if (mask < 0) mask = 1 << self().cta->rank;
  if (mask == 0 || mask >> cluster.ctas.size() != 0) {
    fault(fmt::format("multicast to {:#x} of {} CTAs", mask, cluster.ctas.size()));
  }
  for (u32 rank = 0; rank < cluster.ctas.size(); ++rank) {
    if ((mask >> rank & 1) == 0) continue;
    BoxLoad load;
    load.map = map;
    load.to = to & kOffsetMask;
    load.barrier = barrier & kOffsetMask;
    load.column = column;
    load.row = row;
    load.entry = entry;
    const int bytes = load.bytes();
    unsigned char* target =
        shared_at(peer_address(to, rank), bytes, 128, "a tensor load", &load.cta);
    check_box(map, load.to);
    if (!barrier_at(*load.cta, barrier, "a tensor load").fenced) {
      fault("a tensor load whose barrier is not fenced yet");
    }
    check_no_barrier(*load.cta, load.to, bytes);
    for (const BoxLoad& other : machine->loads) {
      if (other.cta == load.cta && other.to < load.to + static_cast<u32>(bytes) &&
          load.to < other.to + static_cast<u32>(other.bytes())) {
        fault("two tensor loads to the same place are under way");
      }
    }
    std::memset(target, kPoison, static_cast<std::size_t>(bytes));
    machine->loads.push_back(load);
  }
}

void complete_load(std::size_t index) {
  const BoxLoad load = machine->loads[index];
  machine->loads[index] = machine->loads.back();
  machine->loads.pop_back();
  each_chunk(load.map, [&](u32 at, int row, int column) {
    unsigned char* to = load.cta->memory + swizzled(load.to + at, load.map.swizzle);
    std::memset(to, 0, kSmallest);
    for (int i = 0; i < kSmallest / load.map.size; ++i) {
      const std::byte* from =
          element(load.map, load.column + column + i, load.row + row, load.entry);
      if (from != nullptr) {
        std::memcpy(to + i * load.map.size, from, static_cast<std::size_t>(load.map.size));
      }
    }
  });
  MBarrier& barrier = load.cta->barriers.at(load.barrier);
  barrier.bytes -= load.bytes();
  settle(barrier);
}

void note_written(Thread& thread, Cta& cta, u32 offset) {
  thread.unfenced.push_back(offset / 16);
  ++cta.unfenced[offset / 16];
}

void check_fenced(const Cta& cta, u32 offset, int bytes, const char* what) {
  for (u32 chunk = offset / 16; chunk < (offset + static_cast<u32>(bytes) + 15) / 16; ++chunk) {
    if (cta.unfenced[chunk] != 0) {
      fault(fmt::format("{} of what threads wrote without a proxy fence", what));
    }
  }
}

void fence_async_proxy() {
  Thread& thread = self();
  for (const u32 chunk : thread.unfenced) --thread.cta->unfenced[chunk];
  thread.unfenced.clear();
}

void store_box(const void* pointer, u32 from, int column, int row, int entry) {
  pause_sometimes();
  BoxStore store;
  store.map = map_at(pointer);
  store.from = from;
  store.column = column;
  store.row = row;
  store.entry = entry;
  const int bytes = static_cast<int>(store.map.box[0] * store.map.box[1]) * store.map.size;
  Cta* cta = nullptr;
  shared_at(from, bytes, 128, "a tensor store", &cta);
  check_box(store.map, from & kOffsetMask);
  check_fenced(*cta, from & kOffsetMask, bytes, "a tensor store");
  if (is_late()) {
    self().stores.back().push_back(store);
  } else {
    write_box(store, *cta);
  }
}

void commit_stores() {
  self().stores.emplace_back();
}

void wait_stores(int pending) {
  pause_sometimes();
  Thread& thread = self();
  while (thread.stores.size() > static_cast<std::size_t>(pending) + 1) {
    for (const BoxStore& store : thread.stores.front()) write_box(store, *thread.cta);
    thread.stores.pop_front();
  }
}

// ---- the end

void check_leaving(Thread& thread) {
  for (const auto& group : thread.copies) {
    if (!group.empty()) fault("a thread leaves while its copies are under way");
  }
  for (const auto& group : thread.stores) {
    if (!group.empty()) fault("a thread leaves while its tensor stores are under way");
  }
  if (!thread.warp->sums.empty()) fault("a thread leaves while wgmma is under way");
}

void check_gone(Cta& cta) {
  for (const BoxLoad& load : machine->loads) {
    if (load.cta == &cta) fault("a CTA leaves while a tensor load to it is under way");
  }
  for (u32 i = 0; i < cta.lines.size() * sizeof(SharedLine); ++i) {
    if (i >= cta.start && i < cta.end) continue;
    if (cta.memory[i] != kPoison) fault("something was written outside of shared memory");
  }
  std::memset(cta.memory, kPoison, cta.lines.size() * sizeof(SharedLine));
}

}  // namespace emu
