// SPDX-License-Identifier: Apache-2.0
// A GPU without a GPU: runs the project's CUDA kernels on the host, to find wrong results, races,
// deadlocks and misused barriers. Read next: emulate.h, which is what a test calls.
//
// The device headers are compiled by the host's compiler as they stand, but for the wrappers of
// single instructions (headers/). Each thread is a fiber. All threads of some clusters are alive at
// once and change at every instruction that may wait, in an order drawn from a seed.
//
// What the GPU does behind a kernel's back happens here as late as it legally may, or early, by the
// seed: cp.async lands when it is waited for; a tensor copy when nobody can go on without it, and
// until then its destination is poisoned with NaN; a tensor store reads shared memory when its
// group is waited for; wgmma reads its operands and writes its sums when it is waited for, and the
// sums are NaN until then; __stcg is seen by others after a fence. So a stage released too early, a
// wait left out, a buffer filled again too soon become wrong numbers, whatever the GPU would make
// of them. Reported as faults beside that: threads that wait for each other for ever, warps that
// diverge at a collective instruction, barriers with too many arrivals or used before they are
// initialised and fenced, addresses out of bounds or misaligned, shared memory written by threads
// and read by the copy engine or wgmma without a proxy fence, CTAs that leave while others need
// them.
//
// Not seen: orders of plain loads and stores that only a weak memory model allows (what
// thread_fence models is stores that come late, not loads that come early), the proxy fence for
// shared memory that plain C++ wrote, bank conflicts, registers, time, and anything in the text of
// the PTX wrappers themselves, which only a GPU can run.
//
// Files: machine.cc threads and their order; collective.cc what joins threads; memory.cc shared and
// global memory; async.cc the copy engines and mbarriers; matrix.cc the tensor cores.
#pragma once

#include "emulate/headers/emulator.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emu {

struct Cta;
struct Cluster;
struct Thread;

// ---- what a launch is told

struct Region {  // of global memory
  std::string name;
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  bool writable = false;
};

// As the emulated kernel finds it in the 128 bytes of a tensor map.
struct Map {
  static constexpr u64 kMagic = 0x5457454d554d4150ULL;
  u64 magic = kMagic;
  std::byte* base = nullptr;
  u64 dimensions[3] = {}, strides[2] = {};
  u32 box[3] = {};
  int swizzle = 0;  // bytes
  int size = 2;     // of an element
};
static_assert(sizeof(Map) <= 128);

struct Grid {
  EmulatedDim3 ctas, cluster;
  int threads = 1;
  int shared_bytes = 0;
  std::vector<Region> regions;
  void (*entry)(void**) = nullptr;
  void** arguments = nullptr;
  std::uint64_t seed = 0;
  // What the grid before does at its end, which comes when the first thread of this one waits for
  // it: the last moment, but for those CTAs that are begun behind.
  std::function<void()> end_before = {};
};

// Runs a grid to its end. A fault is printed to stderr and ends the process with kFaultExit.
inline constexpr int kFaultExit = 86;
void run(const Grid& grid);
[[noreturn]] void fault(const std::string& what);

// ---- what is under way

struct Copy {  // cp.async
  u32 to = 0;
  const void* from = nullptr;
  int bytes = 0, valid = 0;
};
struct BoxStore {
  Map map;
  u32 from = 0;
  int column = 0, row = 0, entry = 0;
};
struct BoxLoad {
  Cta* cta = nullptr;  // whose shared memory
  Map map;
  u32 to = 0, barrier = 0;  // offsets in it
  int column = 0, row = 0, entry = 0;
  [[nodiscard]] int bytes() const;
};
// Groups of asynchronous operations: the open one is last.
template <class T>
using Groups = std::deque<std::vector<T>>;

// Stores to global memory that others do not see yet. A fence by a thread that made or saw them
// (behind a barrier) publishes them.
struct Batch {
  struct Store {
    std::byte* to = nullptr;
    unsigned char value[16] = {};
    int bytes = 0;
  };
  std::vector<Store> stores;
};
using Batches = std::vector<std::shared_ptr<Batch>>;

// Sums of a warp that wgmma owns: the threads' own are poisoned meanwhile.
struct Sums {
  void* registers[32] = {};
  WgmmaForm form = {};
  std::vector<float> values;  // 16 rows
  int last_group = 0;
};
struct Product {
  u64 a = 0, b = 0;
  bool accumulate = false;
  std::shared_ptr<Sums> sums;
  int group = 0;
};

// A point where all lanes of a warp meet. The last one acts for all.
struct Meeting {
  const char* name = nullptr;
  std::uint64_t key = 0;  // must be the same for all lanes
  u32 present = 0;
  void* data[32] = {};
};

struct Warp {
  Cta* cta = nullptr;
  int number = 0;
  Thread* lanes[32] = {};
  int count = 0;  // of lanes
  u32 priority = 0;
  Meeting meeting;
  // wgmma
  std::deque<Product> products;
  std::vector<std::shared_ptr<Sums>> sums;
  int group = 0;  // number of the open group
  std::size_t issued = 0;
  bool fenced = false;
};

struct Thread {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  EmulatedDim3 index;
  int lane = 0;
  void* stack = nullptr;
  void* pointer = nullptr;  // of the stack, while it does not run
  bool done = false;
  const char* waits_for = "";
  Groups<Copy> copies{1};
  Groups<BoxStore> stores{1};
  std::vector<u32> unfenced;  // chunks of 16 bytes of shared memory that it wrote
  std::shared_ptr<Batch> written;
  Batches seen;
  std::uint64_t cluster_phase = 0;  // after the one in which it arrived last; 0: it never did
};

struct MBarrier {
  int arrivals = 0, pending = 0;
  std::int64_t bytes = 0;
  std::uint64_t phase = 0;
  bool fenced = false;
  std::vector<Thread*> waiting;
};
struct NamedBarrier {
  int threads = 0, arrived = 0;
  std::vector<Thread*> waiting;
  Batches seen;
};

struct alignas(1024) SharedLine {
  unsigned char bytes[1024];
};
struct Cta {
  Cluster* cluster = nullptr;
  EmulatedDim3 index;
  u32 rank = 0;
  std::vector<SharedLine> lines;    // guard, dynamic shared memory, guard
  unsigned char* memory = nullptr;  // their bytes
  u32 start = 0, end = 0;           // offsets in memory, which are addresses too
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::unique_ptr<Warp>> warps;
  int live = 0;
  std::map<u32, MBarrier> barriers;
  NamedBarrier named[16];
  // Of each chunk of 16 bytes, how often threads wrote it without a proxy fence since.
  std::vector<u16> unfenced;
  // Of each warpgroup, the products so far, which its warps must agree on.
  std::map<int, std::vector<std::pair<u64, u64>>> products;
  int registers_free = 0;
  std::vector<int> registers;  // of each warp's threads
  std::vector<Thread*> waits_for_registers;
};

struct Cluster {
  std::vector<std::unique_ptr<Cta>> ctas;
  int live = 0, arrived = 0;
  std::uint64_t phase = 0;  // of its barrier
  std::vector<Thread*> waiting;
  Batches seen, shown;  // by those who arrived in this phase; in the one before
};

// ---- the machine

struct Machine {
  Grid grid;
  std::uint64_t random_state = 0;
  int late_percent = 80;  // how often what may be late is late
  int event_rate = 16;    // one step in so many completes a tensor load; 0: only if it must
  u32 shared_start = 0;
  bool by_priority = false;  // warps are favoured, others starve
  std::uint64_t steps = 0;
  Thread* running = nullptr;
  std::vector<Thread*> ready;
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<BoxLoad> loads;
  Batches unpublished;
  std::vector<void*> stacks;  // free ones
  void* scheduler = nullptr;  // its stack pointer
  bool somebody_left = false;
};
extern Machine* machine;

inline Thread& self() {
  return *machine->running;
}
u32 random_below(u32 bound);
inline bool is_late() {
  return random_below(100) < static_cast<u32>(machine->late_percent);
}
// Lets others run: until woken, or for a moment, now and then.
void block(const char* waits_for);
void wake(Thread& thread);
void wake_all(std::vector<Thread*>& threads);
void complete(Cluster& cluster);  // the phase of its barrier (collective.cc)
void pause_sometimes();
std::string where(const Thread& thread);

// Joins the lanes of the running warp: the last to come calls act(meeting) for all. Each goes on
// when somebody wakes it, itself included.
template <class Act>
void meet(const char* name, std::uint64_t key, void* data, const Act& act);
// Whether the running lane is the last.
bool join(const char* name, std::uint64_t key, void* data);
void wake_warp(Warp& warp);

// ---- memory

// Shared memory at `address` of the running thread's cluster, checked.
unsigned char* shared_at(u32 address, int bytes, int alignment, const char* what, Cta** whose);
Cta& cta_of(u32 address, const char* what);
void check_global(const void* pointer, int bytes, bool write, const char* what);
void merge(Batches& into, const Batches& from);
Batches taken(Thread& thread);  // all that it wrote or saw
void publish(Thread& thread);

// ---- asynchronous units

// Threads wrote 16 bytes or less there, which the asynchronous units may not read before a fence.
void note_written(Thread& thread, Cta& cta, u32 offset);
void check_fenced(const Cta& cta, u32 offset, int bytes, const char* what);
void complete_load(std::size_t index);
void execute_products(Warp& warp, int up_to_group);
void land_copies(Thread& thread, std::size_t pending);
void check_leaving(Thread& thread);
void check_gone(Cta& cta);

inline constexpr int kPoison = 0xff;

template <class Act>
void meet(const char* name, std::uint64_t key, void* data, const Act& act) {
  if (join(name, key, data)) {
    Warp& warp = *self().warp;
    Meeting meeting = warp.meeting;
    warp.meeting = Meeting();
    act(meeting);
  }
  block(name);
}

}  // namespace emu
