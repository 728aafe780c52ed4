// SPDX-License-Identifier: Apache-2.0
// The families of the general operations on the cores of a processor: `cpu-rows` (map, reduce,
// softmax, layernorm), `cpu-transpose` and `cpu-conv2d`. Their kernels are rows.h, transpose.h and
// conv2d.h of src/generate/cpu/device.
#pragma once

#include "program/vocabulary.h"

namespace tilewright {

[[nodiscard]] const Family& cpu_rows_family();
[[nodiscard]] const Family& cpu_transpose_family();
[[nodiscard]] const Family& cpu_conv2d_family();

}  // namespace tilewright
