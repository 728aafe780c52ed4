// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compiled kernel: no crash, and what passes the strict rules passes the loose ones.
#include "compile/elf.h"
#include "compile/inspect.h"
#include "fuzz/must_hold.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tilewright::inspect;
  using tilewright::must_hold;
  using tilewright::Outcome;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto strict = inspect(bytes, "tw_kernel", true);
  const auto loose = inspect(bytes, "tw_kernel", false);
  must_hold(strict.text_bytes >= 0 && strict.text_bytes == loose.text_bytes,
            "one size of the code");
  must_hold(!strict.finding.ok() || loose.finding.ok(), "strict refuses whatever loose refuses");
  must_hold(strict.finding.ok() == strict.finding.rule.empty(), "a refusal names its rule");
  const auto file = tilewright::ElfFile::parse(bytes);
  must_hold(file.has_value() || strict.finding.rule == "object", "what cannot be read is refused");
  return 0;
}
