// SPDX-License-Identifier: Apache-2.0
// Elements of the three types in device memory, as doubles (exact) and back (one rounding).
#pragma once

#include "verify/cuda/kernels/arguments.h"

namespace tilewright {

// An Infinity that no constant folding of another compiler can spoil.
__device__ inline double infinity() {
  return __longlong_as_double(0x7ff0000000000000LL);
}

// As widen_f16 of strided.cc: the exponent's bias is repaired by a multiplication, which makes
// subnormals right too; only Inf and NaN need a mask.
__device__ inline float f16_value(unsigned bits) {
  const float scaled = __uint_as_float((bits & 0x7fffU) << 13) * 0x1p112F;
  const unsigned special = (bits & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U;
  return __uint_as_float(__float_as_uint(scaled) | special | (bits & 0x8000U) << 16);
}

__device__ inline float value_of(int type, unsigned bits) {
  if (type == kElementF16) return f16_value(bits);
  return __uint_as_float(type == kElementBf16 ? bits << 16 : bits);
}

__device__ inline unsigned bits_of(int type, double value) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  if (type == kElementF16) return narrowed(bits, 10, 5);
  if (type == kElementBf16) return narrowed(bits, 7, 8);
  return __float_as_uint(static_cast<float>(value));
}

__device__ inline long long size_of(int type) {
  return type == kElementF32 ? 4 : 2;
}

__device__ inline unsigned load_bits(const unsigned char* data, int type, long long i) {
  return type == kElementF32 ? reinterpret_cast<const unsigned*>(data)[i]
                             : reinterpret_cast<const unsigned short*>(data)[i];
}
__device__ inline void store_bits(unsigned char* data, int type, long long i, unsigned bits) {
  if (type == kElementF32) {
    reinterpret_cast<unsigned*>(data)[i] = bits;
  } else {
    reinterpret_cast<unsigned short*>(data)[i] = static_cast<unsigned short>(bits);
  }
}

__device__ inline long long index_in(const DeviceView& m, long long batch, long long row,
                                     long long col) {
  return batch * m.batch_stride + row * m.stride + col;
}
// Of element i as packed. Without gaps that is i, and saves divisions of 64 bits.
__device__ inline long long packed_index_in(const DeviceView& m, long long i) {
  if (m.stride == m.cols && m.batch_stride == m.rows * m.cols) return i;
  const long long row = i / m.cols;
  return index_in(m, row / m.rows, row % m.rows, i % m.cols);
}

__device__ inline long long chosen(const Chosen& c, long long i) {
  return c.at != nullptr ? c.at[i] : i;
}

// Grid-stride loops over any count.
__device__ inline long long first_item() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline long long item_step() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

}  // namespace tilewright
