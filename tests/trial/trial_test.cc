// SPDX-License-Identifier: Apache-2.0
// Ids, speed-ups and splits. Ids and splits are stored by databases elsewhere, so their values are
// fixed here: if one of these changes, old databases no longer merge.
#include "trial/trial.h"

#include "base/file.h"
#include "problem/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace tilewright {
namespace {

Trial sample() {
  Trial trial;
  trial.problem = "gemm 64x64x64 f16 acc=f32 nn";
  trial.program = "cpu isa=avx2 form=blocked mr=6";
  trial.device = "cpu-intel-6-106-6-avx2-00000000-2c";
  trial.outcome = Outcome::ok;
  trial.time_us = 12.5;
  trial.baselines["onednn"] = {.time_us = 15, .ratio_low = 1.1, .ratio = 1.2, .ratio_high = 1.3};
  trial.baselines["openblas"] = {.time_us = 20};
  trial.baselines["openblas_ahead"] = {.time_us = 5, .headline = false};
  trial.mode = "offline";
  trial.stage = "final";
  trial.run = "run-1";
  trial.seed = 7;
  trial.unix_ms = 1'795'000'000'000;
  trial.program_language = 1;
  trial.device_headers = 1;
  trial.host = "a";
  return trial;
}

TEST(trial_id, is_the_same_forever) {
  // Computed with XXH3_128bits in C from the texts that trial.cc describes.
  EXPECT_EQ(Trial{}.id(), "fee54d93ddca16159f9f74137860ee99");
  EXPECT_EQ(sample().id(), "23cd037ece1718dfee2b1e1dca5d33bc");
}

TEST(trial_id, tells_attempts_apart) {
  std::set<std::string> ids = {sample().id()};
  const auto add = [&](const std::function<void(Trial&)>& change) {
    Trial trial = sample();
    change(trial);
    EXPECT_TRUE(ids.insert(trial.id()).second) << to_json(trial);
  };
  for (auto field : {&Trial::problem, &Trial::program, &Trial::device, &Trial::rule, &Trial::mode,
                     &Trial::stage, &Trial::run, &Trial::host, &Trial::binary_hash}) {
    add([&](Trial& t) { t.*field = std::string(1, 'x'); });
  }
  add([](Trial& t) { t.outcome = Outcome::wrong; });
  add([](Trial& t) { t.time_us = 12.500000000000002; });
  add([](Trial& t) { ++t.seed; });
  add([](Trial& t) { ++t.unix_ms; });
  add([](Trial& t) { ++t.program_language; });
  add([](Trial& t) { ++t.device_headers; });
  // The same letters on the other side of a border of fields.
  add([](Trial& t) { std::swap(t.run, t.host); });
}

TEST(trial_id, ignores_comments_on_the_attempt) {
  Trial trial = sample();
  trial.detail = "more words";
  trial.compile_seconds = 3;
  trial.total_seconds = 4;
  trial.policy = "evolve";
  trial.split = "train";
  trial.libraries = "oneDNN 3.0";
  trial.latency_us = 20;
  trial.cubin = {.registers = 168};
  trial.before = {.sm_mhz = 1980};
  EXPECT_EQ(trial.id(), sample().id());
}

TEST(trial_id, survives_bytes_that_json_replaces) {
  Trial trial = sample();
  trial.host = "caf\xe9";
  const auto back = trial_from_json(to_json(trial));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_NE(back->host, trial.host);
  EXPECT_EQ(back->id(), trial.id());
}

TEST(trial_speed, reference_is_the_fastest_headline_baseline) {
  EXPECT_EQ(sample().reference_us(), 15);
  EXPECT_DOUBLE_EQ(sample().speedup(), 1.2);
  Trial trial = sample();
  trial.baselines["onednn"].time_us = 0;  // failed to run
  EXPECT_EQ(trial.reference_us(), 20);
  trial.baselines.clear();
  EXPECT_EQ(trial.reference_us(), 0);
  EXPECT_EQ(trial.speedup(), 0);
}

TEST(trial_speed, is_zero_unless_ok_and_timed) {
  Trial trial = sample();
  trial.outcome = Outcome::noisy;
  EXPECT_EQ(trial.speedup(), 0);
  trial = sample();
  trial.time_us = 0;
  EXPECT_EQ(trial.speedup(), 0);
}

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

TEST(split, holds_out_12288_and_a_tenth) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/shapes/grid1000.csv");
  ASSERT_TRUE(text);
  const auto suite = parse_csv(*text, "grid1000");
  ASSERT_TRUE(suite);
  int with_12288 = 0, others = 0;
  for (const SuiteEntry& entry : suite->entries) {
    const Problem& p = entry.problem;
    const bool listed = p.m == 12288 || p.n == 12288 || p.k == 12288;
    if (listed) {
      EXPECT_EQ(split_of(p), "held-out") << to_text(p);
      ++with_12288;
    } else if (split_of(p) == "held-out") {
      ++others;
    } else {
      EXPECT_EQ(split_of(p), "train");
    }
  }
  EXPECT_EQ(with_12288, 271);  // POLICY section 8
  EXPECT_EQ(others, 73);       // of 729: about a tenth, and the same ones forever
}

TEST(split, tenth_is_a_tenth) {
  int held_out = 0;
  for (std::int64_t i = 1; i <= 20000; ++i) {
    if (split_of(shape(i, 2 * i + 1, 64)) == "held-out") ++held_out;
  }
  // Binomial(20000, 0.1): mean 2000, deviation 42. (12288 occurs once.)
  EXPECT_NEAR(held_out, 2000, 210);
}

TEST(split, ignores_types_layouts_and_batch) {
  for (std::int64_t i = 1; i < 300; ++i) {
    Problem problem = shape(8 * i, 16 * i, 24 * i);
    const std::string split = split_of(problem);
    problem.in = problem.out = ElementType::bf16;
    problem.b_transposed = true;
    problem.batch = 4;
    problem.lda = 40000;
    problem.beta = BetaClass::one;
    EXPECT_EQ(split_of(problem), split) << i;
  }
}

TEST(split, is_the_same_forever) {
  EXPECT_EQ(split_of(shape(12288, 1, 1)), "held-out");
  EXPECT_EQ(split_of(shape(1, 12288, 1)), "held-out");
  EXPECT_EQ(split_of(shape(1, 1, 12288)), "held-out");
  EXPECT_EQ(split_of(shape(64, 64, 64)), "train");
  EXPECT_EQ(split_of(shape(4096, 4096, 4096)), "train");
  EXPECT_EQ(split_of(shape(64, 128, 512)), "held-out");
}

}  // namespace
}  // namespace tilewright
