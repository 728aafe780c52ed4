// SPDX-License-Identifier: Apache-2.0
// The plain C++ "instruction set": one lane. It states what every isa_*.h must offer, and it is
// what a machine without AVX2 runs. Besides these, + - * / < and ?: work on every Reg, lane by lane
// (vector extensions of GCC and clang), as << >> & do on Word. Read next: tile.h, their user.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_SCALAR_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_SCALAR_H

#include "generate/cpu/device/types.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct Scalar {
  using Reg = float;
  using Word = uint32_t;  // the bits of Reg, lane by lane
  static constexpr int kWidth = 1;
  // Registers that one load of T widens into (see isa_avx512.h); their lanes are then interleaved.
  template <class T>
  static constexpr int kGroup = 1;
  static constexpr bool kPairs = false;  // whether dot_pairs exists

  static Reg zero() { return 0.0f; }
  static Reg fill(float x) { return x; }
  static Reg multiply(Reg x, Reg y) { return x * y; }
  static Reg add(Reg x, Reg y) { return x + y; }
  static Reg fma(Reg x, Reg y, Reg sum) { return x * y + sum; }
  static float sum(Reg x) { return x; }
  static void prefetch(const void* at) { __builtin_prefetch(at, 0, 3); }

  static Reg load(const float* from) { return *from; }
  static void store(float* to, Reg x) { *to = x; }
  // Any element type; the _n forms touch only the first n lanes (n may be < 1 or > kWidth).
  template <class T>
  static Reg load_wide(const T* from) {
    return widen(*from);
  }
  template <class T>
  static Reg load_wide_n(const T* from, int64_t n) {
    return n > 0 ? widen(*from) : 0.0f;
  }
  template <class T>
  static Reg fill_wide(const T* from) {
    return widen(*from);
  }
  template <class T>
  static void store_narrow(T* to, Reg x) {
    narrow(to, x);
  }
  template <class T>
  static void store_narrow_n(T* to, Reg x, int64_t n) {
    if (n > 0) narrow(to, x);
  }
  // kGroup<T> registers at once, and back to the order of memory.
  template <class T>
  static void load_group(const T* from, Reg* to) {
    to[0] = widen(*from);
  }
  template <class T>
  static void load_group_n(const T* from, Reg* to, int64_t n) {
    to[0] = load_wide_n(from, n);
  }
  template <class T>
  static void ungroup(Reg*) {}
};

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_SCALAR_H
