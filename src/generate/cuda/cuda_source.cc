// SPDX-License-Identifier: Apache-2.0
// What the texts of CUDA kernels have in common. See cuda_source.h.
#include "generate/cuda/cuda_source.h"

#include "base/text.h"

#include <fmt/format.h>

namespace tilewright {

std::vector<std::string> cuda_flags(const Device& device) {
  return {fmt::format("--gpu-architecture=sm_{}{}", device.cuda.capability,
                      device.has("sm90a") ? "a" : "")};
}

namespace cuda_text {

void Fields::number(std::string_view member, std::int64_t value) {
  fields_.push_back(fmt::format(".{} = {}", member, value));
}
void Fields::flag(std::string_view member, bool value) {
  fields_.push_back(fmt::format(".{} = {}", member, value));
}
void Fields::word(std::string_view member, std::string_view enumeration, std::string_view word) {
  fields_.push_back(fmt::format(".{} = tw::{}::{}", member, enumeration, word));
}
void Fields::nested(std::string_view member, const Fields& inner) {
  fields_.push_back(fmt::format(".{} = {{{}}}", member, inner.text()));
}
void Fields::type(std::string_view member, ElementType type) {
  word(member, "Type", name_of(type));
}

std::string Fields::text() const {
  std::string out;
  std::size_t width = 0;
  for (const std::string& field : fields_) {
    if (width == 0 || width + field.size() > 80) {
      out += "\n    ";
      width = 0;
    } else {
      out += ' ';
    }
    out += field + ",";
    width += field.size() + 2;
  }
  return out;
}

bool is_scaled(const Problem& problem) {
  return problem.alpha != AlphaClass::one || problem.beta != BetaClass::zero;
}

void add_sizes(Fields& fields, Source& source, const Program& program, const Problem& problem) {
  if (program.word("sizes") != "static") return;
  fields.number("static_m", problem.m);
  fields.number("static_n", problem.n);
  fields.number("static_k", problem.k);
  source.launch.m = problem.m;
  source.launch.n = problem.n;
  source.launch.k = problem.k;
}

std::string heading(const Program& program, const Problem& problem) {
  std::string out;
  const std::string text = program.text();
  std::string line = "//";
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() + word.size() + 1 > 98) {
      out += line + "\n";
      line = "//  ";
    }
    line += fmt::format(" {}", word);
  }
  out += line + "\n";
  if (program.word("sizes") == "static") return out + fmt::format("// {}\n", to_text(problem));
  // Of the problem, what every shape that this kernel serves has in common.
  return out +
         fmt::format("// {} gemm of any size, acc={}, layout {}{}{}\n", name_of(problem.in),
                     problem.acc == Accumulator::f32 ? "f32" : "f16", problem.layout(),
                     problem.out == problem.in ? "" : fmt::format(", out={}", name_of(problem.out)),
                     is_scaled(problem) ? ", alpha and beta" : "");
}

namespace {

// Whether tiles that fill no wave are cut along K (stream_k.cuh).
bool streams(const Program& program) {
  return program.find_word("grid") == "stream";
}

// Room for as many counters as any program of this device may have (rules split-ctas, spread-ctas:
// at most a tile for each multiprocessor with 16 warps of sums, or four times the tiles with one
// counter), and at least for this problem's: the same for most sizes and for all programs, so that
// they may share a workspace.
std::string head_bytes(const Program& program, const std::string& tiles, std::int64_t holders) {
  const std::string counters = streams(program) ? fmt::format("slots*{}", holders / 128)
                               : program.word("reduce") == "spread"
                                   ? fmt::format("{}*{}", tiles, holders / 32)
                                   : tiles;
  return fmt::format("roundup(max({},16*sms)*4,256)", counters);
}

// Slices of all tiles that grid=stream cuts, at most (tw::cuts_of): nearly two for each CTA, four
// of a tile. Fewer CTAs or tiles never ask for more, so what is handed out for a bound of the slots
// suffices.
std::string most_slices(const std::string& tiles) {
  return fmt::format("min(4*{},cdiv(15*slots,8))", tiles);
}

bool uses_workspace(const Program& program) {
  return program.word("reduce") == "workspace" || program.word("reduce") == "spread" ||
         streams(program);
}

}  // namespace

std::string head_argument(const Program& program, const std::string& tiles, std::int64_t holders) {
  return uses_workspace(program) ? "i32:" + head_bytes(program, tiles, holders) : "i32:0";
}

void add_workspace(Source& source, const Program& program, const std::string& tiles,
                   std::int64_t holders) {
  if (!uses_workspace(program)) return;
  const std::int64_t tile = program.number("tile_m") * program.number("tile_n");
  const std::string head = head_bytes(program, tiles, holders);
  source.launch.cuda.zeroed = head;
  const std::string partial =
      streams(program) ? fmt::format("{}*{}", most_slices(tiles), tile * 4)
                       : fmt::format("{}*{}", tiles, tile * program.number("split_k") * 4);
  source.launch.workspace = fmt::format("{}+{}", head, partial);
}

std::string_view served_parameters(Form form) {
  return form == Form::served ? ", const void* bias, int activation" : "";
}
std::string_view served_values(Form form) {
  return form == Form::served ? ", {bias, activation}" : "";
}
void add_served(Launch& launch, Form form) {
  if (form != Form::served) return;
  launch.cuda.arguments.insert(launch.cuda.arguments.end(), {"bias", "activation"});
}

}  // namespace cuda_text
}  // namespace tilewright
