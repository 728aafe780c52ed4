// SPDX-License-Identifier: Apache-2.0
// The CPU kernels that are part of the library: the table made from catalogue.txt at build time
// (cmake/TilewrightCpuKernels.cmake, src/generate/cpu/catalogue). Read next: choice.h.
#pragma once

#include "base/element.h"
#include "launch/cpu_abi.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

// Narrowest first. avx512bf16 multiplies bf16 pairs and flushes subnormals: never by default.
enum class CpuIsa { scalar, avx2, avx512, avx512bf16 };
inline constexpr std::array<std::string_view, 4> kCpuIsaNames = {"scalar", "avx2", "avx512",
                                                                 "avx512bf16"};
[[nodiscard]] constexpr std::string_view name_of(CpuIsa isa) {
  return kCpuIsaNames[static_cast<std::size_t>(isa)];
}

struct CpuKernel {
  std::string_view program;
  CpuIsa isa;
  ElementType in, out;
  bool a_transposed, b_transposed;
  std::int64_t m_low, m_high;  // rows of the calls that it was made for; it serves any
  int mr, nr;                  // its register tile
  // The team divides k (and meets at barriers); else a call is one thread's.
  bool splits_k;
  std::string_view workspace;  // bytes, an expression (launch/expr.h)
  tw_cpu_gemm_fn run;
};

// In the order of the catalogue.
[[nodiscard]] std::span<const CpuKernel> cpu_kernels();

}  // namespace tilewright::runtime::cpu
