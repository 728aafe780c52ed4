// SPDX-License-Identifier: Apache-2.0
// The device headers of the general operations, instantiated with one lane and run in this process
// against their references: every plan's code paths, whatever this machine's instruction sets are.
// verifier_test.cc runs generated ones with the sets that it has.
#include "generate/cpu/device/isa_scalar.h"

#include "generate/cpu/device/conv2d.h"
#include "generate/cpu/device/rows.h"
#include "generate/cpu/device/transpose.h"

#include "verify/honest.h"
#include "verify/operation.h"

namespace tilewright {
namespace {

using tw::cpu::Bf16;
using tw::cpu::ConvPlan;
using tw::cpu::ConvShape;
using tw::cpu::F16;
using tw::cpu::RowOp;
using tw::cpu::RowPlan;
using tw::cpu::RowProblem;
using tw::cpu::Scalar;
using tw::cpu::TransposePlan;

template <class In, class Out, RowPlan kPlan, tw::cpu::Sizes kSizes = tw::cpu::Sizes{}>
void rows_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
  tw::cpu::rows<Scalar, RowProblem<In, Out, kSizes>, kPlan>(*args, *team);
}
template <TransposePlan kPlan>
void transpose_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
  tw::cpu::transpose<tw::cpu::Sizes{}, kPlan>(*args, *team);
}
constexpr ConvShape kSmall = {.images = 2,
                              .height = 5,
                              .width = 6,
                              .channels = 70,
                              .filter_height = 3,
                              .filter_width = 2,
                              .filters = 11,
                              .stride = 2,
                              .pad = 1};
template <class In, class Out, ConvPlan kPlan>
void conv_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
  tw::cpu::conv2d<Scalar, In, Out, kSmall, kPlan>(*args, *team);
}

struct Kernel {
  const char* problem;
  tw_cpu_gemm_fn run;
  std::int64_t workspace = 0;  // of a thread
};

const Kernel kKernels[] = {
    {"softmax 7x45 f16", rows_kernel<F16, F16, RowPlan{.op = RowOp::kSoftmax, .unroll = 4}>},
    {"softmax 7x45 bf16 out=f32 lda=50 ldc=46",
     rows_kernel<Bf16, float, RowPlan{.op = RowOp::kSoftmax, .keep = true, .unroll = 2}>,
     tw::cpu::row_space({.keep = true}, 45)},
    {"softmax 7x45 f16",
     rows_kernel<F16, F16, RowPlan{.op = RowOp::kSoftmax, .joint = true, .unroll = 8}>},
    {"layernorm 7x45 f16 ldb=47",
     rows_kernel<F16, F16, RowPlan{.op = RowOp::kLayernorm, .unroll = 1, .prefetch = 256}>},
    {"layernorm 7x45 bf16",
     rows_kernel<Bf16, Bf16, RowPlan{.op = RowOp::kLayernorm, .keep = true, .unroll = 4},
                 tw::cpu::Sizes{7, 45, 1}>,
     tw::cpu::row_space({.keep = true}, 45)},
    {"reduce 7x45 f16 fn=sum", rows_kernel<F16, F16, RowPlan{.op = RowOp::kSum, .unroll = 4}>},
    {"reduce 7x45 bf16 fn=max", rows_kernel<Bf16, Bf16, RowPlan{.op = RowOp::kMax, .unroll = 2}>},
    {"map 7x45 f16 fn=gelu", rows_kernel<F16, F16, RowPlan{.op = RowOp::kGelu, .unroll = 2}>},
    {"map 7x45 bf16 fn=silu", rows_kernel<Bf16, Bf16, RowPlan{.op = RowOp::kSilu, .unroll = 1}>},
    {"map 7x45 f16 fn=relu out=f32",
     rows_kernel<F16, float, RowPlan{.op = RowOp::kRelu, .unroll = 8}>},
    {"transpose 37x50 f16", transpose_kernel<TransposePlan{.block = 1, .tile_m = 16}>},
    {"transpose 37x50 bf16 lda=51 ldc=40",
     transpose_kernel<TransposePlan{.block = 8, .tile_n = 16, .order = tw::cpu::Order::kNM}>},
    {"transpose 37x50 f16",
     transpose_kernel<TransposePlan{
         .block = 16, .tile_m = 32, .tile_n = 32, .prefetch = 4, .split = tw::cpu::Split::kN}>},
    {"conv2d 2x5x6x70 3x2x11 f16 stride=2 pad=1",
     conv_kernel<F16, F16, ConvPlan{.mr = 4, .nr = 4, .unroll = 2}>,
     tw::cpu::conv_space({.mr = 4}, 420)},
    {"conv2d 2x5x6x70 3x2x11 bf16 stride=2 pad=1 out=f32 lda=72 ldb=12 ldc=13",
     conv_kernel<Bf16, float,
                 ConvPlan{.mr = 3,
                          .nr = 2,
                          .packa = tw::cpu::PackA::kNone,
                          .unroll = 1,
                          .split = tw::cpu::Split::kN}>},
};

TEST(OperationKernels, AgreeWithTheirReferences) {
  for (const Kernel& kernel : kKernels) {
    const Problem p = problem_of(kernel.problem);
    for (const DataKind kind : {DataKind::normal, DataKind::signs}) {
      for (const int threads : {1, 3}) {
        const Arena arena = arena_of(p, 1, kernel.workspace * threads);
        const Operands data = draw(p, kind, 11);
        put(view_a(arena, 0), data.a);
        put(view_b(arena, 0), data.b);
        fill_nan(view_c(arena, 0));
        const tw_cpu_gemm_args args =
            arguments(p, arena.layout(), arena.base(), 0, Owner::candidate, 1, 0);
        for (int thread = 0; thread < threads; ++thread) {
          const tw_cpu_team team = {thread, threads, nullptr, nullptr};
          kernel.run(&args, &team);
        }
        const Reference reference = tilewright::reference(p, view_a(arena, 0), view_b(arena, 0),
                                                          whole(p), !is_exact(kind, p), 1);
        const Agreement agreement = compare(
            p, view_c(arena, 0), Expectation{&reference, is_exact(kind, p), 1, 0, {}, 1}, false);
        EXPECT_FALSE(agreement.first) << kernel.problem << " " << name_of(kind) << " " << threads
                                      << " threads: " << agreement.first->text();
        EXPECT_EQ(arena.broken_guard(0).value_or("none"), "none") << kernel.problem;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
