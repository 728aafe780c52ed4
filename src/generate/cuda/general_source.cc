// SPDX-License-Identifier: Apache-2.0
// Text and launch of the kernels of the families cuda-rows and cuda-transpose. What the
// configurations' fields mean stands in device/rows.cuh and device/transpose.cuh.
#include "generate/cuda/cuda_source.h"
#include "problem/operations.h"
#include "program/family_cuda.h"
#include "program/family_cuda_general.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

using cuda_text::Fields;

constexpr std::string_view kRowsText = R"(#include "generate/cuda/device/rows.cuh"

using Kernel = tw::Rows<tw::RowsConfig{{{fields}}}>;

extern "C" __global__ void __launch_bounds__(Kernel::kThreads)
tw_kernel(const tw::u16* a, const tw::u16* b, void* c, int m, int n, tw::i64 lda, tw::i64 ldb,
          tw::i64 ldc) {{
  Kernel::run(a, b, c, m, n, lda, ldb, ldc);
}}
)";

constexpr std::string_view kTransposeText = R"(#include "generate/cuda/device/transpose.cuh"

using Kernel = tw::Transpose<tw::TransposeConfig{{{fields}}}>;

extern "C" __global__ void __launch_bounds__(Kernel::kThreads)
tw_kernel(const tw::u16* a, tw::u16* c, int m, int n, tw::i64 lda, tw::i64 ldc) {{
  Kernel::run(a, c, m, n, lda, ldc);
}}
)";

std::string_view operation_word(const Problem& p) {
  if (p.op == Op::softmax) return "softmax";
  if (p.op == Op::layernorm) return "layernorm";
  if (p.op == Op::transpose) return "transpose";
  return name_of(p.function);
}

std::string general_heading(const Program& program, const Problem& problem) {
  // Of the problem, what every shape that this kernel serves has in common.
  const std::string what =
      program.word("sizes") == "static"
          ? to_text(problem)
          : fmt::format(
                "{} {} of any size{}", name_of(problem.in), operation_word(problem),
                problem.out == problem.in ? "" : fmt::format(", out={}", name_of(problem.out)));
  return fmt::format("// {}\n// {}\n", program.text(), what);
}

void make_rows(Source& source, const Program& p, const Problem& problem) {
  Fields f;
  f.type("in", problem.in);
  f.type("out", problem.out);
  f.word("op", "RowOp", operation_word(problem));
  f.number("threads", p.number("cta"));
  f.number("row_threads", p.number("row_threads"));
  f.number("vector", p.number("vector"));
  if (p.word("keep") == "f32") {
    f.number("kept", loads_of_row(p.choices(), problem.n));
  } else {
    f.number("unroll", p.number("unroll"));
  }
  if (p.word("passes") == "joint") f.flag("joint", true);
  cuda_text::add_sizes(f, source, p, problem);
  source.text = general_heading(p, problem) + fmt::format(kRowsText, fmt::arg("fields", f.text()));
  CudaLaunch& launch = source.launch.cuda;
  launch.threads = static_cast<int>(p.number("cta"));
  launch.grid = {fmt::format("cdiv(M,{})", p.number("cta") / p.number("row_threads")), "1", "1"};
  // A number for each warp, where rows have several.
  if (p.number("row_threads") > 32) launch.shared_bytes = std::to_string(p.number("cta") / 32 * 4);
  const CudaAlignment aligned = alignment_of(problem);
  launch.alignment =
      std::min({static_cast<int>(p.number("vector")), aligned.a, aligned.b, aligned.c});
  launch.arguments = {"a", "b", "c", "i32:M", "i32:N", "i64:lda", "i64:ldb", "i64:ldc"};
}

void make_transpose(Source& source, const Program& p, const Problem& problem) {
  Fields f;
  f.number("threads", p.number("cta"));
  f.number("tile_m", p.number("tile_m"));
  f.number("tile_n", p.number("tile_n"));
  f.number("vector_a", p.number("vector"));
  f.number("vector_c", p.number("vector_c"));
  f.number("pad", p.number("pad"));
  f.flag("raster_n", p.word("raster") == "n");
  cuda_text::add_sizes(f, source, p, problem);
  source.text =
      general_heading(p, problem) + fmt::format(kTransposeText, fmt::arg("fields", f.text()));
  CudaLaunch& launch = source.launch.cuda;
  launch.threads = static_cast<int>(p.number("cta"));
  launch.grid = {fmt::format("cdiv(M,{})*cdiv(N,{})", p.word("tile_m"), p.word("tile_n")), "1",
                 "1"};
  launch.shared_bytes =
      std::to_string(p.number("tile_m") * (p.number("tile_n") + p.number("pad")) * 2);
  launch.alignment = static_cast<int>(std::min(p.number("vector"), p.number("vector_c")));
  launch.arguments = {"a", "c", "i32:M", "i32:N", "i64:lda", "i64:ldc"};
}

}  // namespace

Source cuda_general_source(const Program& program, const Problem& problem, const Device& device) {
  Source source;
  source.language = "cuda";
  source.flags = cuda_flags(device);
  source.launch.target = "cuda";
  if (program.family().name == "cuda-rows") {
    make_rows(source, program, problem);
  } else {
    make_transpose(source, program, problem);
  }
  return source;
}

}  // namespace tilewright
