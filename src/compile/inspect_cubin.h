// SPDX-License-Identifier: Apache-2.0
// What a compiled CUDA kernel is refused for before anyone loads it, and what its assembler said.
//
// As inspect.h, for another format: a kernel with memory of its own could answer the second call
// from the first one's. In a cubin such memory is a writable section; what a CTA shares and the
// constant banks are none. A call of what the driver provides (printf, malloc, launches) shows as
// an undefined symbol.
#pragma once

#include "compile/inspect.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// As the assembler (ptxas -v) reports of one kernel.
struct CubinFacts {
  int registers = 0;     // per thread
  int stack_bytes = 0;   // per thread
  int spill_stores = 0;  // bytes
  int spill_loads = 0;
  int static_shared = 0;              // bytes per CTA
  bool wgmma_serialized = false;      // C7510 and its kin: tensor cores wait after each product
  bool setmaxnreg_ignored = false;    // C7508
  std::vector<std::string> warnings;  // of the compiler, and the assembler's advice; the first few
  friend bool operator==(const CubinFacts&, const CubinFacts&) = default;
};

// Facts of `symbol` in the log of NVRTC or nvcc; zeros where the log does not say.
[[nodiscard]] CubinFacts parse_ptxas_log(std::string_view log, std::string_view symbol);

// Findings as inspect()'s: `writable-state`, `imports`, `object`, `no-symbol`. Size of the code in
// all sections .text.*. `strict` off leaves the checks of the last two.
[[nodiscard]] Inspection inspect_cubin(std::string_view cubin, std::string_view symbol,
                                       bool strict);

}  // namespace tilewright
