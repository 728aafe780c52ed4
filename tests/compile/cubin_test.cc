// SPDX-License-Identifier: Apache-2.0
// Cubins are judged as they should be, no bytes whatever upset the reader, and logs are read
// (tests/cases/ptxas_log.txt).
#include "compile/inspect_cubin.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "compile/made_cubin.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

Finding judge(const MadeCubin& cubin, bool strict = true) {
  return inspect_cubin(cubin.bytes(), "tw_kernel", strict).finding;
}

TEST(InspectCubin, AKernelAloneIsFine) {
  const Inspection result = inspect_cubin(MadeCubin{}.bytes(), "tw_kernel", true);
  EXPECT_TRUE(result.finding.ok()) << result.finding.detail;
  EXPECT_EQ(result.text_bytes, 256);
}

TEST(InspectCubin, MemoryOfItsOwnIsRefused) {
  for (const auto& section :
       {MadeCubin::Section{".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 8},
        {".nv.global.init", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8},
        {".nv.shared.tw_kernel", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8},  // with contents
        {"anything", SHT_NOBITS, SHF_WRITE, 1}}) {
    MadeCubin cubin;
    cubin.sections.push_back(section);
    cubin.symbols.push_back({"counter", ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 7});
    const Finding finding = judge(cubin);
    EXPECT_EQ(finding.outcome, Outcome::cheat) << section.name;
    EXPECT_EQ(finding.rule, "writable-state");
    EXPECT_THAT(finding.detail, HasSubstr(section.name + " (counter)"));
    EXPECT_TRUE(judge(cubin, false).ok()) << section.name;
  }
  MadeCubin empty;
  empty.sections.push_back({".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0});
  EXPECT_TRUE(judge(empty).ok());
}

TEST(InspectCubin, CallsOfTheDriversAreRefused) {
  MadeCubin cubin;
  cubin.symbols.push_back({"vprintf", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF});
  const Finding finding = judge(cubin);
  EXPECT_EQ(finding.rule, "imports");
  EXPECT_THAT(finding.detail, HasSubstr("vprintf"));
}

TEST(InspectCubin, TheKernelMustBeThere) {
  MadeCubin cubin;
  EXPECT_EQ(inspect_cubin(cubin.bytes(), "other", true).finding.rule, "no-symbol");
  cubin.symbols[0].info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
  EXPECT_EQ(judge(cubin).rule, "no-symbol");
  cubin.symbols[0] = {"tw_kernel", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 4};
  EXPECT_EQ(judge(cubin, false).rule, "no-symbol");
}

TEST(InspectCubin, AnotherMachinesObjectIsNone) {
  MadeCubin cubin;
  cubin.machine = EM_X86_64;
  EXPECT_EQ(judge(cubin).rule, "object");
  cubin = {};
  cubin.type = ET_DYN;
  EXPECT_EQ(judge(cubin).rule, "object");
  EXPECT_EQ(inspect_cubin("", "tw_kernel", false).finding.rule, "object");
}

// CASES C01: cut anywhere, and with any bytes changed.
TEST(InspectCubin, DamageIsNeverFatal) {
  const std::string good = MadeCubin{}.bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    (void)inspect_cubin(std::string_view(good).substr(0, size), "tw_kernel", true);
  }
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 1 + round % 4; ++i) {
      // Headers are at both ends; what is between them is of less interest.
      const std::size_t at = random() % bad.size();
      bad[at] = static_cast<char>(random());
    }
    const Inspection strict = inspect_cubin(bad, "tw_kernel", true);
    const Inspection loose = inspect_cubin(bad, "tw_kernel", false);
    ASSERT_GE(strict.text_bytes, 0);
    ASSERT_TRUE(!strict.finding.ok() || loose.finding.ok()) << round;
  }
}

TEST(PtxasLog, CasesAreReadAsTheyShouldBe) {
  const auto file = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/ptxas_log.txt");
  ASSERT_TRUE(file);
  std::string log;
  int cases = 0, number = 0;
  for (const std::string_view line : split(*file, '\n')) {
    ++number;
    if (line.starts_with("#")) continue;
    if (!line.starts_with("= ")) {
      log += std::string(line) + "\n";
      continue;
    }
    SCOPED_TRACE(fmt::format("line {}", number));
    const CubinFacts f = parse_ptxas_log(log, "tw_kernel");
    EXPECT_EQ(fmt::format("= {} {} {} {} {} {:d} {:d} {}", f.registers, f.stack_bytes,
                          f.spill_stores, f.spill_loads, f.static_shared, f.wgmma_serialized,
                          f.setmaxnreg_ignored, f.warnings.size()),
              line);
    log.clear();
    ++cases;
  }
  EXPECT_GE(cases, 9);
}

TEST(PtxasLog, ManyWarningsAreAFew) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "ptxas info    : (C7519) warpgroup.arrive is injected\n";
  EXPECT_LE(parse_ptxas_log(log, "tw_kernel").warnings.size(), 20U);
}

}  // namespace
}  // namespace tilewright
