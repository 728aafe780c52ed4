// SPDX-License-Identifier: Apache-2.0
// What the language model reads and writes: a closed vocabulary of words, the prompt, programs.
//
//   <task> gemm nn f16 acc=f32 out=f16 batch^0 alpha=one beta=zero M2^12 M+0/8 Mdiv128 N.. K..
//   <hw> cuda sm90a units^7 shared^18 l2^26 bw^42 peak^50
//   <roof> intensity^10 waves^4 bound=compute
//   <want> q9 s41
//   <ex> sm90 schedule=pingpong ... <score> s38 <prof> compute:9 dram:3 ... </ex>
//   <ana> d:stages up good ... </ana>
//   <prog> sm90 schedule=cooperative ... sizes=static <end>
//
// Every `key=value` of every family is one word, so a program of 15 decisions is 17 tokens and a
// prompt with two exemplars about 110: attention is short, and nothing that is no word can be
// written. There is no "unknown" word: one is an error. Numbers stand in bins; what decides about
// legality are the exact numbers (mask.h), never these words.
//
// Read next: mask.h (which token may follow), model.h (who chooses).
#pragma once

#include "program/program.h"
#include "trial/profile.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Goes up when a word changes its meaning or a prompt its form. Weights carry the words that they
// were trained on (model.h), so a vocabulary that differs is noticed in any case.
inline constexpr int kTextVersion = 1;

// All words; a token id is a position in this list. Weights name their words, so the order may
// change when families do.
[[nodiscard]] std::span<const std::string> text_words();
[[nodiscard]] std::optional<int> find_word(std::string_view word);
[[nodiscard]] std::string text_of(std::span<const int> tokens);
// Words between blanks; the error names an unknown one, its place and the nearest word.
[[nodiscard]] Result<std::vector<int>> tokens_of(std::string_view text);

// Ids of the words that are no part of a program.
struct Marks {
  int pad, task, hw, roof, want, example, score, profile, example_end, analysis, analysis_end,
      program, end;
};
[[nodiscard]] const Marks& marks();

// 64 bins of ln(t_ref / t) in steps of 0.04; bin 40 is "as fast as the reference".
inline constexpr int kScoreBins = 64;
[[nodiscard]] int score_bin(double log_speedup);
[[nodiscard]] double score_of_bin(int bin);  // its middle

// What a profiler says of an exemplar, each in 16 bins; a missing value has a word of its own. On
// a GPU: tensor pipe active, DRAM throughput, L2 hit rate, achieved occupancy, the top stall class,
// the limiting resource. On a CPU: share of the FMA peak, DRAM throughput, L2 hit rate, busy share
// of the team, instructions per cycle, the limiting resource. Classes are bins by their index.
inline constexpr std::array<std::string_view, 6> kProfileKeys = {"compute", "dram",  "l2hit",
                                                                 "occ",     "stall", "limit"};
inline constexpr int kProfileBins = 16;
using ProfileBins = std::array<std::optional<int>, kProfileKeys.size()>;
[[nodiscard]] int profile_bin(double fraction);  // of [0, 1], clamped

// What is known of a profile, for the keys above. A class that has no name here is missing.
[[nodiscard]] ProfileBins profile_bins(const std::optional<Profile>& profile);

struct Exemplar {
  Program program;
  double log_speedup = 0;
  ProfileBins profile{};  // all missing: the section is left out
};

inline constexpr std::size_t kMostExemplars = 3;

struct Prompt {
  Problem problem;
  Device device;
  // What is asked for: a decile of the known scores of the shape (0-9), a score bin, both or none.
  std::optional<int> want_decile{};
  std::optional<int> want_score{};
  std::vector<Exemplar> exemplars{};  // at most kMostExemplars; the rest is not written
};

// From <task> up to the last </ex>; what the model writes comes after it (opening()).
[[nodiscard]] std::vector<int> encode(const Prompt& prompt);
// family, decisions, <end>.
[[nodiscard]] std::vector<int> encode(const Program& program);
// The same back. An error names the first word that is wrong.
[[nodiscard]] Result<Program> decode_program(std::span<const int> tokens);

// A remark of the <ana> section: this decision went up or down (in its list of values; `other`: it
// came or went, or its values have no order), and that was good or bad.
enum class Direction { up, down, other };
enum class Judgement { good, bad, even };
struct Remark {
  std::string_view key;
  Direction direction = Direction::other;
  Judgement judgement = Judgement::even;
  friend bool operator==(const Remark&, const Remark&) = default;
};
inline constexpr std::size_t kMostRemarks = 4;

// In which decisions `to` differs from `from`, in their order, at most kMostRemarks, judged by the
// gain in log speed-up; one within `noise` is even. Programs of two families: one remark on
// "family".
[[nodiscard]] std::vector<Remark> remarks(const Program& from, const Program& to, double gain,
                                          double noise);
// The remarks and </ana>.
[[nodiscard]] std::vector<int> encode(std::span<const Remark> remarks);
[[nodiscard]] Result<std::vector<Remark>> decode_remarks(std::span<const int> tokens);

// What stands between a prompt and the model's own words: <prog>, or <ana> if it is to compare
// first. The model then writes a program, or remarks, </ana>, <prog> and a program.
[[nodiscard]] int opening(bool analysis);

// A whole text to learn from. The model's own words begin at `own`.
struct LearningText {
  std::vector<int> tokens;
  std::size_t own = 0;
};
[[nodiscard]] LearningText learning_text(const Prompt& prompt,
                                         const std::optional<std::vector<Remark>>& analysis,
                                         const Program& program);

}  // namespace tilewright
