// SPDX-License-Identifier: Apache-2.0
// Conversions by integer arithmetic on the bit patterns, so that neither the rounding mode, nor a
// flush-to-zero bit, nor the presence of F16C can change an answer.
#include "base/element.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tilewright {
namespace {

// Rounds `value` once to a 16-bit format with these field widths.
std::uint16_t narrow(double value, int mantissa_bits, int exponent_bits) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = (bits >> 63) << 15;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  std::uint64_t magnitude = 0;
  if (exponent == 0x7ff) {
    magnitude = infinity;
    if (fraction != 0) {  // a quiet NaN that keeps the upper bits of the payload
      magnitude |= (fraction >> (52 - mantissa_bits)) | (std::uint64_t{1} << (mantissa_bits - 1));
    }
  } else if (exponent != 0) {  // subnormal doubles lie far below half of our smallest subnormal
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int biased = exponent - 1023 + bias;
    const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
    const int drop = 52 - mantissa_bits + (biased < 1 ? 1 - biased : 0);
    if (drop <= 53) {  // beyond that the value is below half of the smallest subnormal
      std::uint64_t kept = significand >> drop;
      const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
      const std::uint64_t half = std::uint64_t{1} << (drop - 1);
      if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
      // The hidden bit in `kept` adds one to the exponent field, and so does a carry.
      magnitude = kept;
      if (biased > 1) magnitude += static_cast<std::uint64_t>(biased - 1) << mantissa_bits;
      if (magnitude > infinity) magnitude = infinity;
    }
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

template <class T>
T read_at(const void* base, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void write_at(void* base, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

}  // namespace

std::optional<ElementType> element_from(std::string_view name) {
  for (std::size_t i = 0; i < kElementNames.size(); ++i) {
    if (kElementNames[i] == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1f;
  std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent == 0) {
    if (fraction == 0) return std::bit_cast<float>(sign);
    // A subnormal half is a normal float: shift the leading bit up to the hidden place.
    const int shift = std::countl_zero(fraction) - 21;
    fraction = (fraction << shift) & 0x3ff;
    exponent = static_cast<std::uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f64_to_f16(double value) {
  return narrow(value, 10, 5);
}
std::uint16_t f64_to_bf16(double value) {
  return narrow(value, 7, 8);
}

double unit_roundoff(ElementType t) {
  static constexpr std::array<double, 3> kRoundoff = {0x1p-11, 0x1p-8, 0x1p-24};
  return kRoundoff[static_cast<std::size_t>(t)];
}

double half_subnormal(ElementType t) {
  static constexpr std::array<double, 3> kHalf = {0x1p-25, 0x1p-134, 0x1p-150};
  return kHalf[static_cast<std::size_t>(t)];
}

double load(ElementType type, const void* base, std::int64_t index) {
  switch (type) {
    case ElementType::f16:
      return static_cast<double>(f16_to_f32(read_at<std::uint16_t>(base, index)));
    case ElementType::bf16:
      return static_cast<double>(bf16_to_f32(read_at<std::uint16_t>(base, index)));
    case ElementType::f32:
      return static_cast<double>(read_at<float>(base, index));
  }
  return 0;
}

void store(ElementType type, void* base, std::int64_t index, double value) {
  switch (type) {
    case ElementType::f16:
      return write_at(base, index, f64_to_f16(value));
    case ElementType::bf16:
      return write_at(base, index, f64_to_bf16(value));
    case ElementType::f32:
      return write_at(base, index, static_cast<float>(value));
  }
}

}  // namespace tilewright
