// SPDX-License-Identifier: Apache-2.0
// What compiled kernels are refused for (tests/cases/inspect.txt), and that no bytes whatever upset
// the reader. Cases B14, B19 of the public record.
#include "compile/inspect.h"

#include "base/rng.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "compile/candidates.h"
#include "compile/elf.h"

#include <elf.h>

#include <array>
#include <cstring>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string text, rule, evidence, why;
};

std::vector<Case> cases() {
  std::vector<Case> found;
  const auto file = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/inspect.txt");
  EXPECT_TRUE(file);
  for (const auto line : split(*file, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    // The text may hold `|` itself; the last three fields do not.
    std::vector<std::string> fields;
    std::string_view rest = line;
    for (int i = 0; i < 3; ++i) {
      const auto bar = rest.rfind(" | ");
      EXPECT_NE(bar, std::string_view::npos) << line;
      fields.emplace_back(trim(rest.substr(bar + 3)));
      rest = rest.substr(0, bar);
    }
    found.push_back({std::string(trim(rest)), fields[2], fields[1], fields[0]});
  }
  EXPECT_GT(found.size(), 30U);
  return found;
}

class Inspect : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder;
    auto made = Compiler::create(caching_in(folder_->path() / "cache"));
    ASSERT_TRUE(made) << made.error().message;
    compiler_ = new Compiler(*std::move(made));
  }
  static void TearDownTestSuite() {
    delete compiler_;
    delete folder_;
  }
  // The object of a text, without inspection.
  static std::string object_of(const std::string& text) {
    auto options = caching_in(folder_->path() / "loose");
    options.refuse_writable_state = false;
    auto loose = Compiler::create(options);
    const auto result = loose->compile(source_of(text));
    EXPECT_TRUE(result.binary) << result.finding.detail;
    return *read_file(result.binary->path);
  }
  static std::string good_object() {
    const auto result = compiler_->compile(numbered(1));
    EXPECT_TRUE(result.binary) << result.finding.detail;
    return *read_file(result.binary->path);
  }
  static inline ScratchFolder* folder_ = nullptr;
  static inline Compiler* compiler_ = nullptr;
};

TEST_F(Inspect, CasesAreJudgedAsTheyShouldBe) {
  for (const auto& [text, rule, evidence, why] : cases()) {
    SCOPED_TRACE(why + ": " + text);
    const auto result = compiler_->compile(source_of(text));
    if (rule == "ok") {
      EXPECT_TRUE(result.finding.ok()) << result.finding.rule << ": " << result.finding.detail;
      ASSERT_TRUE(result.binary);
      EXPECT_GT(result.binary->text_bytes, 0);
      continue;
    }
    EXPECT_FALSE(result.binary);
    EXPECT_EQ(result.finding.outcome,
              rule == "no-symbol" || rule == "object" ? Outcome::compile_error : Outcome::cheat);
    EXPECT_EQ(result.finding.rule, rule) << result.finding.detail;
    EXPECT_THAT(result.finding.detail, HasSubstr(evidence));
  }
}

// Other toolchains lay the file out differently: clang, lld and gold where they are installed.
TEST_F(Inspect, OtherToolchainsAreJudgedAlike) {
  int tried = 0;
  for (const char* name : {"clang++", "clang++ -fuse-ld=lld", "g++ -fuse-ld=gold"}) {
    SCOPED_TRACE(name);
    auto options = caching_in(folder_->path() / "other");
    options.compiler = name;
    auto other = Compiler::create(options);
    if (!other) continue;
    const auto good =
        other->compile(source_of("static const char* const words[2] = {\"x\", \"y\"};"
                                 "KERNEL { *(char*)a->c = words[t->thread & 1][0]; }"));
    if (good.finding.rule == "compiler") continue;  // a linker that is not installed
    ++tried;
    EXPECT_TRUE(good.binary) << good.finding.rule << ": " << good.finding.detail;
    const auto bad =
        other->compile(source_of("static int n; KERNEL { *(int*)a->c = ++n; (void)t; }"));
    EXPECT_EQ(bad.finding.rule, "writable-state") << bad.finding.detail;
    const auto import = other->compile(
        source_of("extern \"C\" void sgemm_(); KERNEL { sgemm_(); (void)a; (void)t; }"));
    EXPECT_EQ(import.finding.rule, "imports") << import.finding.detail;
  }
  if (tried == 0) GTEST_SKIP() << "no compiler or linker but GNU's";
}

TEST_F(Inspect, LooseKeepsOnlyTheSymbolRule) {
  const auto object = object_of("static int n; KERNEL { *(int*)a->c = ++n; (void)t; }");
  EXPECT_TRUE(inspect(object, "tw_kernel", false).finding.ok());
  EXPECT_EQ(inspect(object, "tw_kernel", true).finding.rule, "writable-state");
  EXPECT_EQ(inspect(object, "tw_kernal", false).finding.rule, "no-symbol");
}

// Names are a courtesy of the linker: without any section header the state is still seen.
TEST_F(Inspect, StateIsSeenWithoutSectionsOrSymbols) {
  std::string object = object_of("KERNEL { static int n; *(int*)a->c = ++n; (void)t; }");
  const char none[2] = {0, 0};
  object.replace(offsetof(Elf64_Ehdr, e_shnum), 2, none, 2);
  ASSERT_TRUE(ElfFile::parse(object));
  ASSERT_TRUE(ElfFile::parse(object)->sections().empty());
  EXPECT_EQ(inspect(object, "tw_kernel", true).finding.rule, "writable-state");
  std::string good = good_object();
  good.replace(offsetof(Elf64_Ehdr, e_shnum), 2, none, 2);
  EXPECT_EQ(inspect(good, "tw_kernel", true).finding.rule, "no-symbol");
}

TEST_F(Inspect, NoPrefixPasses) {
  const std::string object = good_object();
  ASSERT_TRUE(inspect(object, "tw_kernel", true).finding.ok());
  for (std::size_t size = 0; size < object.size(); ++size) {
    const std::string prefix = object.substr(0, size);  // on the heap, so that ASan sees its end
    EXPECT_EQ(inspect(prefix, "tw_kernel", true).finding.outcome, Outcome::compile_error) << size;
  }
}

TEST_F(Inspect, DamagedBytesNeverUpsetIt) {
  const std::string object = object_of("static int n; KERNEL { *(int*)a->c = ++n; (void)t; }");
  const std::array<std::uint64_t, 7> extremes = {0,
                                                 1,
                                                 0x7fffffffffffffff,
                                                 0x8000000000000000,
                                                 ~std::uint64_t{0},
                                                 object.size(),
                                                 std::uint64_t{0} - object.size()};
  std::size_t judged = 0;
  const auto judge = [&](const std::string& bytes) {
    const auto result = inspect(bytes, "tw_kernel", true);
    judged += result.finding.ok() || !result.finding.rule.empty();
    EXPECT_GE(result.text_bytes, 0);
    EXPECT_LE(result.text_bytes, static_cast<std::int64_t>(bytes.size()) * 4096);
  };
  std::size_t asked = 0;
  for (const auto value : extremes) {
    for (std::size_t at = 0; at + 8 <= object.size(); at += 8) {
      std::string bytes = object;
      std::memcpy(bytes.data() + at, &value, 8);
      judge(bytes);
      ++asked;
    }
  }
  Rng rng(12);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = object;
    for (std::uint64_t flips = 1 + rng.below(8); flips > 0; --flips) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng());
    }
    judge(bytes);
    ++asked;
  }
  EXPECT_EQ(judged, asked);
}

TEST_F(Inspect, WhatIsNotAnObjectIsSaidToBeNone) {
  for (const std::string bytes : {"", "x", "#!/bin/sh\n",
                                  "\x7f"
                                  "ELF",
                                  "\x7f"
                                  "ELF\x01\x01"}) {
    const auto result = inspect(bytes, "tw_kernel", true);
    EXPECT_EQ(result.finding.outcome, Outcome::compile_error);
    EXPECT_EQ(result.finding.rule, "object");
  }
  // An executable and a 32-bit or big-endian object.
  for (const auto& [offset, value] : {std::pair<std::size_t, char>{EI_CLASS, ELFCLASS32},
                                      {EI_DATA, ELFDATA2MSB},
                                      {offsetof(Elf64_Ehdr, e_type), ET_EXEC},
                                      {offsetof(Elf64_Ehdr, e_machine), EM_MIPS}}) {
    std::string object = good_object();
    object[offset] = value;
    EXPECT_EQ(inspect(object, "tw_kernel", true).finding.rule, "object") << offset;
  }
}

}  // namespace
}  // namespace tilewright
