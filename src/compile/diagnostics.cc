// SPDX-License-Identifier: Apache-2.0
// See diagnostics.h.
#include "compile/diagnostics.h"

#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tilewright {
namespace {

constexpr std::size_t kLines = 3;
constexpr std::size_t kLongestLine = 300;

constexpr std::array<std::string_view, 5> kErrorWords = {"error:", "Error:", "undefined reference",
                                                         "multiple definition", "terminated"};

struct Sign {
  std::string_view text, rule;
};
// GCC, clang, GNU as and ld, in the C locale.
constexpr std::array<Sign, 7> kSigns = {{{"No space left on device", "disk"},
                                         {"File size limit exceeded", "output-size"},
                                         {"File too large", "output-size"},
                                         {"out of memory", "memory"},
                                         {"emory exhausted", "memory"},
                                         {"annot allocate memory", "memory"},
                                         {"std::bad_alloc", "memory"}}};

}  // namespace

std::string plain(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
  }
  return result;
}

std::string first_errors(std::string_view log) {
  std::vector<std::string_view> all, errors;
  for (const auto line : split(log, '\n')) {
    const auto text = trim(line).substr(0, kLongestLine);
    if (text.empty()) continue;
    all.push_back(text);
    const bool is_error = std::any_of(
        kErrorWords.begin(), kErrorWords.end(),
        [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
    if (is_error && errors.size() < kLines) errors.push_back(text);
  }
  if (errors.empty()) {
    errors.assign(all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), kLines)), all.end());
  }
  return plain(fmt::format("{}", fmt::join(errors, "; ")));
}

std::string_view failure_rule(std::string_view log) {
  for (const auto& sign : kSigns) {
    if (log.find(sign.text) != std::string_view::npos) return sign.rule;
  }
  return "compiler";
}

}  // namespace tilewright
