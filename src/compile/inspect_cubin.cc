// SPDX-License-Identifier: Apache-2.0
// See inspect_cubin.h.
#include "compile/inspect_cubin.h"

#include "base/text.h"
#include "compile/diagnostics.h"
#include "compile/elf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace tilewright {
namespace {

constexpr std::size_t kMostNames = 6;      // in one piece of evidence
constexpr std::size_t kMostWarnings = 16;  // a log may repeat one a hundred times
constexpr std::size_t kLongestWarning = 300;

// Memory that lives and dies with a CTA. ptxas names these sections; a source cannot.
constexpr std::string_view kShared = ".nv.shared.";
// What the assembler itself leaves to the driver: the size of the shared memory it reserves.
constexpr std::string_view kReserved = ".nv.reservedSmem";

std::string name_for_people(std::string_view name) {
  return plain(name.substr(0, 80));
}

std::vector<std::string> objects_in(const ElfFile& file, const ElfSection& section) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : file.symbols(SHT_SYMTAB)) {
    if (symbol.type == STT_OBJECT && symbol.section < file.sections().size() &&
        &file.sections()[symbol.section] == &section && names.size() < kMostNames) {
      names.push_back(name_for_people(symbol.name));
    }
  }
  return names;
}

// Named constants count as well: NVRTC makes each one at namespace scope or in a class an object,
// folded or not, and nothing in the file tells whether the code writes to it.
std::string writable_state(const ElfFile& file) {
  std::vector<std::string> found;
  for (const ElfSection& section : file.sections()) {
    const bool shared = section.type == SHT_NOBITS && section.name.starts_with(kShared);
    if ((section.flags & SHF_WRITE) == 0 || section.size == 0 || shared) continue;
    if (found.size() == kMostNames) break;
    const auto objects = objects_in(file, section);
    found.push_back(
        fmt::format("{} bytes in {}{}", section.size, name_for_people(section.name),
                    objects.empty() ? "" : fmt::format(" ({})", fmt::join(objects, ", "))));
  }
  if (found.empty()) return {};
  return fmt::format(
      "writable state: {}; constants are no state as enums, as constexpr inside a "
      "function or in __constant__ memory",
      fmt::join(found, ", "));
}

std::string imports(const ElfFile& file) {
  std::set<std::string> names;
  for (const auto& symbol : file.symbols(SHT_SYMTAB)) {
    if (symbol.section != SHN_UNDEF || symbol.name.empty() || symbol.name.starts_with(kReserved)) {
      continue;
    }
    if (names.size() < kMostNames) names.insert(name_for_people(symbol.name));
  }
  return names.empty() ? "" : fmt::format("uses what is not its own: {}", fmt::join(names, ", "));
}

struct Rule {
  std::string_view name;
  std::string (*evidence)(const ElfFile&);
};
constexpr std::array<Rule, 2> kRules = {{{"writable-state", writable_state}, {"imports", imports}}};

bool has_kernel(const ElfFile& file, std::string_view name) {
  const auto symbols = file.symbols(SHT_SYMTAB);
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return symbol.name == name && symbol.type == STT_FUNC && symbol.bind == STB_GLOBAL &&
           symbol.section != SHN_UNDEF && symbol.section < file.sections().size() &&
           file.sections()[symbol.section].name == fmt::format(".text.{}", name);
  });
}

// The number that stands before `words` in `line`: number_before("Used 40 registers", " regis").
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const auto end = line.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  const auto read = std::from_chars(line.data() + begin, line.data() + end, value);
  return read.ec == std::errc() && read.ptr == line.data() + end ? std::optional(value)
                                                                 : std::nullopt;
}

struct NumberRow {
  std::string_view words;
  int CubinFacts::* field;
};
constexpr std::array kNumbers = {
    NumberRow{" registers", &CubinFacts::registers},
    NumberRow{" bytes stack frame", &CubinFacts::stack_bytes},
    NumberRow{" bytes spill stores", &CubinFacts::spill_stores},
    NumberRow{" bytes spill loads", &CubinFacts::spill_loads},
    NumberRow{" bytes smem", &CubinFacts::static_shared},
};

// What a line must hold to be kept as a warning: the front end's, and the assembler's numbered
// advice, such as "(C7510) Potential Performance Loss: ...".
constexpr std::array<std::string_view, 3> kWarningWords = {"warning", "(C7",
                                                           "Potential Performance"};

}  // namespace

CubinFacts parse_ptxas_log(std::string_view log, std::string_view symbol) {
  CubinFacts facts;
  // Lines after "Compiling entry function 'x'" are about x, until the next one. A log that names no
  // function is about the only one.
  const std::string ours = fmt::format("'{}'", symbol);
  bool about_us = log.find("Compiling entry function") == std::string_view::npos;
  for (const std::string_view line : split(log, '\n')) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      about_us = line.find(ours) != std::string_view::npos;
      continue;
    }
    if (line.find("instructions are serialized") != std::string_view::npos) {
      facts.wgmma_serialized = true;
    }
    if (line.find("'setmaxnreg' ignored") != std::string_view::npos) {
      facts.setmaxnreg_ignored = true;
    }
    const bool warns = std::any_of(kWarningWords.begin(), kWarningWords.end(), [&](auto word) {
      return line.find(word) != std::string_view::npos;
    });
    if (warns && facts.warnings.size() < kMostWarnings) {
      facts.warnings.push_back(plain(trim(line).substr(0, kLongestWarning)));
    }
    if (!about_us || warns) continue;
    for (const NumberRow& row : kNumbers) {
      if (const auto value = number_before(line, row.words)) facts.*row.field = *value;
    }
  }
  return facts;
}

Inspection inspect_cubin(std::string_view cubin, std::string_view symbol, bool strict) {
  Inspection result;
  const auto file = ElfFile::parse_cubin(cubin);
  if (!file) {
    result.finding = {Outcome::compile_error, "object", file.error().message};
    return result;
  }
  for (const auto& section : file->sections()) {
    // A forged size cannot exceed the file, nor their number a few thousand.
    if (section.name.starts_with(".text.") && section.type == SHT_PROGBITS) {
      result.text_bytes += static_cast<std::int64_t>(section.size);
    }
  }
  for (const Rule& rule : kRules) {
    if (!strict) break;
    std::string evidence = rule.evidence(*file);
    if (evidence.empty()) continue;
    result.finding = {Outcome::cheat, std::string(rule.name), std::move(evidence)};
    return result;
  }
  if (!has_kernel(*file, symbol)) {
    result.finding = {Outcome::compile_error, "no-symbol",
                      fmt::format("the source defines no kernel `{}`, which its launch names: "
                                  "declare it extern \"C\" __global__",
                                  name_for_people(symbol))};
  }
  return result;
}

}  // namespace tilewright
