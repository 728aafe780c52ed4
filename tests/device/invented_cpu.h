// SPDX-License-Identifier: Apache-2.0
// A processor made of registers that a test writes down.
#pragma once

#include "device/cpuid.h"

#include <map>
#include <utility>

namespace tilewright {

struct InventedCpu {
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> leaves;
  std::uint64_t xcr0 = 0xe7;  // x87, SSE, AVX, AVX-512
  bool amx_permitted = false;

  [[nodiscard]] CpuidSource source() const {
    return {[map = leaves](std::uint32_t leaf, std::uint32_t subleaf) {
              const auto found = map.find({leaf, subleaf});
              return found == map.end() ? CpuidRegisters{} : found->second;
            },
            xcr0, amx_permitted};
  }
};

constexpr std::uint32_t bit(int index) {
  return std::uint32_t{1} << index;
}

// Sapphire Rapids: family 6, model 143, stepping 8, with all that our table knows but amx_fp16.
inline InventedCpu sapphire_rapids() {
  InventedCpu cpu;
  cpu.leaves[{0, 0}] = {0x20, 0x756e6547, 0x6c65746e, 0x49656e69};  // GenuineIntel
  cpu.leaves[{1, 0}] = {0x000806f8, 0, bit(12) | bit(29), 0};
  cpu.leaves[{7, 0}] = {2, bit(5) | bit(16) | bit(17) | bit(30) | bit(31), 0,
                        bit(22) | bit(23) | bit(24)};
  cpu.leaves[{7, 1}] = {bit(5), 0, 0, 0};
  // Leaf 4: 12 ways x 64 sets x 64 bytes = 48 KiB data, 32 KiB instructions, 2 MiB, 105 MiB.
  const auto cache = [](std::uint32_t type, std::uint32_t level, std::uint32_t ways,
                        std::uint32_t sets) {
    return CpuidRegisters{type | (level << 5), ((ways - 1) << 22) | 63, sets - 1, 0};
  };
  cpu.leaves[{4, 0}] = cache(1, 1, 12, 64);
  cpu.leaves[{4, 1}] = cache(2, 1, 8, 64);
  cpu.leaves[{4, 2}] = cache(3, 2, 16, 2048);
  cpu.leaves[{4, 3}] = cache(3, 3, 15, 114688);
  return cpu;
}

}  // namespace tilewright
