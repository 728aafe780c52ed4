// SPDX-License-Identifier: Apache-2.0
// The tiled kernel of the family sm80: a ring of cp.async stages, ldmatrix, mma.sync.
//
// A CTA computes kTileM x kTileN results, its warps kWarpsM x kWarpsN parts of it; kWarpsK groups
// of warps share each stage's K between them and add up at the end. Read next: sm80_tile.cuh for
// shared memory, epilogue.cuh and split_k.cuh for what follows the main loop.
#pragma once

#include "generate/cuda/device/epilogue.cuh"
#include "generate/cuda/device/raster.cuh"
#include "generate/cuda/device/sm80_image.cuh"
#include "generate/cuda/device/sm80_tile.cuh"
#include "generate/cuda/device/split_k.cuh"

namespace tw {

// Everything that a program decides (program/family_sm80.cc), and what the problem fixes. Constants
// of kernels are template arguments and enumerators here, since NVRTC turns static data members
// into writable module globals, which a candidate may not have.
struct Sm80Config {
  Type in = Type::f16, out = Type::f16;
  bool f16_sums = false;   // acc=f16
  bool scaled = false;     // D = alpha acc + beta C
  bool served = false;     // besides, a bias and an activation (activation.cuh)
  bool a_along_k = true;   // A stored row by row
  bool b_along_k = false;  // B stored column by column
  int tile_m = 64, tile_n = 64, tile_k = 32, stages = 3;
  int warps_m = 2, warps_n = 2, warps_k = 1;
  int vector_a = 8, vector_b = 8, vector_c = 8;  // elements by which rows and addresses divide
  int group = 1;
  bool raster_n = false;
  int split = 1;
  Reduce reduce = Reduce::none;
  Epilogue epilogue = Epilogue::direct;
  bool double_buffer = false;  // fragments of the next step are loaded before this one's products
  bool stagger = false;        // copies of B are issued after the first step
  int static_m = 0, static_n = 0, static_k = 0;  // 0: run-time arguments
  Image image = {};  // of a convolution, whose sizes are static
};

template <Sm80Config C>
struct Sm80Gemm {
  enum : int {
    kThreads = 32 * C.warps_m * C.warps_n * C.warps_k,
    kHolders = 32 * C.warps_m * C.warps_n,  // threads with results
    kWarpM = C.tile_m / C.warps_m,
    kWarpN = C.tile_n / C.warps_n,
    kRows = kWarpM / 16,  // fragments of a warp
    kColumns = kWarpN / 8,
    kPieces = kRows * kColumns,
    kSteps = C.tile_k / 16 / C.warps_k,  // of a warp in a stage
    // Pieces that are stored together.
    kWide = C.epilogue != Epilogue::exchange ? 1
            : kColumns % 4 == 0              ? 4
            : kColumns % 2 == 0              ? 2
                                             : 1,
  };
  using A = Operand<C.tile_m, C.tile_k, C.a_along_k>;
  using B = Operand<C.tile_n, C.tile_k, C.b_along_k>;
  enum : int { kBytesA = A::Tile::kTileBytes, kStageBytes = kBytesA + B::Tile::kTileBytes };
  // With known sizes the loop over K is unrolled whole, unless that is more text than an
  // instruction cache holds (and seconds of compiling). Weights are instructions, roughly.
  enum : int {
    kTilesK = ceil_div(ceil_div(C.static_k, C.tile_k), C.split),
    kStageText = kPieces * kSteps +
                 ceil_div(A::Tile::kTileBytes / 16, kThreads) * (64 / C.vector_a) +
                 ceil_div(B::Tile::kTileBytes / 16, kThreads) * (64 / C.vector_b),
    kGathers = C.image.channels > 0,
    kUnrolled = kTilesK > 0 && !kGathers && 768 / kStageText >= kTilesK ? kTilesK : 1,
  };
  static_assert(kRows >= 1 && kWarpM % 16 == 0 && kWarpN % 16 == 0 && kSteps >= 1);

  struct Fragments {
    u32 a[kRows][4];
    u32 b[kColumns / 2][4];
  };
  using Sums = float[kPieces][4];
  using HalfSums = u32[kPieces][2];

  __device__ __forceinline__ static void load(Fragments& f, u32 stage, int row, int column,
                                              int step) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) A::load_a(f.a[i], stage, row + 16 * i, step);
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      B::load_b(f.b[j], stage + kBytesA, column + 16 * j, step);
    }
  }

  template <class AnySums>
  __device__ __forceinline__ static void multiply(AnySums& sums, const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const u32 b0 = f.b[j / 2][j % 2 * 2], b1 = f.b[j / 2][j % 2 * 2 + 1];
        if constexpr (C.f16_sums) {
          mma_f16(sums[i * kColumns + j], f.a[i], b0, b1);
        } else {
          mma<C.in>(sums[i * kColumns + j], f.a[i], b0, b1);
        }
      }
    }
  }

  // One call works on one tile and one slice of K.
  __device__ __forceinline__ static void run(const u16* a, const u16* b, void* c,
                                             Workspace workspace, const Sizes& given, float alpha,
                                             float beta, Served<C.served> served = {}) {
    begin_chained();
    wait_chained();
    unsigned char* const shared = dynamic_shared();
    Sizes s = given;
    if constexpr (C.static_m > 0) {
      s.m = C.static_m;
      s.n = C.static_n;
      s.k = C.static_k;
    }
    const int depth = C.scaled && alpha == 0.0F ? 0 : s.k;  // alpha = 0: A, B are not read
    const int slice = static_cast<int>(blockIdx.z % static_cast<u32>(C.split));
    const i64 entry = static_cast<int>(blockIdx.z) / C.split;
    a += entry * s.sa;
    b += entry * s.sb;
    const int rows = ceil_div(s.m, C.tile_m), columns = ceil_div(s.n, C.tile_n);
    const Tile tile = raster<C.group, C.raster_n>(static_cast<int>(blockIdx.x), rows, columns);
    const int row0 = tile.m * C.tile_m, column0 = tile.n * C.tile_n;

    const int tiles_k = ceil_div(depth, C.tile_k);
    const int share = ceil_div(tiles_k, C.split);
    const int first = slice * share;
    int count = max(min(share, tiles_k - first), 0);
    // NVRTC unrolls what it can count, whatever the pragma says.
    if constexpr (kUnrolled == 1) make_unknown(count);

    const int warp = warp_id();
    const int group = warp / (C.warps_m * C.warps_n);
    const int row = warp / C.warps_n % C.warps_m * kWarpM;
    const int column = warp % C.warps_n * kWarpN;
    const u32 ring = shared_address(shared);

    const auto copy_a = [&](int i) {
      const int k = (first + i) * C.tile_k;
      const u32 stage = ring + i % C.stages * kStageBytes;
      if constexpr (kGathers) {
        copy_windows<C.image, typename A::Tile, kThreads, C.vector_a>(
            stage, a, s.lda, row0, k, s.m, depth, static_cast<int>(threadIdx.x));
      } else {
        A::template copy<kThreads, C.vector_a>(stage, a, s.lda, row0, k, s.m, depth);
      }
    };
    const auto copy_b = [&](int i) {
      const int k = (first + i) * C.tile_k;
      B::template copy<kThreads, C.vector_b>(ring + i % C.stages * kStageBytes + kBytesA, b, s.ldb,
                                             column0, k, s.n, depth);
    };

    Sums sums = {};
    HalfSums half_sums = {};  // f16 accumulators only
    auto& accumulators = choose<C.f16_sums>(half_sums, sums);
#pragma unroll
    for (int i = 0; i < C.stages - 1; ++i) {
      if (i < count) {
        copy_a(i);
        copy_b(i);
      }
      commit_copies();
    }
    Fragments fragments[C.double_buffer ? 2 : 1];
#pragma unroll(kUnrolled)
    for (int i = 0; i < count; ++i) {
      wait_copies<C.stages - 2>();
      __syncthreads();
      // The stage that was read in the last round is free now.
      const int ahead = i + C.stages - 1;
      if (ahead < count) copy_a(ahead);
      if constexpr (!C.stagger) {
        if (ahead < count) copy_b(ahead);
        commit_copies();
      }
      const u32 stage = ring + i % C.stages * kStageBytes;
      load(fragments[0], stage, row, column, group * kSteps);
      const auto take = [&](int step) {
        if constexpr (C.double_buffer) {
          if (step + 1 < kSteps) {
            load(fragments[(step + 1) % 2], stage, row, column, group * kSteps + step + 1);
          }
          multiply(accumulators, fragments[step % 2]);
        } else {
          if (step > 0) load(fragments[0], stage, row, column, group * kSteps + step);
          multiply(accumulators, fragments[0]);
        }
      };
      take(0);
      if constexpr (C.stagger) {
        if (ahead < count) copy_b(ahead);
        commit_copies();
      }
      // Without copies in it, which may be long, this loop is unrolled for certain: a fragment that
      // is chosen at run time would lie in local memory.
#pragma unroll
      for (int step = 1; step < kSteps; ++step) take(step);
    }
    wait_copies<0>();
    __syncthreads();
    if constexpr (C.f16_sums) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[p][i] = widen<Type::f16>(static_cast<u16>(half_sums[p][i / 2] >> (16 * (i % 2))));
        }
      }
    }
    if constexpr (C.warps_k > 1) add_groups(sums, reinterpret_cast<float4*>(shared), group);

    using Out = Output<C.out, C.scaled, C.vector_c, C.served>;
    unsigned char* entry_c = static_cast<unsigned char*>(c) + entry * s.sc * bytes_of(C.out);
    const Out out{entry_c, s.ldc, s.m, s.n, alpha, beta, served};
    const int holder = static_cast<int>(threadIdx.x);
    const bool holds = holder < kHolders;
    const auto store = [&](int unit, const float(&pieces)[kWide][4]) {
      const int piece = unit * kWide;
      store_pieces<kWide>(out, row0 + row + piece / kColumns * 16,
                          column0 + column + piece % kColumns * 8, pieces);
    };
    if constexpr (C.split == 1) {
      if constexpr (C.epilogue == Epilogue::shared) {
        store_through_shared(out, sums, shared, row0, column0, row, column, holds);
      } else if (holds) {
#pragma unroll
        for (int unit = 0; unit < kPieces / kWide; ++unit) {
          store(unit, *reinterpret_cast<const float(*)[kWide][4]>(sums[unit * kWide]));
        }
      }
    } else if constexpr (C.reduce == Reduce::cluster) {
      reduce_in_cluster<kPieces, kWide, C.split>(sums, reinterpret_cast<float4*>(shared), holder,
                                                 kHolders, holds, store);
    } else {
      const i64 tile_index = static_cast<i64>(blockIdx.x) + entry * gridDim.x;
      float4* partial = workspace.partial(tile_index, kPieces, kHolders, C.split);
      if constexpr (C.reduce == Reduce::spread) {
        enum : int { kLoads = kThreads > 256 ? 8 : kPieces < 16 ? 16 : 12 };
        if (holds) {
          reduce_spread<kPieces, kWide, C.split, kLoads>(
              sums, partial, workspace.counter(tile_index * (kHolders / 32)), slice, holder,
              kHolders, store);
        }
      } else if (holds) {
        reduce_through_workspace<kPieces, kWide, C.split>(
            sums, partial, workspace.counter(tile_index), reinterpret_cast<u32*>(shared), slice,
            holder, kHolders, [] { named_barrier(1, kHolders); }, store);
      }
    }
  }

 private:
  // Sums of all groups of warps, in the first group's registers.
  __device__ __forceinline__ static void add_groups(Sums& sums, float4* buffer, int group) {
    const int thread = static_cast<int>(threadIdx.x) % kHolders;
    if (group > 0) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        buffer[((group - 1) * kPieces + p) * kHolders + thread] =
            make_float4(sums[p][0], sums[p][1], sums[p][2], sums[p][3]);
      }
    }
    __syncthreads();
    if (group == 0) {
#pragma unroll
      for (int other = 0; other < C.warps_k - 1; ++other) {
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          add(sums[p], buffer[(other * kPieces + p) * kHolders + thread]);
        }
      }
    }
    __syncthreads();
  }

  // Registers to shared memory, then rows to C, 16 bytes a lane where they are aligned. Padding by
  // one chunk spreads the banks.
  template <class Out>
  __device__ __forceinline__ static void store_through_shared(const Out& out, const Sums& sums,
                                                              unsigned char* shared, int row0,
                                                              int column0, int row, int column,
                                                              bool holds) {
    constexpr int kPitch = C.tile_n + 8;
    u16* staged = reinterpret_cast<u16*>(shared);
    const int g = lane_id() / 4, t = lane_id() % 4;
    if (holds) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int r = row + p / kColumns * 16 + g + 8 * half;
          const int col = column + p % kColumns * 8 + 2 * t;
          *reinterpret_cast<u32*>(staged + r * kPitch + col) =
              pack<C.out>(sums[p][2 * half], sums[p][2 * half + 1]);
        }
      }
    }
    __syncthreads();
    // Numbers, or pairs of them, where rows are not aligned: neighbouring ones by neighbouring
    // lanes.
    constexpr int kRun = C.vector_c == 8 ? 8 : C.vector_c > 1 ? 2 : 1;
    constexpr int kRuns = C.tile_m * C.tile_n / kRun;
    constexpr int kAtOnce = min_of(ceil_div(kRuns, kThreads), 16);
#pragma unroll(kAtOnce)
    for (int i = static_cast<int>(threadIdx.x); i < kRuns; i += kThreads) {
      const int r = i / (C.tile_n / kRun), col = i % (C.tile_n / kRun) * kRun;
      if (row0 + r >= out.m || column0 + col >= out.n) continue;
      const u16* from = staged + r * kPitch + col;
      u16* to = static_cast<u16*>(out.c) + (row0 + r) * out.ldc + column0 + col;
      if (kRun == 1 || column0 + col + kRun > out.n) {
#pragma unroll
        for (int j = 0; j < kRun; ++j) {
          if (column0 + col + j < out.n) to[j] = from[j];
        }
      } else if constexpr (kRun == 8) {
        *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
      } else if constexpr (kRun == 2) {
        *reinterpret_cast<u32*>(to) = *reinterpret_cast<const u32*>(from);
      }
    }
  }
};

}  // namespace tw
