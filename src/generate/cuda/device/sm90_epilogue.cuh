// SPDX-License-Identifier: Apache-2.0
// How a warpgroup of the family sm90 writes its part of a tile: from registers (epilogue.cuh), or
// through shared memory by the copy engine in chunks of 64 rows by 64 columns (32 where those divide
// the tile), two buffers in turn, so that one is filled while the other is being read. Where neither
// divides it the last chunk begins early and writes some columns again, with the same numbers: two
// barriers a chunk cost more (tiles of 144 and 176 columns in chunks of 16 were slower).
// The engine clips what it stores in steps of 16 bytes (seen on an H200: of 8191 columns it wrote
// 8192), so the last chunk of a row whose length is no multiple of 8 is copied by threads; and all
// chunks where no tensor map describes C (Epilogue::shared): a warp's stores lie together then,
// which those from registers do not.
#pragma once

#include "generate/cuda/device/barrier.cuh"
#include "generate/cuda/device/epilogue.cuh"
#include "generate/cuda/device/tma.cuh"

namespace tw {

template <Epilogue kEpilogue, Type kOut, bool kScaled, int kVector, int kBlocks, int kColumns,
          bool kServed = false, bool kSwapped = false>
struct TileStores {
  enum : int {
    kTma = kEpilogue == Epilogue::tma || kEpilogue == Epilogue::deferred ||
           kEpilogue == Epilogue::overlapped,
    kStaged = kTma || kEpilogue == Epilogue::shared,
    kWide = kEpilogue != Epilogue::exchange ? 1
            : kSwapped                      ? 2
            : kColumns % 4 == 0             ? 4
            : kColumns % 2 == 0             ? 2
                                            : 1,
    kPieces = kColumns % 8 == 0   ? 8
              : kColumns % 4 == 0 ? 4
              : kColumns > 8      ? 8
              : kColumns > 4      ? 4
                                  : 2,  // of 8 columns of the tile, in a chunk
    // A chunk as it is stored: kSwapped, rows are what are columns of the tile.
    kChunkRows = kSwapped ? 8 * kPieces : 64,
    kRowPieces = kSwapped ? 8 : kPieces,
    kRowBytes = 16 * kRowPieces,  // the map's swizzle, too
    kChunkBytes = kChunkRows * kRowBytes,
    kBytes = kStaged ? 2 * kChunkBytes : 0,  // of shared memory, per warpgroup
    kAcross = ceil_div(kColumns, kPieces),   // chunks in 64 rows of the tile
    kChunks = kBlocks * kAcross,
  };
  static_assert(!kSwapped || ((kTma || kWide == 2) && kColumns % 2 == 0));
  static_assert(!kStaged || (kColumns % 2 == 0 && !kScaled && kOut != Type::f32));
  using Out = Output<kOut, kScaled, kVector, kServed>;
  using Sums = float[kBlocks][kColumns][4];
  using Packed = u32[kBlocks][kColumns][2];  // the same, rounded

  // kWide pieces, from piece unit * kWide on. kSwapped: rows are columns of C.
  __device__ __forceinline__ static void unit(const Out& out, int row0, int column0, int unit,
                                              const float (&pieces)[kWide][4]) {
    const int piece = unit * kWide;
    const int row = row0 + piece / kColumns * 64 + warp_id() % 4 * 16;
    const int column = column0 + piece % kColumns * 8;
    if constexpr (kSwapped) {
      float turned[2][4];
#pragma unroll
      for (int e = 0; e < 4; ++e) turned[0][e] = pieces[0][e], turned[1][e] = pieces[1][e];
      transpose(turned);
      store_pieces<2>(out, column, row, turned);
    } else {
      store_pieces<kWide>(out, row, column, pieces);
    }
  }

  // Where a chunk's piece of 16 bytes lies: bits 4 and up of the address are xored with those from
  // bit 7 up, three for rows of 128 bytes, two for 64 and one for 32 (PTX ISA, tensor swizzling
  // modes).
  __device__ __forceinline__ static u32 place(int row, int piece) {
    const int turn = kRowPieces == 8 ? row & 7 : kRowPieces == 4 ? row >> 1 & 3 : row >> 2 & 1;
    return static_cast<u32>(row * kRowBytes + (piece ^ turn) * 16);
  }

  // Where a warpgroup's part of a tile goes.
  struct Place {
    int row0, column0, entry;
    u32 buffers;  // kBytes of shared memory of this warpgroup
    int barrier;  // a named barrier of its own
  };

  // The first of the pieces of chunk `count`, in a row of them.
  __device__ __forceinline__ static int first_piece(int count) {
    return min(count % kAcross * kPieces, kColumns - kPieces);
  }

  // Chunk `count`, of `words(piece)`: the two words of 8 columns that this lane holds.
  template <class Words>
  __device__ __forceinline__ static void chunk(const Out& out, const TensorMap& map,
                                               const Place& to, int count, const Words& words) {
    const int warp = warp_id() % 4;
    const int lane = lane_id();
    const bool issues = elect_lane() && warp == 0;  // the same lane every time
    // This lane's row and chunk of 16 bytes in the four matrices that are stored at once.
    const int row = (kSwapped ? lane >> 4 : 2 * warp + (lane >> 3 & 1)) * 8 + (lane & 7);
    const int piece = kSwapped ? 2 * warp + (lane >> 3 & 1) : lane >> 4;
    // An odd number of chunks ends with the buffer that the next tile begins with.
    if (kTma && issues && count == 0 && kChunks % 2 == 1) wait_stores_read<0>();
    const u32 buffer = to.buffers + static_cast<u32>(count % 2) * kChunkBytes;
    if (kTma && issues) wait_stores_read<1>();
    named_barrier(to.barrier, 128);
#pragma unroll
    for (int j = 0; j < kPieces; j += 2) {
      const Pair x = words(j), y = words(j + 1);
      const u32 at = kSwapped ? place(row + 8 * j, piece) : place(row, piece + j);
      store_matrices<kSwapped>(buffer + at, x.low, x.high, y.low, y.high);
    }
    if (kTma) fence_async_proxy();
    named_barrier(to.barrier, 128);
    const int down = to.row0 + 64 * (count / kAcross);
    const int across = to.column0 + 8 * first_piece(count);
    const int at_row = kSwapped ? across : down, at_column = kSwapped ? down : across;
    if constexpr (!kTma) {
      copy_clipped<8>(out, buffer, at_row, at_column);
    } else if (out.n % 8 != 0 && at_column + 8 * kRowPieces > out.n) {
      copy_clipped<1>(out, buffer, at_row, at_column);
    } else if (issues && at_row < out.m && at_column < out.n) {
      if (out.streams) {
        store_box(map, buffer, at_column, at_row, to.entry, evict_first());
      } else {
        store_box(map, buffer, at_column, at_row, to.entry);
      }
    }
    if (kTma && issues) commit_stores();
  }

  // Rounds the sums of a tile, to be stored while the next one is multiplied: half the registers.
  __device__ __forceinline__ static void round(const Sums& sums, Packed& packed) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        packed[b][j][0] = pack<kOut>(sums[b][j][0], sums[b][j][1]);
        packed[b][j][1] = pack<kOut>(sums[b][j][2], sums[b][j][3]);
      }
    }
  }
  // Those chunks of a tile for which `wanted(count)`, rounded (Packed) or not (Sums).
  template <class Tile, class Wanted>
  __device__ __forceinline__ static void some(const Out& out, const TensorMap& map, const Place& to,
                                              const Tile& tile, const Wanted& wanted) {
#pragma unroll
    for (int count = 0; count < kChunks; ++count) {
      if (!wanted(count)) continue;
      chunk(out, map, to, count, [&](int j) {
        return words(tile[count / kAcross][first_piece(count) + j]);
      });
    }
  }

  __device__ __forceinline__ static void all(const Out& out, const TensorMap& map, const Place& to,
                                             const Sums& sums) {
    if constexpr (kStaged) {
      some(out, map, to, sums, [](int) { return true; });
    } else {
#pragma unroll
      for (int u = 0; u < kBlocks * kColumns / kWide; ++u) {
        unit(out, to.row0, to.column0, u,
             *reinterpret_cast<const float(*)[kWide][4]>(
                 &sums[u * kWide / kColumns][u * kWide % kColumns]));
      }
    }
  }

  // A chunk in which rows begin or end in the middle of 16 bytes, number by number.
  template <int kUnrolled>
  __device__ __forceinline__ static void copy_clipped(const Out& out, u32 buffer, int row0,
                                                      int column0) {
#pragma unroll(kUnrolled)
    for (int i = static_cast<int>(threadIdx.x) % 128; i < kChunkRows * 8 * kRowPieces; i += 128) {
      const int row = i / (8 * kRowPieces), column = i % (8 * kRowPieces);
      if (row0 + row >= out.m || column0 + column >= out.n) continue;
      static_cast<u16*>(out.c)[(row0 + row) * out.ldc + column0 + column] =
          load_shared(buffer + place(row, column / 8) + static_cast<u32>(column % 8 * 2));
    }
  }

  // Before the CTA ends: its shared memory must have been read. That all is written the end of the
  // kernel waits for.
  __device__ __forceinline__ static void drain() {
    if constexpr (kTma) {
      const int warp = warp_id() % 4;
      if (elect_lane() && warp == 0) wait_stores_read<0>();
    }
  }

 private:
  struct Pair {
    u32 low, high;
  };
  __device__ __forceinline__ static Pair words(const u32 (&packed)[2]) {
    return {packed[0], packed[1]};
  }
  __device__ __forceinline__ static Pair words(const float (&sums)[4]) {
    return {pack<kOut>(sums[0], sums[1]), pack<kOut>(sums[2], sums[3])};
  }
};

}  // namespace tw
