// SPDX-License-Identifier: Apache-2.0
// A cubin of a few sections, laid out by hand, for machines without a CUDA compiler.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace tilewright {

struct MadeCubin {
  struct Section {
    std::string name;
    std::uint32_t type = SHT_PROGBITS;
    std::uint64_t flags = 0;
    std::uint64_t size = 0;
  };
  struct Symbol {
    std::string name;
    unsigned char info = 0;
    std::uint16_t section = 0;
  };
  // Sections 1 to 3 are names, strings and symbols; these follow.
  std::vector<Section> sections = {
      {".text.tw_kernel", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 256},
      {".nv.shared.tw_kernel", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 4096},
      {".nv.constant0.tw_kernel", SHT_PROGBITS, SHF_ALLOC, 64},
  };
  std::vector<Symbol> symbols = {
      {"tw_kernel", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 4},
      {".nv.reservedSmem.offset0", ELF64_ST_INFO(STB_WEAK, STT_OBJECT), SHN_UNDEF},
  };
  std::uint16_t machine = EM_CUDA, type = ET_EXEC;

  [[nodiscard]] std::string bytes() const {
    std::string body(sizeof(Elf64_Ehdr), '\0'), names(1, '\0'), strings(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    const auto put = [&](const void* data, std::size_t size) {
      const std::size_t at = body.size();
      body.append(static_cast<const char*>(data), size);
      return at;
    };
    const auto add = [&](const std::string& name, std::uint32_t kind, std::uint64_t flags,
                         std::uint64_t offset, std::uint64_t size, std::uint32_t link) {
      Elf64_Shdr header{};
      header.sh_name = static_cast<Elf64_Word>(names.size());
      names += name + '\0';
      header.sh_type = kind;
      header.sh_flags = flags;
      header.sh_offset = offset;
      header.sh_size = size;
      header.sh_link = link;
      headers.push_back(header);
    };
    std::vector<Elf64_Sym> table(1);
    for (const Symbol& symbol : symbols) {
      Elf64_Sym raw{};
      raw.st_name = static_cast<Elf64_Word>(strings.size());
      strings += symbol.name + '\0';
      raw.st_info = symbol.info;
      raw.st_shndx = symbol.section;
      table.push_back(raw);
    }
    add(".shstrtab", SHT_STRTAB, 0, 0, 0, 0);  // filled in below, when its size is known
    add(".strtab", SHT_STRTAB, 0, put(strings.data(), strings.size()), strings.size(), 0);
    const std::size_t symbol_bytes = table.size() * sizeof(Elf64_Sym);
    add(".symtab", SHT_SYMTAB, 0, put(table.data(), symbol_bytes), symbol_bytes, 2);
    for (const Section& section : sections) {
      const std::string content(section.type == SHT_NOBITS ? 0 : section.size, '\x5a');
      add(section.name, section.type, section.flags, put(content.data(), content.size()),
          section.size, 0);
    }
    headers[1].sh_offset = put(names.data(), names.size());
    headers[1].sh_size = names.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = type;
    header.e_machine = machine;
    header.e_shoff = put(headers.data(), headers.size() * sizeof(Elf64_Shdr));
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers.size());
    header.e_shstrndx = 1;
    std::memcpy(body.data(), &header, sizeof header);
    return body;
  }
};

}  // namespace tilewright
