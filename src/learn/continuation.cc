// SPDX-License-Identifier: Apache-2.0
// Texts with the tokens that could have stood at each of their places (mask.h).
#include "learn/mask.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

void offer(Continuation& continuation, std::span<const int> legal) {
  continuation.offered.insert(continuation.offered.end(), legal.begin(), legal.end());
  continuation.starts.push_back(continuation.offered.size());
}

}  // namespace

Result<Continuation> masked(const TokenMask& mask, bool analysis, std::span<const int> tokens) {
  Continuation continuation{
      .analysis = analysis, .tokens = {tokens.begin(), tokens.end()}, .offered = {}, .starts = {0}};
  const auto count = static_cast<int>(text_words().size());
  MaskState state = mask.begin(analysis);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const int> legal = mask.legal(state);
    offer(continuation, legal);
    if (mask.advance(state, tokens[i])) continue;
    const bool known = tokens[i] >= 0 && tokens[i] < count;
    return fail(
        ErrorCode::usage,
        fmt::format("text: '{}' may not stand at place {}",
                    known ? text_of(tokens.subspan(i, 1)) : std::to_string(tokens[i]), i + 1),
        legal.empty() ? std::string("nothing may") : fmt::format("one of: {}", text_of(legal)));
  }
  if (!state.done()) {
    return fail(
        ErrorCode::usage,
        fmt::format("text: it ends after {} words, before the program does", tokens.size()));
  }
  return continuation;
}

Result<Program> program_of(const Continuation& continuation) {
  std::span<const int> tokens = continuation.tokens;
  if (continuation.analysis) {
    const auto mark = std::ranges::find(tokens, marks().program);
    if (mark == tokens.end()) return fail(ErrorCode::usage, "text: no program follows the remarks");
    tokens = tokens.subspan(static_cast<std::size_t>(mark - tokens.begin()) + 1);
  }
  return decode_program(tokens);
}

std::optional<Continuation> draw_text(const TokenMask& mask, bool analysis, Rng& rng) {
  if (!mask.any()) return std::nullopt;
  Continuation continuation{.analysis = analysis, .tokens = {}, .offered = {}, .starts = {0}};
  MaskState state = mask.begin(analysis);
  while (!state.done()) {
    const std::span<const int> legal = mask.legal(state);
    offer(continuation, legal);
    continuation.tokens.push_back(legal[rng.below(legal.size())]);
    if (!mask.advance(state, continuation.tokens.back())) return std::nullopt;
  }
  return continuation;
}

}  // namespace tilewright
