// SPDX-License-Identifier: Apache-2.0
// Wisdom: its text and back, where it comes from, how it joins, and for which device it counts
// (CASES C11). Read next: wisdom_damage_test.cc.
#include "record/wisdom.h"

#include "base/text.h"
#include "record/made_wisdom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

using testing::HasSubstr;
constexpr auto kWrite = Database::Access::read_write;

TEST(wisdom_text, is_what_the_header_shows) {
  Wisdom wisdom{.device = made_device(), .entries = {made_entry(64, 12.3), made_entry(8, 0.5)}};
  wisdom.entries[1].reference.clear();
  wisdom.entries[1].ratio = 0;
  wisdom.entries[1].problem = "gemm 8x8x8 bf16 acc=f32 nt";
  const std::string lines =
      "tilewright-wisdom 1\n"
      "device " +
      to_json(made_device()) +
      "\n"
      "entry gemm 64x64x64 f16 acc=f32 nn | cpu isa=avx2 form=blocked kc=64 | time_us=12.3"
      " vs=onednn ratio=1.18 verified=full mode=offline date=2026-11-29\n"
      "entry gemm 8x8x8 bf16 acc=f32 nt | cpu isa=avx2 form=blocked kc=64 | time_us=0.5"
      " vs=none ratio=0 verified=full mode=offline date=2026-11-29\n";
  EXPECT_EQ(to_text(wisdom), sealed(lines));
}

TEST(wisdom_text, comes_back_as_it_was) {
  Rng rng(1);
  std::size_t entries = 0;
  for (int i = 0; i < 500; ++i) {
    const Wisdom wisdom = some_wisdom(rng);
    const std::string text = to_text(wisdom);
    const auto back = parse_wisdom(text);
    ASSERT_TRUE(back) << back.error().message << "\n" << text;
    ASSERT_EQ(back->entries, wisdom.entries);
    ASSERT_EQ(to_json(back->device), to_json(wisdom.device));
    ASSERT_EQ(to_text(*back), text);
    entries += wisdom.entries.size();
  }
  EXPECT_GT(entries, 1000U);
}

TEST(wisdom_text, entry_cases) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/wisdom_entries.txt");
  ASSERT_TRUE(text);
  const std::string frame = "tilewright-wisdom 1\ndevice " + to_json(made_device()) + "\n";
  int cases = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.starts_with("# ")) continue;
    const auto source = line.rfind(" | ");
    auto border = line.rfind(" | ", source - 1);
    std::string_view wanted = line.substr(border + 3, source - border - 3);
    if (line.substr(0, source).ends_with("between ' | '")) {  // this reason holds a bar itself
      border = line.rfind(" | ", line.find("three parts"));
      wanted = line.substr(border + 3, source - border - 3);
    }
    const auto wisdom = parse_wisdom(sealed(frame + std::string(line.substr(0, border)) + "\n"));
    if (wanted == "ok") {
      EXPECT_TRUE(wisdom) << line << "\n" << wisdom.error().message;
    } else {
      ASSERT_FALSE(wisdom) << line;
      EXPECT_EQ(wisdom.error().code, ErrorCode::refused);
      EXPECT_THAT(wisdom.error().message, HasSubstr("line 3: ")) << line;
      EXPECT_THAT(wisdom.error().message, HasSubstr(std::string(wanted))) << line;
      EXPECT_FALSE(wisdom.error().hint.empty());
    }
    ++cases;
  }
  EXPECT_GE(cases, 30);
}

TEST(wisdom_text, check_refuses_what_would_break_the_line) {
  for (const char* program : {"cpu isa=a|b", "cpu isa=a\nhash", "cpu isa=a | cpu", "", " cpu a=b",
                              "cpu a=b ", "cpu a=b=c", "cpu a=\x01", "cpu a=\xc3\xa9"}) {
    WisdomEntry entry = made_entry(64, 1);
    ASSERT_TRUE(check(entry));
    entry.program = std::string(program);
    EXPECT_FALSE(check(entry)) << program;
  }
}

TEST(wisdom_export, takes_the_fastest_final_of_each_problem_and_mode) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  const auto add = [&](int number, double time_us, const std::string& stage, auto change) {
    Trial trial = made_trial(number, time_us, stage);
    change(trial);
    ASSERT_TRUE(database.insert(trial));
  };
  const auto nothing = [](Trial&) {};
  add(1, 5, "screen", nothing);  // fast, but only a screen
  add(2, 9, "final", nothing);
  add(3, 7, "final", [](Trial& t) { t.unix_ms -= 9; });  // lucky, and timed again
  add(3, 8, "final", nothing);                           // the winner
  add(4, 1, "final", [](Trial& t) { t.outcome = Outcome::wrong; });
  add(5, 2, "final", [](Trial& t) { t.program = std::string("source:0123"); });
  add(6, 7, "final", [](Trial& t) { t.device = std::string("another device"); });
  add(7, 6, "final", [](Trial& t) {
    t.mode = std::string("hot");
    t.baselines["openblas"].time_us = 9;
    t.baselines["openblas_ahead"] = {.time_us = 1, .headline = false};
  });
  add(8, 3, "final", [](Trial& t) {
    t.problem = std::string("gemm 1x1x1 bf16 acc=f32 tt");
    t.baselines.clear();
  });
  const auto wisdom = export_wisdom(database, made_device());
  ASSERT_TRUE(wisdom) << wisdom.error().message;
  EXPECT_EQ(to_json(wisdom->device), to_json(made_device()));
  const auto entry = [](const Trial& trial, std::string reference, double ratio) {
    return WisdomEntry{.problem = trial.problem,
                       .program = trial.program,
                       .mode = trial.mode,
                       .time_us = trial.time_us,
                       .reference = std::move(reference),
                       .ratio = ratio,
                       .date = "2026-11-18"};  // of 1,795,000,000,000 ms, UTC
  };
  Trial tiny = made_trial(8, 3), hot = made_trial(7, 6);
  tiny.problem = std::string("gemm 1x1x1 bf16 acc=f32 tt");
  hot.mode = std::string("hot");
  EXPECT_EQ(wisdom->entries, (std::vector{entry(tiny, "", 0), entry(hot, "openblas", 9. / 6),
                                          entry(made_trial(3, 8), "onednn", 12. / 8)}));
  EXPECT_TRUE(parse_wisdom(to_text(*wisdom)));
}

// The second card is a third faster, the winner of both the one that was timed by bench on the
// first.
TEST(wisdom_export, compares_cards_by_what_both_have_timed) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  Trial better = made_trial(1, 9, "bench"), worse = made_trial(2, 8, "final");
  better.baselines = {{"onednn", {.time_us = 18}}};
  worse.baselines = {{"onednn", {.time_us = 12}}};
  ASSERT_TRUE(database.insert(better));
  ASSERT_TRUE(database.insert(worse));
  const auto wisdom = export_wisdom(database, made_device());
  ASSERT_TRUE(wisdom) << wisdom.error().message;
  ASSERT_EQ(wisdom->entries.size(), 1U);
  EXPECT_EQ(wisdom->entries.front().program, better.program);
  EXPECT_EQ(wisdom->entries.front().time_us, 9);
}

TEST(wisdom_export, of_an_empty_database_is_empty) {
  const ScratchDirectory scratch;
  const auto wisdom = export_wisdom(open_or_die(scratch / "t.db", kWrite), made_device());
  ASSERT_TRUE(wisdom);
  EXPECT_TRUE(wisdom->entries.empty());
  EXPECT_TRUE(parse_wisdom(to_text(*wisdom)));
}

TEST(wisdom_export, names_a_row_that_makes_no_entry) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  Trial trial = made_trial(1, 5, "final");
  trial.program = std::string("something | else");
  ASSERT_TRUE(database.insert(trial));
  const auto wisdom = export_wisdom(database, made_device());
  ASSERT_FALSE(wisdom);
  EXPECT_THAT(wisdom.error().message, HasSubstr(trial.id()));
}

TEST(wisdom_merge, is_a_union_in_which_the_faster_stays) {
  const Wisdom a{.device = made_device(),
                 .entries = {made_entry(16, 5), made_entry(32, 7, "hot"), made_entry(32, 3)}};
  const Wisdom b{.device = made_device(),
                 .entries = {made_entry(16, 4), made_entry(32, 8, "hot"), made_entry(64, 1)}};
  const auto merged = merge(a, b);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->entries, (std::vector{made_entry(16, 4), made_entry(32, 7, "hot"),
                                          made_entry(32, 3), made_entry(64, 1)}));
}

TEST(wisdom_merge, order_does_not_matter) {
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    Wisdom a = some_wisdom(rng), b = some_wisdom(rng), c = some_wisdom(rng);
    a.device = b.device = c.device = made_device();
    for (const WisdomEntry& entry : a.entries) {  // let them meet, some at the same time
      if (rng.below(2) == 0) b.entries.push_back(entry);
      if (rng.below(2) == 0) c.entries.push_back(entry);
      if (!b.entries.empty()) b.entries.back().program += " also=1";
      if (rng.below(2) == 0 && !c.entries.empty()) c.entries.back().time_us *= 0.5;
    }
    const Wisdom empty{.device = made_device(), .entries = {}};
    b = merge(b, empty).value();  // sorts
    c = merge(c, empty).value();
    const std::string text = to_text(merge(a, merge(b, c).value()).value());
    ASSERT_EQ(to_text(merge(merge(a, b).value(), c).value()), text);
    ASSERT_EQ(to_text(merge(c, merge(b, a).value()).value()), text);
    ASSERT_EQ(to_text(merge(a, a).value()), to_text(a));
    ASSERT_TRUE(parse_wisdom(text));
  }
}

TEST(wisdom_merge, of_two_devices_is_refused) {
  Wisdom a{.device = made_device(), .entries = {}}, b = a;
  b.device.cores = 3;
  const auto merged = merge(a, b);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::refused);
  EXPECT_THAT(merged.error().message, HasSubstr(b.device.fingerprint()));
}

// C11: other silicon, core count or instruction set is a miss; another marketing name is a hit.
TEST(wisdom_load, counts_for_its_silicon_only) {
  const ScratchDirectory scratch;
  const auto path = scratch / "wisdom.txt";
  const Wisdom wisdom{.device = made_device(), .entries = {made_entry(64, 1)}};
  ASSERT_TRUE(write_file_atomically(path, to_text(wisdom)));
  Device device = made_device();
  EXPECT_TRUE(load_wisdom(path, device));
  device.name = "Invented CPU 9000 for clouds";
  device.cpus = {6, 7};
  device.l3_bytes = 1;
  const auto hit = load_wisdom(path, device);
  ASSERT_TRUE(hit) << hit.error().message;
  EXPECT_EQ(hit->entries, wisdom.entries);
  const auto expect_miss = [&](const Device& other) {
    const auto miss = load_wisdom(path, other);
    ASSERT_FALSE(miss);
    EXPECT_EQ(miss.error().code, ErrorCode::refused);
    EXPECT_THAT(miss.error().message, HasSubstr(made_device().fingerprint()));
    EXPECT_THAT(miss.error().message, HasSubstr(other.fingerprint()));
    EXPECT_FALSE(miss.error().hint.empty());
  };
  device = made_device();
  device.silicon = "intel-6-143-7";
  expect_miss(device);
  device = made_device();
  device.cores = 4;
  expect_miss(device);
  device = made_device();
  device.isa.push_back("avx512bf16");
  expect_miss(device);
}

TEST(wisdom_load, names_the_file) {
  const ScratchDirectory scratch;
  const auto missing = load_wisdom(scratch / "none.txt", made_device());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none.txt"));
  ASSERT_TRUE(write_file_atomically(scratch / "bad.txt", "hello\n"));
  const auto bad = load_wisdom(scratch / "bad.txt", made_device());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::refused);
  EXPECT_THAT(bad.error().message, HasSubstr("bad.txt: wisdom line 1: "));
}

}  // namespace
}  // namespace tilewright
