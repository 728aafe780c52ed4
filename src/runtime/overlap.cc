// SPDX-License-Identifier: Apache-2.0
// The distances between the intervals of two footprints are d + i*p + j*q + ..., i < I, j < J, ...:
// a start and up to four progressions. They share a byte if one of these distances lies in a window
// around 0. Progressions whose steps are no wider than the window leave no gap, so they widen it;
// of the rest two are decided by counting lattice points, as in Euclid's algorithm, and further
// ones, which hardly occur, are walked through.
#include "runtime/overlap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace tilewright::runtime {
namespace {

// Distances fit 64 bits, products of them with counts need more.
__extension__ using Wide = __int128;
__extension__ using Unsigned = unsigned __int128;

constexpr std::int64_t kMostSteps = 1 << 16;

struct Progression {
  Wide step = 0, count = 1;
};

Wide floor_divided(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}
Wide ceiling_divided(Wide a, Wide b) {
  return -floor_divided(-a, b);
}

// The sum of floor((a*i + b) / m) over i < n, modulo 2^128; a, b < 2^64 * m.
Unsigned floor_sum(Unsigned n, Unsigned m, Unsigned a, Unsigned b) {
  Unsigned sum = 0;
  while (true) {
    if (a >= m) {
      sum += (n % 2 == 0 ? (n / 2) * (n - 1) : n * ((n - 1) / 2)) * (a / m);
      a %= m;
    }
    if (b >= m) {
      sum += n * (b / m);
      b %= m;
    }
    const Unsigned last = a * n + b;
    if (last < m) return sum;
    n = last / m;
    b = last % m;
    std::swap(m, a);
  }
}

// Whether the sum of the progressions can lie in [low, high].
class Search {
 public:
  // Steps must not be negative; at most four of them.
  void add(std::int64_t step, Wide count) {
    if (step == 0 || count <= 1) return;
    std::size_t place = size_;  // sorted by step
    for (; place > 0 && progressions_[place - 1].step >= step; --place) {
      if (progressions_[place - 1].step == step) {
        progressions_[place - 1].count += count - 1;
        return;
      }
    }
    for (std::size_t i = size_; i > place; --i) progressions_[i] = progressions_[i - 1];
    progressions_[place] = {step, count};
    ++size_;
  }

  // Nothing if it would take too long.
  std::optional<bool> hits(Wide low, Wide high) {
    std::size_t first = 0;
    for (; first < size_ && progressions_[first].step <= high - low + 1; ++first) {
      low -= (progressions_[first].count - 1) * progressions_[first].step;
    }
    steps_ = 0;
    return search(first, size_, low, high);
  }

 private:
  // Over progressions [first, end), all of whose steps are wider than the window.
  std::optional<bool> search(std::size_t first, std::size_t end, Wide low, Wide high) {
    if (first == end) return low <= 0 && 0 <= high;
    const Progression& largest = progressions_[end - 1];
    Wide others = 0;  // how far the others reach
    for (std::size_t i = first; i + 1 < end; ++i) {
      others += (progressions_[i].count - 1) * progressions_[i].step;
    }
    const Wide from = std::max<Wide>(0, ceiling_divided(low - others, largest.step));
    const Wide to = std::min(largest.count - 1, floor_divided(high, largest.step));
    if (from > to) return false;
    if (end - first == 1) return true;
    if (end - first == 2) {
      return two_hit(progressions_[first].step, largest.step, from, to, high, high - low + 1);
    }
    for (Wide i = from; i <= to; ++i) {
      if (++steps_ > kMostSteps) return std::nullopt;
      const auto found = search(first, end - 1, low - i * largest.step, high - i * largest.step);
      if (!found || *found) return found;
    }
    return false;
  }

  // Whether (high - i*large) mod small is less than `window` for an i of [from, to]. Within these
  // bounds the quotient is a member of the smaller progression, because the window is narrower
  // than its step.
  static bool two_hit(Wide small, Wide large, Wide from, Wide to, Wide high, Wide window) {
    const Wide start = high - to * large;  // i from `to` down, so that terms grow
    const auto m = static_cast<Unsigned>(small);
    const auto n = static_cast<Unsigned>(to - from + 1);
    const auto a = static_cast<Unsigned>(large % small);
    const Wide b = start - floor_divided(start, small) * small;
    // Each term is 1 if the remainder is less than the window, else 0.
    const Unsigned hits = floor_sum(n, m, a, static_cast<Unsigned>(b + small)) -
                          floor_sum(n, m, a, static_cast<Unsigned>(b + small - window));
    return hits != 0;
  }

  std::array<Progression, 4> progressions_;
  std::size_t size_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.empty() || b.empty()) return false;
  // a's begin less b's begin; in the usual case that alone is the answer.
  const Wide distance = static_cast<Wide>(a.address) - static_cast<Wide>(b.address);
  if (distance >= b.span() || -distance >= a.span()) return false;
  Search search;
  search.add(a.row_stride, a.rows);
  search.add(a.batch_stride, a.batch);
  search.add(b.row_stride, b.rows);
  search.add(b.batch_stride, b.batch);
  // b's steps count down: begin at its last interval.
  const Wide start = distance - (b.span() - b.width);
  return search.hits(1 - a.width - start, b.width - 1 - start).value_or(true);
}

bool entries_overlap(const Footprint& a) {
  if (a.empty() || a.batch == 1) return false;
  // Two entries are 1 to batch - 1 steps apart, two rows -(rows - 1) to rows - 1.
  Search search;
  search.add(a.batch_stride, a.batch - 1);
  search.add(a.row_stride, 2 * static_cast<Wide>(a.rows) - 1);
  const Wide start =
      static_cast<Wide>(a.batch_stride) - (a.rows - 1) * static_cast<Wide>(a.row_stride);
  return search.hits(1 - a.width - start, a.width - 1 - start).value_or(true);
}

}  // namespace tilewright::runtime
