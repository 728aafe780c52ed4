// SPDX-License-Identifier: Apache-2.0
// Text of the CPU kernels of the general operations: one template of generate/cpu/device (rows.h,
// transpose.h, conv2d.h), instantiated with the program's decisions.
#include "generate/cpu/cpu_source.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

// What differs between the families: the header, the declarations and the call.
struct Body {
  std::string header, declarations, call;
  std::string workspace = "0";
};

std::string sizes_text(const Program& program, const Problem& p) {
  if (program.word("sizes") != "static") return "Sizes{}";
  return fmt::format("Sizes{{{}, {}, {}}}", p.m, p.n, p.k);
}

std::string_view row_operation(const Problem& p) {
  if (p.op == Op::softmax) return "kSoftmax";
  if (p.op == Op::layernorm) return "kLayernorm";
  if (p.function == Function::sum) return "kSum";
  if (p.function == Function::max) return "kMax";
  if (p.function == Function::relu) return "kRelu";
  return p.function == Function::gelu ? "kGelu" : "kSilu";
}

Body rows_body(const Program& program, const Problem& p, const IsaText& isa) {
  Body body;
  const bool keep = program.word("keep") == "f32";
  body.header = "rows.h";
  body.declarations = fmt::format(
      "using Problem = RowProblem<{}, {}, {}>;\n"
      "constexpr RowPlan kPlan = {{.op = RowOp::{}, .keep = {}, .joint = {}, .unroll = {}, "
      ".prefetch = {}}};\n",
      element_text(p.in), element_text(p.out), sizes_text(program, p), row_operation(p), keep,
      program.word("passes") == "joint", program.word("unroll"), program.word("prefetch_bytes"));
  body.call = fmt::format("rows<{}, Problem, kPlan>", isa.type);
  // As row_space(), for each thread.
  if (keep) body.workspace = "threads*roundup(N,64)*4";
  return body;
}

Body transpose_body(const Program& program, const Problem& p) {
  Body body;
  body.header = "transpose.h";
  body.declarations = fmt::format(
      "constexpr TransposePlan kPlan = {{.block = {}, .tile_m = {}, .tile_n = {}, .prefetch = {}, "
      ".order = Order::{}, .split = Split::{}}};\n",
      program.word("block"), program.word("tile_m"), program.word("tile_n"),
      program.word("prefetch"), program.word("order") == "nm" ? "kNM" : "kMN",
      program.word("split") == "n" ? "kN" : "kM");
  body.call = fmt::format("transpose<{}, kPlan>", sizes_text(program, p));
  return body;
}

Body convolution_body(const Program& program, const Problem& p, const IsaText& isa) {
  Body body;
  const bool packs = program.word("packa") == "f32";
  const Convolution& v = p.conv;
  body.header = "conv2d.h";
  body.declarations = fmt::format(
      "constexpr ConvShape kShape = {{.images = {}, .height = {}, .width = {}, .channels = {}, "
      ".filter_height = {}, .filter_width = {}, .filters = {}, .stride = {}, .pad = {}}};\n"
      "constexpr ConvPlan kPlan = {{.mr = {}, .nr = {}, .packa = PackA::{}, .unroll = {}, "
      ".split = Split::{}}};\n",
      v.images, v.height, v.width, v.channels, v.filter_height, v.filter_width, p.n, v.stride,
      v.pad, program.word("mr"), program.word("nr"), packs ? "kF32" : "kNone",
      program.word("unroll"), program.word("split") == "n" ? "kN" : "kM");
  body.call = fmt::format("conv2d<{}, {}, {}, kShape, kPlan>", isa.type, element_text(p.in),
                          element_text(p.out));
  // As conv_space(), for each thread.
  if (packs) body.workspace = fmt::format("threads*{}*roundup(K,64)*4", program.word("mr"));
  return body;
}

}  // namespace

Source cpu_general_source(const Program& program, const Problem& problem) {
  const IsaText& isa = isa_text(program.word("isa"));
  const std::string_view family = program.family().name;
  const Body body = family == "cpu-rows"     ? rows_body(program, problem, isa)
                    : family == "cpu-conv2d" ? convolution_body(program, problem, isa)
                                             : transpose_body(program, problem);
  Source source;
  source.text = fmt::format(
      "// {}\n"
      "// for {}\n"
      "#include \"generate/cpu/device/{}\"\n"
      "#include \"generate/cpu/device/{}\"\n"
      "\n"
      "namespace {{\n"
      "using namespace tw::cpu;\n"
      "{}"
      "}}  // namespace\n"
      "\n"
      "extern \"C\" __attribute__((visibility(\"default\")))\n"
      "void tw_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {{\n"
      "  {}(*args, *team);\n"
      "}}\n",
      program.text(), to_text(problem), isa.header, body.header, body.declarations, body.call);
  source.flags = flags_of(isa);
  // A square root is one instruction then, and no call.
  source.flags.emplace_back("-fno-math-errno");
  source.launch.threads = static_cast<int>(program.number("threads"));
  source.launch.workspace = body.workspace;
  // A convolution's sizes are always constants.
  if (program.find_word("sizes") != "runtime") {
    source.launch.m = problem.m;
    source.launch.n = problem.n;
    source.launch.k = problem.k;
  }
  return source;
}

}  // namespace tilewright
