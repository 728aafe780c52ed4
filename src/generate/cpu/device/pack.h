// SPDX-License-Identifier: Apache-2.0
// Packing: copies of a block of A or B in the order in which register tiles read it, with zeros
// past the edges so that tiles need no masks. Widening happens here once per block, not once per
// use. Transposed B is turned in registers, W x W words of two halves at a time.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_PACK_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_PACK_H

#include "generate/cpu/device/tile.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

// Floats in one packed panel of A over k steps.
template <int kMr>
constexpr int64_t a_panel(int64_t k) {
  return kMr * roundup(k, kChunk);
}

// rows x k of A, widened to f32, as panels for PackedA.
template <class I, int kMr, bool kTransA, class T>
[[gnu::noinline]] void pack_a(const T* a, int64_t lda, int64_t rows, int64_t k, float* to) {
  constexpr int64_t kW = I::kWidth;
  for (int64_t first = 0; first < rows; first += kMr, to += a_panel<kMr>(k)) {
    const int64_t valid = min(kMr, rows - first);
    if constexpr (kTransA) {
      for (int64_t x = 0; x < k; ++x) {
        const T* from = a + x * lda + first;
        float* line = to + x * kMr;
        for (int64_t i = 0; i < kMr; i += kW)
          I::store_narrow_n(line + i, I::load_wide_n(from + i, valid - i), kMr - i);
      }
    } else {
      for (int64_t chunk = 0; chunk < k; chunk += kChunk) {
        float* line = to + chunk * kMr;
        const int64_t run = min(kChunk, k - chunk);
        for (int64_t i = 0; i < kMr; ++i, line += kChunk) {
          const T* from = a + (first + i) * lda + chunk;
          int64_t x = 0;
          if (i < valid) {
            for (; x + kW <= run; x += kW) I::store(line + x, I::load_wide(from + x));
            if (x < run) I::store(line + x, I::load_wide_n(from + x, run - x));
          } else {
            for (; x < run; x += kW) I::store(line + x, I::zero());
          }
        }
      }
    }
  }
}

// The same as words of two bf16 along k, for vdpbf16ps; k counts halves.
template <class I, int kMr, bool kTransA, class T>
[[gnu::noinline]] void pack_a_pairs(const T* a, int64_t lda, int64_t rows, int64_t k, float* to) {
  constexpr int64_t kW = I::kWidth;
  const int64_t words = cdiv(k, 2);
  for (int64_t first = 0; first < rows; first += kMr, to += a_panel<kMr>(words)) {
    const int64_t valid = min(kMr, rows - first);
    for (int64_t chunk = 0; chunk < words; chunk += kChunk) {
      const int64_t run = min(kChunk, words - chunk);
      for (int64_t i = 0; i < kMr; ++i) {
        if constexpr (kTransA) {
          AliasedU32* word = reinterpret_cast<AliasedU32*>(to + chunk * kMr) + i;
          for (int64_t x = 0; x < run; ++x, word += kMr) {
            const int64_t at = 2 * (chunk + x);
            const T* from = a + at * lda + first + i;
            const uint32_t low = i < valid ? from[0].bits : 0u;
            const uint32_t high = i < valid && at + 1 < k ? from[lda].bits : 0u;
            *word = low | high << 16;
          }
        } else {
          float* line = to + chunk * kMr + i * kChunk;
          const int64_t left = i < valid ? k - 2 * chunk : 0;
          const T* from = a + (first + min(i, valid - 1)) * lda + 2 * chunk;
          for (int64_t x = 0; x < run; x += kW)
            I::store(line + x, I::load_pairs_n(from + 2 * x, left - 2 * x));
        }
      }
    }
  }
}

// Rows of B packed together: few enough for the hardware prefetcher to follow them all, enough for
// each panel to be written in whole lines.
constexpr int64_t kPackRows = 8;

// One row (or pair of rows) of a packed panel, from row-major B: zeros from n columns on. `second`
// is the next row or, past the last one, nullptr.
template <class I, int kNr, PackB kPack, class T>
[[gnu::always_inline]] inline void pack_row(const T* from, const T* second, int64_t n, void* to) {
  constexpr int64_t kW = I::kWidth;
  if constexpr (kPack == PackB::kPair) {
    for (int64_t j = 0; j < kNr; j += kW)
      I::store(static_cast<float*>(to) + j,
               I::join_rows_n(from + j, (second == nullptr ? from : second) + j, n - j,
                              second == nullptr ? 0 : n - j));
  } else if constexpr (kPack == PackB::kHalf) {
    T* halves = static_cast<T*>(to);
    if (n >= kNr) {
#pragma GCC unroll 8
      for (int j = 0; j < kNr; j += I::kWidth)  // a move of known size, not a call
        __builtin_memcpy(halves + j, from + j, sizeof(T) * I::kWidth);
    } else {
      for (int64_t j = 0; j < kNr; ++j) halves[j] = j < n ? from[j] : T{0};
    }
  } else if (n >= kNr) {
#pragma GCC unroll 8
    for (int j = 0; j < kNr; j += I::kWidth)
      I::store(static_cast<float*>(to) + j, I::load_wide(from + j));
  } else {
    for (int64_t j = 0; j < kNr; j += kW)
      I::store(static_cast<float*>(to) + j, I::load_wide_n(from + j, n - j));
  }
}

// Bytes of one packed element of B times 2, so that pairs (two elements in 4 bytes) fit as well.
constexpr int64_t b_bytes(PackB pack) {
  return pack == PackB::kF32 ? 4 : 2;
}

// Bytes from one panel to the next.
template <int kNr, PackB kPack>
constexpr int64_t b_panel(int64_t k) {
  return kNr * roundup(k, 2) * b_bytes(kPack);
}

// k x n of row-major B as panels of k rows of nr floats or halves, or k / 2 rows of nr words.
template <class I, int kNr, PackB kPack, class T>
[[gnu::noinline]] void pack_b_rows(const T* b, int64_t ldb, int64_t k, int64_t n, char* to) {
  constexpr int kStep = kPack == PackB::kPair ? 2 : 1;
  const int64_t row_bytes = kNr * kStep * b_bytes(kPack), panel = b_panel<kNr, kPack>(k);
  for (int64_t x0 = 0; x0 < k; x0 += kPackRows) {
    char* line = to + x0 / kStep * row_bytes;
    for (int64_t j = 0; j < n; j += kNr, line += panel) {
      const T* from = b + x0 * ldb + j;
      for (int64_t x = x0; x < min(k, x0 + kPackRows); x += kStep, from += kStep * ldb)
        pack_row<I, kNr, kPack>(from, x + 1 < k ? from + ldb : nullptr, n - j,
                                line + (x - x0) / kStep * row_bytes);
    }
  }
}

// One panel of the same, n <= nr columns, from B stored n x k.
template <class I, int kNr, PackB kPack, class T>
[[gnu::noinline]] void pack_b_turned(const T* b, int64_t ldb, int64_t k, int64_t n, char* to) {
  constexpr int64_t kW = I::kWidth;
  float* floats = reinterpret_cast<float*>(to);
  T* halves = reinterpret_cast<T*>(to);
  if constexpr (kW == 1) {
    for (int64_t x = 0; x < k; ++x) {
      for (int64_t j = 0; j < kNr; ++j) {
        const T value = j < n ? b[j * ldb + x] : T{0};
        if constexpr (kPack == PackB::kHalf) halves[x * kNr + j] = value;
        if constexpr (kPack == PackB::kF32) floats[x * kNr + j] = widen(value);
      }
    }
  } else {
    for (int64_t x = 0; x < k; x += 2 * kW) {
      for (int64_t j = 0; j < kNr; j += kW) {
        typename I::Reg r[kW];
#pragma GCC unroll 16
        for (int64_t i = 0; i < kW; ++i) {
          const T* from = b + (j + i) * ldb + x;
          r[i] = j + i >= n
                     ? I::zero()
                     : (k - x >= 2 * kW ? I::load_pairs(from) : I::load_pairs_n(from, k - x));
        }
        I::transpose(r);
#pragma GCC unroll 16
        for (int64_t i = 0; i < kW; ++i) {
          const int64_t at = x + 2 * i;  // r[i] holds steps at and at + 1 of kW columns
          if (at >= k) continue;
          if constexpr (kPack == PackB::kPair) {
            I::store(floats + at / 2 * kNr + j, r[i]);
          } else if constexpr (kPack == PackB::kHalf) {
            I::store_halves(r[i], halves + at * kNr + j, halves + (at + 1) * kNr + j);
          } else {
            typename I::Reg wide[2];
            I::template split_pairs<T>(r[i], wide);
            I::store(floats + at * kNr + j, wide[0]);
            I::store(floats + (at + 1) * kNr + j, wide[1]);
          }
        }
      }
    }
  }
}

// k x n of B, packed.
template <class I, int kNr, bool kTransB, PackB kPack, class T>
void pack_b(const T* b, int64_t ldb, int64_t k, int64_t n, char* to) {
  if constexpr (kTransB) {
    for (int64_t j = 0; j < n; j += kNr, to += b_panel<kNr, kPack>(k))
      pack_b_turned<I, kNr, kPack>(b + j * ldb, ldb, k, min(kNr, n - j), to);
  } else {
    pack_b_rows<I, kNr, kPack>(b, ldb, k, n, to);
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_PACK_H
