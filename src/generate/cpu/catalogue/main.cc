// SPDX-License-Identifier: Apache-2.0
// Build-time program: the kernels of src/runtime/cpu/catalogue.txt as C++ files.
//
//   tilewright-cpu-catalogue <catalogue.txt> <folder> <isa>=<flag>,<flag>... ...
//
// writes kernel_<i>.cc for the i-th line and table.cc, the array behind cpu_kernels()
// (runtime/cpu/kernel.h). An instruction set that is not named is left out: the table then has no
// such rows and the files are empty. The flags are those that the build compiles its kernels with;
// they must be the ones that the generated text wants. cmake/TilewrightCpuKernels.cmake calls this.
#include "base/file.h"
#include "base/text.h"
#include "generate/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Row {
  Problem problem;  // types and layout; sizes that the program is legal for
  std::int64_t m_low = 0, m_high = kNoLimit;
  Program program;
};

// All that an x86-64 processor can have.
Device every_isa() {
  Device device;
  device.isa = {"avx2", "avx512bf16", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"};
  device.cores = 64;
  return device;
}

Status set_rows(Row& row, std::string_view range) {
  const std::size_t dots = range.find("..");
  const auto low = parse_integer(range.substr(0, dots));
  if (dots == std::string_view::npos || !low) {
    return fail(ErrorCode::refused, fmt::format("m={} is no <low>..<high>", range));
  }
  row.m_low = *low;
  const std::string_view high = range.substr(dots + 2);
  if (high.empty()) return {};
  const auto number = parse_integer(high);
  if (!number || *number < *low) {
    return fail(ErrorCode::refused, fmt::format("m={} is no <low>..<high>", range));
  }
  row.m_high = *number;
  return {};
}

// "f16 nn out=f32 m=1..16 | cpu ..."
Result<Row> parse_row(std::string_view line) {
  const std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) return fail(ErrorCode::refused, "no '|'");
  auto program = parse_program(line.substr(bar + 1));
  if (!program) return tl::unexpected(program.error());
  Row row{{}, 0, kNoLimit, *std::move(program)};
  std::string text = "5000x5000x5000";
  for (const std::string_view word : words(line.substr(0, bar))) {
    if (word.starts_with("m=")) {
      if (auto s = set_rows(row, word.substr(2)); !s) return tl::unexpected(s.error());
    } else {
      text.append(" ").append(word);
    }
  }
  const auto problem = parse_problem(text);
  if (!problem) return tl::unexpected(problem.error());
  row.problem = *problem;
  if (row.m_high != kNoLimit) row.problem.m = row.m_high;
  row.problem.alpha = AlphaClass::any;
  row.problem.beta = BetaClass::any;
  return row;
}

std::string symbol(std::size_t index) {
  return fmt::format("tw_cpu_kernel_{}", index);
}

// The generated text exports `tw_kernel`; here many kernels share one library, and none leaves it.
Result<std::string> renamed(std::string text, std::size_t index) {
  constexpr std::string_view kExported = "visibility(\"default\")", kName = "void tw_kernel(";
  const std::size_t exported = text.find(kExported);
  if (exported == std::string::npos) return fail(ErrorCode::internal, "no exported symbol");
  text.replace(exported, kExported.size(), "visibility(\"hidden\")");
  const std::size_t name = text.find(kName);
  if (name == std::string::npos) return fail(ErrorCode::internal, "no function tw_kernel");
  text.replace(name, kName.size(), fmt::format("void {}(", symbol(index)));
  return text;
}

std::string table_row(const Row& row, const Launch& launch, std::size_t index) {
  const Program& p = row.program;
  const auto type = [](ElementType t) { return fmt::format("ElementType::{}", name_of(t)); };
  return fmt::format(
      "    {{\"{}\",\n     CpuIsa::{}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n     \"{}\", {}}},\n",
      p.text(), p.word("isa"), type(row.problem.in), type(row.problem.out),
      row.problem.a_transposed, row.problem.b_transposed, row.m_low, row.m_high, p.word("mr"),
      p.word("nr"), p.word("split") == "k", launch.workspace, symbol(index));
}

Status write(const std::filesystem::path& path, std::string_view text) {
  // What is up to date keeps its time, so that nothing is compiled again.
  if (const auto old = read_file(path); old && *old == text) return {};
  return write_file_atomically(path, text);
}

using Flags = std::map<std::string, std::vector<std::string>, std::less<>>;

Status write_all(const std::filesystem::path& catalogue, const std::filesystem::path& folder,
                 const Flags& flags) {
  const auto text = read_file(catalogue);
  if (!text) return tl::unexpected(text.error());
  std::string declarations, table;
  std::size_t index = 0;
  int number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    if (trim(line).empty() || line.starts_with('#')) continue;
    const auto at_line = [&](const Error& error) {
      return fail(error.code, fmt::format("{}:{}: {}", catalogue.string(), number, error.message));
    };
    const auto row = parse_row(line);
    if (!row) return at_line(row.error());
    std::string kernel = "// An instruction set that this build leaves out.\n";
    if (const auto known = flags.find(row->program.word("isa")); known != flags.end()) {
      const auto source = generate(row->program, row->problem, every_isa());
      if (!source) return at_line(source.error());
      if (source->flags != known->second) {
        return at_line(
            {ErrorCode::internal,
             fmt::format("isa={} is generated for the flags {}, but compiled with {}", known->first,
                         fmt::join(source->flags, " "), fmt::join(known->second, " ")),
             ""});
      }
      auto named = renamed(source->text, index);
      if (!named) return at_line(named.error());
      kernel = *std::move(named);
      declarations += fmt::format(
          "extern \"C\" void {}(const tw_cpu_gemm_args*, const tw_cpu_team*);\n", symbol(index));
      table += table_row(*row, source->launch, index);
    }
    if (auto s = write(folder / fmt::format("kernel_{}.cc", index), kernel); !s) return s;
    ++index;
  }
  return write(folder / "table.cc",
               fmt::format("// Generated from src/runtime/cpu/catalogue.txt.\n"
                           "#include \"runtime/cpu/kernel.h\"\n\n{}\n"
                           "namespace tilewright::runtime::cpu {{\n"
                           "std::span<const CpuKernel> cpu_kernels() {{\n"
                           "  static constexpr CpuKernel kTable[] = {{\n{}  }};\n"
                           "  return kTable;\n"
                           "}}\n"
                           "}}  // namespace tilewright::runtime::cpu\n",
                           declarations, table));
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    std::fprintf(stderr, "usage: tilewright-cpu-catalogue CATALOGUE FOLDER [ISA=FLAG,...]...\n");
    return 2;
  }
  Flags flags;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    auto& list = flags[arguments[i].substr(0, equals)];
    for (const auto flag : split(std::string_view(arguments[i]).substr(equals + 1), ',')) {
      list.emplace_back(flag);
    }
  }
  const Status status = write_all(arguments[0], arguments[1], flags);
  if (status) return 0;
  std::fprintf(stderr, "tilewright-cpu-catalogue: %s\n", status.error().message.c_str());
  return static_cast<int>(status.error().code);
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  return tilewright::run(std::vector<std::string>(argv + 1, argv + argc));
}
