// SPDX-License-Identifier: Apache-2.0
// The order of a suite, and its division between devices. See suite.h.
#include "base/rng.h"
#include "base/text.h"
#include "problem/suite.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright {

std::vector<Problem> shuffled(std::vector<Problem> problems, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t left = problems.size(); left > 1; --left) {
    std::swap(problems[left - 1], problems[rng.below(left)]);
  }
  return problems;
}

Result<std::vector<Problem>> part_of(const std::vector<Problem>& problems, std::string_view part) {
  const std::vector<std::string_view> numbers = split(part, '/');
  const std::int64_t index = parse_integer(numbers.front()).value_or(0);
  const std::int64_t count = numbers.size() == 2 ? parse_integer(numbers[1]).value_or(0) : 0;
  if (index < 1 || index > count) {
    return fail(ErrorCode::usage, fmt::format("'{}' is no part I/N with I from 1 to N", part),
                "1/2 and 2/2 are the halves");
  }
  std::vector<Problem> out;
  for (std::size_t i = static_cast<std::size_t>(index) - 1; i < problems.size();
       i += static_cast<std::size_t>(count)) {
    out.push_back(problems[i]);
  }
  return out;
}

}  // namespace tilewright
