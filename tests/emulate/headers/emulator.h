// SPDX-License-Identifier: Apache-2.0
// What an emulated kernel calls. See machine.h.
#pragma once

struct EmulatedDim3 {
  unsigned x = 0, y = 0, z = 0;
};
// Of the thread that runs now.
extern EmulatedDim3 threadIdx, blockIdx, blockDim, gridDim;

// Everything here may let another thread run first.
namespace emu {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// ---- threads (machine.cc, collective.cc)
u32 shuffle(u32 mask, u32 value, u32 source);
void sync_threads();
void sync_warp();
void named_barrier(int id, int threads, bool waits);
u32 cluster_rank();
void cluster_arrive();
void cluster_wait();
void set_registers(int count, bool takes);
void wait_for_grids_before();

// ---- memory (memory.cc)
unsigned char* dynamic_shared();
u32 shared_address(const void* pointer);
void store_shared(u32 address, const void* from, int bytes);
void load_shared(u32 address, void* to, int bytes);  // of any CTA of the cluster
u32 peer_address(u32 address, u32 rank);
void load_global(const void* from, void* to, int bytes);
void store_global(void* to, const void* from, int bytes);  // seen by others after a fence
void thread_fence();
u32 add_to_counter(u32* counter, u32 amount, bool releases);
u32 read_counter(const u32* counter);

// ---- asynchronous units (async.cc)
void copy_async(u32 to, const void* from, int bytes, int valid);
void commit_copies();
void wait_copies(int pending);
void init_barrier(u32 barrier, int arrivals);
void fence_barrier_init();
void fence_async_proxy();
void arrive(u32 barrier, int bytes);  // announces so many
void arrive_at(u32 barrier, u32 rank);
void wait(u32 barrier, u32 parity);
void check_map(const void* map);
void load_box(u32 to, const void* map, int column, int row, int entry, u32 barrier, int mask);
void store_box(const void* map, u32 from, int column, int row, int entry);
void commit_stores();
void wait_stores(int pending);

// ---- matrices (matrix.cc)
void load_matrices(u32* r, u32 address, bool transposed);
void store_matrices(u32 address, const u32* r, bool transposed);
void mma(float* d, const u32* a, u32 b0, u32 b1, bool bf16);
void mma_f16(u32* d, const u32* a, u32 b0, u32 b1);
struct WgmmaForm {
  int columns;
  bool f16_sums, bf16, transpose_a, transpose_b;
};
void wgmma(void* d, u64 a, u64 b, bool accumulate, const WgmmaForm& form);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int pending);
float widen(u16 bits, bool bf16);
u16 narrow(float value, bool bf16);

template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace emu
