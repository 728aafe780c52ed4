// SPDX-License-Identifier: Apache-2.0
// Words, prompts and programs as tokens: closed, and the same back.
#include "learn/text.h"

#include "base/file.h"
#include "learn/mask.h"
#include "learn/text_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Device h200() {
  return device_from_json(*read_file(TILEWRIGHT_SOURCE_DIR "/devices/h200.json")).value();
}
Problem problem(std::string_view text) {
  return parse_problem(text).value();
}
Program program(std::string_view text) {
  return parse_program(text).value();
}

constexpr std::string_view kWide =
    "sm90 schedule=pingpong tile_m=128 tile_n=128 tile_k=64 stages=4 split_k=1 cluster=2x1 "
    "grid=persistent in_flight=1 epilogue=tma raster=n group=8 sizes=runtime";
constexpr std::string_view kNarrow =
    "sm90 schedule=pingpong tile_m=128 tile_n=64 tile_k=64 stages=6 split_k=1 cluster=1x1 "
    "grid=persistent in_flight=1 epilogue=tma raster=n group=8 sizes=runtime";
constexpr std::string_view kTile =
    "sm80 form=tile tile_m=64 tile_n=64 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=3 "
    "fragments=single copies=together split_k=1 epilogue=direct raster=m group=1 sizes=runtime";

TEST(Text, WordsAreDistinctAndHoldTheProgramLanguage) {
  const auto words = text_words();
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  EXPECT_LT(words.size(), 1200u);
  for (const std::string& word : vocabulary()) EXPECT_TRUE(find_word(word)) << word;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(find_word(words[i]), static_cast<int>(i)) << words[i];
  }
}

TEST(Text, MarksAreTheWordsTheyAreNamedAfter) {
  const Marks& m = marks();
  EXPECT_EQ(m.pad, find_word("<pad>"));
  EXPECT_EQ(m.task, find_word("<task>"));
  EXPECT_EQ(m.want, find_word("<want>"));
  EXPECT_EQ(m.example_end, find_word("</ex>"));
  EXPECT_EQ(m.analysis, find_word("<ana>"));
  EXPECT_EQ(m.analysis_end, find_word("</ana>"));
  EXPECT_EQ(m.program, find_word("<prog>"));
  EXPECT_EQ(m.end, find_word("<end>"));
}

TEST(Text, AnUnknownWordIsAnError) {
  const auto tokens = tokens_of("<task> gemm nm");
  ASSERT_FALSE(tokens);
  EXPECT_THAT(tokens.error().message, HasSubstr("column 13: 'nm'"));
  EXPECT_THAT(*tokens_of("<prog> sm90"), ElementsAre(marks().program, *find_word("sm90")));
}

TEST(Text, ProgramsComeBack) {
  Rng rng(7);
  const Device cpu = [] {
    Device d;
    d.isa = {"avx2", "f16c", "fma"};
    d.cores = 8;
    return d;
  }();
  for (const Device& device : {h200(), cpu}) {
    const TokenMask mask(problem("512x768x1024"), device);
    for (int i = 0; i < 300; ++i) {
      const Program drawn = program_of(*draw_text(mask, false, rng)).value();
      const std::vector<int> tokens = encode(drawn);
      ASSERT_EQ(decode_program(tokens).value(), drawn);
      ASSERT_EQ(tokens_of(text_of(tokens)).value(), tokens);
    }
  }
}

TEST(Text, WhatIsNoProgramIsAnError) {
  std::vector<int> tokens = encode(program(kWide));
  EXPECT_FALSE(decode_program(std::span(tokens).first(tokens.size() - 1)));
  EXPECT_FALSE(decode_program({}));
  std::swap(tokens[2], tokens[3]);
  EXPECT_THAT(decode_program(tokens).error().message, HasSubstr("order of its decisions"));
  tokens[2] = -4;
  EXPECT_FALSE(decode_program(tokens));
}

TEST(Text, PromptsAreShortAndSayWhatIsThere) {
  Prompt prompt{.problem = problem("gemm 4096x1000x96 bf16 acc=f32 nt batch=4"), .device = h200()};
  EXPECT_THAT(text_of(encode(prompt)),
              HasSubstr("<task> gemm nt bf16 acc=f32 out=bf16 batch^2 alpha=one beta=zero "
                        "rows=packed M2^12 M+0/8 Mdiv128 N2^9 N+7/8 Ndiv8 K2^6 K+4/8 Kdiv32 <hw> "
                        "kind=cuda has=sm90a"));
  prompt.want_decile = 9;
  prompt.want_score = 41;
  prompt.exemplars = {{program(kWide), 0.081, {3, 15, std::nullopt, 0, 1, 2}},
                      {program(kNarrow), -10, {}},
                      {program(kTile), 10, {}},
                      {program(kWide), 0, {}}};
  const std::string text = text_of(encode(prompt));
  EXPECT_THAT(text, HasSubstr("<want> q9 s41 <ex> sm90 schedule=pingpong"));
  EXPECT_THAT(text, HasSubstr("sizes=runtime <score> s42 <prof> compute:3 dram:15 l2hit:? occ:0 "
                              "stall:1 limit:2 </ex> <ex> sm90"));
  EXPECT_THAT(text, HasSubstr("<score> s0 </ex> <ex> sm80"));
  EXPECT_THAT(text, ::testing::EndsWith("<score> s63 </ex>"));  // the fourth is not written
  EXPECT_EQ(tokens_of(text).value(), encode(prompt));
  prompt.exemplars.erase(prompt.exemplars.begin() + 2, prompt.exemplars.end());
  EXPECT_LT(encode(prompt).size() + 40, 160u);
}

TEST(Text, EveryPromptIsOfWords) {
  Rng rng(3);
  Device cpu;
  for (int i = 0; i < 200; ++i) {
    Problem p;
    p.m = static_cast<std::int64_t>(rng.below(std::uint64_t{1} << rng.below(40)));
    p.n = static_cast<std::int64_t>(1 + rng.below(20000));
    p.k = static_cast<std::int64_t>(rng.below(20000));
    p.batch = static_cast<std::int64_t>(1 + rng.below(100000));
    cpu.cores = static_cast<int>(1 + rng.below(500));
    cpu.l3_bytes = static_cast<std::int64_t>(rng.below(std::uint64_t{1} << 40));
    for (const int token : encode(Prompt{.problem = p, .device = i % 2 == 0 ? h200() : cpu})) {
      ASSERT_GE(token, 0);
    }
  }
}

TEST(Text, WhatAProfilerSaysIsBinnedAndWhatItDoesNotIsMissing) {
  EXPECT_EQ(profile_bins(std::nullopt), ProfileBins{});
  Profile gpu{
      "ncu", {{"tensor_pct", 99.9}, {"dram_pct", 0}, {"occupancy_pct", 25}}, "gmma", "latency", {}};
  EXPECT_EQ(profile_bins(gpu), (ProfileBins{15, 0, std::nullopt, 4, 4, 5}));
  gpu.stall = "of a later version";
  gpu.limit = "";
  gpu.values["l2_hit_pct"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(profile_bins(gpu), (ProfileBins{15, 0, std::nullopt, 4, std::nullopt, std::nullopt}));
  const Profile cpu{"perf events", {{"instructions_per_cycle", 3}, {"busy_pct", 50}}, "", "", {}};
  EXPECT_EQ(profile_bins(cpu),
            (ProfileBins{std::nullopt, std::nullopt, std::nullopt, 8, 12, std::nullopt}));
}

TEST(Text, Bins) {
  EXPECT_EQ(score_bin(0), 40);
  EXPECT_EQ(score_bin(0.04), 41);
  EXPECT_EQ(score_bin(-100), 0);
  EXPECT_EQ(score_bin(100), 63);
  EXPECT_EQ(score_bin(std::numeric_limits<double>::quiet_NaN()), 0);
  for (int bin = 0; bin < kScoreBins; ++bin) EXPECT_EQ(score_bin(score_of_bin(bin)), bin);
  EXPECT_EQ(profile_bin(0), 0);
  EXPECT_EQ(profile_bin(0.5), 8);
  EXPECT_EQ(profile_bin(1), 15);
  EXPECT_EQ(profile_bin(-1), 0);
  EXPECT_THAT(size_words('M', 4097), ElementsAre("M2^12", "M+0/8", "Mdiv1"));
  EXPECT_THAT(size_words('K', 12288), ElementsAre("K2^13", "K+4/8", "Kdiv128"));
  EXPECT_THAT(size_words('N', 0), ElementsAre("N2^0", "N+0/8", "Ndiv1"));
}

TEST(Remarks, NameWhatDiffersAndComeBack) {
  const auto said = remarks(program(kWide), program(kNarrow), 0.2, 0.01);
  EXPECT_EQ(text_of(encode(said)),
            "d:tile_n down good d:stages up good d:cluster other good </ana>");
  EXPECT_EQ(decode_remarks(encode(said)).value(), said);
  const auto back = remarks(program(kNarrow), program(kWide), -0.2, 0.01);
  EXPECT_EQ(back[0], (Remark{"tile_n", Direction::up, Judgement::bad}));
  EXPECT_EQ(remarks(program(kNarrow), program(kWide), 0.005, 0.01)[0].judgement, Judgement::even);
  EXPECT_THAT(remarks(program(kWide), program(kWide), 0, 0), IsEmpty());
  EXPECT_EQ(text_of(encode(remarks(program(kWide), program(kTile), 1, 0))),
            "d:family other good </ana>");
}

TEST(Remarks, WhatIsNoneIsAnError) {
  for (const char* text : {"", "d:stages up good", "d:stages up </ana>", "up up good </ana>",
                           "d:stages good up </ana>", "</ana> </ana>", "d:stages up good </ana> up",
                           "d:stages up good d:stages up good d:stages up good d:stages up good "
                           "d:stages up good </ana>"}) {
    EXPECT_FALSE(decode_remarks(tokens_of(text).value())) << text;
  }
}

TEST(Text, LearningTextsSayWhereTheModelsWordsBegin) {
  const Prompt prompt{.problem = problem("64x64x64"), .device = h200()};
  const Program wide = program(kWide);
  const LearningText plain = learning_text(prompt, std::nullopt, wide);
  EXPECT_EQ(plain.tokens[plain.own - 1], marks().program);
  EXPECT_EQ(decode_program(std::span(plain.tokens).subspan(plain.own)).value(), wide);
  const LearningText thought =
      learning_text(prompt, remarks(wide, program(kNarrow), 1, 0), program(kNarrow));
  EXPECT_EQ(thought.tokens[thought.own - 1], marks().analysis);
  EXPECT_EQ(text_of(std::span(thought.tokens).subspan(thought.own, 12)),
            "d:tile_n down good d:stages up good d:cluster other good </ana> <prog> sm90");
}

}  // namespace
}  // namespace tilewright
