// SPDX-License-Identifier: Apache-2.0
// Any bytes as a record of problems, as they are and below its first lines: what is accepted prints
// to a text that means the same, and a suite reads every row of it that is work.
#include "fuzz/must_hold.h"
#include "problem/suite.h"
#include "runtime/record_csv.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::runtime {
namespace {

void check_text(std::string_view text) {
  const auto problems = parse_record(text);
  if (!problems) return;
  const std::string printed = to_csv(*problems);
  const auto again = parse_record(printed);
  must_hold(again.has_value(), "what is printed parses");
  must_hold(to_csv(*again) == printed, "one record has one text");
  std::size_t work = 0;
  for (const auto& [key, asked] : *problems) {
    const Problem& p = asked.problem;
    work += p.m != 0 && p.n != 0 && p.k != 0 && p.batch != 0 ? 1U : 0U;
  }
  const auto suite = parse_csv(printed, "record");
  must_hold(suite.has_value(), "a suite reads it");
  must_hold(suite->entries.size() + suite->notes.size() == work, "a suite has every row with work");
}

}  // namespace
}  // namespace tilewright::runtime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tilewright::runtime::check_text(text);
  static const std::string head = tilewright::runtime::to_csv({});
  tilewright::runtime::check_text(head + text);
  return 0;
}
