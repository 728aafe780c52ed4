// SPDX-License-Identifier: Apache-2.0
// Rows, slices and the best of two layouts, worked by hand from invented trials.
#include "report/suite_report.h"

#include "golden_text.h"
#include "report/invented_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

// Rates by which 64x128x256 takes 2 us at best and 4096x4096x4096 takes 100 us.
constexpr SustainedRates kRates = {132, 2, 2 * 4096.0 * 4096 * 4096 / 98, 1e9};

SuiteReport invented_report() {
  return suite_report("invented", invented_suite(), invented_suite_trials(), kRates);
}

TEST(SuiteReport, RowsPerShapeAndHeadline) {
  const SuiteReport report = invented_report();
  std::vector<std::string> rows;
  for (const SuiteRow& row : report.rows) {
    rows.push_back(to_text(row.problem) + " " + row.headline);
  }
  EXPECT_THAT(
      rows,
      ElementsAre("gemm 64x128x256 f16 acc=f32 nn nn", "gemm 64x128x256 f16 acc=f32 nn tn",
                  "gemm 64x128x256 f16 acc=f32 nn best", "gemm 4096x4096x4096 f16 acc=f32 nn nn"));
  EXPECT_EQ(report.shapes, 2);
  EXPECT_EQ(report.trials, 6) << "7x7x7 is no shape of the suite";
  EXPECT_THAT(report.unproven, ElementsAre("gemm 4096x4096x4096 f16 acc=f32 nt"));
}

TEST(SuiteReport, BestTakesTheFasterLayoutOfEachSide) {
  const SuiteReport report = invented_report();
  const SuiteRow& best = report.rows[2];
  EXPECT_EQ(time_in(best, "ours_us"), 2) << "nn: 2, nt: 4";
  EXPECT_EQ(time_in(best, "lt_auto"), 2) << "nn: 3, nt: 2";
  EXPECT_EQ(time_in(best, "lt_neighbours"), 2) << "nn: 2.5, nt: 2";
  EXPECT_EQ(time_in(best, "cublas"), 4) << "nn: 5, nt: 4";
  EXPECT_EQ(time_in(best, "torch"), 6) << "only in nn";
  EXPECT_EQ(time_in(best, "wall_ours"), std::nullopt) << "one layout alone is no best";
  const Trial& trial = best.modes.at("offline");
  ASSERT_NE(trial.fastest_baseline(), nullptr);
  const BaselineTime& fastest = trial.fastest_baseline()->second;
  EXPECT_DOUBLE_EQ(fastest.ratio, 1) << "a win in nn alone is none";
  // Both trials had 2 % to either side, so 4 % together: wider than the noise of 1 %.
  EXPECT_NEAR(fastest.ratio_low, 0.98 * 0.98, 1e-12);
  EXPECT_NEAR(fastest.ratio_high, 1.02 * 1.02, 1e-12);
  EXPECT_EQ(fastest.comparison, "ambiguous");
}

TEST(SuiteReport, WhatWasPairedKeepsItsVerdict) {
  const Trial nn = invented("gemm 8x8x8 f16 acc=f32 nn", 2, {{"b", compared(1.5, "faster", 2)}});
  const Trial nt = invented("gemm 8x8x8 f16 acc=f32 nt", 3, {{"b", compared(1.5, "faster", 3)}});
  for (const Trial& best : {best_of(nn, nt), best_of(nt, nn)}) {
    EXPECT_EQ(best, nn);
  }
}

TEST(SuiteReport, VerdictsOfTwoLayouts) {
  const auto ratio_of = [](double theirs_us) {
    Trial nn = invented("gemm 8x8x8 f16 acc=f32 nn", 10, {{"b", compared(5, "faster", 10)}});
    Trial nt =
        invented("gemm 8x8x8 f16 acc=f32 nt", 20, {{"b", compared(theirs_us / 20, "faster", 20)}});
    return best_of(nn, nt).baselines.at("b");
  };
  EXPECT_EQ(ratio_of(12).comparison, "faster");
  EXPECT_EQ(ratio_of(8).comparison, "slower");
  EXPECT_EQ(ratio_of(10.5).comparison, "ambiguous");
  Trial unknown = invented("gemm 8x8x8 f16 acc=f32 nt", 20, {{"b", {.time_us = 1}}});
  const Trial ours = invented("gemm 8x8x8 f16 acc=f32 nn", 10, {});
  EXPECT_EQ(best_of(ours, unknown).baselines.at("b").comparison, "ambiguous");
}

TEST(SuiteReport, SlicesCountPerHeadlineModeAndDecade) {
  const SuiteReport report = invented_report();
  const auto slice = [&](const char* headline, const char* mode) -> const SuiteSlice& {
    return *std::ranges::find_if(report.slices, [&](const SuiteSlice& s) {
      return s.headline == headline && s.mode == mode;
    });
  };
  ASSERT_EQ(report.slices.size(), 5U) << "nn in three modes, tn, best";
  const SuiteSlice& nn = slice("nn", "offline");
  EXPECT_EQ(nn.shapes, 2);
  ASSERT_TRUE(nn.total);
  EXPECT_EQ(nn.total->wins, 1);
  EXPECT_EQ(nn.total->same, 1);
  for (const RatioSummary& one : nn.each) {
    EXPECT_NE(one.baseline, "fastest");
    EXPECT_EQ(one.group, "all") << one.baseline;
  }
  EXPECT_TRUE(std::ranges::any_of(
      nn.each, [](const RatioSummary& one) { return one.baseline == "cublaslt_autotune"; }));
  ASSERT_EQ(nn.decades.size(), 2U);
  EXPECT_EQ(nn.decades[0].group, "1e6");
  EXPECT_EQ(nn.decades[1].group, "1e11");
  EXPECT_EQ(slice("tn", "offline").total->losses, 1);
  EXPECT_EQ(slice("best", "offline").total->ambiguous, 1);
}

TEST(SuiteReport, RegimesSayWhatTheLimitLeaves) {
  const SuiteReport report = invented_report();
  const std::vector<RegimeSummary>& regimes = report.slices[0].regimes;
  ASSERT_EQ(regimes.size(), 3U);
  EXPECT_EQ(regimes[0].ratio.group, "tiny");
  EXPECT_EQ(regimes[1].ratio.group, "big");
  EXPECT_EQ(regimes[2].ratio.group, "all");
  EXPECT_EQ(regimes[2].ratio.problems, 2);
  EXPECT_NEAR(limit_us(report.rows[0].problem, kRates), 2, 0.01);
  EXPECT_NEAR(regimes[0].headroom, 1.25, 0.01) << "2.5 us";
  EXPECT_NEAR(regimes[0].left, 1, 0.01) << "2 us";
  EXPECT_NEAR(regimes[1].left, 2, 0.01) << "200 us";
  EXPECT_NEAR(regimes[2].left, std::sqrt(2.0), 0.01);
  EXPECT_TRUE(report.slices[1].regimes.empty()) << "the limit is one of device time: offline";
  for (const SuiteSlice& slice :
       suite_report("invented", invented_suite(), invented_suite_trials()).slices) {
    EXPECT_TRUE(slice.regimes.empty()) << "a device whose rates nobody knows";
  }
}

TEST(SuiteReport, TheLibraryAgainstItself) {
  const SuiteReport report = invented_report();
  for (const VendorRatio& v : report.vendors) {
    EXPECT_NE(v.headline, "best");
    if (v.headline != "nn" || v.mode != "offline" || v.group != "all") continue;
    EXPECT_EQ(v.problems, 2);
    if (v.first == "lt_neighbours") {
      EXPECT_NEAR(v.least, 1.25 / 1.5, 1e-12);
    }
    if (v.first == "cublas") {
      EXPECT_NEAR(v.most, 2.5 / 1.5, 1e-12);
    }
  }
  EXPECT_EQ(std::ranges::count_if(
                report.vendors,
                [](const VendorRatio& v) { return v.headline == "nn" && v.mode == "offline"; }),
            9)
      << "three pairs over two decades and all";
}

struct Case {
  const char* name;
  Format format;
};
class SuiteText : public ::testing::TestWithParam<Case> {};

TEST_P(SuiteText, IsUnchanged) {
  const auto text = render_suite(invented_report(), GetParam().format, {{"date", "2026-01-02"}});
  ASSERT_TRUE(text);
  expect_golden(std::string("report_suite.") + GetParam().name + ".txt", *text);
}

TEST_P(SuiteText, OfNothingRendersToo) {
  EXPECT_TRUE(render_suite({}, GetParam().format, {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(Formats, SuiteText,
                         ::testing::Values(Case{"human", Format::human}, Case{"md", Format::md},
                                           Case{"csv", Format::csv}, Case{"json", Format::json}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(SuiteReport, RareModesHaveColumnsWhereTheyWereMeasured) {
  for (const std::string mode : {"chained", "sustained"}) {
    SCOPED_TRACE(mode);
    std::vector<Trial> trials = invented_suite_trials();
    const auto title_has = [&trials](const std::string& text) {
      const SuiteReport report = suite_report("invented", invented_suite(), trials);
      const std::string csv = render_suite(report, Format::csv, {}).value();
      return csv.substr(0, csv.find('\n')).find(text) != std::string::npos;
    };
    EXPECT_FALSE(title_has(mode));
    trials.push_back(
        invented_step("gemm 64x128x256 f16 acc=f32 nn", mode.c_str(), 1, {3, 3, 3, 3}, "faster"));
    EXPECT_TRUE(title_has("," + mode + "_ours_us," + mode + "_lt_auto_us,"));
    EXPECT_TRUE(title_has("," + mode + "_ratio_low," + mode + "_ratio,"));
    EXPECT_FALSE(title_has(mode + "_ours_latency"));
  }
}

// Served calls with other gaps than the usual are a mode and columns of their own.
TEST(SuiteReport, EachMeanGapHasItsColumns) {
  std::vector<Trial> trials = invented_suite_trials();
  Trial slow =
      invented_step("gemm 64x128x256 f16 acc=f32 nn", "server_10ms", 7, {2, 2, 2, 3}, "faster");
  slow.latency_us = 31;
  trials.push_back(slow);
  const SuiteReport report = suite_report("invented", invented_suite(), trials);
  EXPECT_EQ(time_in(report.rows[0], "server_10ms_ours"), 7);
  EXPECT_EQ(time_in(report.rows[0], "server_10ms_lt_auto_us"), 14);
  EXPECT_EQ(time_in(report.rows[0], "server_ours"), 3) << "the usual gaps";
  const std::string csv = render_suite(report, Format::csv, {}).value();
  const std::string title = csv.substr(0, csv.find('\n'));
  EXPECT_TRUE(title.ends_with(
      "server_10ms_ratio_low,server_10ms_ratio,server_10ms_ratio_high,server_10ms_verdict,"
      "server_ours_latency_us,server_fastest_latency_us,server_10ms_ours_latency_us,"
      "server_10ms_fastest_latency_us"))
      << title;
  const std::size_t second = title.size() + 1;
  const std::string row = csv.substr(second, csv.find('\n', second) - second);
  EXPECT_TRUE(row.ends_with(",1.9600,2.0000,2.0400,faster,11.000,14.000,31.000,")) << row;
  EXPECT_EQ(std::ranges::count(row, ','), std::ranges::count(title, ','));
}

TEST(SuiteReport, JsonLinesAreNoFormatOfIt) {
  const auto text = render_suite(invented_report(), Format::jsonl, {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::usage);
}

TEST(SuiteReport, AboutSaysWithWhatItWasMeasured) {
  const json about = json::parse(
      render_about(invented_report(), R"({"name":"a device"})", {{"command", "bench it"}}));
  EXPECT_EQ(about.at("schema_version"), kReportSchemaVersion);
  EXPECT_EQ(about.at("context").at("command"), "bench it");
  EXPECT_EQ(about.at("hardware").at("name"), "a device");
  EXPECT_EQ(about.at("counts").at("shapes"), 2);
  EXPECT_EQ(about.at("counts").at("modes").at("offline"), 3);
  EXPECT_THAT(about.at("libraries"), ElementsAre("cuBLASLt 13.0"));
  EXPECT_EQ(about.at("measured_from"), "2026-11-18T11:06:40Z");
  EXPECT_EQ(about.at("conditions").at("sm_mhz_least"), 1755);
  EXPECT_EQ(about.at("conditions").at("throttle").at("power cap"), 1);
  EXPECT_TRUE(json::parse(render_about({}, "no JSON", {})).at("hardware").is_null());
}

}  // namespace
}  // namespace tilewright
