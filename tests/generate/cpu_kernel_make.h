// SPDX-License-Identifier: Apache-2.0
// Makes KernelCase rows from the device templates; included only by cpu_kernel_<isa>_test.cc.
#ifndef TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_MAKE_H
#define TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_MAKE_H

#include "cpu_kernel_case.h"
#include "generate/cpu/device/blocked.h"
#include "generate/cpu/device/direct.h"
#include "generate/cpu/device/dot.h"

namespace tw::cpu_test {
namespace {

using cpu::Bf16;
using cpu::BlockedPlan;
using cpu::DirectPlan;
using cpu::DotPlan;
using cpu::F16;
using cpu::Gemm;
using cpu::Layout;
using cpu::Order;
using cpu::PackA;
using cpu::PackB;
using cpu::Split;

template <class T>
constexpr Element element_of() {
  if (cpu::kSame<T, F16>) return Element::kF16;
  return cpu::kSame<T, Bf16> ? Element::kBf16 : Element::kF32;
}

template <class G>
constexpr KernelCase row(const char* name, bool flushes, tw_cpu_gemm_fn run,
                         int64_t (*workspace)(int64_t, int64_t, int64_t, int64_t)) {
  return {name,
          element_of<typename G::Input>(),
          element_of<typename G::Output>(),
          G::kTransA,
          G::kTransB,
          flushes,
          G::kFixed.m,
          G::kFixed.n,
          G::kFixed.k,
          run,
          workspace};
}

template <class I, class G, BlockedPlan kPlan>
constexpr KernelCase blocked(const char* name) {
  return row<G>(
      name, kPlan.packb == PackB::kPair,
      [](const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
        cpu::blocked<I, G, kPlan>(*args, *team);
      },
      [](int64_t m, int64_t n, int64_t k, int64_t threads) {
        return threads * cpu::blocked_space(kPlan, {m, n, k}, threads).total();
      });
}
template <class I, class G, DirectPlan kPlan>
constexpr KernelCase direct(const char* name) {
  return row<G>(
      name, false,
      [](const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
        cpu::direct<I, G, kPlan>(*args, *team);
      },
      [](int64_t m, int64_t n, int64_t k, int64_t threads) {
        return threads * cpu::direct_space(kPlan, {m, n, k}, threads).total();
      });
}
template <class I, class G, DotPlan kPlan>
constexpr KernelCase dot(const char* name) {
  return row<G>(
      name, I::kPairs,
      [](const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
        cpu::dot<I, G, kPlan>(*args, *team);
      },
      [](int64_t m, int64_t n, int64_t k, int64_t threads) {
        return threads * cpu::dot_space(kPlan, {m, n, k}, threads).total();
      });
}

// The rows that every widening instruction set shares: each form, layout, type and split once.
// kW is the register width, kMr a number of rows that fits the registers.
template <class I, int kMr>
struct Common {
  static constexpr int kW = I::kWidth;
  static constexpr int kNr = kW == 1 ? 4 : 2 * kW;
  static constexpr KernelCase kRows[] = {
      blocked<I, Gemm<F16, F16, Layout::kNN>,
              BlockedPlan{.mr = kMr, .nr = kNr, .kc = 64, .mc = 2 * kMr, .nc = 2 * kNr}>(
          "blocked f16 nn f32 panels, small blocks"),
      blocked<I, Gemm<F16, F16, Layout::kNT>,
              BlockedPlan{.mr = kMr, .nr = kNr, .kc = 0, .split = Split::kM}>(
          "blocked f16 nt whole k, split m"),
      blocked<I, Gemm<Bf16, Bf16, Layout::kNT>,
              BlockedPlan{.mr = kMr, .nr = kNr, .packb = PackB::kHalf, .order = Order::kMN}>(
          "blocked bf16 nt half panels"),
      blocked<I, Gemm<Bf16, float, Layout::kTN>,
              BlockedPlan{.mr = kMr,
                          .nr = kNr,
                          .kc = 64,
                          .packb = PackB::kHalf,
                          .unroll = 4,
                          .prefetch = 4,
                          .split = Split::kMN}>("blocked bf16 tn to f32, split mn"),
      blocked<I, Gemm<F16, Bf16, Layout::kTT>,
              BlockedPlan{.mr = kMr,
                          .nr = kNr,
                          .kc = 128,
                          .packb = PackB::kHalf,
                          .unroll = 1,
                          .split = Split::kK}>("blocked f16 tt to bf16, split k"),
      blocked<I, Gemm<Bf16, F16, Layout::kNN>,
              BlockedPlan{.mr = kMr, .nr = kNr, .kc = 32, .split = Split::kBatch}>(
          "blocked bf16 nn to f16, split batch"),
      blocked<I, Gemm<F16, float, Layout::kNN, {.m = 29, .n = 67, .k = 130}>,
              BlockedPlan{.mr = kMr, .nr = kNr, .kc = 64, .split = Split::kMN}>(
          "blocked f16 nn fixed sizes"),
      direct<I, Gemm<F16, F16, Layout::kNN>, DirectPlan{.mr = 3, .nr = kNr, .prefetch = 8}>(
          "direct f16 nn"),
      direct<I, Gemm<Bf16, Bf16, Layout::kNN>,
             DirectPlan{.mr = 2, .nr = kNr, .kc = 16, .nc = 2 * kNr, .order = Order::kMN}>(
          "direct bf16 nn short slices"),
      direct<I, Gemm<Bf16, float, Layout::kTN>,
             DirectPlan{
                 .mr = 4, .nr = kNr, .packa = PackA::kNone, .unroll = 2, .split = Split::kM}>(
          "direct bf16 tn unpacked A, split m"),
      direct<I, Gemm<F16, Bf16, Layout::kNN>,
             DirectPlan{.mr = 1,
                        .nr = kW == 1 ? 4 : kW,
                        .kc = 128,
                        .packa = PackA::kNone,
                        .split = Split::kK}>("direct f16 nn to bf16, split k"),
      direct<I, Gemm<F16, F16, Layout::kTN>,
             DirectPlan{.mr = 3, .nr = kNr, .kc = 64, .split = Split::kBatch}>(
          "direct f16 tn, split batch"),
      direct<I, Gemm<Bf16, Bf16, Layout::kNN, {.m = 4, .n = 8 * kNr, .k = 100}>,
             DirectPlan{.mr = 4, .nr = kNr}>("direct bf16 nn fixed sizes"),
      dot<I, Gemm<F16, F16, Layout::kNT>, DotPlan{.mr = 2, .nr = 3, .unroll = 2}>("dot f16 nt"),
      dot<I, Gemm<Bf16, Bf16, Layout::kNT>,
          DotPlan{.mr = 1, .nr = 4, .packa = PackA::kNone, .prefetch = 512}>(
          "dot bf16 nt unpacked A"),
      dot<I, Gemm<Bf16, float, Layout::kTT>, DotPlan{.mr = 3, .nr = 2, .split = Split::kK}>(
          "dot bf16 tt to f32, split k"),
      dot<I, Gemm<F16, F16, Layout::kNT>,
          DotPlan{
              .mr = 2, .nr = 2, .packa = PackA::kNone, .order = Order::kMN, .split = Split::kMN}>(
          "dot f16 nt unpacked A, split mn"),
  };
  static constexpr KernelCases all() { return {kRows, sizeof(kRows) / sizeof(kRows[0])}; }
};

}  // namespace
}  // namespace tw::cpu_test

#endif  // TILEWRIGHT_TESTS_GENERATE_CPU_KERNEL_MAKE_H
