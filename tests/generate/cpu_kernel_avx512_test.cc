// SPDX-License-Identifier: Apache-2.0
// isa=avx512 instantiations for cpu_kernel_test.cc; compile with
// -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c.
#include "cpu_kernel_case.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "cpu_kernel_make.h"
#include "generate/cpu/device/isa_avx512.h"

namespace tw::cpu_test {

KernelCases avx512_cases() {
  return Common<cpu::Avx512, 14>::all();
}

}  // namespace tw::cpu_test
#else
tw::cpu_test::KernelCases tw::cpu_test::avx512_cases() {
  return {nullptr, 0};
}
#endif
