// SPDX-License-Identifier: Apache-2.0
// Reading text that people write: splitting, exact numbers, the nearest known word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

[[nodiscard]] std::string_view trim(std::string_view text);
// The parts between separators, empty ones included: split("a,,b", ',') has three.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// The words between runs of blanks.
[[nodiscard]] std::vector<std::string_view> words(std::string_view text);
// A whole decimal integer and nothing else: no sign but '-', no blanks, no exponent, no overflow.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// The known word with the smallest edit distance, or empty if none is near.
[[nodiscard]] std::string nearest_word(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace tilewright
