// SPDX-License-Identifier: Apache-2.0
// A rigged baseline is refused, by name of what rigs it (B24); libraries are found and lost with a
// reason. Each test sets variables in this process; OpenBLAS is loaded in children only.
#include "baseline/environment.h"
#include "baseline/baseline.h"
#include "baseline/library.h"
#include "baseline/openblas_api.h"
#include "baseline/trial_child.h"
#include "device/fma_peak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Values = std::map<std::string, std::optional<std::string>>;

// Sets or unsets variables and puts the old values back.
class Variables {
 public:
  explicit Variables(const Values& wanted) {
    for (const auto& [name, value] : wanted) {
      const char* old = std::getenv(name.c_str());
      old_[name] = old == nullptr ? std::optional<std::string>{} : std::string(old);
      set(name, value);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : old_) set(name, value);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  Values old_;
};

const Values kClean = {
    {"OPENBLAS_CORETYPE", {}}, {"OPENBLAS_L2_SIZE", {}}, {"TILEWRIGHT_BASELINE_ENVIRONMENT", {}}};

bool has_openblas() {
  return look_at_openblas().found;
}

TEST(SelfCheck, PassesWhenNothingIsSet) {
  if (!has_openblas()) GTEST_SKIP() << "no OpenBLAS";
  const Variables clean(kClean);
  const Device device = detect_cpu();
  // One FLOP/s as the peak: the fraction is then the rate itself, and no load can fail the test.
  const SelfCheck check = self_check(device, device.cores, 1.0);
  EXPECT_TRUE(check.passed) << check.reason;
  EXPECT_TRUE(core_type_fits(check.core_type, device)) << check.core_type;
  EXPECT_GT(check.sgemm_fraction, 1.0);
}

TEST(SelfCheck, RefusesNarrowKernels) {  // B24
  if (!has_openblas()) GTEST_SKIP() << "no OpenBLAS";
  const Device device = detect_cpu();
  if (!device.has("avx2")) GTEST_SKIP() << "no narrower kernels than this CPU's";
  const Variables clean(kClean);
  const Variables rigged(Values{{"OPENBLAS_CORETYPE", "Prescott"}});
  const SelfCheck check = self_check(device, 1, 1.0);
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.reason, HasSubstr("unset OPENBLAS_CORETYPE"));
  const auto p = parse_problem("gemm 64x64x64 f16 acc=f32 nn");
  const auto made = ask_in_child([&]() -> std::string {
    const auto baseline = make_baseline("openblas", *p, device, 1);
    return baseline ? "made" : baseline.error().message;
  });
  ASSERT_TRUE(made);
  EXPECT_THAT(*made, HasSubstr("unset OPENBLAS_CORETYPE"));
}

TEST(SelfCheck, RefusesARateFarBelowThePeak) {
  if (!has_openblas()) GTEST_SKIP() << "no OpenBLAS";
  const Variables clean(kClean);
  const SelfCheck check = self_check(detect_cpu(), 1, 1e18);
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.reason, HasSubstr("of the FMA peak"));
}

TEST(SelfCheck, RefusesEachVariableThatCapsALibrary) {  // B24
  const auto p = parse_problem("gemm 64x64x64 bf16 acc=f32 nn");
  for (const std::string_view name : kRiggingVariables) {
    const Variables clean(kClean);
    const Variables rigged(Values{{std::string(name), "1"}});
    const SelfCheck check = self_check(detect_cpu(), 1, 1.0);
    EXPECT_FALSE(check.passed) << name;
    EXPECT_THAT(check.reason, HasSubstr("unset " + std::string(name)));
    for (const BaselineInfo& info : baselines_for(*p, detect_cpu())) {
      if (info.name == "reference") continue;
      EXPECT_FALSE(info.available) << info.name << " under " << name;
      const auto made = make_baseline(info.name, *p, detect_cpu(), 1);
      EXPECT_FALSE(made) << info.name << " under " << name;
    }
  }
}

TEST(CoreTypes, NarrowerThanTheDeviceDoNotFit) {
  Device device;
  device.silicon = "genuineintel-6-207-2";
  device.isa = {"avx2", "avx512f", "f16c", "fma"};
  EXPECT_TRUE(core_type_fits("SkylakeX", device));
  EXPECT_TRUE(core_type_fits("SapphireRapids", device));
  for (const char* narrow : {"Prescott", "Haswell", "Zen", "", "generic"}) {
    EXPECT_FALSE(core_type_fits(narrow, device)) << narrow;
  }
  EXPECT_EQ(best_core_type(device), "SkylakeX");
  device.silicon = "authenticamd-25-17-1";
  EXPECT_TRUE(core_type_fits("Zen", device));  // 256-bit kernels reach its peak
  device.isa = {"avx2", "f16c", "fma"};
  EXPECT_TRUE(core_type_fits("Haswell", device));
  EXPECT_FALSE(core_type_fits("Nehalem", device));
  EXPECT_EQ(best_core_type(device), "Haswell");
  device.isa = {};
  EXPECT_TRUE(core_type_fits("Prescott", device));
}

TEST(BaselineEnvironment, NamesShortSpinsAndNeverOverridesAChoice) {
  const Device device = detect_cpu();
  {
    const Variables clean(kClean);
    const auto variables = baseline_environment(device);
    EXPECT_THAT(variables, Contains(StartsWith("OPENBLAS_THREAD_TIMEOUT=")));
    EXPECT_THAT(variables, Contains(StartsWith("GOMP_SPINCOUNT=")));
  }
  const Variables chosen(
      Values{{"OPENBLAS_CORETYPE", "Haswell"}, {"TILEWRIGHT_ONEDNN", "/nowhere"}});
  for (const std::string& entry : baseline_environment(device)) {
    EXPECT_FALSE(entry.starts_with("OPENBLAS_CORETYPE=")) << entry;
    EXPECT_FALSE(entry.starts_with("TILEWRIGHT_ONEDNN=")) << entry;
  }
}

TEST(OnednnPlaces, AFileOrAFolderChosenByTheUserIsTheOnlyPlace) {
  const Variables file(Values{{"TILEWRIGHT_ONEDNN", "/opt/x/libdnnl.so.3"}});
  EXPECT_THAT(onednn_places(3), ::testing::ElementsAre("/opt/x/libdnnl.so.3"));
  EXPECT_THAT(onednn_places(2), ::testing::ElementsAre("libdnnl.so.2"));
  const auto folder = std::filesystem::temp_directory_path();
  const Variables chosen(Values{{"TILEWRIGHT_ONEDNN", folder.string()}});
  EXPECT_THAT(onednn_places(3), ::testing::ElementsAre((folder / "libdnnl.so.3").string()));
}

TEST(Library, AbsentOnesSayWhichAndWhy) {
  const std::vector<std::string> names = {"libnot-there.so.1", "/nowhere/libalso-not.so"};
  const auto opened = open_library(names);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::environment);
  EXPECT_THAT(opened.error().message, HasSubstr("libnot-there.so.1"));
  EXPECT_THAT(opened.error().message, HasSubstr("/nowhere/libalso-not.so"));
}

TEST(Library, FindsSymbolsAndKnowsWhereItLies) {
  const std::vector<std::string> names = {"libnot-there.so.1", "libm.so.6"};
  const auto opened = open_library(names);
  ASSERT_TRUE(opened) << opened.error().message;
  auto* cosine = opened->find<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(opened->find<void()>("no_such_function"), nullptr);
  EXPECT_TRUE(std::filesystem::exists(opened->path())) << opened->path();
}

TEST(AskInChild, ReturnsTheTextHoweverLong) {
  const auto answer = ask_in_child([] { return std::string(300000, 'x'); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->size(), 300000U);
}

TEST(AskInChild, ADeathAHangAndSilenceAreErrors) {
  const auto died = ask_in_child([]() -> std::string {
    raise(SIGKILL);
    return "x";
  });
  ASSERT_FALSE(died);
  EXPECT_THAT(died.error().message, HasSubstr("signal 9"));
  const auto hung = ask_in_child(
      []() -> std::string {
        for (;;) pause();
      },
      std::chrono::milliseconds(50));
  ASSERT_FALSE(hung);
  EXPECT_THAT(hung.error().message, HasSubstr("no answer"));
  EXPECT_FALSE(ask_in_child([] { return std::string(); }));
  EXPECT_FALSE(ask_in_child([]() -> std::string { throw std::runtime_error("x"); }));
}

}  // namespace
}  // namespace tilewright
