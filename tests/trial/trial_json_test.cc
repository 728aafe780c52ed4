// SPDX-License-Identifier: Apache-2.0
// The JSON line of a trial: all fields come back, numbers to the last bit, and whatever is not such
// a line is an error that names the field (CASES C01).
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "trial/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

using testing::HasSubstr;

std::string some_text(Rng& rng) {
  static constexpr std::string_view kPieces[] = {"gemm", " ",  "\"", "\\",     "\n",   "|",
                                                 "=",    "\t", "é",  "\u2028", "{}[]", "\x01"};
  std::string text;
  for (auto pieces = rng.below(8); pieces > 0; --pieces) {
    text += kPieces[rng.below(std::size(kPieces))];
  }
  if (rng.below(8) == 0) text.push_back('\0');
  return text;
}

double some_number(Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return rng.uniform() * 1000;
    case 1:
      return 0;
    default: {
      const auto value = std::bit_cast<double>(rng.next64());
      return std::isnan(value) ? -0.0 : value;  // NaN is not equal to itself; tested below
    }
  }
}

Trial some_trial(Rng& rng) {
  Trial trial;
  for (auto field : {&Trial::problem, &Trial::program, &Trial::device, &Trial::rule, &Trial::detail,
                     &Trial::mode, &Trial::binary_hash, &Trial::policy, &Trial::stage, &Trial::run,
                     &Trial::split, &Trial::compiler, &Trial::libraries, &Trial::host}) {
    trial.*field = some_text(rng);
  }
  for (auto field : {&Trial::time_us, &Trial::latency_us, &Trial::spread, &Trial::noise,
                     &Trial::max_abs_error, &Trial::max_bound_ratio, &Trial::norm_ratio,
                     &Trial::compile_seconds, &Trial::total_seconds}) {
    trial.*field = some_number(rng);
  }
  trial.outcome = static_cast<Outcome>(rng.below(kOutcomeNames.size()));
  trial.repeatable = rng.below(2) == 0;
  trial.cut_short = rng.below(2) == 0;
  trial.seed = rng.next64();
  trial.unix_ms = static_cast<std::int64_t>(rng.next64());
  trial.program_language = static_cast<int>(rng());
  trial.device_headers = static_cast<int>(rng());
  for (auto count = rng.below(4); count > 0; --count) {
    BaselineTime& baseline = trial.baselines[some_text(rng)];
    baseline = {.time_us = some_number(rng),
                .ratio_low = some_number(rng),
                .ratio = some_number(rng),
                .ratio_high = some_number(rng),
                .comparison = some_text(rng),
                .headline = rng.below(2) == 0,
                .latency_us = some_number(rng),
                .choice = some_text(rng),
                .algorithm = some_text(rng)};
  }
  if (rng.below(2) == 0) {
    trial.cubin = {static_cast<int>(rng()), static_cast<std::int64_t>(rng.next64()),
                   rng.below(2) == 0};
  }
  if (rng.below(2) == 0) {
    Profile& profile = trial.profile.emplace();
    for (auto text : {&Profile::tool, &Profile::stall, &Profile::limit}) {
      profile.*text = some_text(rng);
    }
    for (auto count = rng.below(4); count > 0; --count) {
      profile.kernels.push_back(some_text(rng));
      profile.values[some_text(rng)] = rng.uniform() * 100;
    }
  }
  for (auto moment : {&Trial::before, &Trial::after}) {
    if (rng.below(2) == 0) continue;
    trial.*moment = {some_number(rng), some_number(rng), some_number(rng), some_text(rng)};
  }
  return trial;
}

TEST(trial_json, comes_back_as_it_was) {
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const Trial trial = some_trial(rng);
    const std::string line = to_json(trial);
    ASSERT_EQ(line.find('\n'), std::string::npos) << line;
    const auto back = trial_from_json(line);
    ASSERT_TRUE(back) << back.error().message << "\n" << line;
    ASSERT_EQ(*back, trial) << line;
    ASSERT_EQ(back->id(), trial.id());
    ASSERT_EQ(to_json(*back), line);  // tells -0 from 0, which == does not
  }
}

TEST(trial_json, keeps_what_json_cannot_say) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Trial trial;
  trial.max_abs_error = std::numeric_limits<double>::quiet_NaN();
  trial.max_bound_ratio = kInfinity;
  trial.norm_ratio = -kInfinity;
  const auto back = trial_from_json(to_json(trial));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(std::isnan(back->max_abs_error));
  EXPECT_EQ(back->max_bound_ratio, kInfinity);
  EXPECT_EQ(back->norm_ratio, -kInfinity);
}

TEST(trial_json, missing_fields_have_their_default) {
  const auto back = trial_from_json(
      R"({"schema_version":1,"problem":"p","program":"q","device":"d","outcome":"ok"})");
  ASSERT_TRUE(back) << back.error().message;
  Trial expected;
  expected.problem = "p";
  expected.program = "q";
  expected.device = "d";
  expected.outcome = Outcome::ok;
  EXPECT_EQ(*back, expected);
  EXPECT_EQ(back->mode, "offline");
  EXPECT_TRUE(back->repeatable);
}

TEST(trial_json, a_compilers_bytes_do_no_harm) {
  Trial trial;
  trial.detail = "error: \xff\xfe bad \xc3";
  const auto back = trial_from_json(to_json(trial));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->detail, "error: \uFFFD\uFFFD bad \uFFFD");
}

TEST(trial_json, newer_is_refused_and_the_rest_is_usage) {
  const auto newer = trial_from_json(R"({"schema_version":2})");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::refused);
  EXPECT_FALSE(newer.error().hint.empty());
  const auto broken = trial_from_json("{");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::usage);
}

TEST(trial_json, cases) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/trial_json.txt");
  ASSERT_TRUE(text);
  int cases = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto parts = split(line, '|');
    ASSERT_EQ(parts.size(), 3U) << line;
    const auto trial = trial_from_json(trim(parts[0]));
    const std::string wanted(trim(parts[1]));
    if (wanted == "ok") {
      EXPECT_TRUE(trial) << line << "\n" << trial.error().message;
    } else {
      ASSERT_FALSE(trial) << line;
      EXPECT_THAT(trial.error().message, HasSubstr(wanted)) << line;
    }
    ++cases;
  }
  EXPECT_GE(cases, 30);
}

TEST(trial_json, cut_or_flipped_lines_never_crash) {
  Rng rng(2);
  const std::string line = to_json(some_trial(rng));
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_FALSE(trial_from_json(std::string_view(line).substr(0, length))) << length;
  }
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string flipped = line;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << rng.below(8)));
    const auto trial = trial_from_json(flipped);
    if (!trial) continue;  // else a letter of some text changed
    EXPECT_TRUE(trial_from_json(to_json(*trial))) << flipped;
  }
  EXPECT_FALSE(trial_from_json(std::string(100000, '[')));
  EXPECT_FALSE(trial_from_json(std::string(100000, '\0')));
}

}  // namespace
}  // namespace tilewright
