// SPDX-License-Identifier: Apache-2.0
// The catalogue serves every combination on every instruction set; wisdom that is compiled in goes
// before the rule, and what cannot be used is said.
#include "product.h"

#include "record/wisdom.h"
#include "runtime/cpu/choice.h"
#include "runtime/cpu/division.h"
#include "runtime/cpu/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Call made(std::int64_t m, std::int64_t n, std::int64_t k) {
  Call call;
  call.m = m, call.n = n, call.k = k;
  return packed(call);
}

TEST(Catalogue, ServesEveryCombinationOnEveryInstructionSet) {
  const auto widest = cpu::widest_isa(detect_cpu());
  for (const ElementType in : {ElementType::f16, ElementType::bf16}) {
    for (const ElementType out : {in, ElementType::f32}) {
      for (int layout = 0; layout < 4; ++layout) {
        for (const auto isa : {cpu::CpuIsa::scalar, cpu::CpuIsa::avx2, cpu::CpuIsa::avx512}) {
          if (isa > widest) continue;
          const cpu::Chooser chooser(isa, {});
          for (const std::int64_t m : {1, 2, 16, 17, 64, 65, 100000}) {
            for (const tw_mode mode : {TW_FASTEST, TW_DETERMINISTIC, TW_BATCH_INVARIANT}) {
              Call call = made(m, 500, 500);
              call.in = in, call.out = out, call.mode = mode;
              call.a_transposed = layout >= 2, call.b_transposed = layout % 2 == 1;
              const cpu::Choice choice = chooser.choose(packed(call), 2);
              ASSERT_NE(choice.kernel, nullptr);
              EXPECT_EQ(choice.kernel->isa, isa) << "a narrower set only for want of a line";
              EXPECT_FALSE(mode != TW_FASTEST && choice.kernel->splits_k);
            }
          }
        }
      }
    }
  }
}

TEST(Catalogue, NoProgramTwiceForOneCombination) {
  std::set<std::string> seen;
  for (const cpu::CpuKernel& kernel : cpu::cpu_kernels()) {
    EXPECT_TRUE(seen.insert(std::string(kernel.program) + std::string(name_of(kernel.in)) +
                            std::string(name_of(kernel.out)) + (kernel.a_transposed ? "t" : "n") +
                            (kernel.b_transposed ? "t" : "n"))
                    .second)
        << kernel.program;
  }
}

TEST(Isa, AskingLowersIt) {
  Device device = detect_cpu();
  device.isa = {"avx2", "f16c", "fma"};
  const auto widest = cpu::widest_isa(device);
  EXPECT_LE(widest, cpu::CpuIsa::avx2);
  EXPECT_EQ(cpu::isa_for(device, nullptr).value(), widest);
  EXPECT_EQ(cpu::isa_for(device, "").value(), widest);
  EXPECT_EQ(cpu::isa_for(device, "scalar").value(), cpu::CpuIsa::scalar);
  EXPECT_EQ(cpu::isa_for(device, "avx512").value(), widest) << "it is not there";
  EXPECT_EQ(cpu::isa_for(device, "avx512bf16").value(), widest);
  const auto wrong = cpu::isa_for(device, "sse9");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().status, TW_INVALID);
  EXPECT_THAT(wrong.error().message, HasSubstr("TILEWRIGHT_CPU_ISA=sse9"));
  device.isa = {};
  EXPECT_EQ(cpu::isa_for(device, "avx2").value(), cpu::CpuIsa::scalar);
}

// I09: one binary, as on older processors, with the same answers.
TEST(Isa, MaskedFeaturesAreNotUsed) {
  Bed bed(std::size_t{1} << 20);
  for (const char* mask : {"avx2", "avx512f", "f16c", ""}) {
    ::setenv("TILEWRIGHT_ISA_MASK", mask, 1);
    const auto backend = open_with("", 2);
    ::unsetenv("TILEWRIGHT_ISA_MASK");
    Case what;
    what.call = made(37, 65, 130);
    bed.fill(what);
    EXPECT_EQ(bed.run_and_check(*backend), "") << mask;
    const std::string text = backend->explain(what.call).value();
    const std::string_view hidden = mask;
    if (!hidden.empty()) {
      EXPECT_THAT(text, Not(HasSubstr("avx512")));
    }
    if (hidden == "avx2" || hidden == "f16c") {
      EXPECT_THAT(text, HasSubstr("isa=scalar"));
    }
  }
}

class WithWisdom : public testing::Test {
 protected:
  void SetUp() override {
    isa_ = isas_here().back();
    if (isa_ != "avx512") GTEST_SKIP() << "the programs here are for AVX-512";
    path_ = std::filesystem::temp_directory_path() /
            ("tilewright-wisdom-" + std::to_string(::getpid()) + ".txt");
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  void write(std::vector<WisdomEntry> entries) {
    Wisdom wisdom;
    wisdom.device = detect_cpu();
    for (WisdomEntry& entry : entries) {
      entry.mode = "offline";
      entry.time_us = 10;
      entry.date = "2026-11-29";
    }
    std::ranges::sort(entries, {}, &WisdomEntry::problem);
    wisdom.entries = std::move(entries);
    std::ofstream(path_) << to_text(wisdom);
  }
  static WisdomEntry entry(const std::string& problem, const std::string& program) {
    WisdomEntry made;
    made.problem = problem;
    made.program = program;
    return made;
  }
  std::string isa_;
  std::filesystem::path path_;
};

constexpr const char* kTuned =
    "cpu isa=avx512 form=blocked threads=2 split=n mr=8 nr=48 kc=128 mc=0 nc=0 packb=f32 unroll=2 "
    "prefetch=0 order=nm sizes=runtime";
constexpr const char* kNotThere =
    "cpu isa=avx512 form=blocked threads=2 split=n mr=7 nr=48 kc=128 mc=0 nc=0 packb=f32 unroll=2 "
    "prefetch=0 order=nm sizes=runtime";
constexpr const char* kSplit =
    "cpu isa=avx512 form=direct threads=2 split=k mr=1 nr=128 kc=64 nc=0 packa=f32 unroll=4 "
    "prefetch=0 order=nm sizes=runtime";

TEST_F(WithWisdom, ExactNearestAndWhatCannotServe) {
  write({entry("gemm 100x600x50 f16 acc=f32 nn", kTuned),
         entry("gemm 330x300x320 f16 acc=f32 nn", kNotThere),
         entry("gemm 1x700x900 f16 acc=f32 nn", kSplit)});
  const auto backend = open_with("", 2, path_.string());
  Bed bed(std::size_t{8} << 20);
  const auto origin_of = [&](const Call& call) {
    Case what;
    what.call = call;
    bed.fill(what);
    const auto origin = bed.run(*backend);
    EXPECT_EQ(bed.check(), "") << text_of(what);
    return origin.value();
  };
  EXPECT_EQ(origin_of(made(100, 600, 50)), Origin::exact);
  EXPECT_THAT(backend->explain(made(100, 600, 50)).value(), HasSubstr("exact: tuned here for"));
  // Rows that the kernel was made for, and near.
  EXPECT_EQ(origin_of(made(50, 500, 60)), Origin::nearest);
  EXPECT_THAT(backend->explain(made(50, 500, 60)).value(), HasSubstr("octaves away"));
  // Its program is not compiled in, and nothing else is near.
  EXPECT_EQ(origin_of(made(330, 300, 320)), Origin::built_in);
  EXPECT_THAT(backend->explain(made(330, 300, 320)).value(), HasSubstr("it is not compiled in"));
  EXPECT_EQ(origin_of(made(3, 5, 7)), Origin::built_in);
  // split=k only where the order of additions may depend on the number of threads.
  Call split = made(1, 700, 900);
  EXPECT_EQ(origin_of(split),
            cpu::most_threads(2, detect_cpu()) == 2 ? Origin::exact : Origin::built_in);
  split.mode = TW_DETERMINISTIC;
  EXPECT_EQ(origin_of(split), Origin::built_in);
  EXPECT_THAT(backend->explain(split).value(), HasSubstr("this mode does not allow it"));
  EXPECT_EQ(origin_of(made(4, 0, 4)), Origin::empty);
}

TEST_F(WithWisdom, AFileThatIsDamagedIsAMiss) {
  std::ofstream(path_) << "tilewright-wisdom 1\nnonsense\n";
  testing::internal::CaptureStderr();
  const auto backend = open_with("", 2, path_.string());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("wisdom left out"));
  ASSERT_NE(backend, nullptr);
  EXPECT_THAT(backend->explain(made(64, 64, 64)).value(), HasSubstr("this device has no wisdom"));
}

TEST(Shipped, EveryProgramOfTheShippedWisdomIsKnownOrRefusedWithAReason) {
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(TILEWRIGHT_SOURCE_DIR) + "/wisdom")) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto wisdom = parse_wisdom(text);
    ASSERT_TRUE(wisdom.has_value()) << file.path() << ": " << wisdom.error().message;
    EXPECT_EQ(file.path().stem().string(), wisdom->device.fingerprint());
    if (wisdom->device.kind != DeviceKind::cpu) continue;
    const cpu::Chooser chooser(cpu::widest_isa(wisdom->device), wisdom->entries);
    std::size_t exact = 0;
    for (const WisdomEntry& entry : wisdom->entries) {
      const auto problem = parse_problem(entry.problem);
      Call call = made(problem->m, problem->n, problem->k);
      call.in = call.out = problem->in;
      exact += chooser.choose(call, 2).origin == Origin::exact ? 1 : 0;
    }
    // Most winners are compiled in; the rest is served by their nearest.
    EXPECT_GE(2 * exact, wisdom->entries.size()) << file.path();
  }
}

TEST(Limits, AffinityQuotaAndWishes) {
  Device device;
  device.cores = 8;
  EXPECT_EQ(cpu::most_threads(0, device, 16, std::nullopt), 8);
  EXPECT_EQ(cpu::most_threads(0, device, 16, 2.5), 2);
  EXPECT_EQ(cpu::most_threads(0, device, 16, 0.5), 1);
  EXPECT_EQ(cpu::most_threads(0, device, 16, 100.0), 8);
  EXPECT_EQ(cpu::most_threads(12, device, 16, 2.5), 12) << "who asks knows";
  EXPECT_EQ(cpu::most_threads(99, device, 16, std::nullopt), 16);
}

TEST(Limits, QuotaOfControlGroups) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::temp_directory_path() / ("tilewright-cgroup-" + std::to_string(::getpid()));
  const auto put = [&](const fs::path& path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  put("a/b/cpu.max", "max 100000\n");
  put("a/cpu.max", "350000 100000\n");
  EXPECT_EQ(cpu::cpu_quota("0::/a/b\n", root), 3.5) << "a parent's limit holds";
  EXPECT_EQ(cpu::cpu_quota("0::/c\n", root), std::nullopt);
  put("cpu.max", "200000 100000\n");
  EXPECT_EQ(cpu::cpu_quota("0::/\n", root), 2.0);
  EXPECT_EQ(cpu::cpu_quota("0::/not/here\n", root), 2.0) << "a container sees its root";
  put("cpu,cpuacct/d/cpu.cfs_quota_us", "150000\n");
  put("cpu,cpuacct/d/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu::cpu_quota("7:memory:/d\n4:cpu,cpuacct:/d\n", root), 1.5);
  EXPECT_EQ(cpu::cpu_quota("0::/../../x\n", root), std::nullopt);
  EXPECT_EQ(cpu::cpu_quota("", root), std::nullopt);
  fs::remove_all(root);
}

TEST(Division, PartsCoverEachElementOnce) {
  const cpu::CpuKernel& kernel = cpu::cpu_kernels().front();
  for (const int threads : {1, 2, 3, 5, 8, 64}) {
    for (const Call& shape : {made(1, 5000, 64), made(700, 30, 64), made(65, 129, 3)}) {
      Call call = shape;
      for (const std::int64_t batch : {1, 7, 130}) {
        call.batch = batch;
        const cpu::Grid grid = divide(call, kernel, threads);
        ASSERT_LE(grid.parts(), threads);
        std::int64_t elements = 0;
        for (int i = 0; i < grid.parts(); ++i) {
          const cpu::Part part = part_of(call, kernel, grid, i);
          elements += (part.batch_end - part.batch_begin) * (part.m_end - part.m_begin) *
                      (part.n_end - part.n_begin);
        }
        EXPECT_EQ(elements, call.batch * call.m * call.n);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::runtime
