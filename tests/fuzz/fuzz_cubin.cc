// SPDX-License-Identifier: Apache-2.0
// Any bytes as a cubin and as its build log: no crash, and strict refuses whatever loose refuses.
#include "compile/inspect_cubin.h"
#include "fuzz/must_hold.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tilewright::inspect_cubin;
  using tilewright::must_hold;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto strict = inspect_cubin(bytes, "tw_kernel", true);
  const auto loose = inspect_cubin(bytes, "tw_kernel", false);
  must_hold(strict.text_bytes >= 0 && strict.text_bytes == loose.text_bytes,
            "one size of the code");
  must_hold(!strict.finding.ok() || loose.finding.ok(), "strict refuses whatever loose refuses");
  must_hold(strict.finding.ok() == strict.finding.rule.empty(), "a refusal names its rule");
  const auto facts = tilewright::parse_ptxas_log(bytes, "tw_kernel");
  must_hold(facts.registers >= 0 && facts.spill_stores >= 0, "counts are counts");
  return 0;
}
