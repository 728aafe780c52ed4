// SPDX-License-Identifier: Apache-2.0
// Reading what ncu prints: a report as the tool writes it, its logs, and text that is damaged.
#include "profile/ncu_report.h"

#include "base/rng.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr const char* kReport =
    "==PROF== Connected to process 4242 (/usr/bin/tilewright-cuda-runner)\n"
    "==PROF== Profiling \"tw_gemm\" - 0: 0%....50%....100% - 12 passes\n"
    "==WARNING== Metric foo is not available\n"
    "==PROF== Disconnected from process 4242\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"dram__bytes_read.sum\","
    "\"gpu__time_duration.sum\",\"lts__t_sector_hit_rate.pct\",\"launch__registers_per_thread\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"nsecond\",\"%\","
    "\"register/thread\"\n"
    "\"0\",\"4242\",\"runner\",\"127.0.0.1\",\"tw_pack(const __half *, int)\",\"1\",\"13\","
    "\"(256, 1, 1)\",\"(64, 1, 1)\",\"0\",\"9.0\",\"1,048,576.000000\",\"2,304.000000\",\"n/a\","
    "\"32\"\n"
    "\"1\",\"4242\",\"runner\",\"127.0.0.1\",\"void gemm<(int)128, \"\"x\"\">(Map, Map)\",\"1\","
    "\"13\",\"(384, 1, 1)\",\"(132, 1, 1)\",\"0\",\"9.0\",\"67,108,864.000000\",\"97,696\","
    "\"71.25\",\"168\"\n";

TEST(NcuReport, ATableAsTheToolWritesIt) {
  const auto report = parse_ncu(kReport);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kernels.size(), 2U);
  const NcuKernel& pack = report->kernels[0];
  const NcuKernel& gemm = report->kernels[1];
  EXPECT_EQ(pack.name, "tw_pack(const __half *, int)");
  EXPECT_EQ(pack.block, "(256, 1, 1)");
  EXPECT_EQ(pack.metrics.at("dram__bytes_read.sum"), (NcuMetric{1048576, "byte"}));
  EXPECT_EQ(pack.metrics.count("lts__t_sector_hit_rate.pct"), 0U);  // n/a is no zero
  EXPECT_EQ(gemm.name, "void gemm<(int)128, \"x\">(Map, Map)");
  EXPECT_EQ(gemm.grid, "(132, 1, 1)");
  EXPECT_EQ(gemm.metrics.at("gpu__time_duration.sum"), (NcuMetric{97696, "nsecond"}));
  EXPECT_EQ(gemm.metrics.at("lts__t_sector_hit_rate.pct").value, 71.25);
  EXPECT_EQ(gemm.metrics.size(), 4U);
  EXPECT_EQ(report->warnings, std::vector<std::string>{"Metric foo is not available"});
  EXPECT_TRUE(report->errors.empty());
}

TEST(NcuReport, AnErrorAndNoTable) {
  const auto report = parse_ncu(
      "==PROF== Connected to process 1 (x)\n==ERROR== ERR_NVGPUCTRPERM - The user does not ...\n"
      "==PROF== Disconnected from process 1\n");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->kernels.empty());
  EXPECT_EQ(report->errors, std::vector<std::string>{"ERR_NVGPUCTRPERM - The user does not ..."});
}

TEST(NcuReport, OtherTablesAreRefused) {
  const std::string head = "\"ID\",\"Kernel Name\",\"a__b.sum\"\n";
  EXPECT_TRUE(parse_ncu(head));
  EXPECT_FALSE(parse_ncu(head + "\"0\",\"k\"\n"));
  EXPECT_FALSE(parse_ncu(head + head));
  EXPECT_FALSE(parse_ncu("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n"));
  EXPECT_FALSE(parse_ncu("\"ID\",\"a__b.sum\"\n\"0\",\"1\"\n"));
}

// A first row that is no row of units must not be taken for one.
TEST(NcuReport, UnitsAreTheRowWithoutAnId) {
  const auto report = parse_ncu("\"ID\",\"Kernel Name\",\"a__b.sum\"\n\"0\",\"k\",\"3\"\n");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kernels.size(), 1U);
  EXPECT_EQ(report->kernels[0].metrics.at("a__b.sum"), (NcuMetric{3, ""}));
}

TEST(NcuReport, Numbers) {
  double value = -1;
  for (const auto& [text, wanted] : {std::pair{"0", 0.0},
                                     {"1,234.5", 1234.5},
                                     {" 17 ", 17.0},
                                     {"-2", -2.0},
                                     {"1e3", 1000.0},
                                     {"12,345,678", 12345678.0}}) {
    EXPECT_TRUE(parse_number(text, value)) << text;
    EXPECT_EQ(value, wanted) << text;
  }
  for (const char* text :
       {"", "n/a", "nan", "inf", "(1, 1, 1)", "0x10", "12 %", ",", "-", "1e999"}) {
    EXPECT_FALSE(parse_number(text, value)) << text;
  }
}

TEST(NcuReport, ListsOfMetrics) {
  EXPECT_EQ(parse_metric_list("Device NVIDIA H200 (GH100)\n"
                              "------------------- ----------- ------\n"
                              "Metric Name         Metric Type Metric Unit Metric Description\n"
                              "dram__bytes         Counter     byte        # of bytes\n"
                              "==WARNING== x__y\n"
                              "lts__t_sectors      Counter     sector      # of sectors\r\n"
                              "dram__bytes         Counter     byte        again\n"),
            (std::vector<std::string>{"dram__bytes", "lts__t_sectors"}));
}

// Damage never breaks anything, and what is read of it is finite.
TEST(NcuReport, DamagedReports) {
  const std::string whole = kReport;
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole.substr(0, rng.below(whole.size() + 1));
    for (auto left = rng.below(8); left > 0 && !text.empty(); --left) {
      static constexpr std::string_view kBytes = "\",\n=0a\0\r";
      text[rng.below(text.size())] = kBytes[rng.below(kBytes.size())];
    }
    const auto report = parse_ncu(text);
    if (!report) {
      EXPECT_FALSE(report.error().message.empty());
    } else {
      EXPECT_LE(report->kernels.size(), 40U);
    }
  }
}

}  // namespace
}  // namespace tilewright
