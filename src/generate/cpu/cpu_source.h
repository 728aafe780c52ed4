// SPDX-License-Identifier: Apache-2.0
// A program of the family `cpu` as source: one template of generate/cpu/device, instantiated.
#pragma once

#include "generate/generate.h"

namespace tilewright {

// Without headers (generate.cc adds them). `program` is legal.
[[nodiscard]] Source cpu_source(const Program& program, const Problem& problem);

// Compiler flags of the widest instruction set that the device offers.
[[nodiscard]] std::vector<std::string> widest_flags(const Device& device);

}  // namespace tilewright
