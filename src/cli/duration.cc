// SPDX-License-Identifier: Apache-2.0
// See duration.h.
#include "cli/duration.h"

#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace tilewright {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array<Unit, 4> kUnits = {{{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}}};

std::size_t run_of(std::string_view text, int (*is)(int)) {
  std::size_t n = 0;
  while (n < text.size() && is(static_cast<unsigned char>(text[n])) != 0) ++n;
  return n;
}

// Milliseconds, or nothing if it is no duration.
std::optional<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t digits = run_of(text, std::isdigit);
    const auto number = parse_integer(text.substr(0, digits));
    text.remove_prefix(digits);
    const std::size_t letters = run_of(text, std::isalpha);
    const std::string_view name = text.substr(0, letters);
    text.remove_prefix(letters);
    const Unit* unit = nullptr;
    for (const Unit& u : kUnits) {
      if (u.name == name) unit = &u;
    }
    // A hundred days are enough, and keep the product far from overflow.
    if (!number || unit == nullptr || *number > 8640000000 / unit->milliseconds) {
      return std::nullopt;
    }
    total += *number * unit->milliseconds;
  }
  return total;
}

}  // namespace

Result<Budget> parse_budget(std::string_view text) {
  Budget budget;
  if (trim(text).empty()) return budget;
  for (const std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> found = words(part);
    const bool counts = found.size() == 2 && (found[1] == "trials" || found[1] == "trial");
    if (counts) {
      const auto number = parse_integer(found[0]);
      if (number && *number > 0 && *number < 1000000000 && !budget.trials) {
        budget.trials = static_cast<int>(*number);
        continue;
      }
    } else if (found.size() == 1 && !budget.time) {
      if (const auto duration = parse_duration(found[0]); duration && *duration > 0) {
        budget.time = std::chrono::milliseconds(*duration);
        continue;
      }
    }
    return fail(ErrorCode::usage, fmt::format("--budget: cannot read '{}'", trim(part)),
                "write a time (90s, 10m, 1h30m), a number of trials ('40 trials'), or both "
                "('10m, 40 trials')");
  }
  return budget;
}

}  // namespace tilewright
