// SPDX-License-Identifier: Apache-2.0
// Element types and their exact conversions.
//
// f16 is IEEE binary16 (11 significant bits), bf16 the upper half of binary32 (8 bits). All
// conversions here round to nearest, ties to even, preserve subnormals and are independent of the
// processor: they are the reference that fast paths are compared with. Rounding from double goes
// to the target in one step, since two roundings are not one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

enum class ElementType { f16, bf16, f32 };
inline constexpr std::array<std::string_view, 3> kElementNames = {"f16", "bf16", "f32"};

[[nodiscard]] constexpr std::string_view name_of(ElementType t) {
  return kElementNames[static_cast<std::size_t>(t)];
}
[[nodiscard]] constexpr std::size_t size_of(ElementType t) {
  return t == ElementType::f32 ? 4 : 2;
}
[[nodiscard]] std::optional<ElementType> element_from(std::string_view name);

[[nodiscard]] float f16_to_f32(std::uint16_t bits);
[[nodiscard]] float bf16_to_f32(std::uint16_t bits);
[[nodiscard]] std::uint16_t f64_to_f16(double value);
[[nodiscard]] std::uint16_t f64_to_bf16(double value);

// Unit roundoff u of the type: 2^-11, 2^-8, 2^-24.
[[nodiscard]] double unit_roundoff(ElementType t);
// Half of the smallest positive subnormal: the absolute error of rounding near zero.
[[nodiscard]] double half_subnormal(ElementType t);

// Element `index` of an array of `type` at `base`, as a double (exact) and back (one rounding).
[[nodiscard]] double load(ElementType type, const void* base, std::int64_t index);
void store(ElementType type, void* base, std::int64_t index, double value);

}  // namespace tilewright
