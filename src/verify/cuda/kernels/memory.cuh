// SPDX-License-Identifier: Apache-2.0
// Kernels that put bytes somewhere and notice what changed: draws, fills, copies, digests, guards.
#pragma once

#include "verify/cuda/kernels/elements.cuh"

namespace tilewright {

// Eight consecutive elements a thread: one Philox block where the kind is a table.
extern "C" __global__ void draw_matrix(DeviceView to, Drawing d) {
  const long long count = to.batches * to.rows * to.cols;
  for (long long block = first_item(); block * 8 < count; block += item_step()) {
    const long long from = block * 8;
    const int some = static_cast<int>(count - from < 8 ? count - from : 8);
    const bool table = d.form == Drawing::kTable;
    PhiloxBlock random = {};
    if (table) random = philox(static_cast<unsigned long long>(block), d.stream, d.seed);
    const long long row = from / to.cols;
    const long long col = from % to.cols;
    const long long at = index_in(to, row / to.rows, row % to.rows, col);
    const bool together = some == 8 && col + 8 <= to.cols && to.type != kElementF32 &&
                          reinterpret_cast<unsigned long long>(to.data + at * 2) % 16 == 0;
    unsigned bits[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < some) bits[i] = table ? d.values[pick_of(random, i)] : drawn(d, from + i);
    }
    if (together) {
      uint4 packed;
      packed.x = bits[0] | bits[1] << 16;
      packed.y = bits[2] | bits[3] << 16;
      packed.z = bits[4] | bits[5] << 16;
      packed.w = bits[6] | bits[7] << 16;
      *reinterpret_cast<uint4*>(to.data + at * 2) = packed;
      continue;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < some) store_bits(to.data, to.type, packed_index_in(to, from + i), bits[i]);
    }
  }
}

// Outside the leading keep_rows x keep_cols of each matrix.
extern "C" __global__ void fill_outside(DeviceView to, long long keep_rows, long long keep_cols,
                                        unsigned bits) {
  const long long count = to.batches * to.rows * to.cols;
  for (long long i = first_item(); i < count; i += item_step()) {
    const long long row = i / to.cols % to.rows;
    if (row < keep_rows && i % to.cols < keep_cols) continue;
    store_bits(to.data, to.type, packed_index_in(to, i), bits);
  }
}

extern "C" __global__ void change_element(ElementChange change) {
  if (first_item() == 0) store_bits(change.at, change.type, 0, change.bits);
}

// Views whose cols and strides count words of 8, 4 or 2 bytes: how many bytes a word has is known
// from the layout, so most matrices move eight bytes at a time.
__device__ inline unsigned long long load_word(const unsigned char* data, int bytes, long long i) {
  if (bytes == 8) return reinterpret_cast<const unsigned long long*>(data)[i];
  if (bytes == 4) return reinterpret_cast<const unsigned*>(data)[i];
  return reinterpret_cast<const unsigned short*>(data)[i];
}

extern "C" __global__ void copy_words(DeviceView to, DeviceView from, int bytes) {
  const long long count = to.batches * to.rows * to.cols;
  for (long long i = first_item(); i < count; i += item_step()) {
    const unsigned long long word = load_word(from.data, bytes, packed_index_in(from, i));
    const long long at = packed_index_in(to, i);
    if (bytes == 8) {
      reinterpret_cast<unsigned long long*>(to.data)[at] = word;
    } else {
      store_bits(to.data, bytes == 4 ? kElementF32 : kElementF16, at, static_cast<unsigned>(word));
    }
  }
}

extern "C" __global__ void digest_words(DeviceView of, int bytes, Digest* sum) {
  const long long count = of.batches * of.rows * of.cols;
  Digest mine;
  for (long long i = first_item(); i < count; i += item_step()) {
    const Digest one = digest_of(load_word(of.data, bytes, packed_index_in(of, i)),
                                 static_cast<unsigned long long>(i));
    mine.low += one.low;
    mine.high += one.high;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    mine.low += __shfl_down_sync(0xffffffffU, mine.low, lanes);
    mine.high += __shfl_down_sync(0xffffffffU, mine.high, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sum->low, mine.low);
    atomicAdd(&sum->high, mine.high);
  }
}

__device__ inline void guard(unsigned char* base, long long at, Broken* broken) {
  const auto right = static_cast<unsigned char>(guard_byte(at));
  if (broken == nullptr) {
    base[at] = right;
  } else if (base[at] != right) {
    atomicMin(&broken->first, static_cast<unsigned long long>(at));
    atomicMax(&broken->last, static_cast<unsigned long long>(at));
    atomicAdd(&broken->count, 1ULL);
  }
}

// Eight blocks a stretch.
extern "C" __global__ void guard_stretches(GuardArguments x) {
  const long long which = blockIdx.x / 8;
  if (which >= x.count) return;
  const Stretch s = x.stretches[which];
  for (long long at = s.begin + blockIdx.x % 8 * blockDim.x + threadIdx.x; at < s.end;
       at += 8 * blockDim.x) {
    guard(x.base, at, x.broken == nullptr ? nullptr : x.broken + which);
  }
}

extern "C" __global__ void guard_gaps(GapArguments x) {
  const long long gap = x.stride_bytes - x.row_bytes;
  for (long long i = first_item(); i < (x.rows - 1) * gap; i += item_step()) {
    const long long row = i / gap;
    guard(x.base, x.start + row * x.stride_bytes + x.row_bytes + i % gap, x.broken);
  }
}

extern "C" __global__ void scrub_workspace(WorkspaceArguments x) {
  for (long long at = first_item() * 8; at < x.bytes; at += item_step() * 8) {
    const unsigned long long word = scrub_word(x.number, static_cast<unsigned long long>(at));
    for (int i = 0; i < 8; ++i) {
      if (at + i < x.zeroed || at + i >= x.bytes) continue;
      x.data[at + i] = static_cast<unsigned char>(word >> 8 * i);
    }
  }
}

// Turns half of the lines of 64 bytes round, chosen by `number`.
extern "C" __global__ void spoil_workspace(WorkspaceArguments x) {
  for (long long at = x.zeroed + first_item(); at < x.bytes; at += item_step()) {
    const auto line = static_cast<unsigned long long>(at / 64);
    if (philox(line, 0x77, x.number).word[0] % 2 == 0) continue;
    x.data[at] ^= 0xa5U;
  }
}

// How many of the first `zeroed` bytes are not zero, and where.
extern "C" __global__ void check_zeros(WorkspaceArguments x, Broken* broken) {
  for (long long at = first_item(); at < x.zeroed; at += item_step()) {
    if (x.data[at] == 0) continue;
    atomicMin(&broken->first, static_cast<unsigned long long>(at));
    atomicAdd(&broken->count, 1ULL);
  }
}

// `to` becomes `from` but for one number in eight.
extern "C" __global__ void lay_bait(DeviceView to, DeviceView from, unsigned long long seed) {
  const long long count = to.batches * to.rows * to.cols;
  for (long long i = first_item(); i < count; i += item_step()) {
    unsigned bits = load_bits(from.data, from.type, packed_index_in(from, i));
    const PhiloxBlock random = philox(static_cast<unsigned long long>(i / 4), 0xba, seed);
    if (random.word[i % 4] % 8 == 0) {
      bits = bits_of(from.type, static_cast<double>(value_of(from.type, bits)) * 1.25 + 0.25);
    }
    store_bits(to.data, to.type, packed_index_in(to, i), bits);
  }
}

// The first row (of all batch entries) in which C beyond rows x cols is not as it was drawn.
extern "C" __global__ void find_written_beyond(DeviceView c, Drawing before, long long rows,
                                               long long cols, Broken* broken) {
  const long long count = c.batches * c.rows * c.cols;
  for (long long i = first_item(); i < count; i += item_step()) {
    const long long row = i / c.cols;
    if (row % c.rows < rows && i % c.cols < cols) continue;
    if (load_bits(c.data, c.type, packed_index_in(c, i)) == drawn(before, i)) continue;
    atomicMin(&broken->first, static_cast<unsigned long long>(row));
    atomicAdd(&broken->count, 1ULL);
  }
}

}  // namespace tilewright
