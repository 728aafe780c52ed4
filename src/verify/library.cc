// SPDX-License-Identifier: Apache-2.0
// Making data sets, their ragged neighbours and their near copies; see library.h.
#include "verify/library.h"

#include "base/rng.h"
#include "verify/operation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

constexpr std::size_t kKeepBytes = std::size_t{64} << 20;

// Keeps the leading keep_rows x keep_cols of each stored matrix and makes the rest NaN.
void poison_rest(const Strided& matrix, std::int64_t keep_rows, std::int64_t keep_cols) {
  const auto size = static_cast<std::int64_t>(size_of(matrix.type));
  for (std::int64_t b = 0; b < matrix.batches; ++b) {
    const Strided right{matrix.row(b, 0) + keep_cols * size,
                        matrix.type,
                        matrix.rows,
                        matrix.cols - keep_cols,
                        1,
                        matrix.stride,
                        0};
    fill_nan(right);
    const Strided below{matrix.row(b, 0) + keep_rows * matrix.stride * size,
                        matrix.type,
                        matrix.rows - keep_rows,
                        matrix.cols,
                        1,
                        matrix.stride,
                        0};
    fill_nan(below);
  }
}

std::int64_t element(const Strided& m, std::int64_t batch, std::int64_t r, std::int64_t c) {
  return batch * m.batch_stride + r * m.stride + c;
}

}  // namespace

std::shared_ptr<DataSet> DataLibrary::make(DataKind kind, std::uint64_t seed) const {
  auto set = std::make_shared<DataSet>();
  set->kind = kind;
  set->seed = seed;
  set->operands = draw(problem_, kind, seed);
  set->reference =
      reference(problem_, packed_a(problem_, set->operands.a), packed_b(problem_, set->operands.b),
                whole(problem_), !is_exact(kind, problem_), seed);
  return set;
}

std::shared_ptr<const DataSet> DataLibrary::fixed(DataKind kind) {
  std::shared_ptr<const DataSet>& kept = fixed_[static_cast<std::size_t>(kind)];
  const std::uint64_t seed = seed_ * 64 + static_cast<std::uint64_t>(kind);
  if (!kept) {
    std::shared_ptr<DataSet> made = make(kind, seed);
    if (made->operands.a.size() + made->operands.b.size() <= kKeepBytes) return kept = made;
    auto light = std::make_shared<DataSet>(*made);
    light->operands = {};
    kept = light;
    return made;
  }
  const bool dropped =
      kept->operands.a.empty() && kept->operands.b.empty() && problem_.k * problem_.batch > 0;
  if (!dropped) return kept;
  auto again = std::make_shared<DataSet>(*kept);
  again->operands = draw(problem_, kind, seed);
  return again;
}

std::shared_ptr<const DataSet> DataLibrary::fresh(DataKind kind, std::uint64_t seed) const {
  return make(kind, seed);
}

std::vector<Extent> ragged_extents(const Problem& p) {
  std::vector<Extent> extents = {{p.m - 1, p.n - 1, p.k - 1},
                                 {p.m / 2 + 1, p.n / 3 + 1, p.k / 2 + 1},
                                 {1, p.n, p.k},
                                 {p.m, 1, 1},
                                 {p.m, p.n, 0}};
  if (!p.is_gemm()) {
    // Inner dimensions they have none, and of nothing there is no maximum.
    extents.pop_back();
    for (Extent& e : extents)
      e = {std::max<std::int64_t>(e.m, 1), std::max<std::int64_t>(e.n, 1), 1};
  }
  for (Extent& e : extents) {
    e = {std::clamp<std::int64_t>(e.m, 0, p.m), std::clamp<std::int64_t>(e.n, 0, p.n),
         std::clamp<std::int64_t>(e.k, 0, p.k)};
  }
  return extents;
}

const std::vector<RaggedFeed>& DataLibrary::ragged() {
  if (!ragged_.empty()) return ragged_;
  const Problem& p = problem_;
  for (const Extent& e : ragged_extents(p)) {
    auto set = std::make_shared<DataSet>();
    set->operands = draw(p, DataKind::normal, seed_ * 64 + 63);
    const Strided a = packed_a(p, set->operands.a);
    const Strided b = packed_b(p, set->operands.b);
    set->reference = reference(p, a, b, e, true, seed_);
    if (by_rows(p)) {
      poison_rest(a, e.m, e.n);
      poison_rest(b, b.rows, std::min(e.n, b.cols));
    } else {
      poison_rest(a, p.a_transposed ? e.k : e.m, p.a_transposed ? e.m : e.k);
      poison_rest(b, p.b_transposed ? e.n : e.k, p.b_transposed ? e.k : e.n);
    }
    ragged_.push_back({e, std::move(set)});
  }
  return ragged_;
}

std::shared_ptr<const DataSet> with_one_changed(const Problem& p, const DataSet& set, bool in_a,
                                                std::uint64_t seed) {
  auto changed = std::make_shared<DataSet>(set);
  if (set.reference.strips.empty() || p.k == 0) return changed;
  const Strided a = packed_a(p, changed->operands.a);
  const Strided b = packed_b(p, changed->operands.b);
  const auto index_a = [&](std::int64_t batch, std::int64_t i, std::int64_t k) {
    return p.a_transposed ? element(a, batch, k, i) : element(a, batch, i, k);
  };
  const auto index_b = [&](std::int64_t batch, std::int64_t k, std::int64_t j) {
    return p.b_transposed ? element(b, batch, j, k) : element(b, batch, k, j);
  };
  Rng rng(seed, 0x0e);
  if (!p.is_gemm()) {
    const Strided& matrix = in_a || b.rows == 0 ? a : b;
    const std::int64_t count = matrix.rows * matrix.cols;
    const auto at = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
    store(p.in, matrix.data, at, load(p.in, matrix.data, at) == 0 ? 1 : 0);
    changed->reference = reference(p, a, b, whole(p), !is_exact(set.kind, p), set.seed);
    return changed;
  }
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  const Strip& any = changed->reference.strips.front();
  const std::int64_t batch = any.batch;
  const std::int64_t k = below(p.k);
  const std::int64_t line =
      in_a ? any.rows[static_cast<std::size_t>(below(static_cast<std::int64_t>(any.rows.size())))]
           : any.cols[static_cast<std::size_t>(below(static_cast<std::int64_t>(any.cols.size())))];
  const Strided& matrix = in_a ? a : b;
  const std::int64_t at = in_a ? index_a(batch, line, k) : index_b(batch, k, line);
  const double old = load(p.in, matrix.data, at);
  const double now = old == 0 ? 1 : 0;
  store(p.in, matrix.data, at, now);
  for (Strip& strip : changed->reference.strips) {
    if (strip.batch != batch) continue;
    const std::size_t cols = strip.cols.size();
    for (std::size_t r = 0; r < strip.rows.size(); ++r) {
      for (std::size_t c = 0; c < cols; ++c) {
        if ((in_a ? strip.rows[r] : strip.cols[c]) != line) continue;
        const double other = in_a ? load(p.in, b.data, index_b(batch, k, strip.cols[c]))
                                  : load(p.in, a.data, index_a(batch, strip.rows[r], k));
        strip.sum[r * cols + c] += (now - old) * other;
      }
    }
  }
  return changed;
}

}  // namespace tilewright
