// SPDX-License-Identifier: Apache-2.0
// See ngram.h.
#include "learn/ngram.h"

#include "learn/objective.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tilewright {
namespace {

// How many words of a context count as much as the shorter one's opinion.
constexpr double kTrust = 2;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ (word + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 31);
}

bool begins_with_any(std::string_view word, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return word.starts_with(start); });
}

constexpr std::array<std::string_view, 7> kKindWords = {"regime=", "has=", "nn",  "nt",
                                                        "tn",      "tt",   "acc="};
constexpr std::array<std::string_view, 3> kSizeWords = {"M2^", "N2^", "K2^"};

}  // namespace

NgramModel::Task NgramModel::task_of(std::span<const int> prompt) {
  Task task;
  const auto words = text_words();
  for (const int token : prompt) {
    if (token == marks().example) break;  // exemplars are other programs' words
    const std::string_view word = words[static_cast<std::size_t>(token)];
    if (begins_with_any(word, kKindWords)) {
      task.kind = mixed(task.kind, static_cast<std::uint64_t>(token));
    }
    if (begins_with_any(word, kSizeWords)) {
      task.sizes = mixed(task.sizes, static_cast<std::uint64_t>(token));
    }
  }
  return task;
}

NgramModel::Keys NgramModel::keys_of(const Task& task, int opening, std::span<const int> written) {
  const auto back = [&](std::size_t n) {
    const int token = n <= written.size()       ? written[written.size() - n]
                      : n == written.size() + 1 ? opening
                                                : marks().pad;
    return static_cast<std::uint64_t>(token);
  };
  Keys keys{};
  keys[0] = mixed(0, back(1));
  keys[1] = mixed(keys[0], back(2));
  keys[2] = mixed(keys[1], task.kind);
  keys[3] = mixed(mixed(keys[1], back(3)), task.kind);
  keys[4] = mixed(keys[2], task.sizes);
  return keys;
}

void NgramModel::learn(const LearningText& text, double weight) {
  const std::span<const int> all = text.tokens;
  const Task task = task_of(all.first(text.own));
  for (std::size_t t = text.own; t < all.size(); ++t) {
    const Keys keys = keys_of(task, all[text.own - 1], all.subspan(text.own, t - text.own));
    for (std::size_t level = 0; level < kContexts; ++level) {
      Counts& counts = counts_[level][keys[level]];
      counts.total += weight;
      counts.words[all[t]] += weight;
    }
  }
}

double NgramModel::probability(const Keys& keys, int word, double uniform) const {
  double p = uniform;
  for (std::size_t level = 0; level < kContexts; ++level) {
    const auto found = counts_[level].find(keys[level]);
    if (found == counts_[level].end()) continue;
    const Counts& counts = found->second;
    const auto seen = counts.words.find(word);
    const double count = seen == counts.words.end() ? 0 : seen->second;
    const double doubt = kTrust * static_cast<double>(counts.words.size());
    p = (count + doubt * p) / (counts.total + doubt);
  }
  return p;
}

std::vector<double> NgramModel::log_probabilities(std::span<const int> prompt, bool analysis,
                                                  std::span<const int> written,
                                                  std::span<const int> legal,
                                                  double temperature) const {
  const Keys keys = keys_of(task_of(prompt), opening(analysis), written);
  std::vector<double> logits;
  std::vector<int> places;
  for (const int token : legal) {
    places.push_back(static_cast<int>(logits.size()));
    logits.push_back(std::log(probability(keys, token, 1 / static_cast<double>(legal.size()))));
  }
  return masked_log_softmax(logits, places, temperature);
}

Result<std::vector<SampledText>> NgramModel::sample(std::span<const TextRequest> requests,
                                                    const SampleOptions& options) const {
  if (!(options.temperature > 0)) {
    return fail(ErrorCode::usage, "temperature: it must be above 0");
  }
  std::vector<TextDraft> drafts = drafts_of(requests, options);
  for (TextDraft& draft : drafts) {
    const TextRequest& request = requests[draft.request()];
    while (!draft.done()) {
      draft.write(log_probabilities(request.prompt, request.analysis, draft.written(),
                                    draft.legal(), options.temperature));
    }
  }
  return finish(drafts);
}

}  // namespace tilewright
