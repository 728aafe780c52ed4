// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

template <Type T>
inline u32 pack(float low, float high) {
  return emu::narrow(low, T == Type::bf16) | static_cast<u32>(emu::narrow(high, T == Type::bf16))
                                                 << 16;
}
template <Type T>
inline float widen(u16 bits) {
  return emu::widen(bits, T == Type::bf16);
}
inline u32 shared_address(const void* pointer) {
  return emu::shared_address(pointer);
}
inline bool elect_lane() {
  return lane_id() == 0;
}
inline void named_barrier(int id, int threads) {
  emu::named_barrier(id, threads, true);
}
inline void named_arrive(int id, int threads) {
  emu::named_barrier(id, threads, false);
}
inline unsigned char* dynamic_shared() {
  return emu::dynamic_shared();
}
inline void store_shared(u32 address, const u32 (&words)[4]) {
  emu::store_shared(address, words, 16);
}
inline u16 load_shared(u32 address) {
  u16 value;
  emu::load_shared(address, &value, 2);
  return value;
}
inline u32 cluster_rank() {
  return emu::cluster_rank();
}
inline void cluster_arrive() {
  emu::cluster_arrive();
}
inline void cluster_wait() {
  emu::cluster_wait();
}
inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
inline u32 peer_address(u32 address, u32 rank) {
  return emu::peer_address(address, rank);
}
inline float4 read_peer(u32 address) {
  float4 v;
  emu::load_shared(address, &v, 16);
  return v;
}
inline u32 add_to_counter(u32* counter, u32 amount) {
  return emu::add_to_counter(counter, amount, true);
}
inline u32 add_to_counter_relaxed(u32* counter, u32 amount) {
  return emu::add_to_counter(counter, amount, false);
}
inline u32 read_counter(const u32* counter) {
  return emu::read_counter(counter);
}
inline float reciprocal(float x) {
  return 1.0F / x;
}
inline float power_of_two(float x) {
  return __builtin_exp2f(x);
}
inline void let_next_grid_start() {}
inline void wait_for_grids_before() {
  emu::wait_for_grids_before();
}
inline void make_unknown(int& x) {
  asm volatile("" : "+r"(x));
}

}  // namespace tw
