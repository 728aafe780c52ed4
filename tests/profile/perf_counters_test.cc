// SPDX-License-Identifier: Apache-2.0
// Counters of a CPU, where they are refused and where they are not, and what follows from them.
#include "profile/perf_counters.h"
#include "profile/host_profiler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>

namespace tilewright {
namespace {

TEST(PerfCounters, ARefusalIsSaidWithWhatMightHelp) {
  PerfCounters refused = PerfCounters::open(getpid(), [](perf_event_attr*, pid_t) {
    errno = EACCES;
    return -1;
  });
  EXPECT_NE(refused.missing().find("perf_event_paranoid"), std::string::npos) << refused.missing();
  EXPECT_NE(refused.missing().find("instructions"), std::string::npos) << refused.missing();
  refused.start();
  refused.stop();
  EXPECT_TRUE(refused.values().empty());
}

TEST(PerfCounters, OneThatIsNotThereLeavesTheOthers) {
  // A descriptor of /dev/zero reads as a count of nothing.
  PerfCounters some = PerfCounters::open(getpid(), [](perf_event_attr* attributes, pid_t) {
    errno = ENOENT;
    return attributes->type == PERF_TYPE_HARDWARE ? -1 : ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  });
  EXPECT_NE(some.missing().find("cycles"), std::string::npos) << some.missing();
  EXPECT_EQ(some.missing().find("task_ns"), std::string::npos) << some.missing();
  some.start();
  some.stop();
  EXPECT_EQ(some.values(), (std::map<std::string, double>{{"page_faults", 0}, {"task_ns", 0}}));
}

TEST(PerfCounters, OfAProcessThatIsGone) {
  EXPECT_FALSE(PerfCounters::open(-5).missing().empty());
}

// Here or in a container without any: never a wrong number.
TEST(PerfCounters, OfThisProcess) {
  PerfCounters counters = PerfCounters::open(getpid());
  counters.start();
  volatile double sum = 0;
  for (int i = 0; i < 2000000; ++i) sum = sum + i;
  counters.stop();
  const auto values = counters.values();
  if (values.empty()) GTEST_SKIP() << counters.missing();
  if (const auto task = values.find("task_ns"); task != values.end()) {
    EXPECT_GT(task->second, 0);
  }
  if (const auto done = values.find("instructions"); done != values.end()) {
    EXPECT_GT(done->second, 2e6);
  }
}

TEST(HostProfile, WhatFollowsFromCounts) {
  const Profile profile = host_profile({{"cycles", 4000},
                                        {"instructions", 8000},
                                        {"cache_references", 100},
                                        {"cache_misses", 25},
                                        {"task_ns", 1e9}},
                                       1.0, 10, 2);
  EXPECT_EQ(profile.values.at("cycles"), 400);
  EXPECT_EQ(profile.values.at("instructions_per_cycle"), 2);
  EXPECT_EQ(profile.values.at("cache_hit_pct"), 75);
  EXPECT_EQ(profile.values.at("busy_pct"), 50);
  EXPECT_EQ(profile.values.count("branch_misses"), 0U);
  EXPECT_TRUE(host_profile({}, 1, 1, 1).values.empty());
}

}  // namespace
}  // namespace tilewright
