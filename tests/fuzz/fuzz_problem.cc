// SPDX-License-Identifier: Apache-2.0
// Any bytes as a problem and as a suite of problems in CSV: what is accepted is valid and prints to
// a text that means the same.
#include "fuzz/must_hold.h"
#include "problem/problem.h"
#include "problem/suite.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {
namespace {

void check_problem(const Problem& problem) {
  must_hold(check(problem).has_value(), "what is accepted is valid");
  const auto again = parse_problem(to_text(problem));
  must_hold(again.has_value() && *again == problem, "parse(print(problem)) == problem");
}

void check_suite(std::string_view text) {
  const auto suite = parse_csv(text, "fuzz");
  if (!suite) {
    must_hold(!suite.error().message.empty(), "a refusal gives its reason");
    return;
  }
  for (const SuiteEntry& entry : suite->entries) check_problem(entry.problem);
  for (const BadRow& row : suite->bad) must_hold(!row.reason.empty(), "a bad row has a reason");
  const auto again = parse_csv(to_csv(*suite), "fuzz");
  must_hold(again.has_value() && again->bad.empty(), "what is printed parses");
  must_hold(again->entries.size() == suite->entries.size(), "no entry is lost in print");
  for (std::size_t i = 0; i < suite->entries.size(); ++i) {
    must_hold(again->entries[i].problem == suite->entries[i].problem, "nor is one changed");
  }
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto problem = tilewright::parse_problem(text)) tilewright::check_problem(*problem);
  tilewright::check_suite(text);
  return 0;
}
