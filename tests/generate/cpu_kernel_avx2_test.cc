// SPDX-License-Identifier: Apache-2.0
// isa=avx2 instantiations for cpu_kernel_test.cc; compile with -mavx2 -mfma -mf16c.
#include "cpu_kernel_case.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "cpu_kernel_make.h"
#include "generate/cpu/device/isa_avx2.h"

namespace tw::cpu_test {

KernelCases avx2_cases() {
  return Common<cpu::Avx2, 6>::all();
}

}  // namespace tw::cpu_test
#else
tw::cpu_test::KernelCases tw::cpu_test::avx2_cases() {
  return {nullptr, 0};
}
#endif
