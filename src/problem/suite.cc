// SPDX-License-Identifier: Apache-2.0
// From one argument of a command line to a suite. What an argument is can be told from its first
// letters, never from which files happen to exist.
#include "problem/suite.h"

#include "base/file.h"
#include "base/text.h"
#include "problem/builtin_suites.h"
#include "problem/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace tilewright {
namespace {

constexpr std::size_t kMostEntries = 100000;
constexpr std::string_view kForms =
    "give a problem '4096x4096x4096', a range '64:1024:64x512,1024x4096', a suite '@demo', a CSV "
    "file, or '-' for standard input";

using Axis = std::vector<std::int64_t>;

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::usage, std::move(message), std::string(kForms));
}

// `512`, `64:1024:64` or `64:1024:*2`; both ends belong to a range.
Status append_item(std::string_view item, std::string_view name, Axis& axis) {
  const auto parts = split(item, ':');
  const auto refuse = [&](std::string_view why) {
    return wrong(fmt::format("{}='{}': {}", name, item, why));
  };
  if (parts.size() != 1 && parts.size() != 3) return refuse("not a size and not first:last:step");
  const bool geometric = parts.size() == 3 && parts[2].starts_with('*');
  const auto first = parse_integer(parts.front());
  const auto last = parts.size() == 3 ? parse_integer(parts[1]) : first;
  const auto step = parts.size() == 3 ? parse_integer(parts[2].substr(geometric ? 1 : 0))
                                      : std::optional<std::int64_t>(1);
  if (!first || !last || !step) return refuse("not whole numbers");
  if (*first <= 0) return refuse("sizes in a list or range must be above 0");
  if (*last < *first) return refuse("the last size is below the first");
  if (*last >= (std::int64_t{1} << 40)) return refuse("not below 2^40");
  if (*step < (geometric ? 2 : 1)) return refuse("the step leads nowhere");
  for (std::int64_t value = *first; value <= *last;) {
    if (axis.size() == kMostEntries) return refuse(fmt::format("over {} sizes", kMostEntries));
    axis.push_back(value);
    // No overflow: value <= last < 2^40, and a step beyond last ends the range.
    if (*step > *last) break;
    value = geometric ? value * std::min(*step, (std::int64_t{1} << 22)) : value + *step;
  }
  return {};
}

// The crossed axes of `sizes`, each with the words that follow, such as "bf16 nt".
Result<Suite> cross(std::string_view argument, std::string_view sizes, std::string_view rest) {
  const auto axes_text = split(sizes, 'x');
  if (axes_text.size() != 3) {
    return wrong(fmt::format("'{}' has {} axes, not three (MxNxK)", sizes, axes_text.size()));
  }
  constexpr std::array<std::string_view, 3> kNames = {"M", "N", "K"};
  std::array<Axis, 3> axes;
  std::size_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const auto item : split(axes_text[i], ',')) {
      if (auto status = append_item(item, kNames[i], axes[i]); !status) {
        return tl::unexpected(status.error());
      }
    }
    count *= axes[i].size();  // at most 10^5 * 10^5: checked in each turn
    if (count > kMostEntries) {
      return wrong(fmt::format("'{}' makes more than {} problems", sizes, kMostEntries));
    }
  }
  Suite suite;
  suite.name = std::string(argument);
  std::set<std::string> seen;
  // The words are read once; the problems differ in sizes only.
  auto problem = parse_problem(
      fmt::format("{}x{}x{} {}", axes[0].front(), axes[1].front(), axes[2].front(), rest));
  if (!problem) return tl::unexpected(problem.error());
  for (const auto m : axes[0]) {
    for (const auto n : axes[1]) {
      for (const auto k : axes[2]) {
        problem->m = m;
        problem->n = n;
        problem->k = k;
        if (auto status = check(*problem); !status) return tl::unexpected(status.error());
        if (!seen.insert(to_text(*problem)).second) {
          suite.notes.push_back({0, fmt::format("{} is listed twice", to_text(*problem))});
          continue;
        }
        suite.entries.push_back({*problem, {}, 0});
      }
    }
  }
  return suite;
}

Result<Suite> builtin(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& suite : builtin_suite_texts()) {
    if (suite.name == name) return parse_csv(suite.csv, fmt::format("@{}", name));
    names.push_back(suite.name);
  }
  const auto meant = nearest_word(name, names);
  return fail(ErrorCode::usage, fmt::format("there is no suite '@{}'", name),
              fmt::format("{}there are @{}",
                          meant.empty() ? "" : fmt::format("did you mean '@{}'? ", meant),
                          fmt::join(names, ", @")));
}

// Sizes are written with these letters only, and start with a digit or the sign of a mistake.
bool looks_like_sizes(std::string_view word) {
  return word.find_first_not_of("0123456789x_:,*-+.e") == std::string_view::npos &&
         word.find_first_of("x_:,") != std::string_view::npos &&
         word.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

Result<Suite> read_suite(const std::string& argument) {
  const auto list = words(argument);
  if (list.empty()) return wrong("the argument for a problem or suite is empty");
  if (list.front().starts_with('@')) return builtin(trim(argument).substr(1));
  if (argument == "-") {
    const auto text = read_standard_input();
    if (!text) return tl::unexpected(text.error());
    return parse_csv(*text, "standard input");
  }
  const Operation* operation = find_operation(list.front());
  const bool named = operation != nullptr && operation->op == Op::gemm;
  const auto sizes = list[named && list.size() > 1 ? 1 : 0];
  const bool general = operation != nullptr && !named && list.size() > 1;
  if (named || general || looks_like_sizes(sizes)) {
    if (!general && sizes.find_first_of(":,") != std::string_view::npos) {
      const char* end = argument.data() + argument.size();
      const char* after = sizes.data() + sizes.size();
      return cross(argument, sizes, {after, static_cast<std::size_t>(end - after)});
    }
    const auto problem = parse_problem(argument);
    if (!problem) return tl::unexpected(problem.error());
    Suite suite;
    suite.name = to_text(*problem);
    suite.entries.push_back({*problem, {}, 0});
    return suite;
  }
  auto text = read_file(argument);
  if (!text) {
    auto error = text.error();
    error.hint = std::string(kForms);
    return tl::unexpected(error);
  }
  return parse_csv(*text, argument);
}

std::vector<std::string> builtin_suites() {
  std::vector<std::string> names;
  for (const auto& suite : builtin_suite_texts()) names.emplace_back(suite.name);
  return names;
}

}  // namespace tilewright
