// SPDX-License-Identifier: Apache-2.0
// The compile cache under damage and without a place to be, and what it forgets first. Cases C01,
// C08, C09 of the public record. What happens between processes is in cache_processes_test.cc.
#include "compile/cache.h"

#include "base/hash.h"
#include "compile/candidates.h"
#include "compile/entry.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CacheTest : public ::testing::Test {
 protected:
  CompileOptions options(Warnings& warnings) const {
    auto with = caching_in(root());
    with.compiler = quick_compiler();
    with.warn = warnings.sink();
    return with;
  }
  static Compiler compiler(const CompileOptions& options) {
    auto made = Compiler::create(options);
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }
  [[nodiscard]] fs::path root() const { return folder_.path() / "cache"; }
  [[nodiscard]] fs::path entries() const { return root() / "v1/cpu"; }

  ScratchFolder folder_;
};

void overwrite(const fs::path& path, std::string_view bytes) {
  ASSERT_TRUE(put(path.parent_path(), path.filename().string(), bytes));
}

// C01: whatever happens to a file of an entry, the entry is a miss with one warning, is kept aside
// and is made again.
TEST_F(CacheTest, ADamagedEntryIsSetAsideAndMadeAgain) {
  const std::string whole_seal = [&] {
    Warnings none;
    const auto made = compiler(options(none)).compile(numbered(1));
    return *read_file(made.binary->path.parent_path() / kSealFile);
  }();
  const auto seal_without = [&](const char* field) {
    json meta = json::parse(whole_seal);
    meta.erase(field);
    return meta.dump();
  };
  const auto seal_with = [&](const char* field, const json& value) {
    json meta = json::parse(whole_seal);
    meta[field] = value;
    return meta.dump();
  };
  struct Damage {
    std::string file, bytes;
  };
  std::vector<Damage> damages;
  for (const auto file : {kCpuEntry.source, kExportsFile, kCpuEntry.object, kLogFile, kSealFile}) {
    damages.push_back({std::string(file), "damaged"});
    damages.push_back({std::string(file), std::string(5000, '\0')});
  }
  damages.push_back({"include/launch/cpu_abi.h", "x"});
  damages.push_back({std::string(kCpuEntry.object), ""});
  for (const auto& bytes :
       {std::string(), std::string("{"), std::string("[]"), std::string("7"), std::string("null"),
        whole_seal.substr(0, whole_seal.size() / 2), seal_without("format"), seal_without("key"),
        seal_without("files"), seal_with("format", 99), seal_with("format", "1"),
        seal_with("key", "other"), seal_with("files", json::array()), seal_with("files", "x"),
        seal_with("files", json::object()), seal_with("files", {{"kernel.so", 3}}),
        seal_with("files", {{"../../lock", {{"bytes", 0}, {"xxh3", hash128("")}}}}),
        std::string(200000, '[')}) {
    damages.push_back({std::string(kSealFile), bytes});
  }
  std::size_t round = 0;
  for (const auto& [file, bytes] : damages) {
    SCOPED_TRACE(file + " <- " + bytes.substr(0, 60));
    Warnings warnings;
    auto cpp = compiler(options(warnings));
    const auto before = cpp.compile(numbered(1));
    ASSERT_TRUE(before.binary);
    EXPECT_TRUE(before.binary->from_cache);
    overwrite(before.binary->path.parent_path() / file, bytes);
    const auto after = cpp.compile(numbered(1));
    ASSERT_TRUE(after.binary) << after.finding.detail;
    EXPECT_FALSE(after.binary->from_cache);
    EXPECT_THAT(warnings.lines, ElementsAre(HasSubstr("is damaged")));
    EXPECT_EQ(count_in(root() / "v1/aside"), ++round);
    EXPECT_TRUE(cpp.compile(numbered(1)).binary->from_cache);
    EXPECT_THAT(warnings.lines, SizeIs(1));
  }
}

TEST_F(CacheTest, AMissingFileOrAFileInPlaceOfAnEntryIsDamageToo) {
  Warnings warnings;
  auto cpp = compiler(options(warnings));
  const auto made = cpp.compile(numbered(1));
  const fs::path entry = made.binary->path.parent_path();
  std::size_t expected = 0;
  for (const auto file : {kCpuEntry.source, kExportsFile, kCpuEntry.object, kLogFile, kSealFile}) {
    fs::remove(entry / file);
    EXPECT_FALSE(cpp.compile(numbered(1)).binary->from_cache) << file;
    EXPECT_THAT(warnings.lines, SizeIs(++expected));
  }
  fs::remove_all(entry);
  EXPECT_FALSE(cpp.compile(numbered(1)).binary->from_cache);
  EXPECT_THAT(warnings.lines, SizeIs(expected)) << "an entry that is gone is no damage";
  fs::remove_all(entry);
  overwrite(entry, "a file");
  EXPECT_FALSE(cpp.compile(numbered(1)).binary->from_cache);
  fs::remove_all(entry);
  fs::create_symlink("/dev/zero", entry);
  EXPECT_FALSE(cpp.compile(numbered(1)).binary->from_cache);
  fs::remove(entry / kCpuEntry.object);
  fs::create_symlink("/dev/zero", entry / kCpuEntry.object);
  EXPECT_FALSE(cpp.compile(numbered(1)).binary->from_cache);
  EXPECT_TRUE(cpp.compile(numbered(1)).binary->from_cache);
}

TEST_F(CacheTest, ASealCutAnywhereIsNoSeal) {
  Warnings warnings;
  const auto made = compiler(options(warnings)).compile(numbered(1));
  const fs::path entry = made.binary->path.parent_path();
  const std::string seal_text = *read_file(entry / kSealFile);
  ASSERT_TRUE(read_entry(entry, made.binary->hash));
  for (std::size_t size = 0; size + 1 < seal_text.size(); ++size) {  // the line end is no loss
    overwrite(entry / kSealFile, seal_text.substr(0, size));
    EXPECT_FALSE(read_entry(entry, made.binary->hash)) << size;
  }
  const std::string object = *read_file(entry / kCpuEntry.object);
  overwrite(entry / kSealFile, seal_text);
  for (std::size_t at = 0; at < object.size(); at += 97) {
    std::string flipped = object;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    overwrite(entry / kCpuEntry.object, flipped);
    EXPECT_FALSE(read_entry(entry, made.binary->hash)) << at;
  }
}

// C08: no place for a cache is no reason not to work; it is said once.
TEST_F(CacheTest, WithoutAUsableFolderItWorksAndSaysSoOnce) {
  overwrite(folder_.path() / "file", "not a folder");
  for (const auto& place : {folder_.path() / "file", folder_.path() / "file/below",
                            fs::path("/proc/tilewright"), fs::path("/dev/null/cache")}) {
    SCOPED_TRACE(place);
    fs::path kept;
    {
      Warnings warnings;
      auto with = options(warnings);
      with.cache_directory = place;
      auto cpp = compiler(with);
      EXPECT_THAT(warnings.lines, ElementsAre(HasSubstr("without a lasting cache")));
      const auto made = cpp.compile(numbered(1));
      ASSERT_TRUE(made.binary) << made.finding.detail;
      kept = made.binary->path;
      EXPECT_TRUE(fs::exists(kept));
      EXPECT_TRUE(cpp.compile(numbered(1)).binary->from_cache);
      EXPECT_THAT(warnings.lines, SizeIs(1));
    }
    EXPECT_FALSE(fs::exists(kept)) << "the private folder goes with its compiler";
  }
}

TEST_F(CacheTest, WithoutAHomeItWorksAndSaysSoOnce) {
  for (const char* home : {static_cast<const char*>(nullptr), "", "/"}) {
    const pid_t child = ::fork();  // the environment is this process's alone
    if (child == 0) {
      ::unsetenv("XDG_CACHE_HOME");
      home != nullptr ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
      Warnings warnings;
      auto with = options(warnings);
      with.cache_directory.clear();
      const auto made = Compiler::create(with)->compile(numbered(1));
      ::_exit(made.binary && warnings.lines.size() == 1 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << (home != nullptr ? home : "unset");
  }
}

// C09: another user's private folder, and a folder that may be read but not written.
TEST_F(CacheTest, FoldersOfOthersAreLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  fs::permissions(folder_.path(), fs::perms(0755));
  for (const unsigned mode : {0700U, 0755U}) {
    Warnings warnings;
    {
      auto first = compiler(options(warnings));
      ASSERT_TRUE(first.compile(numbered(1)).binary);
    }
    fs::permissions(root(), fs::perms(mode));
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
      Warnings own;
      auto cpp = Compiler::create(options(own));
      if (!cpp) ::_exit(2);
      const bool made = cpp->compile(numbered(1)).binary.has_value();
      cpp = fail(ErrorCode::internal, "");  // destroys the compiler, which _exit() would not
      ::_exit(made && own.lines.size() == 1 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << mode;
    EXPECT_THAT(warnings.lines, IsEmpty());
    EXPECT_TRUE(compiler(options(warnings)).compile(numbered(1)).binary->from_cache);
  }
}

// A folder that stops being writable in mid-run: the binary is used where it was made.
TEST_F(CacheTest, AnEntryThatCannotBeNamedIsStillABinary) {
  Warnings warnings;
  auto cpp = compiler(options(warnings));
  fs::remove_all(entries());
  overwrite(entries(), "a file where the entries were");
  const auto made = cpp.compile(numbered(1));
  ASSERT_TRUE(made.binary) << made.finding.detail;
  EXPECT_TRUE(fs::exists(made.binary->path));
  EXPECT_THAT(warnings.lines, ElementsAre(HasSubstr("cannot keep")));
}

void age(const fs::path& folder, std::chrono::hours by) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - by);
}

TEST_F(CacheTest, TheLeastRecentlyUsedGoFirst) {
  Warnings warnings;
  std::vector<fs::path> folders;
  {
    auto cpp = compiler(options(warnings));
    for (int i = 0; i < 6; ++i) {
      folders.push_back(cpp.compile(numbered(i)).binary->path.parent_path());
    }
  }
  std::uintmax_t one = 0;
  for (const auto& file : fs::recursive_directory_iterator(folders[0])) {
    struct stat info{};
    ASSERT_EQ(::lstat(file.path().c_str(), &info), 0);
    one += static_cast<std::uintmax_t>(info.st_blocks) * 512;
  }
  // Oldest first: 3, 0, 5, 1; 2 and 4 have just been used.
  age(folders[3], std::chrono::hours(40));
  age(folders[0], std::chrono::hours(30));
  age(folders[5], std::chrono::hours(20));
  age(folders[1], std::chrono::hours(10));
  const auto left = [&] {
    std::string names;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      if (fs::exists(folders[i])) names += std::to_string(i);
    }
    return names;
  };
  const auto evict_to = [&](double entries_kept) {
    const auto cap = static_cast<std::int64_t>(entries_kept * static_cast<double>(one));
    const auto cache = Cache::open(root(), cap, warnings.sink());
    ASSERT_TRUE(cache);
    (*cache)->evict();
  };
  evict_to(6.5);
  EXPECT_EQ(left(), "012345");
  evict_to(4.5);
  EXPECT_EQ(left(), "1245");
  {
    auto holder = compiler(options(warnings));
    ASSERT_TRUE(holder.compile(numbered(5)).binary->from_cache);
    age(folders[5], std::chrono::hours(50));  // the oldest, but in use
    evict_to(0);
    EXPECT_EQ(left(), "245");
  }
  evict_to(0);
  EXPECT_EQ(left(), "24") << "what was used just now stays even beyond the cap";
  EXPECT_EQ(count_in(root() / "v1/scratch"), 0U);
}

TEST_F(CacheTest, CompilingEvictsByItself) {
  Warnings warnings;
  {
    ASSERT_TRUE(compiler(options(warnings)).compile(numbered(0)).binary);
  }
  const auto old = children(entries());
  ASSERT_THAT(old, SizeIs(1));
  age(old[0], std::chrono::hours(1));
  auto with = options(warnings);
  with.cache_cap_bytes = 1;
  auto cpp = compiler(with);
  const auto made = cpp.compile(numbered(1));
  ASSERT_TRUE(made.binary);
  EXPECT_TRUE(fs::exists(made.binary->path));
  EXPECT_FALSE(fs::exists(old[0]));
  EXPECT_THAT(warnings.lines, IsEmpty());
}

TEST_F(CacheTest, WhatWasSetAsideIsEvictedToo) {
  Warnings warnings;
  auto cpp = compiler(options(warnings));
  overwrite(cpp.compile(numbered(0)).binary->path, "damaged");
  ASSERT_TRUE(cpp.compile(numbered(0)).binary);
  const auto aside = children(root() / "v1/aside");
  ASSERT_THAT(aside, SizeIs(1));
  age(aside[0], std::chrono::hours(1));
  const auto cache = Cache::open(root(), 0, warnings.sink());
  (*cache)->evict();
  EXPECT_EQ(count_in(root() / "v1/aside"), 0U);
}

TEST(EntryNames, PlainOnesOnly) {
  for (const char* good : {"a", "a.h", "launch/cpu_abi.h", "a/b/c.h", "..a", "a..b/c"}) {
    EXPECT_TRUE(is_plain_name(good)) << good;
  }
  for (const char* bad :
       {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a b", "a\n", "caf\xc3\xa9"}) {
    EXPECT_FALSE(is_plain_name(bad)) << bad;
  }
}

}  // namespace
}  // namespace tilewright
