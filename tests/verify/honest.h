// SPDX-License-Identifier: Apache-2.0
// A plain kernel for the tests of this folder, in this process: f32 accumulation in a chosen order,
// one rounding to the output. What the checker must always accept; planted faults start from it.
#pragma once

#include "base/element.h"
#include "base/rng.h"
#include "verify/host_ground.h"
#include "verify/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace tilewright {

inline Problem problem_of(const std::string& text) {
  auto parsed = parse_problem(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : Problem{};
}

inline Arena arena_of(const Problem& problem, int sets = 2, std::int64_t workspace = 256) {
  auto arena = Arena::create(problem, sets, workspace);
  EXPECT_TRUE(arena) << (arena ? "" : arena.error().message);
  return std::move(*arena);
}

enum class Summation { forward, backward, slices, shuffled, pairs };

// The f32 sum of products in the given order; each product is rounded to f32 or fused.
inline float sum_f32(const std::vector<float>& a, const std::vector<float>& b, Summation order,
                     bool fused, Rng* rng) {
  const std::size_t k = a.size();
  std::vector<std::size_t> index(k);
  std::iota(index.begin(), index.end(), std::size_t{0});
  if (order == Summation::backward) std::reverse(index.begin(), index.end());
  if (order == Summation::shuffled) {
    for (std::size_t i = k; i > 1; --i) std::swap(index[i - 1], index[rng->below(i)]);
  }
  const auto add = [&](float sum, std::size_t i) {
    return fused ? std::fma(a[i], b[i], sum) : sum + a[i] * b[i];
  };
  if (order == Summation::slices) {  // seven f32 partials, as split-k and vector lanes make them
    std::vector<float> partial(7, 0.0F);
    for (const std::size_t i : index) partial[i % 7] = add(partial[i % 7], i);
    float sum = 0;
    for (const float p : partial) sum += p;
    return sum;
  }
  if (order == Summation::pairs) {
    std::vector<float> level;
    for (const std::size_t i : index) level.push_back(a[i] * b[i]);
    while (level.size() > 1) {
      std::vector<float> next;
      for (std::size_t i = 0; i < level.size(); i += 2) {
        next.push_back(i + 1 < level.size() ? level[i] + level[i + 1] : level[i]);
      }
      level = std::move(next);
    }
    return level.empty() ? 0.0F : level[0];
  }
  float sum = 0;
  for (const std::size_t i : index) sum = add(sum, i);
  return sum;
}

struct Rows {  // op(A) by rows, op(B) by columns, as f32
  std::vector<std::vector<float>> a, b;
};
inline Rows rows_of(const Problem& p, const Strided& a, const Strided& b, std::int64_t batch,
                    const Extent& e) {
  const std::vector<float> wa = widen(a, batch);
  const std::vector<float> wb = widen(b, batch);
  Rows rows;
  for (std::int64_t i = 0; i < e.m; ++i) {
    auto& row = rows.a.emplace_back();
    for (std::int64_t k = 0; k < e.k; ++k) {
      row.push_back(wa[static_cast<std::size_t>(p.a_transposed ? k * p.m + i : i * p.k + k)]);
    }
  }
  for (std::int64_t j = 0; j < e.n; ++j) {
    auto& column = rows.b.emplace_back();
    for (std::int64_t k = 0; k < e.k; ++k) {
      column.push_back(wb[static_cast<std::size_t>(p.b_transposed ? j * p.k + k : k * p.n + j)]);
    }
  }
  return rows;
}

// C of one set becomes alpha A B + beta C, like a kernel called on the arena.
inline void honest_call(const Arena& arena, int set, float alpha, float beta, const Extent& e,
                        Summation order = Summation::forward, bool fused = true) {
  const Problem& p = arena.problem();
  const Strided c = view_c(arena, set);
  Rng rng(7);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const bool zero = alpha == 0;  // then A and B are not read
    const Rows rows = rows_of(p, view_a(arena, set), view_b(arena, set), batch, e);
    for (std::int64_t i = 0; i < e.m; ++i) {
      for (std::int64_t j = 0; j < e.n; ++j) {
        const auto row = static_cast<std::size_t>(i);
        const auto column = static_cast<std::size_t>(j);
        float value =
            zero ? 0.0F : alpha * sum_f32(rows.a[row], rows.b[column], order, fused, &rng);
        if (beta != 0) value += beta * static_cast<float>(load(c.type, c.row(batch, i), j));
        store(c.type, c.row(batch, i), j, static_cast<double>(value));
      }
    }
  }
}
inline void honest_call(const Arena& arena, int set, float alpha = 1, float beta = 0) {
  honest_call(arena, set, alpha, beta, whole(arena.problem()));
}

inline Caller honest_caller(const Arena& arena) {
  Caller caller;
  caller.call = [&arena](int set, float alpha, float beta) {
    honest_call(arena, set, alpha, beta);
    return Finding{};
  };
  caller.call_sizes = [&arena](const Extent& e) {
    honest_call(arena, 0, 1, timed_beta(arena.problem()), e);
    return Finding{};
  };
  return caller;
}

}  // namespace tilewright
