// SPDX-License-Identifier: Apache-2.0
// Text and launch of a kernel of the family sm80. What the configuration's fields mean stands in
// device/sm80_gemm.cuh and device/sm80_direct.cuh.
#include "generate/cuda/cuda_source.h"
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

using cuda_text::Fields;

constexpr std::string_view kText = R"(#include "generate/cuda/device/{header}.cuh"

using Kernel = tw::{kernel}<tw::{config}{{{fields}}}>;

extern "C" __global__ void __launch_bounds__(Kernel::kThreads)
tw_kernel(const tw::u16* a, const tw::u16* b, void* c, void* workspace, int head, int m, int n,
          int k, tw::i64 lda, tw::i64 ldb, tw::i64 ldc, tw::i64 sa, tw::i64 sb, tw::i64 sc, float alpha,
          float beta{served}) {{
  Kernel::run(a, b, c, {{workspace, head}}, {{m, n, k, lda, ldb, ldc, sa, sb, sc}}, alpha, beta{given});
}}
)";

Fields image_of(const Convolution& conv) {
  Fields f;
  f.number("height", conv.height);
  f.number("width", conv.width);
  f.number("channels", conv.channels);
  f.number("filter_height", conv.filter_height);
  f.number("filter_width", conv.filter_width);
  f.number("stride", conv.stride);
  f.number("pad", conv.pad);
  f.number("out_height", conv.out_height());
  f.number("out_width", conv.out_width());
  return f;
}

Fields fields_of(const Program& p, const Problem& problem, Form form, Source& source) {
  const bool tiled = p.word("form") == "tile";
  const CudaAlignment aligned = alignment_of(problem);
  Fields f;
  f.type("in", problem.in);
  f.type("out", problem.out);
  f.flag("f16_sums", problem.acc == Accumulator::f16);
  f.flag("scaled", cuda_text::is_scaled(problem));
  if (form == Form::served) f.flag("served", true);
  f.flag("a_along_k", !problem.a_transposed);
  f.flag("b_along_k", problem.b_transposed);
  f.number("tile_m", p.number("tile_m"));
  f.number("tile_n", p.number("tile_n"));
  if (tiled) {
    f.number("tile_k", p.number("tile_k"));
    f.number("stages", p.number("stages"));
    f.number("warps_m", p.number("warps_m"));
    f.number("warps_n", p.number("warps_n"));
  }
  f.number("warps_k", p.number("warps_k"));
  if (!tiled) f.number("ahead", p.number("ahead"));
  f.number("vector_a", aligned.a);
  f.number("vector_b", aligned.b);
  f.number("vector_c", aligned.c);
  f.number("group", p.number("group"));
  f.flag("raster_n", p.word("raster") == "n");
  if (p.number("split_k") > 1) {
    f.number("split", p.number("split_k"));
    f.word("reduce", "Reduce", p.word("reduce"));
  }
  if (tiled) {
    f.word("epilogue", "Epilogue", p.word("epilogue"));
    f.flag("double_buffer", p.word("fragments") == "double");
    f.flag("stagger", p.word("copies") == "staggered");
  }
  cuda_text::add_sizes(f, source, p, problem);
  if (problem.op == Op::conv2d) f.nested("image", image_of(problem.conv));
  return f;
}

// Dynamic shared memory: the ring, and what takes its place after the main loop.
std::int64_t shared_bytes(const Program& p) {
  const std::int64_t m = p.number("tile_m"), n = p.number("tile_n"), groups = p.number("warps_k");
  const std::int64_t exchange = p.number("split_k") > 1 ? m * n * 4 : 0;
  if (p.word("form") == "direct") {
    return std::max(groups > 1 ? groups * m * n * 4 : std::int64_t{16}, exchange);
  }
  const std::int64_t ring = p.number("stages") * (m + n) * p.number("tile_k") * 2;
  const std::int64_t staged = p.word("epilogue") == "shared" ? m * (n + 8) * 2 : 0;
  return std::max(
      {ring, (groups - 1) * m * n * 4, p.word("reduce") == "cluster" ? exchange : 0, staged});
}

}  // namespace

Source sm80_source(const Program& program, const Problem& problem, const Device& device,
                   Form form) {
  const bool tiled = program.word("form") == "tile";
  Source source;
  source.language = "cuda";
  source.flags = cuda_flags(device);
  const Fields fields = fields_of(program, problem, form, source);
  source.text = cuda_text::heading(program, problem) +
                fmt::format(kText, fmt::arg("header", tiled ? "sm80_gemm" : "sm80_direct"),
                            fmt::arg("kernel", tiled ? "Sm80Gemm" : "Sm80Direct"),
                            fmt::arg("config", tiled ? "Sm80Config" : "Sm80DirectConfig"),
                            fmt::arg("fields", fields.text()),
                            fmt::arg("served", cuda_text::served_parameters(form)),
                            fmt::arg("given", cuda_text::served_values(form)));

  Launch& launch = source.launch;
  launch.target = "cuda";
  const std::int64_t split = program.number("split_k");
  const std::string tiles =
      fmt::format("cdiv(M,{})*cdiv(N,{})", program.word("tile_m"), program.word("tile_n"));
  launch.cuda.grid = {tiles, "1", split == 1 ? "batch" : fmt::format("batch*{}", split)};
  if (program.word("reduce") == "cluster") launch.cuda.cluster = {1, 1, static_cast<int>(split)};
  const std::int64_t warps = program.number("warps_k") *
                             (tiled ? program.number("warps_m") * program.number("warps_n") : 1);
  launch.cuda.threads = static_cast<int>(32 * warps);
  const std::int64_t holders = tiled ? 32 * warps / program.number("warps_k") : 32;
  launch.cuda.shared_bytes = std::to_string(shared_bytes(program));
  launch.cuda.arguments = {"a", "b", "c", "workspace",
                           cuda_text::head_argument(program, tiles + "*batch", holders)};
  for (const char* argument : {"i32:M", "i32:N", "i32:K", "i64:lda", "i64:ldb", "i64:ldc", "i64:sa",
                               "i64:sb", "i64:sc", "alpha", "beta"}) {
    launch.cuda.arguments.emplace_back(argument);
  }
  cuda_text::add_served(launch, form);
  const CudaAlignment aligned = alignment_of(problem);
  launch.cuda.alignment = std::min({aligned.a, aligned.b, aligned.c});
  cuda_text::add_workspace(source, program, tiles + "*batch", holders);
  return source;
}

}  // namespace tilewright
