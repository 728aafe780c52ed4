// SPDX-License-Identifier: Apache-2.0
#include "device/topology.h"

#include "base/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class Sysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tilewright-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(root_ / path, text + "\n"));
  }
  void put_cache(int index, const char* level, const char* type, const char* size) const {
    const auto folder = fmt::format("cpu0/cache/index{}", index);
    put(folder + "/level", level);
    put(folder + "/type", type);
    put(folder + "/size", size);
  }
  fs::path root_;
};

TEST_F(Sysfs, OneCpuForEachCore) {
  // Two sockets of two cores of two threads, numbered as Linux does: siblings four apart.
  for (int cpu = 0; cpu < 8; ++cpu) {
    put(fmt::format("cpu{}/topology/thread_siblings_list", cpu),
        fmt::format("{},{}", cpu % 4, cpu % 4 + 4));
    put(fmt::format("cpu{}/topology/core_id", cpu), std::to_string(cpu % 2));
  }
  EXPECT_THAT(one_cpu_per_core(root_, std::vector{0, 1, 2, 3, 4, 5, 6, 7}),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(one_cpu_per_core(root_, std::vector{7, 3, 4}), ElementsAre(3, 4));
  EXPECT_THAT(one_cpu_per_core(root_, std::vector{5}), ElementsAre(5));
}

TEST_F(Sysfs, WithoutTopologyEveryCpuIsACore) {
  EXPECT_THAT(one_cpu_per_core(root_, std::vector{2, 5}), ElementsAre(2, 5));
}

TEST_F(Sysfs, NewerNameOfTheSiblings) {
  put("cpu0/topology/core_cpus_list", "0-1");
  put("cpu1/topology/core_cpus_list", "0-1");
  EXPECT_THAT(one_cpu_per_core(root_, std::vector{0, 1}), ElementsAre(0));
}

TEST_F(Sysfs, Caches) {
  put_cache(0, "1", "Data", "48K");
  put_cache(1, "1", "Instruction", "32K");
  put_cache(2, "2", "Unified", "2M");
  put_cache(3, "3", "Unified", "266240K");
  const auto caches = sysfs_caches(root_, 0);
  EXPECT_EQ(caches.l1d_bytes, 48 << 10);
  EXPECT_EQ(caches.l2_bytes, 2 << 20);
  EXPECT_EQ(caches.l3_bytes, 266240 << 10);
  EXPECT_EQ(sysfs_caches(root_, 1).l1d_bytes, 0);
}

TEST_F(Sysfs, NonsenseIsNotASize) {
  put_cache(0, "1", "Data", "lots");
  put_cache(1, "2", "Unified", "-4K");
  put_cache(2, "3", "Unified", "99999999999999999999K");
  const auto caches = sysfs_caches(root_, 0);
  EXPECT_EQ(caches.l1d_bytes, 0);
  EXPECT_EQ(caches.l2_bytes, 0);
  EXPECT_EQ(caches.l3_bytes, 0);
}

TEST(AllowedCpus, FollowsTheAffinityMask) {
  const auto all = allowed_cpus();
  ASSERT_THAT(all, Not(IsEmpty()));
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(all.back()), &set);
    ::sched_setaffinity(0, sizeof set, &set);
    ::_exit(allowed_cpus() == std::vector{all.back()} ? 42 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace tilewright
