// SPDX-License-Identifier: Apache-2.0
// The families of the general operations on NVIDIA GPUs, from Ampere on: `cuda-rows` (map, reduce,
// softmax, layernorm) and `cuda-transpose`. Their kernels are rows.cuh and transpose.cuh of
// src/generate/cuda/device.
#pragma once

#include "program/vocabulary.h"

namespace tilewright {

[[nodiscard]] const Family& cuda_rows_family();
[[nodiscard]] const Family& cuda_transpose_family();

// Vector loads of a thread that hold a whole row, where keep=f32 keeps it in registers.
[[nodiscard]] std::int64_t loads_of_row(const Choices& choices, std::int64_t columns);

}  // namespace tilewright
