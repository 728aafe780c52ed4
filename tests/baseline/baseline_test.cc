// SPDX-License-Identifier: Apache-2.0
// Every available baseline computes every case within the bound, on one thread and on all; what is
// not available says why. Cases: tests/cases/baseline_problems.txt.
#include "baseline/baseline.h"

#include "base/file.h"
#include "base/text.h"
#include "baseline/pool_scope.h"
#include "baseline/trial_child.h"
#include "products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// Threads of a library that wait for each other make slow progress where many programs compete.
constexpr std::chrono::seconds kPatience{200};

std::vector<Problem> cases() {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/baseline_problems.txt");
  EXPECT_TRUE(text);
  std::vector<Problem> problems;
  if (!text) return problems;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto parts = split(line, '|');
    EXPECT_EQ(parts.size(), 3U) << line;
    const auto problem = parse_problem(trim(parts[0]));
    EXPECT_TRUE(problem) << line;
    EXPECT_EQ(trim(parts[1]), "within-bound");
    if (problem) problems.push_back(*problem);
  }
  return problems;
}

struct Scalars {
  float alpha, beta;
};
std::vector<Scalars> scalars(const Problem& p) {
  if (p.alpha == AlphaClass::any) return {{0.5F, 0}, {0.5F, -1.25F}, {1, 1}, {2, 0.25F}};
  return {{1, p.beta == BetaClass::zero ? 0.0F : 1.0F}};
}

// "ok", or what was wrong with the first product that was.
std::string all_products(const std::string& name, const Problem& p, int threads) {
  auto made = make_baseline(name, p, detect_cpu(), threads);
  if (!made) return made.error().message;
  for (const Scalars s : scalars(p)) {
    for (const std::uint64_t seed : {1U, 2U}) {  // fresh data at fresh addresses
      Operands operands(p, s.beta == 0, seed);
      const auto args = operands.args(s.alpha, s.beta);
      if (auto status = (*made)->prepare(args); !status) return status.error().message;
      if (auto status = (*made)->run(args); !status) return status.error().message;
      if (auto bad = outside_bound(operands, s.alpha, s.beta); !bad.empty()) return bad;
    }
  }
  return "ok";
}

TEST(Baselines, ComputeWhatTheyClaim) {
  const Device device = detect_cpu();
  int products = 0;
  for (const Problem& p : cases()) {
    for (const BaselineInfo& info : baselines_for(p, device)) {
      if (!info.available) continue;
      for (const int threads : {1, std::min(device.cores, 4)}) {
        SCOPED_TRACE(info.name + " " + to_text(p) + " threads " + std::to_string(threads));
        const auto answer =
            ask_in_child([&] { return all_products(info.name, p, threads); }, kPatience);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(*answer, "ok");
        ++products;
      }
    }
  }
  EXPECT_GE(products, 30);  // the reference alone serves all
}

TEST(Baselines, AllAreListedAndTheAbsentSayWhy) {
  const auto p = parse_problem("gemm 64x64x64 f16 acc=f32 nn");
  ASSERT_TRUE(p);
  std::vector<std::string> names;
  for (const BaselineInfo& info : baselines_for(*p, detect_cpu())) {
    names.push_back(info.name);
    EXPECT_EQ(info.available, info.why_not.empty()) << info.name;
    EXPECT_TRUE(!info.available || !info.library.empty()) << info.name;
    EXPECT_EQ(info.headline, info.name != "openblas_ahead" && info.name != "reference");
    RecordProperty(info.name, info.available ? info.library : info.why_not);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("onednn", "onednn_current", "openblas",
                                            "openblas_ahead", "openblas_sbgemm", "reference"));
}

TEST(Baselines, UnknownNameIsAnErrorWithTheNearest) {
  const auto p = parse_problem("gemm 64x64x64 f16 acc=f32 nn");
  const auto made = make_baseline("openblass", *p, detect_cpu(), 1);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("openblass"));
  EXPECT_THAT(made.error().hint, HasSubstr("openblas"));
  EXPECT_FALSE(make_baseline("reference", *p, detect_cpu(), 0));
}

TEST(Baselines, RefuseOtherSizesThanTheyWereMadeFor) {
  const auto p = parse_problem("gemm 64x64x64 f16 acc=f32 nn");
  auto made = make_baseline("reference", *p, detect_cpu(), 1);
  ASSERT_TRUE(made);
  Operands operands(*p, true, 1);
  auto args = operands.args(1, 0);
  args.k = 32;
  const auto status = (*made)->run(args);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("k 32"));
}

TEST(Baselines, WeightsAheadMustBePreparedAndFollowTheirB) {
  const auto p = parse_problem("gemm 48x40x32 f16 acc=f32 nn");
  const auto infos = baselines_for(*p, detect_cpu());
  if (!infos[3].available) GTEST_SKIP() << infos[3].why_not;
  const auto answer = ask_in_child(
      [&]() -> std::string {
        auto made = make_baseline("openblas_ahead", *p, detect_cpu(), 1);
        if (!made) return made.error().message;
        Operands operands(*p, true, 1);
        const auto args = operands.args(1, 0);
        if ((*made)->run(args)) return "ran unprepared";
        if (!(*made)->prepare(args)) return "prepare failed";
        Operands other(*p, true, 2);
        operands.b = other.b;  // new values at a new address
        const auto moved = operands.args(1, 0);
        if (!(*made)->prepare(moved) || !(*made)->run(moved)) return "failed after B changed";
        store(p->in, operands.b.data(), 0, 3.0);  // new value at the same address
        if (!(*made)->prepare(moved) || !(*made)->run(moved)) return "failed after B was rewritten";
        const auto bad = outside_bound(operands, 1, 0);
        return bad.empty() ? "ok" : bad;
      },
      kPatience);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "ok");
}

// A lockdown forbids new threads after make_baseline: the pools must exist by then.
TEST(Baselines, StartNoThreadAfterTheyAreMade) {
  const Device device = detect_cpu();
  const auto p = parse_problem("gemm 256x256x256 bf16 acc=f32 nn");
  for (const BaselineInfo& info : baselines_for(*p, device)) {
    if (!info.available) continue;
    const auto answer = ask_in_child(
        [&]() -> std::string {
          auto made = make_baseline(info.name, *p, device, device.cores);
          if (!made) return made.error().message;
          Operands operands(*p, true, 1);
          const auto args = operands.args(1, 0);
          const auto before = thread_ids();
          for (int i = 0; i < 3; ++i) {
            if (!(*made)->prepare(args) || !(*made)->run(args)) return "failed";
          }
          return before == thread_ids() ? "ok" : "threads came or went";
        },
        kPatience);
    ASSERT_TRUE(answer) << info.name << ": " << answer.error().message;
    EXPECT_EQ(*answer, "ok") << info.name;
  }
}

TEST(Baselines, EmptyProductsAreForTheReferenceAlone) {
  for (const char* text : {"gemm 0x64x64 f16 nn", "gemm 64x64x0 f16 nn"}) {
    const auto p = parse_problem(text);
    ASSERT_TRUE(p) << text;
    for (const BaselineInfo& info : baselines_for(*p, detect_cpu())) {
      EXPECT_EQ(info.available, info.name == "reference") << info.name << ": " << info.why_not;
    }
    EXPECT_EQ(all_products("reference", *p, 1), "ok");
  }
}

}  // namespace
}  // namespace tilewright
