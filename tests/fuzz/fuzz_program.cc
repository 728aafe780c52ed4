// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program: parsed or refused with a reason, and what was parsed prints to a text
// that means the same.
#include "fuzz/must_hold.h"
#include "program/program.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tilewright::must_hold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = tilewright::parse_program(text);
  if (!program) {
    must_hold(!program.error().message.empty(), "a refusal gives its reason");
    return 0;
  }
  const std::string printed = program->text();
  const auto again = tilewright::parse_program(printed);
  must_hold(again.has_value(), "what is printed parses");
  must_hold(*again == *program, "parse(print(program)) == program");
  must_hold(again->text() == printed, "one program has one text");
  return 0;
}
