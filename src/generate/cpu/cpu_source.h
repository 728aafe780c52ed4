// SPDX-License-Identifier: Apache-2.0
// A program of the family `cpu` as source: one template of generate/cpu/device, instantiated.
#pragma once

#include "generate/generate.h"

namespace tilewright {

// Without headers (generate.cc adds them). `program` is legal.
[[nodiscard]] Source cpu_source(const Program& program, const Problem& problem);

// A program of one of the families of family_cpu_general.h.
[[nodiscard]] Source cpu_general_source(const Program& program, const Problem& problem);

// An instruction set as kernels name it, and what their compiler needs for it.
struct IsaText {
  std::string_view word, header, type;
  std::vector<std::string_view> flags;
};
[[nodiscard]] const IsaText& isa_text(std::string_view word);
[[nodiscard]] std::vector<std::string> flags_of(const IsaText& isa);
// F16, Bf16, float.
[[nodiscard]] std::string_view element_text(ElementType type);

// Compiler flags of the widest instruction set that the device offers.
[[nodiscard]] std::vector<std::string> widest_flags(const Device& device);

}  // namespace tilewright
