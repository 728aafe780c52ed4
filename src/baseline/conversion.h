// SPDX-License-Identifier: Apache-2.0
// Half types to f32 and back at the speed of memory, for libraries that multiply f32 only.
//
// A baseline that pays for a slow conversion loop would be a straw man, so these use the widest
// vectors the device lists. They give the same bits as base/element.h, which the tests check.
#pragma once

#include "base/element.h"
#include "device/device.h"

#include <cstdint>
#include <string_view>

namespace tilewright {

struct Conversion {
  std::string_view name;  // avx512, f16c (AVX2 for bf16) or scalar
  void (*widen)(const std::uint16_t* from, float* to, std::int64_t count);
  void (*narrow)(const float* from, std::uint16_t* to, std::int64_t count);
};

// The fastest conversion of `half` (f16 or bf16) that `device` can run.
[[nodiscard]] const Conversion& conversion_for(ElementType half, const Device& device);

// Part `part` of `parts` of a rows x cols matrix with row stride `ld` to packed floats.
void widen_part(const Conversion& with, const std::uint16_t* from, std::int64_t ld,
                std::int64_t rows, std::int64_t cols, float* to, int part, int parts);
// Part of packed floats to a matrix: to = round(from + beta * to); beta == 0 does not read `to`.
void narrow_part(const Conversion& with, const float* from, std::int64_t rows, std::int64_t cols,
                 std::uint16_t* to, std::int64_t ld, float beta, int part, int parts);

}  // namespace tilewright
