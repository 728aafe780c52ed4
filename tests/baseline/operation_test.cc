// SPDX-License-Identifier: Apache-2.0
// The baselines of the operations besides gemm: that plain loops and a library agree, each in its
// own order of sums.
#include "baseline/baseline.h"
#include "problem/operations.h"

#include "base/element.h"
#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace tilewright {
namespace {

constexpr const char* kProblems[] = {"softmax 9x67 bf16",
                                     "layernorm 9x67 bf16",
                                     "reduce 9x67 bf16 fn=sum",
                                     "reduce 9x67 f16 fn=max",
                                     "map 9x67 bf16 fn=gelu",
                                     "map 9x67 bf16 fn=silu",
                                     "map 9x67 f16 fn=relu out=f32",
                                     "transpose 9x67 bf16",
                                     "conv2d 2x9x7x16 3x3x32 bf16 stride=2 pad=1"};

std::vector<std::byte> filled(ElementType type, std::int64_t count, Rng& rng) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(type) + 64);
  for (std::int64_t i = 0; i < count; ++i) store(type, bytes.data(), i, 4 * rng.uniform() - 2);
  return bytes;
}

TEST(OperationBaselines, ThoseOfProductsAreRefused) {
  const Device device = detect_cpu();
  const Problem softmax = parse_problem("softmax 9x67 bf16").value();
  for (const BaselineInfo& info : baselines_for(softmax, device)) {
    EXPECT_NE(info.name, "openblas");
  }
  EXPECT_FALSE(make_baseline("openblas", softmax, device, 1));
  const Problem transpose = parse_problem("transpose 9x67 bf16").value();
  EXPECT_FALSE(make_baseline("onednn_f32", transpose, device, 1));
}

TEST(OperationBaselines, Agree) {
  const Device device = detect_cpu();
  for (const char* text : kProblems) {
    const Problem p = parse_problem(text).value();
    Rng rng(3);
    const std::vector<std::byte> a = filled(p.in, p.a_rows() * p.a_cols(), rng);
    const std::vector<std::byte> b = filled(p.in, p.b_rows() * p.b_cols(), rng);
    std::map<std::string, std::vector<std::byte>> results;
    for (const BaselineInfo& info : baselines_for(p, device)) {
      EXPECT_TRUE(info.headline || info.name != "reference") << text;
      if (!info.available) {
        EXPECT_NE(info.name, "reference") << info.why_not;
        EXPECT_FALSE(info.why_not.empty());
        continue;
      }
      auto made = make_baseline(info.name, p, device, 1);
      ASSERT_TRUE(made) << text << " " << info.name << ": " << made.error().message;
      std::vector<std::byte> c = filled(p.out, p.c_rows() * p.c_cols(), rng);
      tw_cpu_gemm_args args{};
      args.a = a.data(), args.b = b.data(), args.c = c.data();
      args.m = p.m, args.n = p.n, args.k = p.k;
      args.lda = p.a_stride(), args.ldb = p.b_stride(), args.ldc = p.c_stride();
      args.batch = 1, args.alpha = 1;
      const Status ready = (*made)->prepare(args);
      ASSERT_TRUE(ready) << text << " " << info.name << ": " << ready.error().message;
      const Status ran = (*made)->run(args);
      ASSERT_TRUE(ran) << text << " " << info.name << ": " << ran.error().message;
      results.emplace(info.name, std::move(c));
    }
    ASSERT_TRUE(results.contains("reference")) << text;
    const std::vector<std::byte>& right = results.at("reference");
    for (const auto& [name, got] : results) {
      for (std::int64_t i = 0; i < p.c_rows() * p.c_cols(); ++i) {
        const double want = load(p.out, right.data(), i), have = load(p.out, got.data(), i);
        ASSERT_NEAR(have, want, 4 * unit_roundoff(p.out) * std::fabs(want) + 1e-3)
            << text << " " << name << " result " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
