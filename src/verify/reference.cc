// SPDX-License-Identifier: Apache-2.0
// Which part of a result is recomputed, and recomputing it; reference.h says why.
#include "verify/reference.h"

#include "base/rng.h"
#include "verify/operation.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tilewright {
namespace {

std::vector<std::int64_t> all(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  return indices;
}

// The first, the last and some others, in order.
std::vector<std::int64_t> sample(std::int64_t count, std::int64_t wanted, Rng* rng) {
  if (wanted >= count) return all(count);
  std::set<std::int64_t> chosen = {0, count - 1};
  while (static_cast<std::int64_t>(chosen.size()) < wanted) {
    chosen.insert(static_cast<std::int64_t>(rng->below(static_cast<std::uint64_t>(count))));
  }
  return {chosen.begin(), chosen.end()};
}

// Logical element (i, k) of op(A), (k, j) of op(B), in a widened copy of the storage.
Grid<float> logical(const std::vector<float>& values, std::int64_t stored_cols, bool transposed) {
  return transposed ? Grid<float>{values.data(), 1, stored_cols}
                    : Grid<float>{values.data(), stored_cols, 1};
}

// The chosen rows (or columns) of a logical matrix, gathered so that product() can run over them.
std::vector<float> gather(const Grid<float>& from, const std::vector<std::int64_t>& chosen,
                          std::int64_t depth, bool rows) {
  std::vector<float> out(chosen.size() * static_cast<std::size_t>(depth));
  float* to = out.data();
  for (const std::int64_t index : chosen) {
    for (std::int64_t k = 0; k < depth; ++k) {
      *to++ = rows ? from.data[index * from.row + k * from.col]
                   : from.data[k * from.row + index * from.col];
    }
  }
  return out;
}

void compute(const Grid<float>& a, const Grid<float>& b, const Extent& extent, bool with_magnitude,
             Strip* strip) {
  const auto rows = static_cast<std::int64_t>(strip->rows.size());
  const auto cols = static_cast<std::int64_t>(strip->cols.size());
  const auto size = static_cast<std::size_t>(rows * cols);
  std::vector<float> some_a, some_b;
  Grid<float> ga = a;
  Grid<float> gb = b;
  if (rows < extent.m) {
    some_a = gather(a, strip->rows, extent.k, true);
    ga = {some_a.data(), extent.k, 1};
  }
  if (cols < extent.n) {
    some_b = gather(b, strip->cols, extent.k, false);
    gb = {some_b.data(), 1, extent.k};
  }
  strip->sum.resize(size);
  product(ga, gb, rows, cols, extent.k, strip->sum.data());
  if (!with_magnitude) return;
  strip->magnitude.resize(size);
  magnitude_product(ga, gb, rows, cols, extent.k, strip->magnitude.data());
}

}  // namespace

Reference reference(const Problem& p, const Strided& stored_a, const Strided& b,
                    const Extent& extent, bool with_magnitude, std::uint64_t seed,
                    std::int64_t most) {
  if (by_rows(p)) return reference_by_rows(p, stored_a, b, extent, seed);
  std::vector<std::byte> gathered;
  const Strided a = left_operand(p, stored_a, gathered);
  Reference result;
  result.k = extent.k;
  if (extent.m == 0 || extent.n == 0 || p.batch == 0) return result;
  // Sizes are below 2^40, so the products are formed in floating point.
  const double results =
      static_cast<double>(p.batch) * static_cast<double>(extent.m) * static_cast<double>(extent.n);
  result.full = results <= static_cast<double>(kFullResults) &&
                results * static_cast<double>(extent.k) <= static_cast<double>(most);
  Rng rng(seed, 0x5a);
  constexpr std::int64_t lines = 16;
  constexpr std::int64_t batches = 3;
  for (const std::int64_t batch : result.full ? all(p.batch) : sample(p.batch, batches, &rng)) {
    const std::vector<float> wide_a = widen(a, batch);
    const std::vector<float> wide_b = widen(b, batch);
    const Grid<float> ga = logical(wide_a, a.cols, p.a_transposed);
    const Grid<float> gb = logical(wide_b, b.cols, p.b_transposed);
    if (result.full) {
      result.strips.push_back({batch, all(extent.m), all(extent.n), {}, {}});
      compute(ga, gb, extent, with_magnitude, &result.strips.back());
      continue;
    }
    result.strips.push_back({batch, sample(extent.m, lines, &rng), all(extent.n), {}, {}});
    compute(ga, gb, extent, with_magnitude, &result.strips.back());
    result.strips.push_back({batch, all(extent.m), sample(extent.n, lines, &rng), {}, {}});
    compute(ga, gb, extent, with_magnitude, &result.strips.back());
  }
  return result;
}

}  // namespace tilewright
