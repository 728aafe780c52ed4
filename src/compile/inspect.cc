// SPDX-License-Identifier: Apache-2.0
// See inspect.h. The rules stand in kRules; each returns the evidence, or nothing if there is none.
#include "compile/inspect.h"

#include "compile/elf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <elf.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace tilewright {
namespace {

// What GCC and clang may call by themselves even in freestanding code (GCC manual, "Standards").
constexpr std::array<std::string_view, 4> kAllowedImports = {"memcpy", "memmove", "memset",
                                                             "memcmp"};
constexpr std::size_t kMostNames = 6;  // in one piece of evidence
constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kRelr = 36;  // DT_RELR: newer than some elf.h; needs a newer loader, too

std::string list(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostNames);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Names come from the candidate: printable or not at all.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, 80));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

// The memory that stays read-only once the loader is done: whole pages only (_dl_protect_relro).
bool is_relro(const ElfFile& file, std::uint64_t begin, std::uint64_t end) {
  return std::any_of(file.segments().begin(), file.segments().end(), [&](const ElfSegment& s) {
    if (s.type != PT_GNU_RELRO || s.address + s.memory_size < s.address) return false;
    return begin >= s.address && end <= (s.address + s.memory_size) / kPage * kPage;
  });
}

// Sections in [begin, end) with the objects in them, for people: "8 bytes of .bss (count)".
std::string contents(const ElfFile& file, const ElfSegment& segment) {
  std::vector<std::string> parts;
  const auto symbols = file.symbols(SHT_SYMTAB);
  for (const auto& section : file.sections()) {
    const bool tls = (section.flags & SHF_TLS) != 0;
    if ((section.flags & SHF_WRITE) == 0 || section.size == 0 || tls != (segment.type == PT_TLS) ||
        section.address < segment.address ||
        section.address - segment.address > segment.memory_size ||
        (!tls && is_relro(file, section.address, section.address + section.size))) {
      continue;
    }
    if (parts.size() == kMostNames) break;
    std::vector<std::string> objects;
    for (const auto& symbol : symbols) {
      if ((symbol.type == STT_OBJECT || symbol.type == STT_TLS) &&
          symbol.section < file.sections().size() && &file.sections()[symbol.section] == &section) {
        objects.push_back(printable(symbol.name));
      }
    }
    parts.push_back(fmt::format("{} bytes in {}{}", section.size, printable(section.name),
                                objects.empty() ? "" : " (" + list(objects) + ")"));
  }
  return parts.empty() ? fmt::format("{} bytes", segment.memory_size)
                       : fmt::format("{}", fmt::join(parts, ", "));
}

std::string writable_state(const ElfFile& file) {
  std::vector<std::string> found;
  for (const auto& s : file.segments()) {
    if (s.type == PT_TLS) found.push_back("thread-local state: " + contents(file, s));
    if (s.type != PT_LOAD || (s.flags & PF_W) == 0) continue;
    if ((s.flags & PF_X) != 0) found.emplace_back("code that can be written");
    if (s.memory_size != 0 && !is_relro(file, s.address, s.address + s.memory_size)) {
      found.push_back("writable state: " + contents(file, s));
    }
  }
  return list(found);
}

// Code that the loader runs: initialisers and the resolvers of indirect functions. That an entry is
// there is enough, whatever its value: a relocation could fill it in.
std::string constructor(const ElfFile& file) {
  struct Hook {
    std::int64_t tag;
    std::string_view name;
  };
  constexpr std::array<Hook, 8> kHooks = {{{DT_INIT, "_init"},
                                           {DT_FINI, "_fini"},
                                           {DT_INIT_ARRAY, "initialisers"},
                                           {DT_INIT_ARRAYSZ, "initialisers"},
                                           {DT_FINI_ARRAY, "finalisers"},
                                           {DT_FINI_ARRAYSZ, "finalisers"},
                                           {DT_PREINIT_ARRAY, "early initialisers"},
                                           {DT_PREINIT_ARRAYSZ, "early initialisers"}}};
  std::set<std::string> found;
  for (const auto& hook : kHooks) {
    if (file.dynamic(hook.tag)) found.emplace(hook.name);
  }
  for (const auto& symbol : file.symbols(SHT_DYNSYM)) {
    if (symbol.type == STT_GNU_IFUNC) found.insert("indirect function " + printable(symbol.name));
  }
  return found.empty()
             ? ""
             : "runs code when it is loaded or unloaded: " + list({found.begin(), found.end()});
}

struct RelocationTable {
  std::int64_t address, size;
};
constexpr std::array<RelocationTable, 2> kRelocationTables = {
    {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}}};

// Whether the loader finds `address` in memory that relocations cannot have changed.
bool is_constant(const ElfFile& file, std::uint64_t address) {
  return std::any_of(file.segments().begin(), file.segments().end(), [&](const ElfSegment& s) {
    return s.type == PT_LOAD && (s.flags & PF_W) == 0 && address >= s.address &&
           address - s.address < s.memory_size;
  });
}

// Calls `visit(relocation)` for each relocation; false if there are others that we cannot see as
// the loader will: in another form, or in a table that earlier relocations may rewrite.
template <class Visit>
bool for_each_relocation(const ElfFile& file, const Visit& visit) {
  if (file.dynamic(DT_REL) || file.dynamic(kRelr) ||
      file.dynamic(DT_PLTREL).value_or(DT_RELA) != DT_RELA) {
    return false;
  }
  for (const auto& table : kRelocationTables) {
    const auto address = file.dynamic(table.address);
    if (!address) continue;
    const auto bytes = file.at(*address, file.dynamic(table.size).value_or(0));
    if (!bytes || !is_constant(file, *address)) return false;
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= bytes->size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      bytes->copy(reinterpret_cast<char*>(&relocation), sizeof relocation, at);
      visit(relocation);
    }
  }
  return true;
}

// What shows as a relocation only: resolvers that no symbol names, and additions to the dynamic
// table, such as an initialiser. The linker gathers input sections called .dynamic into that table,
// so a candidate can add entries whose values appear at load time.
std::string relocated_code(const ElfFile& file) {
  const std::uint64_t kind =
      file.machine() == EM_X86_64 ? std::uint64_t{R_X86_64_IRELATIVE} : R_AARCH64_IRELATIVE;
  int resolvers = 0, rewrites = 0;
  const bool whole = for_each_relocation(file, [&](const Elf64_Rela& relocation) {
    resolvers += ELF64_R_TYPE(relocation.r_info) == kind;
    rewrites +=
        std::any_of(file.segments().begin(), file.segments().end(), [&](const ElfSegment& segment) {
          // A relocation changes up to eight bytes; sums may wrap, differences do not mislead.
          return segment.type == PT_DYNAMIC &&
                 relocation.r_offset + 7 - segment.address < segment.memory_size + 7;
        });
  });
  if (!whole) return "has relocations that cannot be read";
  if (rewrites != 0) return fmt::format("{} relocations into the loader's own table", rewrites);
  return resolvers == 0 ? "" : fmt::format("{} resolvers run when it is loaded", resolvers);
}

std::string imports(const ElfFile& file) {
  std::set<std::string> names;
  const auto add = [&](const ElfSymbol& symbol) {
    if (symbol.section == SHN_UNDEF && !symbol.name.empty() &&
        std::find(kAllowedImports.begin(), kAllowedImports.end(), symbol.name) ==
            kAllowedImports.end()) {
      names.insert(printable(symbol.name));
    }
  };
  // What the loader looks up is what relocations name, so that is what counts.
  for_each_relocation(file, [&](const Elf64_Rela& relocation) {
    const std::uint64_t index = ELF64_R_SYM(relocation.r_info);
    if (index == 0) return;
    const auto symbol = file.loaded_symbol(index);
    if (symbol) {
      add(*symbol);
    } else {
      names.insert(fmt::format("symbol {}", index));
    }
  });
  for (const auto& symbol : file.symbols(SHT_DYNSYM)) add(symbol);

  constexpr std::array<std::int64_t, 5> kLibraries = {
      DT_NEEDED, DT_AUXILIARY, DT_FILTER, 0x6ffffefc /* DT_AUDIT */, 0x6ffffefb /* DT_DEPAUDIT */};
  for (const auto& entry : file.dynamic()) {
    if (std::find(kLibraries.begin(), kLibraries.end(), entry.tag) == kLibraries.end()) continue;
    const auto strings = file.dynamic(DT_STRTAB);
    std::string name;
    for (std::uint64_t i = 0; strings && i < 80; ++i) {
      const auto c = file.at(*strings + entry.value + i, 1);
      if (!c || c->front() == '\0') break;
      name += *c;
    }
    names.insert("the library " + printable(name));
  }
  return names.empty() ? "" : "uses what is not its own: " + list({names.begin(), names.end()});
}

struct Rule {
  std::string_view name;
  std::string (*evidence)(const ElfFile&);
};
// In the order of what explains most: a static object with a destructor breaks all three.
constexpr std::array<Rule, 4> kRules = {{{"writable-state", writable_state},
                                         {"constructor", constructor},
                                         {"constructor", relocated_code},
                                         {"imports", imports}}};

bool exports(const ElfFile& file, std::string_view name) {
  const auto symbols = file.symbols(SHT_DYNSYM);
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return symbol.name == name && symbol.section != SHN_UNDEF &&
           (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || symbol.type == STT_NOTYPE);
  });
}

}  // namespace

Inspection inspect(std::string_view object, std::string_view symbol, bool strict) {
  Inspection result;
  const auto file = ElfFile::parse(object);
  if (!file) {
    result.finding = {Outcome::compile_error, "object", file.error().message};
    return result;
  }
  for (const auto& section : file->sections()) {
    if (section.name == ".text" && section.type == SHT_PROGBITS)
      result.text_bytes += static_cast<std::int64_t>(section.size);
  }
  for (const Rule& rule : kRules) {
    if (!strict) break;
    std::string evidence = rule.evidence(*file);
    if (evidence.empty()) continue;
    result.finding = {Outcome::cheat, std::string(rule.name), std::move(evidence)};
    return result;
  }
  if (!exports(*file, symbol)) {
    result.finding = {Outcome::compile_error, "no-symbol",
                      fmt::format("the source defines no function `{}`, which its launch names: "
                                  "declare it extern \"C\"",
                                  printable(symbol))};
  }
  return result;
}

}  // namespace tilewright
