// SPDX-License-Identifier: Apache-2.0
// Rounding, guard bytes, digests and what is scrubbed into a workspace, by integer arithmetic,
// written once: the host's compiler and the GPU's both read this file, so it includes nothing.
#pragma once

namespace tilewright {

// Rounds the double with these bits once, to nearest even, to a 16-bit format; as element.cc does.
constexpr unsigned narrowed(unsigned long long bits, int mantissa_bits, int exponent_bits) {
  const unsigned long long sign = (bits >> 63) << 15;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const unsigned long long fraction = bits & ((1ULL << 52) - 1);
  const unsigned long long infinity = ((1ULL << exponent_bits) - 1) << mantissa_bits;
  unsigned long long magnitude = 0;
  if (exponent == 0x7ff) {
    magnitude = infinity;
    if (fraction != 0) {
      magnitude |= (fraction >> (52 - mantissa_bits)) | (1ULL << (mantissa_bits - 1));
    }
  } else if (exponent != 0) {
    const int biased = exponent - 1023 + (1 << (exponent_bits - 1)) - 1;
    const unsigned long long significand = fraction | (1ULL << 52);
    const int drop = 52 - mantissa_bits + (biased < 1 ? 1 - biased : 0);
    if (drop <= 53) {
      unsigned long long kept = significand >> drop;
      const unsigned long long rest = significand & ((1ULL << drop) - 1);
      const unsigned long long half = 1ULL << (drop - 1);
      if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
      magnitude = kept;
      if (biased > 1) magnitude += static_cast<unsigned long long>(biased - 1) << mantissa_bits;
      if (magnitude > infinity) magnitude = infinity;
    }
  }
  return static_cast<unsigned>(sign | magnitude);
}

// The guard byte at `position` in an arena: a copy of another stretch never passes.
constexpr unsigned guard_byte(long long position) {
  const unsigned p = static_cast<unsigned>(position);
  return (p * 167U + (p >> 8) * 59U + (p >> 16) * 101U + 0x5bU) & 0xffU;
}

constexpr unsigned long long mixed(unsigned long long x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

// A digest is the sum of such pairs over all words: the same in whatever order they are added.
struct Digest {
  unsigned long long low = 0, high = 0;
};
constexpr bool operator==(const Digest& a, const Digest& b) {
  return a.low == b.low && a.high == b.high;
}
constexpr Digest digest_of(unsigned long long word, unsigned long long index) {
  const unsigned long long low = mixed(word ^ mixed(index + 0x9e3779b97f4a7c15ULL));
  return {low, mixed(low + word + (index << 1 | 1))};
}

// Eight bytes at multiple of eight `at` of a workspace scrubbed for the `number`-th time: NaN in
// f16, bf16 and f32; hashed words; 1.06, 0.011 and 0.011.
constexpr unsigned long long scrub_word(unsigned long long number, unsigned long long at) {
  if (number % 3 == 0) return ~0ULL;
  if (number % 3 == 2) return 0x3c3c3c3c3c3c3c3cULL;
  const unsigned long long x = (at + number) * 0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 29);
}

}  // namespace tilewright
