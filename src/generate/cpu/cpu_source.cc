// SPDX-License-Identifier: Apache-2.0
// Text of a CPU kernel. Every number in it is a decision of the program or a fact of the problem;
// what the plan's fields mean stands in the header of its form.
#include "generate/cpu/cpu_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

const std::array<IsaText, 4>& isa_texts() {
  // avx512bf16 is declared by the same header as avx512.
  static const std::array<IsaText, 4> table = {{
      {"scalar", "isa_scalar.h", "Scalar", {}},
      {"avx2", "isa_avx2.h", "Avx2", {"-mavx2", "-mfma", "-mf16c"}},
      {"avx512",
       "isa_avx512.h",
       "Avx512",
       {"-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"}},
      {"avx512bf16",
       "isa_avx512.h",
       "Avx512Bf16",
       {"-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl",
        "-mavx512bf16"}},
  }};
  return table;
}

// What every kernel is compiled with. -O2: its loops are unrolled by hand, and -O3 costs a third
// more compile time. A kernel calls nothing, so no memcpy or memset that a compiler finds in a
// loop.
constexpr std::array<std::string_view, 3> kCommonFlags = {"-O2", "-fno-asynchronous-unwind-tables",
                                                          "-fno-tree-loop-distribute-patterns"};

// How a decision is written in the plan of its form: `.kc = 256` or `.split = Split::kN`.
struct Field {
  std::string_view key, member, enumeration;  // no enumeration: a number
};
constexpr std::array<Field, 12> kFields = {{{"mr", "mr", ""},
                                            {"nr", "nr", ""},
                                            {"kc", "kc", ""},
                                            {"mc", "mc", ""},
                                            {"nc", "nc", ""},
                                            {"packa", "packa", "PackA"},
                                            {"packb", "packb", "PackB"},
                                            {"unroll", "unroll", ""},
                                            {"prefetch", "prefetch", ""},
                                            {"prefetch_bytes", "prefetch", ""},
                                            {"order", "order", "Order"},
                                            {"split", "split", "Split"}}};

struct EnumText {
  std::string_view enumeration, word, constant;
};
constexpr std::array<EnumText, 12> kEnums = {{{"PackA", "none", "kNone"},
                                              {"PackA", "f32", "kF32"},
                                              {"PackB", "f32", "kF32"},
                                              {"PackB", "half", "kHalf"},
                                              {"PackB", "pair", "kPair"},
                                              {"Order", "nm", "kNM"},
                                              {"Order", "mn", "kMN"},
                                              {"Split", "batch", "kBatch"},
                                              {"Split", "m", "kM"},
                                              {"Split", "n", "kN"},
                                              {"Split", "mn", "kMN"},
                                              {"Split", "k", "kK"}}};

std::string plan_fields(const Program& program) {
  std::vector<std::string> fields;
  for (const Field& field : kFields) {
    const std::string_view word = program.word(field.key);
    if (word.empty()) continue;
    if (field.enumeration.empty()) {
      fields.push_back(fmt::format(".{} = {}", field.member, word));
      continue;
    }
    const auto* const text = std::ranges::find_if(kEnums, [&](const EnumText& e) {
      return e.enumeration == field.enumeration && e.word == word;
    });
    fields.push_back(fmt::format(".{} = {}::{}", field.member, field.enumeration, text->constant));
  }
  return fmt::format("{}", fmt::join(fields, ", "));
}

std::string layout_constant(const Problem& p) {
  return fmt::format("Layout::k{}{}", p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N');
}

// Workspace bytes as an expression of the launch. It mirrors direct_space, dot_space and
// blocked_space of the device headers; tests/generate checks that they agree.
std::string workspace_expression(const Program& p) {
  const std::string_view form = p.word("form");
  const std::int64_t mr = p.number("mr"), nr = p.number("nr");
  const std::int64_t kc = p.number("kc"), mc = p.number("mc"), nc = p.number("nc");
  const std::string rows = fmt::format("roundup(M,{})", mr);
  const std::string columns = fmt::format("roundup(N,{})", nr);
  const std::string share =
      p.word("split") == "m" ? fmt::format("cdiv(cdiv(M,{}),threads)*{}", mr, mr) : rows;
  const std::string block_n = nc == 0 ? columns : fmt::format("min({},{})", nc, columns);
  // f32 tiles that wait for other threads (split k) or for the next block of k.
  std::string parts = "0";
  if (p.word("split") == "k") {
    parts = fmt::format("roundup({}*{}*4,64)", form == "blocked" ? rows : share, columns);
  } else if (kc != 0) {
    parts = fmt::format("roundup({}*{}*4,64)", share, block_n);
  }
  if (form == "blocked") {
    const std::string block_k = kc == 0 ? "K" : fmt::format("min({},K)", kc);
    const std::string block_m = mc == 0 ? rows : fmt::format("min({},{})", mc, rows);
    const int b_bytes = p.word("packb") == "f32" ? 4 : 2;
    return fmt::format("threads*({}*roundup({},64)*4+roundup({}*roundup({},2)*{},64)+{})", block_m,
                       block_k, block_n, block_k, b_bytes, parts);
  }
  const std::string packed =
      p.word("packa") == "f32" ? fmt::format("{}*roundup(K,64)*4", share) : "0";
  return fmt::format("threads*({}+{})", packed, parts);
}

}  // namespace

const IsaText& isa_text(std::string_view word) {
  return *std::ranges::find(isa_texts(), word, &IsaText::word);
}

std::vector<std::string> flags_of(const IsaText& isa) {
  std::vector<std::string> flags(kCommonFlags.begin(), kCommonFlags.end());
  flags.insert(flags.end(), isa.flags.begin(), isa.flags.end());
  return flags;
}

std::string_view element_text(ElementType type) {
  constexpr std::array<std::string_view, 3> kNames = {"F16", "Bf16", "float"};
  return kNames[static_cast<std::size_t>(type)];
}

Source cpu_source(const Program& program, const Problem& problem) {
  const IsaText& isa = isa_text(program.word("isa"));
  const std::string_view form = program.word("form");
  std::string plan_type(form);
  plan_type[0] = static_cast<char>(plan_type[0] - 'a' + 'A');
  const bool is_static = program.word("sizes") == "static";
  const std::string sizes =
      is_static ? fmt::format(", Sizes{{{}, {}, {}}}", problem.m, problem.n, problem.k) : "";

  Source source;
  source.text = fmt::format(
      "// {}\n"
      "// for {}\n"
      "#include \"generate/cpu/device/{}\"\n"
      "#include \"generate/cpu/device/{}.h\"\n"
      "\n"
      "namespace {{\n"
      "using namespace tw::cpu;\n"
      "using Problem = Gemm<{}, {}, {}{}>;\n"
      "constexpr {}Plan kPlan = {{{}}};\n"
      "}}  // namespace\n"
      "\n"
      "extern \"C\" __attribute__((visibility(\"default\")))\n"
      "void tw_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {{\n"
      "  {}<{}, Problem, kPlan>(*args, *team);\n"
      "}}\n",
      program.text(), to_text(problem), isa.header, form, element_text(problem.in),
      element_text(problem.out), layout_constant(problem), sizes, plan_type, plan_fields(program),
      form, isa.type);
  source.flags = flags_of(isa);
  source.launch.threads = static_cast<int>(program.number("threads"));
  source.launch.workspace = workspace_expression(program);
  if (is_static) {
    source.launch.m = problem.m;
    source.launch.n = problem.n;
    source.launch.k = problem.k;
  }
  return source;
}

std::vector<std::string> widest_flags(const Device& device) {
  const std::string_view word = device.has("avx512bf16") ? "avx512bf16"
                                : device.has("avx512f")  ? "avx512"
                                : device.has("avx2")     ? "avx2"
                                                         : "scalar";
  return flags_of(isa_text(word));
}

}  // namespace tilewright
