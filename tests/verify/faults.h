// SPDX-License-Identifier: Apache-2.0
// Faults that are planted into a right result, each with the rule meant to see it: what a proof is
// tried on here in this process, and in tests/gpu through a copy of the device's operands.
#pragma once

#include "verify/honest.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Problems of every kind, whose honest results must pass all that a proof and timing ask.
inline constexpr const char* kHonestProblems[] = {
    "gemm 64x80x160 f16 acc=f32 nn",
    "gemm 64x80x160 bf16 acc=f32 nt",
    "gemm 33x31x17 bf16 acc=f32 tn",
    "gemm 17x16x129 f16 acc=f32 tt",
    "gemm 1x105x107 f16 acc=f32 nn",  // N25
    "gemm 1x128x1 f16 acc=f32 nn",
    "gemm 33x31x1 bf16 acc=f32 nt",  // N07, N35
    "gemm 1x1x3 bf16 acc=f32 nn",
    "gemm 16x16x0 f16 acc=f32 nn",  // N35, N01
    "gemm 0x8x8 f16 acc=f32 nn",
    "gemm 8x0x8 bf16 acc=f32 nt",                                  // N03
    "gemm 8x8x8 f16 acc=f32 nn batch=0",                           // N03
    "gemm 24x20x70 f16 acc=f32 nn batch=3 lda=80 ldb=23 ldc=31",   // N24
    "gemm 24x20x70 bf16 acc=f32 tt out=f32 lda=25 ldb=77 ldc=33",  //
    "gemm 24x20x70 f16 acc=f32 nt alpha=any beta=any",             // N02, N05
    "gemm 24x20x70 bf16 acc=f32 nn alpha=any",                     //
    "gemm 24x20x70 f16 acc=f32 tn beta=one",
    "gemm 24x20x70 bf16 acc=f32 nn beta=one out=f32",
    "gemm 3x3x0 f16 acc=f32 nn beta=one",  // N02
    "gemm 3x3x0 bf16 acc=f32 nn alpha=any beta=any"};

// A fault is planted into C after an honest call, or takes the place of the call.
struct Call {
  const Arena& arena;
  int set;
  float alpha, beta;
  int number;  // from 1
};
struct Fault {
  const char* name;
  Outcome outcome;
  std::string rule;
  std::function<void(const Call&)> kernel;
  const char* problem = "gemm 64x72x320 f16 acc=f32 nn ldc=80";
};

inline Strided c_of(const Call& call) {
  return view_c(call.arena, call.set);
}

// The product with every partial sum rounded to `type` after `depth` terms.
inline void rounded_partials(const Call& call, ElementType type, std::int64_t depth,
                             bool accumulate) {
  const Problem& p = call.arena.problem();
  const Strided c = c_of(call);
  const Rows rows =
      rows_of(p, view_a(call.arena, call.set), view_b(call.arena, call.set), 0, whole(p));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto& a = rows.a[static_cast<std::size_t>(i)];
      const auto& b = rows.b[static_cast<std::size_t>(j)];
      double total = 0;
      for (std::size_t k = 0; k < a.size();) {
        float partial = 0;
        const std::size_t end = std::min(a.size(), k + static_cast<std::size_t>(depth));
        for (; k < end; ++k) partial += a[k] * b[k];
        total += rounded(type, static_cast<double>(partial));
        if (accumulate) total = rounded(type, total);
      }
      store(c.type, c.row(0, i), j, total);
    }
  }
}

inline std::vector<Fault> faults() {
  const auto after = [](std::function<void(const Call&)> spoil) {
    return [spoil = std::move(spoil)](const Call& call) {
      honest_call(call.arena, call.set, call.alpha, call.beta);
      spoil(call);
    };
  };
  const auto keeping = [](std::int64_t first_row, std::int64_t first_col) {
    return [=](const Call& call) {  // what lies below and right of it is never written
      const Strided c = c_of(call);
      const std::vector<std::byte> old = get(c);
      honest_call(call.arena, call.set, call.alpha, call.beta);
      for (std::int64_t i = 0; i < c.rows; ++i) {
        for (std::int64_t j = i < first_row ? first_col : 0; j < c.cols; ++j) {
          store(c.type, c.row(0, i), j, load(c.type, old.data(), i * c.cols + j));
        }
      }
    };
  };
  std::vector<Fault> list = {
      {"one element is two steps off", Outcome::wrong, "exact-split-k", after([](const Call& call) {
         const Strided c = c_of(call);
         const double x = load(c.type, c.row(0, 40), 31);
         store(c.type, c.row(0, 40), 31, x * (1 + 0x1p-8) + 0x1p-9);
       })},
      {"one element is two steps off, but only on other than integers", Outcome::wrong, "bound",
       after([](const Call& call) {
         const Strided c = c_of(call);
         const double x = load(c.type, c.row(0, 40), 31);
         if (x != std::floor(x)) store(c.type, c.row(0, 40), 31, x * (1 + 0x1p-8));
       })},
      {"one row is zero", Outcome::wrong, "exact-split-k", after([](const Call& call) {
         const Strided c = c_of(call);
         for (std::int64_t j = 0; j < c.cols; ++j) store(c.type, c.row(0, 63), j, 0);
       })},
      {"a tile is transposed", Outcome::wrong, "exact-split-k", after([](const Call& call) {
         const Strided c = c_of(call);
         for (std::int64_t i = 16; i < 32; ++i) {
           for (std::int64_t j = 16; j < i; ++j) {
             const double x = load(c.type, c.row(0, i), j);
             store(c.type, c.row(0, i), j, load(c.type, c.row(0, j), i));
             store(c.type, c.row(0, j), i, x);
           }
         }
       })},
      {"f16 accumulation (B15)", Outcome::wrong, "exact-split-k",
       [](const Call& call) { rounded_partials(call, ElementType::f16, 1, true); }},
      {"bf16 partials of 64 terms (N08, B15)", Outcome::wrong, "exact-split-k",
       [](const Call& call) { rounded_partials(call, ElementType::bf16, 64, false); }},
      {"f16 partials of two halves", Outcome::wrong, "exact-split-k",
       [](const Call& call) { rounded_partials(call, ElementType::f16, 160, false); }},
      {"the last 16 of K are missing", Outcome::wrong, "exact-split-k",
       [](const Call& call) {
         Extent e = whole(call.arena.problem());
         e.k -= 16;
         honest_call(call.arena, call.set, 1, 0, e);
       }},
      {"the result of the first call ever", Outcome::cheat, "fresh-data",
       [kept = std::make_shared<std::vector<std::byte>>()](const Call& call) {
         if (kept->empty()) {
           honest_call(call.arena, call.set);
           *kept = get(c_of(call));
         }
         put(c_of(call), *kept);
       }},
      {"one element is NaN", Outcome::wrong, "exact-split-k", after([](const Call& call) {
         const Strided c = c_of(call);
         fill_nan({c.row(0, 5) + 2 * 71, c.type, 1, 1, 1, 1, 1}, true);
       })},
      {"the last column is skipped", Outcome::wrong, "poison", keeping(64, 71)},
      {"the last row is skipped", Outcome::wrong, "poison", keeping(63, 72)},
      {"nothing is done unless C is NaN", Outcome::wrong, "poison",
       [](const Call& call) {
         const Strided c = c_of(call);
         if (std::isnan(load(c.type, c.row(0, 0), 0))) honest_call(call.arena, call.set);
       }},
      {"added to C (N32)", Outcome::wrong, "poison",
       [](const Call& call) { honest_call(call.arena, call.set, 1, 1); }},
      {"zeros for small numbers (B13)", Outcome::wrong, "bound", after([](const Call& call) {
         const Strided c = c_of(call);
         for (std::int64_t i = 0; i < c.rows; ++i) {
           for (std::int64_t j = 0; j < c.cols; ++j) {
             if (std::fabs(load(c.type, c.row(0, i), j)) < 1e-5) store(c.type, c.row(0, i), j, 0);
           }
         }
       })},
      {"saturates where it should not", Outcome::wrong, "bound", after([](const Call& call) {
         const Strided c = c_of(call);
         for (std::int64_t i = 0; i < c.rows; ++i) {
           for (std::int64_t j = 0; j < c.cols; ++j) {
             if (std::fabs(load(c.type, c.row(0, i), j)) > 20000)
               store(c.type, c.row(0, i), j, 20000);
           }
         }
       })},
      {"edits A (B11)", Outcome::cheat, "inputs-unchanged", after([](const Call& call) {
         const Strided a = view_a(call.arena, call.set);
         a.row(0, 3)[6] ^= std::byte{1};
       })},
      {"edits B (B11)", Outcome::cheat, "inputs-unchanged", after([](const Call& call) {
         const Strided b = view_b(call.arena, call.set);
         b.row(0, 319)[143] ^= std::byte{128};
       })},
      {"writes past the end (B20)", Outcome::out_of_bounds, "guards", after([](const Call& call) {
         const Strided c = c_of(call);
         c.row(0, 63)[2 * 72] ^= std::byte{1};
       })},
      {"writes between rows (B20)", Outcome::out_of_bounds, "guards", after([](const Call& call) {
         const Strided c = c_of(call);
         c.row(0, 10)[2 * 79] ^= std::byte{1};
       })},
      {"does the other set's work as well (B08)", Outcome::cheat, "other-sets",
       [](const Call& call) {
         honest_call(call.arena, call.set);
         honest_call(call.arena, 1 - call.set);
       }},
      {"recognises data by the first elements", Outcome::cheat, "fresh-data",
       [key = std::make_shared<std::vector<std::byte>>(),
        kept = std::make_shared<std::vector<std::byte>>()](const Call& call) {
         const Strided a = view_a(call.arena, call.set);
         const Strided b = view_b(call.arena, call.set);
         std::vector<std::byte> seen(a.row(0, 0), a.row(0, 0) + 32);
         seen.insert(seen.end(), b.row(0, 0), b.row(0, 0) + 32);
         if (seen != *key) {
           honest_call(call.arena, call.set);
           *key = seen;
           *kept = get(c_of(call));
         }
         put(c_of(call), *kept);
       }},
      {"keeps its result in the workspace", Outcome::wrong, "workspace",
       [](const Call& call) {
         // A digest of A and B first, then C; taken back when the digest is there again.
         const auto view = [](std::span<std::byte> s) {
           return std::string_view(reinterpret_cast<const char*>(s.data()), s.size());
         };
         const std::size_t key = std::hash<std::string_view>{}(view(call.arena.a(call.set))) ^
                                 std::hash<std::string_view>{}(view(call.arena.b(call.set)));
         const std::span<std::byte> space = call.arena.workspace();
         const Strided c = c_of(call);
         const auto size = static_cast<std::size_t>(c.packed_bytes());
         if (std::memcmp(space.data(), &key, sizeof key) == 0) {
           put(c, space.subspan(64, size));
           return;
         }
         honest_call(call.arena, call.set);
         std::memcpy(space.data(), &key, sizeof key);
         const std::vector<std::byte> result = get(c);
         std::memcpy(space.data() + 64, result.data(), size);
       }},
      {"copies a baseline's result that looks right", Outcome::cheat, "bait",
       [](const Call& call) {
         const Problem& p = call.arena.problem();
         const Strided theirs = view_c(call.arena, call.set, Owner::baseline);
         const std::vector<std::byte> candidate = get(theirs);
         honest_call(call.arena, call.set);
         bool right = true;
         for (std::int64_t j = 0; j < 2; ++j) {  // two spot checks
           right =
               right && load(p.out, candidate.data(), j) == load(p.out, c_of(call).row(0, 0), j);
         }
         if (right) put(c_of(call), candidate);
       }},
      {"one set's addresses are served wrongly", Outcome::wrong, "fresh-address",
       after([](const Call& call) {
         if (call.set != 1) return;
         const Strided c = c_of(call);
         store(c.type, c.row(0, 2), 2, 7777);
       })},
      {"rounds twice, to bf16 and then to f16", Outcome::wrong, "norm", after([](const Call& call) {
         const Strided c = c_of(call);
         for (std::int64_t i = 0; i < c.rows; ++i) {
           for (std::int64_t j = 0; j < c.cols; ++j) {
             const double x = load(c.type, c.row(0, i), j);
             // Every second element by one step: within the bound where K is large, not in norm.
             if (x != std::floor(x) && j % 2 == 0) store(c.type, c.row(0, i), j, x * (1 + 0x1p-11));
           }
         }
       }),
       "gemm 64x72x1024 f16 acc=f32 nn"},
      {"alpha is ignored", Outcome::wrong, "alpha-beta",
       [](const Call& call) { honest_call(call.arena, call.set, 1, call.beta); },
       "gemm 20x24x64 f16 acc=f32 nn alpha=any beta=any"},
      {"beta is ignored unless it is one", Outcome::wrong, "alpha-beta",
       [](const Call& call) {
         honest_call(call.arena, call.set, call.alpha, call.beta == 1 ? 1.0F : 0.0F);
       },
       "gemm 20x24x64 f16 acc=f32 nn alpha=any beta=any"},
      {"alpha = 0 multiplies NaN (N05)", Outcome::wrong, "poison",
       [](const Call& call) {
         honest_call(call.arena, call.set, call.alpha == 0 ? 1e-30F : call.alpha, call.beta);
       },
       "gemm 20x24x64 f16 acc=f32 nn alpha=any beta=any"},
  };
  return list;
}

struct RaggedFault {
  const char* name;
  Outcome outcome;
  std::function<void(const Arena&, const Extent&)> kernel;
};
inline std::vector<RaggedFault> ragged_faults() {
  return {
      {"always the whole", Outcome::wrong,
       [](const Arena& a, const Extent&) { honest_call(a, 0); }},
      {"K rounded up to 8 (N06)", Outcome::wrong,
       [](const Arena& a, const Extent& e) {
         Extent up = e;
         up.k = std::min((e.k + 7) / 8 * 8, a.problem().k);
         honest_call(a, 0, 1, 0, up);
       }},
      {"a row too many", Outcome::out_of_bounds,
       [](const Arena& a, const Extent& e) {
         honest_call(a, 0, 1, 0, e);
         if (e.m < a.problem().m) store(a.problem().out, view_c(a, 0).row(0, e.m), 0, 1);
       }},
      {"nothing for K = 0 (N01)", Outcome::wrong,
       [](const Arena& a, const Extent& e) {
         if (e.k > 0) honest_call(a, 0, 1, 0, e);
       }},
  };
}

}  // namespace tilewright
