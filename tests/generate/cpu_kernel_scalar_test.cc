// SPDX-License-Identifier: Apache-2.0
// isa=scalar instantiations for cpu_kernel_test.cc; no flags needed.
#include "cpu_kernel_make.h"
#include "generate/cpu/device/isa_scalar.h"

namespace tw::cpu_test {

KernelCases scalar_cases() {
  return Common<cpu::Scalar, 2>::all();
}

}  // namespace tw::cpu_test
