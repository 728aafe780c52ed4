// SPDX-License-Identifier: Apache-2.0
// See exact_algo.h.
#include "vendor/exact_algo.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace tilewright::vendor {
namespace {

constexpr std::size_t kDigits = 16;  // of a word

}  // namespace

std::string exact_text(const LtAlgo& algo, std::string_view stamp) {
  std::string text = fmt::format("{} ", stamp);
  for (const std::uint64_t word : algo.data) text += fmt::format("{:016x}", word);
  return text;
}

Result<LtAlgo> algo_from_exact(std::string_view text, std::string_view stamp) {
  const std::size_t end = text.rfind(' ');
  const std::string_view whose = text.substr(0, end);
  if (end == std::string_view::npos || whose != stamp) {
    return fail(ErrorCode::negative, fmt::format("it was of '{}', this is '{}'", whose, stamp));
  }
  const std::string_view digits = text.substr(end + 1);
  LtAlgo algo;
  if (digits.size() != kDigits * std::size(algo.data)) {
    return fail(ErrorCode::negative, fmt::format("{} digits are no algorithm", digits.size()));
  }
  const char* at = digits.data();
  for (std::uint64_t& word : algo.data) {
    const auto [stop, code] = std::from_chars(at, at + kDigits, word, 16);
    if (code != std::errc() || stop != at + kDigits) {
      return fail(ErrorCode::negative, fmt::format("'{}' is no algorithm", digits));
    }
    at += kDigits;
  }
  return algo;
}

}  // namespace tilewright::vendor
