// SPDX-License-Identifier: Apache-2.0
// Threads as fibers, and the order in which they run. See machine.h.
#include "emulate/machine.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <utility>

EmulatedDim3 threadIdx, blockIdx, blockDim, gridDim;

// Changes stacks; what a function must preserve is kept on the one that is left.
extern "C" void emu_switch(void** save, void* load);
#if defined(__x86_64__)
__asm__(R"(
.text
.globl emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");
#else
#error "the emulator changes stacks by hand, which is written for x86-64"
#endif

namespace emu {

Machine* machine = nullptr;

namespace {

constexpr std::size_t kStackBytes = 64 << 10;
constexpr std::uint64_t kMostSteps = 400'000'000;
constexpr std::size_t kGuardBytes = 2048;
constexpr int kRegisterFile = 65536;

void write_error(const std::string& text) {
  const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
}

void switch_out() {
  Thread& thread = self();
  emu_switch(&thread.pointer, machine->scheduler);
}

// What each warp that cannot go on waits for, most frequent words once.
std::string who_waits() {
  std::string out;
  int lines = 0;
  for (const auto& cluster : machine->clusters) {
    for (const auto& cta : cluster->ctas) {
      for (const auto& warp : cta->warps) {
        std::map<std::string, int> waits;
        for (const Thread* lane : warp->lanes) {
          if (!lane->done) ++waits[lane->waits_for];
        }
        if (waits.empty() || ++lines > 24) continue;
        out += fmt::format("\n  CTA {},{},{} warp {}:", cta->index.x, cta->index.y, cta->index.z,
                           warp->number);
        for (const auto& [what, lanes] : waits) out += fmt::format(" {} lanes at {};", lanes, what);
      }
    }
  }
  return out;
}

void leave() {
  Thread& thread = self();
  check_leaving(thread);
  thread.done = true;
  if (thread.written) machine->unpublished.push_back(thread.written);
  Cta& cta = *thread.cta;
  machine->somebody_left = true;
  --cta.cluster->live;
  if (--cta.live == 0) check_gone(cta);
  // Barriers of those who are left may be complete now.
  Cluster& cluster = *cta.cluster;
  if (thread.cluster_phase == cluster.phase + 1) --cluster.arrived;  // it counts as one who left
  if (cluster.live > 0 && cluster.arrived == cluster.live) complete(cluster);
}

[[noreturn]] void fiber_main() {
  machine->grid.entry(machine->grid.arguments);
  leave();
  switch_out();
  fault("a thread that has left runs again");
}

void* new_stack() {
  if (!machine->stacks.empty()) {
    void* stack = machine->stacks.back();
    machine->stacks.pop_back();
    return stack;
  }
  void* stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) fault("no memory for a thread's stack");
  ::mprotect(stack, 4096, PROT_NONE);
  return stack;
}

void start(Thread& thread) {
  thread.stack = new_stack();
  auto** top = reinterpret_cast<void**>(static_cast<std::byte*>(thread.stack) + kStackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  thread.pointer = top;
  machine->ready.push_back(&thread);
}

void start(Cluster& cluster, u32 first) {
  const Grid& grid = machine->grid;
  const EmulatedDim3& g = grid.ctas;
  const EmulatedDim3& c = grid.cluster;
  const EmulatedDim3 across = {g.x / c.x, g.y / c.y, g.z / c.z};
  const EmulatedDim3 origin = {first % across.x * c.x, first / across.x % across.y * c.y,
                               first / across.x / across.y * c.z};
  for (u32 rank = 0; rank < c.x * c.y * c.z; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = &cluster;
    cta->rank = rank;
    cta->index = {origin.x + rank % c.x, origin.y + rank / c.x % c.y, origin.z + rank / c.x / c.y};
    cta->start = machine->shared_start;
    cta->end = cta->start + static_cast<u32>(grid.shared_bytes);
    cta->lines.resize((cta->end + kGuardBytes + sizeof(SharedLine) - 1) / sizeof(SharedLine));
    cta->memory = cta->lines.front().bytes;
    std::fill_n(cta->memory, cta->lines.size() * sizeof(SharedLine),
                static_cast<unsigned char>(kPoison));
    cta->unfenced.resize(cta->lines.size() * sizeof(SharedLine) / 16);
    cta->live = grid.threads;
    const int warps = grid.threads / 32;
    const int each = std::min(kRegisterFile / grid.threads / 8 * 8, 255);
    cta->registers.assign(static_cast<std::size_t>(warps), each);
    for (int w = 0; w < warps; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->cta = cta.get();
      warp->number = w;
      warp->priority = random_below(1U << 30);
      for (int lane = 0; lane < 32; ++lane) {
        auto thread = std::make_unique<Thread>();
        thread->cta = cta.get();
        thread->warp = warp.get();
        thread->index.x = static_cast<unsigned>(32 * w + lane);
        thread->lane = lane;
        warp->lanes[lane] = thread.get();
        start(*thread);
        cta->threads.push_back(std::move(thread));
      }
      warp->count = 32;
      cta->warps.push_back(std::move(warp));
    }
    cluster.live += grid.threads;
    cluster.ctas.push_back(std::move(cta));
  }
}

void finish(Cluster& cluster) {
  for (const auto& cta : cluster.ctas) {
    for (const auto& thread : cta->threads) machine->stacks.push_back(thread->stack);
  }
}

void step() {
  Machine& m = *machine;
  if (++m.steps > kMostSteps) fault("it runs for ever" + who_waits());
  if (!m.loads.empty() &&
      (m.ready.empty() ||
       (m.event_rate > 0 && random_below(static_cast<u32>(m.event_rate)) == 0))) {
    complete_load(random_below(static_cast<u32>(m.loads.size())));
    return;
  }
  if (m.ready.empty()) fault("deadlock" + who_waits());
  u32 pick = random_below(static_cast<u32>(m.ready.size()));
  if (m.by_priority) {
    for (int i = 0; i < 4; ++i) {
      const u32 other = random_below(static_cast<u32>(m.ready.size()));
      if (m.ready[other]->warp->priority > m.ready[pick]->warp->priority) pick = other;
    }
    if (random_below(256) == 0) m.ready[pick]->warp->priority = random_below(1U << 30);
  }
  Thread* thread = m.ready[pick];
  m.ready[pick] = m.ready.back();
  m.ready.pop_back();
  m.running = thread;
  threadIdx = thread->index;
  blockIdx = thread->cta->index;
  emu_switch(&m.scheduler, thread->pointer);
}

}  // namespace

u32 random_below(u32 bound) {  // xorshift64*
  std::uint64_t& x = machine->random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  return static_cast<u32>(((x * 0x2545f4914f6cdd1dULL) >> 32) * bound >> 32);
}

std::string where(const Thread& thread) {
  const EmulatedDim3& b = thread.cta->index;
  return fmt::format("thread {} of CTA {},{},{}", thread.index.x, b.x, b.y, b.z);
}

void fault(const std::string& what) {
  const bool at = machine != nullptr && machine->running != nullptr;
  write_error(at ? fmt::format("{} (by {})\n", what, where(self())) : what + "\n");
  ::_exit(kFaultExit);
}

void block(const char* waits_for) {
  self().waits_for = waits_for;
  switch_out();
  self().waits_for = "";
}

void wake(Thread& thread) {
  machine->ready.push_back(&thread);
}

void wake_all(std::vector<Thread*>& threads) {
  machine->ready.insert(machine->ready.end(), threads.begin(), threads.end());
  threads.clear();
}

void wake_warp(Warp& warp) {
  machine->ready.insert(machine->ready.end(), std::begin(warp.lanes), std::end(warp.lanes));
}

void pause_sometimes() {
  if (random_below(16) != 0) return;
  wake(self());
  block("its turn");
}

bool join(const char* name, std::uint64_t key, void* data) {
  Thread& thread = self();
  Warp& warp = *thread.warp;
  Meeting& meeting = warp.meeting;
  if (meeting.present == 0) {
    meeting.name = name;
    meeting.key = key;
  } else if (std::string_view(meeting.name) != name || meeting.key != key) {
    fault(fmt::format("warp {} diverged: some lanes are at {} ({:#x}), others at {} ({:#x})",
                      warp.number, meeting.name, meeting.key, name, key));
  }
  meeting.present |= 1U << thread.lane;
  meeting.data[thread.lane] = data;
  return meeting.present == 0xffffffffU;
}

void wait_for_grids_before() {
  pause_sometimes();
  if (machine->grid.end_before) std::exchange(machine->grid.end_before, {})();
}

void run(const Grid& grid) {
  Machine m;
  m.grid = grid;
  m.random_state = (grid.seed + 1) * 0x9e3779b97f4a7c15ULL;
  machine = &m;
  for (int i = 0; i < 8; ++i) random_below(2);
  constexpr int kRates[] = {0, 4, 64, 1000};
  m.event_rate = kRates[grid.seed % 4];
  m.by_priority = grid.seed % 3 != 0;
  m.late_percent = grid.seed % 5 == 4 ? 20 : 85;
  // Somewhere, the same in all CTAs: only 128 bytes of alignment are promised.
  m.shared_start = static_cast<u32>(kGuardBytes) + 128 * random_below(8);
  gridDim = grid.ctas;
  blockDim = {static_cast<unsigned>(grid.threads), 1, 1};
  const EmulatedDim3& c = grid.cluster;
  const u32 ctas = grid.ctas.x * grid.ctas.y * grid.ctas.z, per_cluster = c.x * c.y * c.z;
  if (grid.ctas.x % c.x != 0 || grid.ctas.y % c.y != 0 || grid.ctas.z % c.z != 0) {
    fault("the grid is no multiple of the cluster");
  }
  if (grid.threads % 32 != 0) fault("threads are no whole warps");
  std::vector<u32> order(ctas / per_cluster);
  std::iota(order.begin(), order.end(), 0U);
  if (grid.seed % 2 == 1) {
    for (u32 i = 1; i < order.size(); ++i) std::swap(order[i], order[random_below(i + 1)]);
  }
  const u32 threads = static_cast<u32>(grid.threads) * per_cluster;
  // Clusters that are alive at once: some, or one alone, which must not need another.
  const u32 crowd = random_below(4);
  const std::size_t together = crowd == 3 ? 1U : std::max(1U, 4096 / threads >> crowd);
  std::size_t next = 0;
  while (next < order.size() || !m.clusters.empty()) {
    while (next < order.size() && m.clusters.size() < together) {
      m.clusters.push_back(std::make_unique<Cluster>());
      start(*m.clusters.back(), order[next++]);
    }
    step();
    m.running = nullptr;
    if (!m.somebody_left) continue;
    m.somebody_left = false;
    std::erase_if(m.clusters, [](const auto& cluster) {
      if (cluster->live > 0) return false;
      finish(*cluster);
      return true;
    });
  }
  for (const auto& batch : m.unpublished) {
    for (const Batch::Store& s : batch->stores)
      std::copy_n(s.value, s.bytes, reinterpret_cast<unsigned char*>(s.to));
  }
  machine = nullptr;
}

}  // namespace emu
