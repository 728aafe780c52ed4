// SPDX-License-Identifier: Apache-2.0
// Any bytes as wisdom, as they are and with the hash that belongs to them (no fuzzer guesses a
// hash, and what stands above it must be looked at too): what is accepted is valid and prints to a
// text that means the same.
#include "base/hash.h"
#include "fuzz/must_hold.h"
#include "record/wisdom.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {
namespace {

void check_text(std::string_view text) {
  const auto wisdom = parse_wisdom(text);
  if (!wisdom) {
    must_hold(wisdom.error().message.starts_with("wisdom line "), "a refusal names the line");
    return;
  }
  for (const WisdomEntry& entry : wisdom->entries) {
    must_hold(check(entry).has_value(), "what is accepted is valid");
  }
  const std::string printed = to_text(*wisdom);
  const auto again = parse_wisdom(printed);
  must_hold(again.has_value(), "what is printed parses");
  must_hold(again->entries == wisdom->entries, "parse(print(wisdom)) == wisdom");
  must_hold(to_text(*again) == printed, "one wisdom has one text");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tilewright::check_text(text);
  const auto hash = text.rfind("hash ");
  const std::string lines = text.substr(0, hash == std::string::npos ? text.size() : hash);
  tilewright::check_text(lines + "hash " + tilewright::hash128(lines) + "\n");
  return 0;
}
