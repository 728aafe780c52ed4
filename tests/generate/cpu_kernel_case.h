// SPDX-License-Identifier: Apache-2.0
// One instantiated CPU kernel, as the test sees it. The instantiations live in one file per
// instruction set (cpu_kernel_<isa>_test.cc), compiled with that set's flags; those files include
// no standard C++ header, so that no shared inline function is ever compiled for AVX-512.
#ifndef TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_CASE_H
#define TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_CASE_H

#include <stdint.h>

#include "launch/cpu_abi.h"

namespace tw::cpu_test {

enum class Element { kF16, kBf16, kF32 };

struct KernelCase {
  const char* name;
  Element in, out;
  bool trans_a, trans_b;
  bool flushes;     // vdpbf16ps: subnormals count as zero
  int64_t m, n, k;  // -1 unless fixed at generation
  tw_cpu_gemm_fn run;
  int64_t (*workspace)(int64_t m, int64_t n, int64_t k, int64_t threads);
};

struct KernelCases {
  const KernelCase* first;
  int64_t count;
};

// Empty when the file was compiled without its instruction set.
KernelCases scalar_cases();
KernelCases avx2_cases();
KernelCases avx512_cases();
KernelCases avx512bf16_cases();

}  // namespace tw::cpu_test

#endif  // TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_CASE_H
