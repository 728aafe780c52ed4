// SPDX-License-Identifier: Apache-2.0
// See elf.h. Structures are copied out of the bytes with memcpy: a forged offset need not be
// aligned. Sources: the System V gABI, chapters 4 and 5, and elf.h of the C library.
#include "compile/elf.h"

#include <fmt/format.h>

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tilewright {
namespace {

// A linked kernel has about 10 segments and 20 sections; the bounds keep forged files cheap.
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostSections = 4096;
constexpr std::size_t kMostDynamic = 1024;
constexpr std::size_t kLongestName = 4096;
constexpr std::array<std::uint16_t, 2> kMachines = {EM_X86_64, EM_AARCH64};

tl::unexpected<Error> refused(std::string message) {
  return fail(ErrorCode::refused, "not a usable object: " + std::move(message));
}

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class T>
std::optional<T> read_as(std::string_view bytes, std::uint64_t offset) {
  const auto part = slice(bytes, offset, sizeof(T));
  if (!part) return std::nullopt;
  T value;
  std::memcpy(&value, part->data(), sizeof(T));
  return value;
}

// The string at `offset` of a string table, or nothing if it does not end there. Names have a
// bound: without one, many symbols that name one long string would cost their product.
std::optional<std::string_view> string_at(std::string_view table, std::uint64_t offset) {
  if (offset > table.size()) return std::nullopt;
  const auto rest = table.substr(static_cast<std::size_t>(offset), kLongestName);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
}

ElfSymbol symbol_from(const Elf64_Sym& raw, std::string_view name) {
  return {name,
          static_cast<unsigned char>(ELF64_ST_TYPE(raw.st_info)),
          static_cast<unsigned char>(ELF64_ST_BIND(raw.st_info)),
          raw.st_shndx,
          raw.st_value,
          raw.st_size};
}

Result<Elf64_Ehdr> header_of(std::string_view bytes) {
  const auto header = read_as<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return refused("no ELF header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return refused("not 64-bit little-endian");
  }
  return *header;
}

}  // namespace

Result<ElfFile> ElfFile::parse_cubin(std::string_view bytes) {
  const auto header = header_of(bytes);
  if (!header) return tl::unexpected(header.error());
  if (header->e_type != ET_EXEC || header->e_machine != EM_CUDA) {
    return refused(
        fmt::format("type {} for machine {}, not a cubin", header->e_type, header->e_machine));
  }
  ElfFile file(bytes);
  file.machine_ = header->e_machine;
  if (auto status = file.read_sections(); !status) return tl::unexpected(status.error());
  return file;
}

Result<ElfFile> ElfFile::parse(std::string_view bytes) {
  const auto header = header_of(bytes);
  if (!header) return tl::unexpected(header.error());
  if (header->e_type != ET_DYN) return refused(fmt::format("type {}", header->e_type));
  if (std::find(kMachines.begin(), kMachines.end(), header->e_machine) == kMachines.end()) {
    return refused(fmt::format("machine {}", header->e_machine));
  }
  ElfFile file(bytes);
  file.machine_ = header->e_machine;
  if (auto status = file.read_segments(); !status) return tl::unexpected(status.error());
  if (auto status = file.read_sections(); !status) return tl::unexpected(status.error());
  if (auto status = file.read_dynamic(); !status) return tl::unexpected(status.error());
  return file;
}

Status ElfFile::read_segments() {
  const auto header = *read_as<Elf64_Ehdr>(bytes_, 0);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMostSegments) {
    return refused(
        fmt::format("{} program headers of {} bytes", header.e_phnum, header.e_phentsize));
  }
  std::uint64_t loaded_to = 0;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    // The multiplication cannot overflow, and slice() checks a sum that has wrapped around.
    const std::uint64_t offset = header.e_phoff + i * sizeof(Elf64_Phdr);
    const auto raw = read_as<Elf64_Phdr>(bytes_, offset);
    if (!raw) return refused("program headers beyond its end");
    const ElfSegment segment{raw->p_type,  raw->p_flags,  raw->p_offset,
                             raw->p_vaddr, raw->p_filesz, raw->p_memsz};
    if (segment.type == PT_LOAD) {
      // Ascending and disjoint, as the gABI demands: then an address means one thing only.
      const std::uint64_t end = segment.address + segment.memory_size;
      if (end < segment.address || segment.address < loaded_to ||
          segment.file_size > segment.memory_size ||
          !slice(bytes_, segment.offset, segment.file_size)) {
        return refused("a loaded segment that is out of order or beyond its end");
      }
      loaded_to = end;
    }
    segments_.push_back(segment);
  }
  return {};
}

Status ElfFile::read_sections() {
  const auto header = *read_as<Elf64_Ehdr>(bytes_, 0);
  if (header.e_shnum == 0) return {};  // stripped of them: still loadable
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMostSections ||
      header.e_shstrndx >= header.e_shnum) {
    return refused(
        fmt::format("{} section headers of {} bytes", header.e_shnum, header.e_shentsize));
  }
  const auto raw_at = [&](std::uint64_t i) {
    return read_as<Elf64_Shdr>(bytes_, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names_header = raw_at(header.e_shstrndx);
  const auto names =
      names_header ? slice(bytes_, names_header->sh_offset, names_header->sh_size) : std::nullopt;
  if (!names) return refused("no section names");
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto raw = raw_at(i);
    if (!raw) return refused("section headers beyond its end");
    if (raw->sh_type != SHT_NOBITS && !slice(bytes_, raw->sh_offset, raw->sh_size)) {
      return refused("a section beyond its end");
    }
    sections_.push_back({string_at(*names, raw->sh_name).value_or("?"), raw->sh_type, raw->sh_link,
                         raw->sh_flags, raw->sh_addr, raw->sh_offset, raw->sh_size});
  }
  return {};
}

Status ElfFile::read_dynamic() {
  for (const auto& segment : segments_) {
    if (segment.type != PT_DYNAMIC) continue;
    if (!dynamic_.empty()) return refused("two dynamic segments");
    // The loader takes the table from memory and reads to DT_NULL, whatever the stated size.
    for (std::uint64_t i = 0;; ++i) {
      const auto bytes = at(segment.address + i * sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
      // Nor does the linker write beyond the size, which is where relocations are looked for.
      if (!bytes || i >= kMostDynamic || (i + 1) * sizeof(Elf64_Dyn) > segment.memory_size)
        return refused("a dynamic table without an end");
      const auto entry = *read_as<Elf64_Dyn>(*bytes, 0);
      if (entry.d_tag == DT_NULL) break;
      // Of two tables with one tag the loader takes the last. No linker writes two, so whoever
      // does wants one of them to be overlooked.
      if (entry.d_tag != DT_NEEDED && dynamic(entry.d_tag)) {
        return refused(fmt::format("dynamic tag {} twice", entry.d_tag));
      }
      dynamic_.push_back({entry.d_tag, entry.d_un.d_val});
    }
  }
  if (dynamic_.empty()) return refused("no dynamic table");
  return {};
}

std::optional<std::uint64_t> ElfFile::dynamic(std::int64_t tag) const {
  for (const auto& entry : dynamic_) {
    if (entry.tag == tag) return entry.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> ElfFile::at(std::uint64_t address, std::uint64_t size) const {
  for (const auto& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const std::uint64_t skip = address - segment.address;
    if (skip > segment.file_size || size > segment.file_size - skip) continue;
    return slice(bytes_, segment.offset + skip, size);
  }
  return std::nullopt;
}

std::vector<ElfSymbol> ElfFile::symbols(std::uint32_t type) const {
  std::vector<ElfSymbol> result;
  for (const auto& section : sections_) {
    if (section.type != type || section.link >= sections_.size()) continue;
    const ElfSection& strings = sections_[section.link];
    if (strings.type == SHT_NOBITS) continue;
    const auto names = slice(bytes_, strings.offset, strings.size);
    for (std::uint64_t at = 0; names && at + sizeof(Elf64_Sym) <= section.size;
         at += sizeof(Elf64_Sym)) {
      const auto raw = read_as<Elf64_Sym>(bytes_, section.offset + at);
      if (raw) result.push_back(symbol_from(*raw, string_at(*names, raw->st_name).value_or("?")));
    }
    break;
  }
  return result;
}

std::optional<ElfSymbol> ElfFile::loaded_symbol(std::uint64_t index) const {
  const auto symbols = dynamic(DT_SYMTAB), strings = dynamic(DT_STRTAB), size = dynamic(DT_STRSZ);
  if (!symbols || !strings || !size || index > bytes_.size()) return std::nullopt;
  const auto bytes = at(*symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
  const auto names = at(*strings, *size);
  if (!bytes || !names) return std::nullopt;
  const auto raw = *read_as<Elf64_Sym>(*bytes, 0);
  const auto name = string_at(*names, raw.st_name);
  return name ? std::optional(symbol_from(raw, *name)) : std::nullopt;
}

}  // namespace tilewright
