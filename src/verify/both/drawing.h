// SPDX-License-Identifier: Apache-2.0
// Element i of drawn data, written once: the host's compiler and the GPU's both read this file, so
// it includes nothing. What the data are for stands in inputs.h; inputs.cc makes the tables, and
// draws the same bits faster, a block of eight at a time. The tests compare the two.
#pragma once

namespace tilewright {

enum : long long { kDrawTable = 65536 };  // no variable: it would be one of the GPU module

// How one operand is drawn, by tables of the element type's bits.
struct Drawing {
  enum Form : int {
    kConstant,    // `bits` everywhere
    kTable,       // values[16 random bits]
    kCancelling,  // the second half of the inner dimension takes back the first
    kSplit,       // by a plan for each place of the inner dimension
  };
  int form = kConstant;
  unsigned bits = 0;
  unsigned stream = 0;
  unsigned long long seed = 0;
  // kTable: 65,536 values. kCancelling: two such tables more, for the second half: at every
  // sixteenth place the last, else the one before. kSplit: {minus, zero, plus} of each place, by
  // batch entry.
  const unsigned* values = nullptr;
  const int* ordinals = nullptr;  // kSplit: which payload a place is, or -1
  long long outer = 0, inner = 0;
  bool inner_is_row = false;  // stored with the inner dimension as the row
};

struct PhiloxBlock {
  unsigned word[4];
};

// Philox4x32-10 (base/rng.h) at (block, stream) with key `seed`.
constexpr PhiloxBlock philox(unsigned long long block, unsigned long long stream,
                             unsigned long long seed) {
  unsigned x0 = static_cast<unsigned>(block), x1 = static_cast<unsigned>(block >> 32);
  unsigned x2 = static_cast<unsigned>(stream), x3 = static_cast<unsigned>(stream >> 32);
  unsigned k0 = static_cast<unsigned>(seed), k1 = static_cast<unsigned>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ULL * x0;
    const unsigned long long p1 = 0xCD9E8D57ULL * x2;
    x0 = static_cast<unsigned>(p1 >> 32) ^ x1 ^ k0;
    x1 = static_cast<unsigned>(p1);
    x2 = static_cast<unsigned>(p0 >> 32) ^ x3 ^ k1;
    x3 = static_cast<unsigned>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{x0, x1, x2, x3}};
}

// The table index of element i (`in_block` is i % 8) of a block's eight.
constexpr unsigned pick_of(const PhiloxBlock& block, int in_block) {
  return block.word[in_block / 2] >> (in_block % 2 * 16) & 0xffffU;
}
constexpr unsigned pick_at(const Drawing& d, long long i) {
  return pick_of(philox(static_cast<unsigned long long>(i / 8), d.stream, d.seed),
                 static_cast<int>(i % 8));
}

// Draw number `t` of the stream of one row or column, as Rng::next64 gives it.
constexpr unsigned long long next64_at(unsigned long long seed, unsigned long long stream, int t) {
  const PhiloxBlock block = philox(static_cast<unsigned long long>(t / 2), stream, seed);
  const int word = t % 2 * 2;
  return block.word[word] | static_cast<unsigned long long>(block.word[word + 1]) << 32;
}

constexpr unsigned drawn_cancelling(const Drawing& d, long long i) {
  const long long half = d.inner / 2;
  const long long in_batch = i % (d.outer * d.inner);
  const long long place = d.inner_is_row ? in_batch / d.outer : in_batch % d.inner;
  if (place < half || place >= 2 * half) return d.values[pick_at(d, i)];
  const long long first = i - half * (d.inner_is_row ? d.outer : 1);
  const int table = (place - half) % 16 == 3 ? 2 : 1;
  return d.values[table * kDrawTable + pick_at(d, first)];
}

constexpr unsigned drawn_split(const Drawing& d, long long i) {
  const long long batch = i / (d.outer * d.inner);
  const long long in_batch = i % (d.outer * d.inner);
  const long long place = d.inner_is_row ? in_batch / d.outer : in_batch % d.inner;
  const long long outer = d.inner_is_row ? in_batch % d.outer : in_batch / d.inner;
  const unsigned long long stream =
      static_cast<unsigned long long>((batch * d.outer + outer) * 8) + d.stream;
  const long long at = batch * d.inner + place;
  const int payload = d.ordinals[at];
  // Rng::below(3) would draw again after a zero of 64 bits: a chance that is not worth a loop.
  const unsigned long long word = next64_at(d.seed, stream, payload + 1);
  const unsigned pick = static_cast<unsigned>(payload <= 0 ? word % 2 * 2 : word % 3);
  return d.values[at * 3 + pick];
}

// The bits of element i of the operand as packed.
constexpr unsigned drawn(const Drawing& d, long long i) {
  switch (d.form) {
    case Drawing::kTable:
      return d.values[pick_at(d, i)];
    case Drawing::kCancelling:
      return drawn_cancelling(d, i);
    case Drawing::kSplit:
      return drawn_split(d, i);
    default:
      return d.bits;
  }
}

}  // namespace tilewright
