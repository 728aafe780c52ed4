// SPDX-License-Identifier: Apache-2.0
// The family `cpu`: GEMM on the cores of a processor. Its tables are in family_cpu.cc; the kernels
// that its decisions select are in src/generate/cpu/device.
#pragma once

#include "program/vocabulary.h"

namespace tilewright {

[[nodiscard]] const Family& cpu_family();

}  // namespace tilewright
