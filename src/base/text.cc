// SPDX-License-Identifier: Apache-2.0
// Small exact readers of text; none of them knows about locales, whose digits and blanks vary.
#include "base/text.h"

#include <algorithm>
#include <charconv>

namespace tilewright {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Edits are insertions, deletions, replacements and swaps of neighbours, since `f61` is one slip.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (equal ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (true) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return found;
    text.remove_prefix(first);
    const auto length = std::min(text.find_first_of(kBlanks), text.size());
    found.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string nearest_word(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > 64) return {};  // the distance is quadratic in the length
  // One slip in a short word, a third of the letters in a long one.
  const std::size_t near = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = near + 1;
  std::string_view nearest;
  for (const auto candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

}  // namespace tilewright
