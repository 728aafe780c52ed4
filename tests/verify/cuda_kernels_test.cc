// SPDX-License-Identifier: Apache-2.0
// What of the checker on a GPU needs none: its kernels compile for every architecture that we
// support, words, guards and samples are chosen right. tests/gpu runs them.
#include "compile/compile.h"
#include "verify/cuda/cuda_reference.h"
#include "verify/cuda/device_guards.h"
#include "verify/cuda/device_views.h"
#include "verify/honest.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tilewright {
namespace {

TEST(CheckerKernels, CompileForEachArchitecture) {
  std::string folder = (std::filesystem::temp_directory_path() / "tw-checker-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder;
  auto compiler = Compiler::create(options);
  for (const int capability : {80, 90}) {
    if (!compiler) break;
    const CompileResult built = compiler->compile(checker_source(capability));
    EXPECT_TRUE(built.binary) << capability << " " << built.finding.rule << ": "
                              << built.finding.detail;
  }
  std::filesystem::remove_all(folder);
  if (!compiler) GTEST_SKIP() << compiler.error().message;
}

TEST(CheckerKernels, HeadersAreTheOnesThatTheTextsInclude) {
  const Source source = checker_source(90);
  EXPECT_NE(source.text.find("memory.cuh"), std::string::npos);
  EXPECT_EQ(source.headers.size(), 8U);
  for (const auto& [name, text] : source.headers) {
    // NVRTC has no headers of the system's, and a plain function would be the host's alone.
    for (std::size_t at = 0; (at = text.find("#include ", at)) != std::string::npos; ++at) {
      EXPECT_EQ(text.compare(at, 17, "#include \"verify/"), 0) << name;
    }
    EXPECT_EQ(text.find("\nconstexpr "), std::string::npos) << name;
  }
}

TEST(DeviceViews, WordsAreAsWideAsTheLayoutAllows) {
  const auto at = [](std::uintptr_t address, std::int64_t cols, std::int64_t stride,
                     std::int64_t batch_stride, int type) {
    return DeviceView{
        reinterpret_cast<unsigned char*>(address), type, 4, cols, 1, stride, batch_stride};
  };
  EXPECT_EQ(word_bytes(at(256, 64, 64, 256, kElementF16)), 8);
  EXPECT_EQ(word_bytes(at(256, 62, 64, 256, kElementF16)), 4);
  EXPECT_EQ(word_bytes(at(256, 64, 65, 260, kElementF16)), 2);
  EXPECT_EQ(word_bytes(at(258, 64, 64, 256, kElementF16)), 2);
  EXPECT_EQ(word_bytes(at(256, 63, 63, 252, kElementF32)), 4);
  const DeviceView words = in_words(at(256, 62, 64, 256, kElementF16), 4);
  EXPECT_EQ(words.cols, 31);
  EXPECT_EQ(words.stride, 32);
  EXPECT_EQ(words.batch_stride, 128);
}

TEST(DeviceGuards, CoverWhatLiesRoundEveryMatrix) {
  const Problem p = problem_of("gemm 24x20x70 f16 acc=f32 nn batch=3 lda=80 ldc=31");
  const auto layout = device_layout(p, 3, 1000);
  ASSERT_TRUE(layout);
  std::vector<GuardPlace> all;
  for (int set = -1; set < 3; ++set) {
    const auto places = guard_places(p, *layout, set, 1000);
    // Two bands each; A and C have gaps between their rows, and so has the baselines' C.
    EXPECT_EQ(places.size(), set < 0 ? 2U : 11U);
    all.insert(all.end(), places.begin(), places.end());
  }
  for (const GuardPlace& place : all) {
    EXPECT_GE(place.stretch.begin, 0);
    EXPECT_LE(place.stretch.end, layout->bytes);
    if (place.kind == GuardPlace::kGaps) continue;
    EXPECT_GE(place.stretch.end - place.stretch.begin, kDeviceGuardBytes);
    for (const GuardPlace& other : all) {  // no band lies over a matrix
      if (other.kind != GuardPlace::kGaps) continue;
      EXPECT_TRUE(place.stretch.end <= other.stretch.begin ||
                  place.stretch.begin >= other.stretch.end);
    }
  }
  Broken broken;
  EXPECT_FALSE(broken_text(all[0], broken));
  broken = {static_cast<unsigned long long>(all[0].stretch.begin) + 1, 0, 1};
  EXPECT_EQ(broken_text(all[0], broken), "workspace, 2 bytes past the end");
  broken = {0, static_cast<unsigned long long>(all[1].stretch.end) - 1, 3};
  EXPECT_EQ(broken_text(all[1], broken), "workspace, 1 byte before the start (3 bytes in all)");
  const auto gap = std::ranges::find(all, GuardPlace::kGaps, &GuardPlace::kind);
  ASSERT_NE(gap, all.end());
  broken = {static_cast<unsigned long long>(gap->stretch.begin + 25 * 160 + 140), 0, 1};
  EXPECT_EQ(broken_text(*gap, broken), "A, batch 1, row 1, 1 byte into the row gap");
}

TEST(SamplePlans, HaveTheFirstAndTheLastAndAreFullWhereThatIsCheap) {
  const Problem p = problem_of("gemm 4096x4096x4096 f16 acc=f32 nn");
  EXPECT_TRUE(sample_plan(p, whole(p), 1, kThorough).full);
  const Problem large = problem_of("gemm 16384x8192x16384 f16 acc=f32 nn");
  const SamplePlan plan = sample_plan(large, whole(large), 1, kThorough);
  EXPECT_FALSE(plan.full);
  EXPECT_EQ(plan.rows.size(), 256U);
  EXPECT_EQ(plan.cols.size(), 256U);
  EXPECT_EQ(plan.batches, std::vector<long long>{0});
  EXPECT_EQ(plan.rows.front(), 0);
  EXPECT_EQ(plan.rows.back(), 16383);
  EXPECT_EQ(plan.cols.back(), 8191);
  EXPECT_TRUE(std::ranges::is_sorted(plan.rows));
  EXPECT_NE(plan.rows, sample_plan(large, whole(large), 2, kThorough).rows);
  // Few rows: all of them.
  const Problem flat = problem_of("gemm 8x16384x16384 f16 acc=f32 nn batch=64");
  EXPECT_EQ(sample_plan(flat, whole(flat), 1, kBrief).rows.size(), 8U);
  EXPECT_EQ(sample_plan(flat, whole(flat), 1, kBrief).batches.size(), 3U);
}

TEST(Weights, TheNumberOfCallsIsTheLikeliest) {
  for (const double beta : {1.0, 0.5}) {
    for (const std::int64_t calls : {1, 2, 3, 17, 40}) {
      const Repeated history = repeated(beta, calls);
      InnerProducts products;
      for (int i = 1; i < 200; ++i) {
        const double product = i * 0.37 - 20, before = 5 - i % 11;
        products.add(history.sum * product + history.kept * before, product, before);
      }
      const std::int64_t found = likeliest_calls(products, beta, 1 << 14);
      // With beta = 1/2 C converges: later calls change nothing that can be seen.
      if (beta == 1 || calls < 20) {
        EXPECT_EQ(found, calls) << beta;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
