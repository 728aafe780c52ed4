// SPDX-License-Identifier: Apache-2.0
// See sampling.h.
#include "learn/sampling.h"

#include "learn/objective.h"

#include <cassert>
#include <cmath>
#include <numeric>

namespace tilewright {

double SampledText::log_probability() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

TextDraft::TextDraft(std::size_t request, const TextRequest& from, Rng rng)
    : request_(request),
      mask_(from.mask),
      state_(from.mask->begin(from.analysis)),
      rng_(rng),
      text_{.analysis = from.analysis, .tokens = {}, .offered = {}, .starts = {0}} {}

int TextDraft::write(std::span<const double> log_probabilities) {
  const std::span<const int> offered = legal();
  assert(!offered.empty() && log_probabilities.size() == offered.size());
  std::size_t chosen = 0;
  if (offered.size() > 1) {
    // The last one takes what rounding leaves.
    double left = rng_.uniform();
    while (chosen + 1 < offered.size() && (left -= std::exp(log_probabilities[chosen])) >= 0) {
      ++chosen;
    }
  }
  text_.offered.insert(text_.offered.end(), offered.begin(), offered.end());
  text_.starts.push_back(text_.offered.size());
  text_.tokens.push_back(offered[chosen]);
  log_probabilities_.push_back(offered.size() > 1 ? log_probabilities[chosen] : 0);
  entropies_.push_back(offered.size() > 1 ? entropy_of(log_probabilities) : 0);
  [[maybe_unused]] const bool advanced = mask_->advance(state_, text_.tokens.back());
  assert(advanced && "what is offered may follow");
  return text_.tokens.back();
}

Result<SampledText> TextDraft::finish() && {
  auto program = program_of(text_);
  if (!program) return tl::unexpected(program.error());
  return SampledText{.request = request_,
                     .continuation = std::move(text_),
                     .log_probabilities = std::move(log_probabilities_),
                     .entropies = std::move(entropies_),
                     .program = *std::move(program)};
}

std::vector<TextDraft> drafts_of(std::span<const TextRequest> requests,
                                 const SampleOptions& options) {
  std::vector<TextDraft> drafts;
  std::uint64_t stream = options.stream;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t j = 0; j < requests[i].count; ++j, ++stream) {
      if (!requests[i].mask->any()) continue;
      drafts.emplace_back(i, requests[i], Rng(options.seed, stream));
    }
  }
  return drafts;
}

Result<std::vector<SampledText>> finish(std::span<TextDraft> drafts) {
  std::vector<SampledText> texts;
  for (TextDraft& draft : drafts) {
    auto text = std::move(draft).finish();
    if (!text) return tl::unexpected(text.error());
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace tilewright
