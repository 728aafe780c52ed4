// SPDX-License-Identifier: Apache-2.0
// The kernel of the family sm80 without shared memory: operands go from global memory straight into
// fragments, for problems so small that filling a ring would cost more than the products.
//
// The sum over K may be taken in any order, so lanes take from K what lies together: in a block of
// 32, lane t of a quad takes elements 8t ... 8t+7, the first four for one mma, the rest for the
// next. An operand stored along K is then one 16-byte load per row and block. One stored along the
// other dimension is loaded row of K by row of K, kRun neighbouring elements at once, and pairs are
// made by byte permutation. Columns are dealt out so that lane g holds kRun neighbours: column
// g * kColumns + j of a warp's tile is column g of fragment j, and so a lane ends up with
// 2 * kColumns neighbouring results (rows likewise for A, but results of A's rows lie apart).
// The warps of a CTA share K between them and add up through shared memory.
#pragma once

#include "generate/cuda/device/copy_tile.cuh"
#include "generate/cuda/device/epilogue.cuh"
#include "generate/cuda/device/mma.cuh"
#include "generate/cuda/device/raster.cuh"
#include "generate/cuda/device/split_k.cuh"

namespace tw {

struct Sm80DirectConfig {
  Type in = Type::f16, out = Type::f16;
  bool f16_sums = false, scaled = false, served = false;
  bool a_along_k = true, b_along_k = false;
  int tile_m = 16, tile_n = 16;  // of a CTA; warps share only K
  int warps_k = 4;
  int ahead = 1;  // blocks of 32 that are loaded before the first is used
  int vector_a = 8, vector_b = 8, vector_c = 8;
  int group = 1;
  bool raster_n = false;
  int split = 1;
  Reduce reduce = Reduce::none;
  int static_m = 0, static_n = 0, static_k = 0;
};

// Loads kCount 16-bit elements, the first `valid` of them; kVector: what the address divides by.
template <int kCount, int kVector>
__device__ __forceinline__ void load_run(u32 (&words)[kCount / 2], const u16* from, int valid) {
  if (valid >= kCount && kVector >= 2) {
    enum : int { kRun = min_of(kCount, kVector) };
#pragma unroll
    for (int i = 0; i < kCount; i += kRun) {
      if constexpr (kRun == 8) {
        const uint4 v = load_constant(reinterpret_cast<const uint4*>(from + i));
        words[i / 2] = v.x;
        words[i / 2 + 1] = v.y;
        words[i / 2 + 2] = v.z;
        words[i / 2 + 3] = v.w;
      } else if constexpr (kRun == 4) {
        const uint2 v = load_constant(reinterpret_cast<const uint2*>(from + i));
        words[i / 2] = v.x;
        words[i / 2 + 1] = v.y;
      } else {
        words[i / 2] = load_constant(reinterpret_cast<const u32*>(from + i));
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    const u32 low = 2 * i < valid ? load_constant(from + 2 * i) : 0;
    const u32 high = 2 * i + 1 < valid ? load_constant(from + 2 * i + 1) : 0;
    words[i] = low | high << 16U;
  }
}

// The part of an operand that a lane needs of one block of 32: r[line][half] are the pairs of K for
// the two mma of `line`; half 0, 1: first mma's lower and upper eight, 2, 3: the second's.
// kLines lines per lane. Along K a line is row g * kLines + i (kSpread) or g + 8 i.
//
// kLate: rows of any alignment. What is loaded stays as it came until words() is asked for; to put
// it together at once would be to wait for each load where it is made, and nothing would be under
// way ahead. Along K that are the two aligned vectors around each line's eight (copy_tile.cuh),
// across K single numbers, r[line][number].
template <int kLines, bool kAlongK, bool kSpread, int kVector, bool kLate>
struct DirectOperand {
  u32 r[kLines][kLate ? 8 : 4];
  LooseChunk loose[kLines];

  __device__ __forceinline__ void words(u32 (&to)[kLines][4]) const {
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      if constexpr (kLate && kAlongK) {
        shift_down(to[i], loose[i].low, loose[i].high, loose[i].shift);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if constexpr (kLate) {
            to[i][j] = r[i][2 * j] | r[i][2 * j + 1] << 16U;
          } else {
            to[i][j] = r[i][j];
          }
        }
      }
    }
  }

  __device__ __forceinline__ static int line(int g, int i) {
    return kSpread ? g * kLines + i : g + 8 * i;
  }

  // `base`: the operand, `at`: first row (column) of the warp's tile, of `size`; `k` of `depth`.
  __device__ __forceinline__ void load(const u16* base, i64 stride, int at, int size, int k,
                                       int depth) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    const int from = k + 8 * t;
    if constexpr (kAlongK) {
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
        const int row = at + line(g, i);
        const int valid = row < size ? depth - from : 0;
        const u16* source = base + (valid > 0 ? row * stride + from : 0);
        if constexpr (kLate) {
          const TileSource all = {base,  stride, size,
                                  depth, base,   base + (size - 1) * stride + depth};
          loose[i].load(source, min(max(valid, 0), 8), all);
        } else {
          load_run<8, kVector>(r[i], source, valid);
        }
      }
    } else if constexpr (kLate) {
      const int column = at + line(g, 0);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int valid = from + e < depth ? size - column : 0;
        const u16* source = base + (valid > 0 ? (from + e) * stride + column : 0);
#pragma unroll
        for (int i = 0; i < kLines; ++i) r[i][e] = i < valid ? load_constant(source + i) : 0;
      }
    } else {
      static_assert(kSpread || kLines == 1);
      const int column = at + line(g, 0);
      u32 rows[8][max_of(kLines / 2, 1)];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int valid = from + i < depth ? size - column : 0;
        const u16* source = base + (valid > 0 ? (from + i) * stride + column : 0);
        if constexpr (kLines == 1) {
          rows[i][0] = valid > 0 ? load_constant(source) : 0;
        } else {
          load_run<kLines, min_of(kLines, kVector)>(rows[i], source, valid);
        }
      }
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          r[i][pair] = __byte_perm(rows[2 * pair][i / 2], rows[2 * pair + 1][i / 2],
                                   i % 2 == 0 ? 0x5410 : 0x7632);
        }
      }
    }
  }
};

template <Sm80DirectConfig C>
struct Sm80Direct {
  enum : int {
    kThreads = 32 * C.warps_k,
    kRows = C.tile_m / 16,
    kColumns = C.tile_n / 8,
    kPieces = kRows * kColumns,
    kBlock = 32,  // of K
  };
  // A's rows: along K, fragment i has rows 16 i + g and + 8, i.e. lines g + 8 j. Stored along M, a
  // lane takes 2 kRows neighbouring rows instead.
  enum : bool {
    // Where the threads have registers for twice as many words.
    kLate = C.ahead * (2 * kRows + kColumns) * 8 <= (C.warps_k > 8 ? 64 : 96),
  };
  using A =
      DirectOperand<2 * kRows, C.a_along_k, !C.a_along_k, C.vector_a, kLate && C.vector_a == 1>;
  using B = DirectOperand<kColumns, C.b_along_k, true, C.vector_b, kLate && C.vector_b == 1>;
  struct Block {
    A a;
    B b;
  };
  using Sums = float[kPieces][4];

  template <class AnySums>
  __device__ __forceinline__ static void multiply(AnySums& sums, const Block& x) {
    u32 lines_a[2 * kRows][4], lines_b[kColumns][4];
    x.a.words(lines_a);
    x.b.words(lines_b);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        // Registers of an A fragment: rows g and g + 8 of the lower eight of K, then of the upper.
        const u32 a[4] = {lines_a[2 * i][2 * half], lines_a[2 * i + 1][2 * half],
                          lines_a[2 * i][2 * half + 1], lines_a[2 * i + 1][2 * half + 1]};
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          auto& sum = sums[i * kColumns + j];
          const u32 b0 = lines_b[j][2 * half], b1 = lines_b[j][2 * half + 1];
          if constexpr (C.f16_sums) {
            mma_f16(sum, a, b0, b1);
          } else {
            mma<C.in>(sum, a, b0, b1);
          }
        }
      }
    }
  }

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
    const int depth = C.scaled && alpha == 0.0F ? 0 : s.k;
    const int slice = static_cast<int>(blockIdx.z % static_cast<u32>(C.split));
    const i64 entry = static_cast<int>(blockIdx.z) / C.split;
    a += entry * s.sa;
    b += entry * s.sb;
    const Tile tile = raster<C.group, C.raster_n>(static_cast<int>(blockIdx.x),
                                                  ceil_div(s.m, C.tile_m), ceil_div(s.n, C.tile_n));
    const int row0 = tile.m * C.tile_m, column0 = tile.n * C.tile_n;

    // Blocks of K go to the slices' warps in turn.
    const int first = slice * C.warps_k + warp_id();
    enum : int { kStride = C.split * C.warps_k };
    int blocks = ceil_div(depth, kBlock);
    // Unrolled whole if K is known and that is not much text: each line of a block is loaded by a
    // dozen of instructions or more. NVRTC unrolls what it can count, whatever the pragma says.
    enum : int {
      kTurns = ceil_div(ceil_div(C.static_k, kBlock), kStride * C.ahead),
      kLines = C.ahead * (2 * kRows + kColumns),
      kUnrolled = kTurns > 0 && kTurns * kLines <= 36 ? kTurns : 1,
    };
    if constexpr (kUnrolled == 1) make_unknown(blocks);
    const auto load = [&](Block& x, int block) {
      x.a.load(a, s.lda, row0, s.m, block * kBlock, depth);
      x.b.load(b, s.ldb, column0, s.n, block * kBlock, depth);
    };

    Sums sums = {};
    u32 half_sums[kPieces][2] = {};
    auto& accumulators = choose<C.f16_sums>(half_sums, sums);
    Block ring[C.ahead];
#pragma unroll
    for (int i = 0; i < C.ahead; ++i) {
      if (first + i * kStride < blocks) load(ring[i], first + i * kStride);
    }
#pragma unroll(kUnrolled)
    for (int block = first; block < blocks; block += C.ahead * kStride) {
#pragma unroll
      for (int i = 0; i < C.ahead; ++i) {
        const int now = block + i * kStride;
        if (now >= blocks) break;
        multiply(accumulators, ring[i]);
        const int next = now + C.ahead * kStride;
        if (next < blocks) load(ring[i], next);
      }
    }
    if constexpr (C.f16_sums) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[p][i] = widen<Type::f16>(static_cast<u16>(half_sums[p][i / 2] >> (16 * (i % 2))));
        }
      }
    }
    using Out = Output<C.out, C.scaled, C.vector_c, C.served>;
    unsigned char* entry_c = static_cast<unsigned char*>(c) + entry * s.sc * bytes_of(C.out);
    const Out out{entry_c, s.ldc, s.m, s.n, alpha, beta, served};
    // A unit is a row of fragments: 2 kColumns neighbouring results in each of two rows.
    const auto store = [&](int unit, const float(&pieces)[kColumns][4]) {
      if constexpr (C.vector_c == 1 && kColumns <= 4) {
        store_loose<kColumns, true, C.a_along_k ? 1 : 2 * kRows, C.a_along_k ? 8 : 1>(
            out, row0 + A::line(0, 2 * unit), column0, pieces);
        return;
      }
      const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float run[2 * kColumns];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          run[j] = pieces[j][2 * half];
          run[kColumns + j] = pieces[j][2 * half + 1];
        }
        const int row = row0 + A::line(g, 2 * unit + half);
        store_run<2 * kColumns>(out, row, column0 + 2 * t * kColumns, run);
      }
    };
    finish(sums, shared, workspace, slice, entry, store);
  }

 private:
  // Adds the warps' sums, then the slices', and stores: warp w the units w, w + kWarps, ...
  template <class Store>
  __device__ __forceinline__ static void finish(Sums& sums, unsigned char* shared,
                                                Workspace workspace, int slice, i64 entry,
                                                const Store& store) {
    float4* buffer = reinterpret_cast<float4*>(shared);
    const int lane = lane_id();
    const int warp = warp_id();
    if constexpr (C.warps_k > 1) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        buffer[(warp * kPieces + p) * 32 + lane] =
            make_float4(sums[p][0], sums[p][1], sums[p][2], sums[p][3]);
      }
      __syncthreads();
    }
    if constexpr (C.split == 1) {
#pragma unroll
      for (int unit = 0; unit < kRows; ++unit) {
        if (unit % C.warps_k != warp) continue;
        if constexpr (C.warps_k > 1) add_warps(sums, buffer, unit * kColumns, kColumns);
        store(unit, *reinterpret_cast<const float(*)[kColumns][4]>(sums[unit * kColumns]));
      }
      return;
    }
    if constexpr (C.warps_k > 1) {
      if (warp == 0) add_warps(sums, buffer, 0, kPieces);
      __syncthreads();
    }
    if constexpr (C.reduce == Reduce::cluster) {
      reduce_in_cluster<kPieces, kColumns, C.split>(sums, buffer, lane, 32, warp == 0, store);
    } else if constexpr (C.reduce == Reduce::workspace) {
      const i64 tile_index = static_cast<i64>(blockIdx.x) + entry * gridDim.x;
      float4* partial = workspace.partial(tile_index, kPieces, 32, C.split);
      if (warp == 0) {
        reduce_through_workspace<kPieces, kColumns, C.split>(
            sums, partial, workspace.counter(tile_index), reinterpret_cast<u32*>(shared), slice,
            lane, 32, [] { __syncwarp(); }, store);
      }
    }
  }

  // Sums of all warps for `count` pieces from `from`, in the order of the warps.
  __device__ __forceinline__ static void add_warps(Sums& sums, const float4* buffer, int from,
                                                   int count) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if (p < from || p >= from + count) continue;
      float total[4] = {};
#pragma unroll
      for (int w = 0; w < C.warps_k; ++w) add(total, buffer[(w * kPieces + p) * 32 + lane_id()]);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[p][i] = total[i];
    }
  }
};

}  // namespace tw
