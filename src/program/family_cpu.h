// SPDX-License-Identifier: Apache-2.0
// The family `cpu`: GEMM on the cores of a processor. Its tables are in family_cpu.cc; the kernels
// that its decisions select are in src/generate/cpu/device.
#pragma once

#include "program/vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tilewright {

[[nodiscard]] const Family& cpu_family();

// What all families for processors share.
namespace cpu_family_parts {

// What an instruction set offers to the rules.
struct Isa {
  std::string_view name;
  std::vector<std::string_view> needs;  // device features
  std::int64_t width;                   // f32 lanes of a register
  std::int64_t registers;
};
// Of the decision `isa`.
[[nodiscard]] const Isa& isa_of(const Choices& choices);

[[nodiscard]] Rule device_kind_rule();
[[nodiscard]] Rule isa_rule();      // reads `isa`
[[nodiscard]] Rule threads_rule();  // reads `threads`

}  // namespace cpu_family_parts

}  // namespace tilewright
