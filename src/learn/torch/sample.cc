// SPDX-License-Identifier: Apache-2.0
// Writing texts (model.h): a prompt is read once and shared by its texts, then all texts of a batch
// grow by a token at a time from cached keys and values. Tokens are drawn on the host, in double,
// each text from a stream of its own.
#include "learn/torch/places.h"
#include "learn/torch/tensors.h"
#include "learn/torch/workers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright {
namespace {

constexpr double kNever = -1e9;
constexpr std::size_t kCpuBatch = 64, kCudaBatch = 1024;

// The drafts of some requests, prompts padded to one length: reads, then writes until all are done.
class Scribe {
 public:
  Scribe(const Network& network, std::span<const TextRequest> requests, double temperature)
      : network_(network), requests_(requests), temperature_(temperature) {}

  Status write(std::span<TextDraft> drafts) {
    at::Tensor logits = read_prompts(drafts);
    for (std::int64_t written = 0;; ++written) {
      const std::vector<double> values = doubles_of(logits);
      std::vector<std::int64_t> tokens(drafts.size(), marks().pad), places(drafts.size());
      bool more = false;
      std::size_t longest = 0;
      for (std::size_t r = 0; r < drafts.size(); ++r) {
        places[r] = std::min<std::int64_t>(lengths_[r] + written, network_.shape().context - 1);
        if (drafts[r].done()) continue;
        const auto count = static_cast<std::size_t>(network_.words());
        tokens[r] = drafts[r].write(masked_log_softmax(std::span(values).subspan(r * count, count),
                                                       drafts[r].legal(), temperature_));
        if (drafts[r].done()) continue;
        more = true;
        longest = std::max(longest, static_cast<std::size_t>(lengths_[r] + written + 1));
      }
      if (!more) return {};
      if (const Status fits = check_length(longest + 1, network_.shape()); !fits) return fits;
      logits = advance(tokens, places);
    }
  }

 private:
  // Logits after each draft's opening: [drafts, words].
  at::Tensor read_prompts(std::span<const TextDraft> drafts) {
    std::vector<std::size_t> read;           // requests, each once
    std::vector<std::int64_t> source;        // of a draft: index into `read`
    std::vector<std::int64_t> slots;         // first its number among the drafts of its request
    for (const TextDraft& draft : drafts) {  // which are neighbours
      const bool fresh = read.empty() || read.back() != draft.request();
      if (fresh) read.push_back(draft.request());
      source.push_back(static_cast<std::int64_t>(read.size()) - 1);
      slots.push_back(fresh ? 0 : slots.back() + 1);
      cache_.columns = std::max(cache_.columns, slots.back() + 1);
    }
    std::size_t longest = 0;
    for (const std::size_t i : read) longest = std::max(longest, requests_[i].prompt.size() + 1);
    std::vector<std::int64_t> tokens(read.size() * longest, marks().pad), last;
    std::vector<double> hidden(read.size() * longest, 0);
    for (std::size_t r = 0; r < read.size(); ++r) {
      const TextRequest& request = requests_[read[r]];
      const std::size_t length = request.prompt.size() + 1;
      std::ranges::copy(request.prompt, tokens.begin() + static_cast<std::ptrdiff_t>(r * longest));
      tokens[r * longest + length - 1] = opening(request.analysis);
      for (std::size_t j = length; j < longest; ++j) hidden[r * longest + j] = kNever;
      last.push_back(static_cast<std::int64_t>(r * longest + length - 1));
    }
    const auto rows = static_cast<std::int64_t>(read.size());
    const auto places = static_cast<std::int64_t>(longest);
    const at::Tensor states =
        network_.states(indices_of(tokens, {rows, places}, network_), &cache_);
    const auto count = static_cast<std::int64_t>(drafts.size());
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] += source[i] * cache_.columns;
    cache_.hidden = tensor_of(hidden, {rows, 1, 1, places}, network_);
    cache_.slots = indices_of(slots, {count}, network_);
    cache_.full = count == rows * cache_.columns;
    for (const std::int64_t from : source) {
      lengths_.push_back(last[static_cast<std::size_t>(from)] - from * places + 1);
    }
    const at::Tensor after =
        states.reshape({-1, states.size(2)}).index_select(0, indices_of(last, {rows}, network_));
    return network_.logits(after).index_select(0, indices_of(source, {count}, network_));
  }

  at::Tensor advance(const std::vector<std::int64_t>& tokens,
                     const std::vector<std::int64_t>& places) {
    const auto rows = static_cast<std::int64_t>(tokens.size());
    return network_.logits(network_.next_state(indices_of(tokens, {rows}, network_),
                                               indices_of(places, {rows}, network_), cache_));
  }

  const Network& network_;
  std::span<const TextRequest> requests_;
  double temperature_;
  AttentionCache cache_;
  std::vector<std::int64_t> lengths_;  // of a draft's prompt and opening
};

}  // namespace

Result<std::vector<SampledText>> LanguageModel::sample(std::span<const TextRequest> requests,
                                                       const SampleOptions& options) const {
  if (!(options.temperature > 0)) {
    return fail(ErrorCode::usage, "temperature: it must be above 0");
  }
  for (const TextRequest& request : requests) {
    const Status known = check_tokens(request.prompt);
    if (!known) return tl::unexpected(known.error());
    const Status fits = check_length(request.prompt.size() + 2, shape());
    if (!fits) return tl::unexpected(fits.error());
  }
  std::vector<TextDraft> drafts = drafts_of(requests, options);
  const c10::NoGradGuard no_grad;
  const std::size_t usual = impl_->network.device().is_cpu() ? kCpuBatch : kCudaBatch;
  const std::size_t batch = options.batch != 0 ? options.batch : usual;
  const std::size_t batches = (drafts.size() + batch - 1) / batch;
  std::vector<Status> wrote(batches);
  for_parts(batches, workers_for(impl_->network), [&](std::size_t i, std::size_t) {
    const std::size_t first = i * batch;
    wrote[i] = Scribe(impl_->network, requests, options.temperature)
                   .write(std::span(drafts).subspan(first, std::min(batch, drafts.size() - first)));
  });
  for (const Status& status : wrote) {
    if (!status) return tl::unexpected(status.error());
  }
  return finish(drafts);
}

}  // namespace tilewright
