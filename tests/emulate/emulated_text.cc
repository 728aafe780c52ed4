// SPDX-License-Identifier: Apache-2.0
// The one instruction that generated text spells out, wgmma, taken apart: its shape, its types and
// flags, and its list of registers, which must be the sums in order.
#include "emulate/emulate.h"

#include <fmt/format.h>

#include <regex>

namespace tilewright {
namespace {

// Without blanks and line ends, quotes of neighbouring literals joined.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '"') out += c;
  }
  return out;
}

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::refused, fmt::format("the kernel's wgmma: {}", what));
}

}  // namespace

Result<std::string> emulated_text(const std::string& text) {
  const std::size_t begin = text.find("asm volatile(");
  if (begin == std::string::npos) return text;
  const std::size_t end = text.find(");\n", begin);
  if (end == std::string::npos || text.find("asm", end) != std::string::npos) {
    return refuse("not the only instruction");
  }
  const std::string given = squeezed(text.substr(begin, end - begin));
  static const std::regex shape(
      R"(wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.(f16|f32)\.(f16|bf16)\.(f16|bf16))");
  static const std::regex flags(R"(%(\d+),%(\d+),p,1,1,([01]),([01]);)");
  std::smatch form, operands;
  if (!std::regex_search(given, form, shape) || !std::regex_search(given, operands, flags) ||
      form[3] != form[4]) {
    return refuse("not of a form that is known");
  }
  const int columns = std::stoi(form[1]);
  const bool f16_sums = form[2] == "f16";
  const int per_piece = f16_sums ? 2 : 4, count = columns / 8 * per_piece;
  std::string registers, outputs;
  for (int i = 0; i < count; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "{" : ",", i);
    outputs += fmt::format("{}+{}(d[{}][{}])", i == 0 ? ":" : ",", f16_sums ? "r" : "f",
                           i / per_piece, i % per_piece);
  }
  const std::string wanted = fmt::format(
      "asmvolatile({{\\n.reg.predp;\\nsetp.ne.b32p,%{},0;\\n{}{}}},%{},%{},p,1,1,{},{};\\n}}{}"
      ":l(a),l(b),r(accumulate)",
      count + 2, std::string(form[0]), registers, count, count + 1, std::string(operands[3]),
      std::string(operands[4]), outputs);
  if (given != wanted) return refuse(fmt::format("it is\n{}\nwanted:\n{}", given, wanted));
  const auto word = [](bool value) { return value ? "true" : "false"; };
  return text.substr(0, begin) +
         fmt::format("emu::wgmma(d, a, b, accumulate != 0, {{{}, {}, {}, {}, {}}}", columns,
                     word(f16_sums), word(form[3] == "bf16"), word(operands[3] == "1"),
                     word(operands[4] == "1")) +
         text.substr(end);
}

}  // namespace tilewright
