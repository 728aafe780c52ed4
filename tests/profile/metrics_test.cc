// SPDX-License-Identifier: Apache-2.0
// From metrics to named values: which are asked for, how kernels fold, what stays unknown.
#include "profile/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tilewright {
namespace {

constexpr const char* kDuration = "gpu__time_duration.sum";
constexpr const char* kTensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kHmma =
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kDram = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";

std::string stall(const std::string& name) {
  return "smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio";
}

NcuKernel kernel(std::map<std::string, double> metrics) {
  NcuKernel made;
  made.name = "k";
  for (const auto& [name, value] : metrics) made.metrics[name] = {value, ""};
  return made;
}

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

TEST(Metrics, TheTableIsSound) {
  std::set<std::string_view> names;
  for (const NamedMetric& named : named_metrics()) {
    EXPECT_TRUE(names.insert(named.name).second) << named.name;
    EXPECT_FALSE(named.metrics[0].empty()) << named.name;
    EXPECT_FALSE(named.about.empty()) << named.name;
  }
  for (const StallClass& one : stall_classes()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
  ASSERT_EQ(stall_classes().size(), kStallClasses.size());
  for (std::size_t i = 0; i < kStallClasses.size(); ++i) {
    EXPECT_EQ(stall_classes()[i].name, kStallClasses[i]);
  }
}

TEST(Metrics, TheFirstThatIsKnownIsAskedFor) {
  const std::vector<std::string> known = {
      "gpu__time_duration", "sm__pipe_tensor_op_hmma_cycles_active",
      "smsp__average_warps_issue_stalled_gmma_per_issue_active"};
  const std::vector<std::string> extra = {"gpu__time_duration.max", "no__such.sum"};
  const MetricChoice choice = choose_metrics(known, extra);
  EXPECT_TRUE(has(choice.metrics, kDuration));
  EXPECT_TRUE(has(choice.metrics, kHmma));
  EXPECT_FALSE(has(choice.metrics, kTensor));
  EXPECT_TRUE(has(choice.metrics, stall("gmma")));
  EXPECT_TRUE(has(choice.metrics, "gpu__time_duration.max"));
  EXPECT_TRUE(has(choice.unknown, "dram_pct"));
  EXPECT_TRUE(has(choice.unknown, "stall_barrier"));
  EXPECT_TRUE(has(choice.unknown, "no__such.sum"));
  // tensor_pct and hmma_pct want the same one here.
  EXPECT_EQ(std::ranges::count(choice.metrics, kHmma), 1);
}

TEST(Metrics, WithoutAListAllOfFirstChoiceAreTried) {
  const MetricChoice choice = choose_metrics({}, {});
  EXPECT_TRUE(choice.unknown.empty());
  EXPECT_TRUE(has(choice.metrics, kTensor));
  EXPECT_TRUE(has(choice.metrics, stall("misc")));
}

TEST(Metrics, KernelsOfACallFold) {
  NcuReport report;
  report.kernels = {kernel({{kDuration, 1000},
                            {kTensor, 10},
                            {"launch__registers_per_thread", 168},
                            {"launch__occupancy_limit_registers", 1},
                            {"dram__bytes_read.sum", 5}}),
                    kernel({{kDuration, 3000},
                            {kTensor, 90},
                            {"launch__registers_per_thread", 32},
                            {"launch__occupancy_limit_registers", 8}})};
  const Profile profile = profile_of(report, {});
  EXPECT_EQ(profile.values.at("duration_us"), 4.0);
  EXPECT_EQ(profile.values.at("tensor_pct"), 70.0);
  EXPECT_EQ(profile.values.at("registers"), 168);
  EXPECT_EQ(profile.values.at("fit_registers"), 1);
  EXPECT_EQ(profile.values.count("dram_read_bytes"), 0U);  // known of one kernel only
  EXPECT_EQ(profile.kernels.size(), 2U);
}

TEST(Metrics, StallAndLimit) {
  NcuReport report;
  report.kernels = {kernel({{kDuration, 1},
                            {kTensor, 50},
                            {kDram, 70},
                            {stall("gmma"), 2},
                            {stall("long_scoreboard"), 5},
                            {stall("misc"), 1},
                            {stall("selected"), 9}})};
  Profile profile = profile_of(report, {});
  EXPECT_EQ(profile.stall, "long_scoreboard");
  EXPECT_EQ(profile.limit, "dram");
  EXPECT_EQ(profile.values.at("stall_other"), 1);
  report.kernels[0].metrics[kDram].value = 30;
  EXPECT_EQ(profile_of(report, {}).limit, "latency");
  profile = profile_of(NcuReport{{kernel({{kDuration, 1}})}, {}, {}}, {});
  EXPECT_EQ(profile.limit, "");
  EXPECT_EQ(profile.stall, "");
}

TEST(Metrics, MetricsOfTheUserKeepTheirNames) {
  NcuReport report;
  report.kernels = {kernel({{kDuration, 1}, {"a__b.sum", 2}, {"a__c.avg", 2}}),
                    kernel({{kDuration, 3}, {"a__b.sum", 3}, {"a__c.avg", 6}})};
  const Profile profile = profile_of(report, std::vector<std::string>{"a__b.sum", "a__c.avg"});
  EXPECT_EQ(profile.values.at("a__b.sum"), 5);
  EXPECT_EQ(profile.values.at("a__c.avg"), 5);
}

}  // namespace
}  // namespace tilewright
