// SPDX-License-Identifier: Apache-2.0
// What joins threads: shuffles, barriers of warps, CTAs and clusters, and the register file. See
// machine.h.
#include "emulate/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace emu {
namespace {

// What some wrote or saw is behind a barrier for all of them.
void share(Batches& seen, const std::vector<Thread*>& threads) {
  if (seen.empty()) return;
  for (Thread* thread : threads) merge(thread->seen, seen);
  seen.clear();
}

std::vector<Thread*> lanes_of(Warp& warp) {
  return {std::begin(warp.lanes), std::end(warp.lanes)};
}

void gather(Batches& seen, Warp& warp) {
  for (Thread* lane : warp.lanes) merge(seen, taken(*lane));
}

void arrive(NamedBarrier& barrier, Warp& warp, int id, int threads, bool waits) {
  if (barrier.arrived == 0) barrier.threads = threads;
  if (barrier.threads != threads) {
    fault(fmt::format("barrier {} of {} threads, but others say {}", id, threads, barrier.threads));
  }
  barrier.arrived += warp.count;
  gather(barrier.seen, warp);
  if (waits) {
    for (Thread* lane : warp.lanes) barrier.waiting.push_back(lane);
  } else {
    wake_warp(warp);
  }
  if (barrier.arrived > threads) {
    fault(fmt::format("{} threads at barrier {}, which is of {}", barrier.arrived, id, threads));
  }
  if (barrier.arrived == threads) {
    barrier.arrived = 0;
    share(barrier.seen, barrier.waiting);
    wake_all(barrier.waiting);
  }
}

}  // namespace

u32 shuffle(u32 mask, u32 value, u32 source) {
  if (mask != 0xffffffffU) fault("a shuffle of some lanes of a warp is not emulated");
  struct Data {
    u32 value, source, got;
  } data{value, source, 0};
  meet("a shuffle", 0, &data, [](const Meeting& meeting) {
    for (void* lane : meeting.data) {
      auto* mine = static_cast<Data*>(lane);
      mine->got = static_cast<Data*>(meeting.data[mine->source & 31U])->value;
    }
    wake_warp(*self().warp);
  });
  return data.got;
}

void sync_warp() {
  meet("__syncwarp", 0, nullptr, [](const Meeting&) {
    Warp& warp = *self().warp;
    Batches seen;
    gather(seen, warp);
    share(seen, lanes_of(warp));
    wake_warp(warp);
  });
}

void sync_threads() {
  named_barrier(0, machine->grid.threads, true);
}

void named_barrier(int id, int threads, bool waits) {
  if (id < 0 || id > 15) fault(fmt::format("barrier {}: there are 16", id));
  if (threads <= 0 || threads % 32 != 0) fault(fmt::format("barrier of {} threads", threads));
  const auto key = static_cast<std::uint64_t>(id) << 16 | static_cast<std::uint64_t>(threads) << 1 |
                   (waits ? 1U : 0U);
  meet(id == 0 ? "__syncthreads" : "a named barrier", key, nullptr, [&](const Meeting&) {
    Warp& warp = *self().warp;
    arrive(warp.cta->named[id], warp, id, threads, waits);
  });
}

u32 cluster_rank() {
  return self().cta->rank;
}

void complete(Cluster& cluster) {
  cluster.arrived = 0;
  ++cluster.phase;
  cluster.shown = std::exchange(cluster.seen, {});
  for (Thread* thread : cluster.waiting) merge(thread->seen, cluster.shown);
  wake_all(cluster.waiting);
}

void cluster_arrive() {
  meet("a cluster's barrier", 0, nullptr, [](const Meeting&) {
    Warp& warp = *self().warp;
    Cluster& cluster = *warp.cta->cluster;
    for (Thread* lane : warp.lanes) {
      if (lane->cluster_phase == cluster.phase + 1) fault("a cluster's barrier, twice in a phase");
      lane->cluster_phase = cluster.phase + 1;
    }
    cluster.arrived += warp.count;
    gather(cluster.seen, warp);
    wake_warp(warp);
    if (cluster.arrived == cluster.live) complete(cluster);
  });
}

void cluster_wait() {
  meet("a cluster's barrier", 1, nullptr, [](const Meeting&) {
    Warp& warp = *self().warp;
    Cluster& cluster = *warp.cta->cluster;
    if (self().cluster_phase == 0) fault("waiting at a cluster's barrier without arriving first");
    const bool over = self().cluster_phase <= cluster.phase;
    for (Thread* lane : warp.lanes) {
      if (over) merge(lane->seen, cluster.shown);
      if (!over) cluster.waiting.push_back(lane);
    }
    if (over) wake_warp(warp);
  });
}

// setmaxnreg: a warp takes when others have given enough.
void set_registers(int count, bool takes) {
  if (count % 8 != 0 || count < 24 || count > 256) {
    fault(fmt::format("setmaxnreg {}: a multiple of 8 from 24 to 256", count));
  }
  const auto key = static_cast<std::uint64_t>(count) << 1 | (takes ? 1U : 0U);
  meet("setmaxnreg", key, nullptr, [&](const Meeting&) {
    Warp& warp = *self().warp;
    Cta& cta = *warp.cta;
    int& mine = cta.registers[static_cast<std::size_t>(warp.number)];
    const int more = (count - mine) * 32;
    if (takes ? more < 0 : more > 0) {
      fault(fmt::format("setmaxnreg.{} {} with {} registers", takes ? "inc" : "dec", count, mine));
    }
    if (takes && more > cta.registers_free) {
      for (Thread* lane : warp.lanes) cta.waits_for_registers.push_back(lane);
      return;
    }
    mine = count;
    cta.registers_free -= more;
    wake_warp(warp);
    if (takes) return;
    // In whole warps, as they came.
    auto& waiting = cta.waits_for_registers;
    wake_all(waiting);
  });
  Cta& cta = *self().cta;
  if (takes && cta.registers[static_cast<std::size_t>(self().warp->number)] != count) {
    set_registers(count, takes);  // not enough yet when it came
  }
}

}  // namespace emu
