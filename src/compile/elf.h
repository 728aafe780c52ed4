// SPDX-License-Identifier: Apache-2.0
// A small reader of 64-bit little-endian ELF files, over bytes that may be truncated or forged.
//
// It looks at a file as the dynamic loader does: segments decide, and addresses are mapped through
// them; section headers serve to explain. Every offset is checked before it is followed, and counts
// are bounded, so that no bytes can make it crash or run long. Read next: inspect.h.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tilewright {

struct ElfSegment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
};

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0, link = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0;
};

struct ElfSymbol {
  std::string_view name;
  unsigned char type = 0;     // STT_*
  unsigned char bind = 0;     // STB_*
  std::uint16_t section = 0;  // SHN_UNDEF (0): imported
  std::uint64_t address = 0, size = 0;
};

struct ElfDynamic {
  std::int64_t tag = 0;
  std::uint64_t value = 0;
};

class ElfFile {
 public:
  // A shared object for a machine that this program knows; keeps a view of `bytes`.
  // An Error of code `refused` says what is wrong with it.
  [[nodiscard]] static Result<ElfFile> parse(std::string_view bytes);
  // The same for an executable of a GPU, a cubin. It has no dynamic table, and its sections decide:
  // segments() is empty.
  [[nodiscard]] static Result<ElfFile> parse_cubin(std::string_view bytes);

  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  // The entries before the terminating DT_NULL, as the loader reads them.
  [[nodiscard]] const std::vector<ElfDynamic>& dynamic() const { return dynamic_; }
  [[nodiscard]] std::optional<std::uint64_t> dynamic(std::int64_t tag) const;

  // `size` bytes that the loader maps from the file at `address`, if all of them are there.
  [[nodiscard]] std::optional<std::string_view> at(std::uint64_t address, std::uint64_t size) const;
  // The symbols of the first section of `type` (SHT_DYNSYM, SHT_SYMTAB); none if there is none.
  [[nodiscard]] std::vector<ElfSymbol> symbols(std::uint32_t type) const;
  // Symbol number `index` of the table that the loader uses.
  [[nodiscard]] std::optional<ElfSymbol> loaded_symbol(std::uint64_t index) const;

 private:
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] Status read_segments();
  [[nodiscard]] Status read_sections();
  [[nodiscard]] Status read_dynamic();

  std::string_view bytes_;
  std::uint16_t machine_ = 0;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
  std::vector<ElfDynamic> dynamic_;
};

}  // namespace tilewright
