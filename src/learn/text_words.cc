// SPDX-License-Identifier: Apache-2.0
// The vocabulary: every word that a text may hold, each once.
#include "learn/text_words.h"

#include "base/text.h"
#include "learn/text.h"
#include "problem/operations.h"
#include "problem/regime.h"
#include "program/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tilewright {
namespace {

// In the order of the members of Marks.
constexpr std::array<std::string_view, 13> kMarkWords = {
    "<pad>",  "<task>", "<hw>",  "<roof>", "<want>", "<ex>",   "<score>",
    "<prof>", "</ex>",  "<ana>", "</ana>", "<prog>", kEndToken};

// What is said of a problem, a device and its limits beside numbers; of all tasks that are planned,
// so that weights of today have rows for them.
constexpr std::array<std::string_view, 46> kPlainWords = {
    "gemm",         "map",        "reduce",     "softmax",
    "layernorm",    "transpose",  "conv2d",     "nn",
    "nt",           "tn",         "tt",         "f16",
    "bf16",         "f32",        "acc=f32",    "acc=f16",
    "out=f16",      "out=bf16",   "out=f32",    "alpha=one",
    "alpha=any",    "beta=zero",  "beta=one",   "beta=any",
    "rows=packed",  "rows=apart", "kind=cpu",   "kind=cuda",
    "has=scalar",   "has=avx2",   "has=avx512", "has=avx512bf16",
    "has=cuda",     "has=sm80",   "has=sm90a",  "bound=compute",
    "bound=memory", "fits=near",  "fits=l2",    "fits=l3",
    "fits=memory",  "up",         "down",       "other",
    "good",         "bad"};

struct Words {
  std::vector<std::string> all;
  std::unordered_map<std::string, int> ids;
  void add(std::string word) {
    if (ids.try_emplace(word, static_cast<int>(all.size())).second) all.push_back(std::move(word));
  }
};

void add_numbers(Words& words) {
  for (const char axis : {'M', 'N', 'K'}) {
    for (int bin = 0; bin < kSizeBins; ++bin) words.add(fmt::format("{}2^{}", axis, bin));
    for (int bin = 0; bin < 8; ++bin) words.add(fmt::format("{}+{}/8", axis, bin));
    for (int bin = 0; bin < kDivisorBins; ++bin) words.add(fmt::format("{}div{}", axis, 1 << bin));
  }
  for (const LogBins& bins : kAllLogBins) {
    for (int bin = 0; bin < bins.bins; ++bin) words.add(fmt::format("{}^{}", bins.name, bin));
  }
  for (const Regime regime : kRegimes) words.add(fmt::format("regime={}", name_of(regime)));
  for (int decile = 0; decile < 10; ++decile) words.add(fmt::format("q{}", decile));
  for (int bin = 0; bin < kScoreBins; ++bin) words.add(fmt::format("s{}", bin));
  for (const std::string_view key : kProfileKeys) {
    words.add(fmt::format("{}:?", key));
    for (int bin = 0; bin < kProfileBins; ++bin) words.add(fmt::format("{}:{}", key, bin));
  }
}

const Words& table() {
  static const Words words = [] {
    Words made;
    for (const std::string_view word : kMarkWords) made.add(std::string(word));
    for (const std::string_view word : kPlainWords) made.add(std::string(word));
    made.add("even");
    add_numbers(made);
    made.add("d:family");
    const auto add_keys = [&made](bool of_gemm) {
      for (const Family* family : families()) {
        if (family->computes(Op::gemm) != of_gemm) continue;
        for (const Decision& decision : family->decisions) {
          made.add(fmt::format("d:{}", decision.key));
        }
      }
    };
    add_keys(true);
    for (const std::string& word : vocabulary()) made.add(word);
    add_keys(false);
    for (const Operation& operation : operations()) {
      for (const Function function : operation.functions) {
        made.add(fmt::format("fn={}", name_of(function)));
      }
    }
    return made;
  }();
  return words;
}

}  // namespace

std::string binned(const LogBins& bins, double value) {
  const double place = value > 1 ? std::round(std::log2(value) / bins.step) : 0;
  const int bin = static_cast<int>(std::clamp(place, 0.0, static_cast<double>(bins.bins - 1)));
  return fmt::format("{}^{}", bins.name, bin);
}

std::array<std::string, 3> size_words(char axis, std::int64_t size) {
  const std::int64_t value = std::max<std::int64_t>(size, 1);
  int power = 0;
  while (power + 1 < kSizeBins && (value >> (power + 1)) != 0) ++power;
  const std::int64_t base = std::int64_t{1} << power;
  const int eighths = static_cast<int>(std::min<std::int64_t>((value - base) * 8 / base, 7));
  int divisor = 0;
  while (divisor + 1 < kDivisorBins && value % (std::int64_t{2} << divisor) == 0) ++divisor;
  return {fmt::format("{}2^{}", axis, power), fmt::format("{}+{}/8", axis, eighths),
          fmt::format("{}div{}", axis, 1 << divisor)};
}

std::span<const std::string> text_words() {
  return table().all;
}

std::optional<int> find_word(std::string_view word) {
  const auto found = table().ids.find(std::string(word));
  return found == table().ids.end() ? std::nullopt : std::optional(found->second);
}

const Marks& marks() {
  static const Marks made{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  return made;
}

std::string text_of(std::span<const int> tokens) {
  std::string text;
  for (const int token : tokens) {
    if (!text.empty()) text += ' ';
    text += table().all.at(static_cast<std::size_t>(token));
  }
  return text;
}

Result<std::vector<int>> tokens_of(std::string_view text) {
  std::vector<int> tokens;
  for (const std::string_view word : words(text)) {
    if (const auto token = find_word(word)) {
      tokens.push_back(*token);
      continue;
    }
    const std::vector<std::string_view> known(table().all.begin(), table().all.end());
    const std::string near = nearest_word(word, known);
    return fail(ErrorCode::usage,
                fmt::format("text, column {}: '{}' is no word of the language model",
                            word.data() - text.data() + 1, word),
                near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
  }
  return tokens;
}

}  // namespace tilewright
