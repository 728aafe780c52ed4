// SPDX-License-Identifier: Apache-2.0
// isa=avx512bf16 instantiations for cpu_kernel_test.cc: only what uses vdpbf16ps; compile with
// -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mfma -mf16c.
#include "cpu_kernel_case.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "cpu_kernel_make.h"
#include "generate/cpu/device/isa_avx512.h"

namespace tw::cpu_test {
namespace {

using I = cpu::Avx512Bf16;

constexpr KernelCase kRows[] = {
    blocked<I, Gemm<Bf16, Bf16, Layout::kNN>,
            BlockedPlan{.mr = 12, .nr = 32, .kc = 64, .packb = PackB::kPair, .split = Split::kMN}>(
        "blocked bf16 nn pairs"),
    blocked<I, Gemm<Bf16, float, Layout::kNT>,
            BlockedPlan{.mr = 6, .nr = 64, .kc = 128, .packb = PackB::kPair, .split = Split::kK}>(
        "blocked bf16 nt pairs to f32, split k"),
    blocked<I, Gemm<Bf16, Bf16, Layout::kTT>,
            BlockedPlan{.mr = 5, .nr = 16, .kc = 0, .packb = PackB::kPair}>(
        "blocked bf16 tt pairs"),
    dot<I, Gemm<Bf16, Bf16, Layout::kNT>, DotPlan{.mr = 2, .nr = 4, .packa = PackA::kNone}>(
        "dot bf16 nt pairs"),
    dot<I, Gemm<Bf16, float, Layout::kNT>,
        DotPlan{.mr = 1, .nr = 8, .packa = PackA::kNone, .unroll = 2, .split = Split::kK}>(
        "dot bf16 nt pairs to f32, split k"),
};

}  // namespace

KernelCases avx512bf16_cases() {
  return {kRows, sizeof(kRows) / sizeof(kRows[0])};
}

}  // namespace tw::cpu_test
#else
tw::cpu_test::KernelCases tw::cpu_test::avx512bf16_cases() {
  return {nullptr, 0};
}
#endif
