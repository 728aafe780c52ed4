// SPDX-License-Identifier: Apache-2.0
// The kernel of the family sm90: the copy engine fills a ring of stages, mbarriers say which are
// full and which are free, warpgroups multiply with wgmma.
//
// Schedules. single: one warpgroup, whose first thread also feeds the ring. cooperative: a producer
// warp, and warpgroups that share a tile by rows. pingpong: a producer warp, and two warpgroups
// that take tiles by turns, so that one stores while the other multiplies. Where accumulators are
// few, the producer is one warp; else a warpgroup, three quarters of it idle, that gives its
// registers to the others (setmaxnreg, PTX ISA 9.7.19.5). A register file serves every fourth warp,
// so one warp more than a multiple of four costs the others as much as four. gather: cooperative,
// with a producer warpgroup that copies what no tensor map describes (sm90_gather_producer.cuh);
// the other schedules read copies of such operands, which another kernel made before (repack.cuh).
// swapped: cooperative, of C^T = B^T A^T: A here is the caller's B, and only what stores knows.
//
// Clusters. cluster_m CTAs share B, cluster_n share A: each loads a part and multicasts it. A stage
// is free once the consumers of all CTAs that a part goes to have released it. Or the CTAs of a
// cluster share K (split_k.cuh), or all CTAs share what fills no wave (stream_k.cuh).
#pragma once

#include "generate/cuda/device/barrier.cuh"
#include "generate/cuda/device/chain.cuh"
#include "generate/cuda/device/sm90_config.cuh"
#include "generate/cuda/device/sm90_gather_producer.cuh"
#include "generate/cuda/device/sm90_overlap.cuh"
#include "generate/cuda/device/sm90_plan.cuh"

namespace tw {

// Wgmma: the instruction for tile_n columns: Wgmma::issue(sums, a, b, accumulate).
template <Sm90Config C, class Wgmma>
struct Sm90Gemm {
  // A function: a constant would be state of the kernel (compile/inspect.h, writable-state).
  __device__ static constexpr Sm90Config config() { return C; }
  enum : int {
    kDeferred = C.epilogue == Epilogue::deferred,
    kOverlapped = C.epilogue == Epilogue::overlapped,
    kSpecialised = C.schedule != Schedule::single,
    kPingpong = C.schedule == Schedule::pingpong,
    kHolders = 128 * C.consumers,
    kBlocks = C.tile_m / 64 / (kPingpong ? 1 : C.consumers),  // m64 blocks of a warpgroup
    kColumns = C.tile_n / 8,
    kPieces = kBlocks * kColumns,
    // Registers for sums, and for a tile that waits.
    kHeld = (kOverlapped ? 8 : kDeferred ? 6 : 4) * kPieces,
    kDonates = kSpecialised && kHeld > (C.consumers == 3   ? 64
                                        : C.consumers == 2 ? 104
                                                           : 192),
    kGathers = C.schedule == Schedule::gather,
    kThreads = kHolders + (kDonates || kGathers ? 128
                           : kSpecialised       ? 32
                                                : 0),
    kSteps = C.tile_k / 16,
    kMulticast = Sm90Tiles<C>::kMulticast,
    kClusterSplit = Sm90Tiles<C>::kClusterSplit,
    // Stages that are filled before everybody is told: one warpgroup does nothing else meanwhile,
    // and clusters must meet.
    kFirst = kMulticast > 1 || !kSpecialised ? C.stages : min_of(C.stages, 2),
    // Warps that release a stage, in this CTA and in those that it sends to or receives from.
    kReleases = 4 * (kPingpong ? 1 : C.consumers) * (C.cluster_m + C.cluster_n - 1),
  };
  using A = BoxedOperand<C.tile_m, C.tile_k, C.a_along_k, C.cluster_n>;
  using B = BoxedOperand<C.tile_n, C.tile_k, C.b_along_k, C.cluster_m>;
  enum : int { kStageBytes = A::kBytes + B::kBytes, kRingBytes = C.stages * kStageBytes };
  enum : int {
    kBoxedBytes = (C.gather_a ? 0 : A::kBytes) + (C.gather_b ? 0 : B::kBytes),
    // A stage is full when every thread of a gathering warpgroup has said so, and the engine.
    kFills = kGathers ? 128 + (kBoxedBytes > 0 ? 1 : 0) : 1,
    kAsync = (C.gather_a && C.vector_a > 1) || (C.gather_b && C.vector_b > 1),
    // Stages whose cp.async are under way. The consumers hold one stage, and one must be filled.
    kLag = kAsync ? max_of(min_of(C.stages - 2, 3), 0) : 0,
    kGatherBatch = C.gather_a && C.gather_b ? 4 : 8,
    kGiven = kGathers           ? (C.consumers == 3 ? 56 : 88)
             : C.consumers == 3 ? 32
                                : 24,
    kTaken = kGathers           ? (C.consumers == 3 ? 152 : 208)
             : C.consumers == 3 ? 160
                                : 240,
  };
  using Arguments = Sm90Arguments<C.served, kGathers>;
  using Stores = TileStores<C.epilogue, C.out, C.scaled, C.vector_c, kBlocks, kColumns, C.served,
                            C.swapped>;
  using Sums = float[kBlocks][kColumns][4];
  static_assert(kBlocks >= 1 && C.tile_m % 64 == 0 && C.tile_k % 64 == 0);
  static_assert(kClusterSplit == 1 || kMulticast == 1);
  static_assert(!kGathers || kMulticast == 1);

  struct Shared {
    u32 ring, full, empty, stores, flag;
    unsigned char* base;
  };
  using Tiles = Sm90Tiles<C>;
  using Plan = typename Tiles::Plan;
  using Work = typename Tiles::Work;
  using Place = RingPlace<C.stages>;
  __device__ __forceinline__ static Work work(const Plan& p, int index) {
    return Tiles::work(p, index);
  }

  // What is to be loaded: what no peer gets or sends a part of, what is multicast, or both.
  enum class Loads { own, multicast, all };

  // Fills stage `stage` with tile `k` of K.
  template <Loads kLoads = Loads::all>
  __device__ __forceinline__ static void feed(const Arguments& arg, const Shared& shared,
                                              const Plan& p, const Work& w, int stage, int k) {
    constexpr bool kLoadsA = kLoads == Loads::all || (C.cluster_n == 1) == (kLoads == Loads::own);
    constexpr bool kLoadsB = kLoads == Loads::all || (C.cluster_m == 1) == (kLoads == Loads::own);
    const u32 full = shared.full + 8 * stage;
    const u32 to = shared.ring + stage * kStageBytes;
    if constexpr (kLoads != Loads::multicast) arrive_expecting(full, kStageBytes);
    const u16 along_n = static_cast<u16>(Tiles::column_mask() << p.part_m);
    const u16 along_m = static_cast<u16>(((1 << C.cluster_m) - 1) << (p.part_n * C.cluster_m));
    const int entry_a = C.packed_a ? w.entry * static_cast<int>(arg.sizes.sa) : w.entry;
    const int entry_b = C.packed_b ? w.entry * static_cast<int>(arg.sizes.sb) : w.entry;
    if constexpr (kLoadsA) {
      load_operand<A, kSpecialised>(p.streams_a, to, arg.map_a, w.row0, k * C.tile_k, entry_a, full,
                                    p.part_n, along_n);
    }
    if constexpr (kLoadsB) {
      load_operand<B, kSpecialised>(p.streams_b, to + A::kBytes, arg.map_b, w.column0, k * C.tile_k,
                                    entry_b, full, p.part_m, along_m);
    }
  }
  // All lanes of a warp call it; one arrives for the warp, in every CTA that fills this stage here.
  __device__ __forceinline__ static void release(const Shared& shared, const Plan& p, int stage) {
    const u32 empty = shared.empty + 8 * stage;
    const int lane = lane_id();
    if constexpr (kMulticast == 1) {
      if (lane == 0) arrive(empty);
    } else {
      const bool peer =
          lane < kMulticast && (lane % C.cluster_m == p.part_m || lane / C.cluster_m == p.part_n);
      if (peer) arrive_at(empty, static_cast<u32>(lane));
    }
  }
  __device__ __forceinline__ static void wait_empty(const Shared& shared, const Place& at) {
    wait(shared.empty + 8 * at.stage, at.pass ^ 1U);
  }

  // Waits for stage `at` and issues its products by one warpgroup, as a group; `accumulate`: onto
  // the sums that are there.
  template <class Accumulators>
  __device__ __forceinline__ static void issue(Accumulators& sums, const Shared& shared,
                                               int first_block, const Place& at, bool accumulate) {
    const u64 first_a = A::describe(shared.ring) + A::advance(first_block, 0);
    const u64 first_b = B::describe(shared.ring + A::kBytes);
    wait(shared.full + 8 * at.stage, at.pass);
    // A descriptor counts 16 bytes, and no stage lies beyond what its address field holds.
    const u64 a = first_a + static_cast<u32>(at.stage * (kStageBytes / 16));
    const u64 b = first_b + static_cast<u32>(at.stage * (kStageBytes / 16));
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        Wgmma::issue(sums[block], a + A::advance(block, step), b + B::advance(0, step),
                     accumulate || step > 0);
      }
    }
    wgmma_commit();
  }

  // The products of `count` stages by one warpgroup, from stage `at` on, which moves on.
  // during(k, before) runs while the products of k are under way and the stage before it, `before`,
  // is released; issued() when all are under way.
  template <class Accumulators, class During, class Issued>
  __device__ __forceinline__ static void multiply(Accumulators& sums, const Shared& shared,
                                                  const Plan& p, int count, int first_block,
                                                  Place& at, const During& during,
                                                  const Issued& issued) {
    Place before = at;
    for (int k = 0; k < count; ++k) {
      issue(sums, shared, first_block, at, k > 0);
      if constexpr (C.in_flight == 0) {
        during(k, before);
        wgmma_wait<0>();
        release(shared, p, at.stage);
      } else {
        wgmma_wait<1>();
        if (k > 0) release(shared, p, before.stage);
        during(k, before);
      }
      before = at;
      at.next();
    }
    issued();
    wgmma_wait<0>();
    if (C.in_flight > 0) release(shared, p, before.stage);
  }

  // multiply() as the schedule has it.
  template <class Accumulators, class During>
  __device__ __forceinline__ static void multiply(Accumulators& sums, const Arguments& arg,
                                                  const Shared& shared, const Plan& p,
                                                  const Work& w, int group, Place& at,
                                                  const During& during) {
    if constexpr (kPingpong) {
      // One warpgroup issues at a time; the other's first products queue behind its last ones.
      named_barrier(2 + group, 256);
      multiply(sums, shared, p, w.k.count, 0, at, during,
               [group] { named_arrive(3 - group, 256); });
    } else if constexpr (kSpecialised) {
      multiply(sums, shared, p, w.k.count, group * kBlocks, at, during, [] {});
    } else {
      const auto refill = [&](int k, Place before) {
        // The stage before is free: the tile `stages` further may come.
        const int next = k - 1 + C.stages;
        const int warp = warp_id();
        if (elect_lane() && warp == 0 && k > 0 && next < w.k.count) {
          wait_empty(shared, {before.stage, before.pass ^ 1U});
          feed(arg, shared, p, w, before.stage, w.k.first + next);
        }
        __syncwarp();
      };
      multiply(sums, shared, p, w.k.count, 0, at, refill, [] {});
    }
  }

  // Behind a wait: no sum is read before it.
  __device__ __forceinline__ static void keep_all(Sums& sums) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) keep(sums[b][j][e]);
      }
    }
  }

  // The sums of a tile in f32.
  template <class During>
  __device__ __forceinline__ static void accumulate(Sums& sums, const Arguments& arg,
                                                    const Shared& shared, const Plan& p,
                                                    const Work& w, int group, Place& at,
                                                    const During& during) {
    if constexpr (C.f16_sums) {
      u32 half_sums[kBlocks][kColumns][2];
      multiply(half_sums, arg, shared, p, w, group, at, during);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          keep(half_sums[b][j][0]);
          keep(half_sums[b][j][1]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            sums[b][j][e] =
                widen<Type::f16>(static_cast<u16>(half_sums[b][j][e / 2] >> (16 * (e % 2))));
          }
        }
      }
    } else {
      multiply(sums, arg, shared, p, w, group, at, during);
      keep_all(sums);
    }
  }

  // Nothing more is waited for from the peers, and they may leave once all have said so: before the
  // last tile is stored, so that nobody waits for that.
  __device__ __forceinline__ static void tell_peers() {
    if constexpr (kMulticast > 1) cluster_arrive();
  }

  // Tile `index`, or a slice of one.
  __device__ __forceinline__ static void consume(const Arguments& arg, const Shared& shared,
                                                 const Plan& p, int index, int group, Place& at,
                                                 bool last) {
    const Work w = work(p, index);
    Sums sums;
    accumulate(sums, arg, shared, p, w, group, at, [](int, Place) {});
    if (last) tell_peers();
    if (C.stream && !complete(arg, shared, p, index, group, sums)) return;
    finish(arg, shared, w, group, sums);
  }
  // Whether this warpgroup is to store what it summed: a tile, or a tile's last slice and all that
  // others have summed of it.
  __device__ __forceinline__ static bool complete(const Arguments& arg, const Shared& shared,
                                                  const Plan& p, int index, int group, Sums& sums) {
    if (index < p.whole) return true;
    const auto [tile, slice] = Tiles::slice(p, index);
    const int part = tile * kMulticast + p.part_n * C.cluster_m + p.part_m;
    const int thread = static_cast<int>(threadIdx.x);
    return add_slices<kPieces>(
        *reinterpret_cast<float(*)[kPieces][4]>(&sums),
        arg.workspace.partial(part, kPieces, kHolders, p.cuts) + thread, kPieces * kHolders,
        kHolders, slice, p.cuts, arg.workspace.counter(part * C.consumers + group),
        reinterpret_cast<volatile u32*>(shared.base + (shared.flag - shared.ring)) + group,
        thread % 128 == 0, [group] { named_barrier(4 + group, 128); });
  }

  __device__ __forceinline__ static typename Stores::Out output(const Arguments& arg,
                                                                const Work& w) {
    unsigned char* c =
        static_cast<unsigned char*>(arg.c) + w.entry * arg.sizes.sc * bytes_of(C.out);
    const Sizes& s = arg.sizes;
    const int rows = C.swapped ? s.n : s.m, columns = C.swapped ? s.m : s.n;
    return {c, s.ldc, rows, columns, arg.alpha, arg.beta, arg.served, exceeds_l2(s.m, s.n)};
  }
  __device__ __forceinline__ static typename Stores::Place place(const Shared& shared,
                                                                 const Work& w, int group) {
    const int first_block = kPingpong ? 0 : group * kBlocks;
    return {w.row0 + 64 * first_block, w.column0, w.entry, shared.stores + group * Stores::kBytes,
            4 + group};
  }
  __device__ __forceinline__ static void finish(const Arguments& arg, const Shared& shared,
                                                const Work& w, int group, Sums& sums) {
    const typename Stores::Out out = output(arg, w);
    const typename Stores::Place to = place(shared, w, group);
    if constexpr (C.split == 1) {
      Stores::all(out, arg.map_c, to, sums);
    } else {
      const auto& pieces = *reinterpret_cast<const float(*)[kPieces][4]>(&sums);
      const int thread = static_cast<int>(threadIdx.x);
      const auto store = [&](int unit, const float(&some)[Stores::kWide][4]) {
        Stores::unit(out, to.row0, w.column0, unit, some);
      };
      if constexpr (C.reduce == Reduce::cluster) {
        // The ring becomes the buffer: all warpgroups have read it.
        named_barrier(1, kHolders);
        reduce_in_cluster<kPieces, Stores::kWide, C.split>(
            pieces, reinterpret_cast<float4*>(shared.base), thread, kHolders, true, store);
      } else {
        const i64 index = blockIdx.x;
        const int slice = static_cast<int>(blockIdx.y);
        float4* partial = arg.workspace.partial(index, kPieces, kHolders, C.split);
        if constexpr (C.reduce == Reduce::spread) {
          reduce_spread<kPieces, Stores::kWide, C.split, (kPieces < 16 ? 16 : 12)>(
              pieces, partial, arg.workspace.counter(index * (kHolders / 32)), slice, thread,
              kHolders, store);
        } else {
          reduce_through_workspace<kPieces, Stores::kWide, C.split>(
              pieces, partial, arg.workspace.counter(index),
              reinterpret_cast<u32*>(shared.base + (shared.flag - shared.ring)), slice, thread,
              kHolders, [] { named_barrier(1, kHolders); }, store);
        }
      }
    }
  }

  __device__ __forceinline__ static void run(const Arguments& given) {
    unsigned char* const raw = dynamic_shared();
    Arguments arg = given;
    if constexpr (C.static_m > 0) {
      arg.sizes.m = C.static_m;
      arg.sizes.n = C.static_n;
      arg.sizes.k = C.static_k;
    }
    // The widest swizzle repeats every 1024 bytes.
    const u32 start = shared_address(raw);
    Shared shared;
    shared.ring = (start + 1023U) & ~1023U;
    shared.base = raw + (shared.ring - start);
    shared.stores = shared.ring + kRingBytes;
    shared.full = shared.stores + C.consumers * Stores::kBytes;
    shared.empty = shared.full + 8 * C.stages;
    shared.flag = shared.empty + 8 * C.stages;
    const int depth = C.scaled && arg.alpha == 0.0F ? 0 : arg.sizes.k;
    const Plan p = Tiles::plan(arg.sizes, arg.batch, depth);
    const int warp = warp_id();
    const bool feeds = elect_lane() && warp == (kSpecialised ? 4 * C.consumers : 0);
    int fed = 0;  // tiles of K under way before everybody is told
    if (feeds) {
      begin_chained();
      if constexpr (!C.gather_a) prefetch_map(arg.map_a);
      if constexpr (!C.gather_b) prefetch_map(arg.map_b);
      for (int i = 0; i < C.stages; ++i) {
        init_barrier(shared.full + 8 * i, kFills);
        init_barrier(shared.empty + 8 * i, kReleases);
      }
      fence_barrier_init();
      wait_chained();  // the others wait for this thread
      if (!kGathers && p.first < p.total) {
        const Work w = work(p, p.first);
        for (; fed < min(kFirst, w.k.count); ++fed) {
          feed<kMulticast == 1 ? Loads::all : Loads::own>(arg, shared, p, w, fed, w.k.first + fed);
        }
      }
      if constexpr (Stores::kTma) prefetch_map(arg.map_c);
    }
    if constexpr (kMulticast > 1) {
      __syncwarp();
      cluster_sync();
      for (int i = 0; feeds && i < fed; ++i) {  // nothing may come before all expect it
        feed<Loads::multicast>(arg, shared, p, work(p, p.first), i, p.first_k + i);
      }
    } else {
      __syncthreads();
    }

    if (!kSpecialised) {
      Place at{0, 0};
      if (p.first < p.total) consume(arg, shared, p, p.first, 0, at, true);
      Stores::drain();
      return;
    }
    bool told = false;  // the peers, that this warp needs nothing more of them
    if (warp >= 4 * C.consumers) {
      if constexpr (kDonates) give_registers<kGiven>();
      if constexpr (kGathers) {
        gather_stages<Sm90Gemm>(arg, shared, p, depth);
      } else if (feeds) {
        Place at{0, 0};
        at.skip(fed);
        int k = fed;
        for (int index = p.first; index < p.total; index += p.step) {
          const Work w = work(p, index);
          for (; k < w.k.count; ++k, at.next()) {
            wait_empty(shared, at);
            feed(arg, shared, p, w, at.stage, w.k.first + k);
          }
          k = 0;
        }
      }
      __syncwarp();
      if constexpr (kClusterSplit > 1) {  // the two of reduce_in_cluster
        cluster_sync();
        cluster_sync();
      }
    } else {
      if constexpr (kDonates) take_registers<kTaken>();
      const int group = warp / 4;
      if constexpr (kPingpong) {
        if (group == 1) named_arrive(2, 256);
        Place at{0, 0};
        if (group == 1) at.skip_any(p.count_k);
        for (int index = p.first + group * p.step; index < p.total; index += 2 * p.step) {
          told = index + 2 * p.step >= p.total;
          consume(arg, shared, p, index, group, at, told);
          at.skip_any(p.count_k);
        }
      } else if constexpr (kDeferred || kOverlapped) {
        told = p.first < p.total;
        if constexpr (kDeferred) {
          Sm90Overlap<Sm90Gemm>::deferred(arg, shared, p, group);
        } else {
          Sm90Overlap<Sm90Gemm>::overlapped(arg, shared, p, group);
        }
      } else {
        Place at{0, 0};
        for (int index = p.first; index < p.total; index += p.step) {
          told = index + p.step >= p.total;
          consume(arg, shared, p, index, group, at, told);
        }
      }
      Stores::drain();
    }
    if constexpr (kMulticast > 1) {
      if (!told) cluster_arrive();
      cluster_wait();  // a peer may still arrive here
    }
  }
};

}  // namespace tw
