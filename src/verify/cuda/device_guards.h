// SPDX-License-Identifier: Apache-2.0
// Guard bands and row gaps of a DeviceArena: where they are, and what a broken one is called.
#pragma once

#include "execute/cuda/device_arena.h"
#include "verify/cuda/kernel_bench.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// A guarded stretch beside a piece of memory, or the gaps between its rows.
struct GuardPlace {
  const char* name = "";  // of the piece
  enum Kind { kAfter, kBefore, kGaps } kind = kAfter;
  Stretch stretch;                                                         // kGaps: the whole piece
  std::int64_t row_bytes = 0, stride_bytes = 0, rows = 0, batch_rows = 0;  // kGaps
};
// Those of one operand set (or, for set -1, of the workspace, of which `workspace` bytes are in
// use), the ones behind the data first.
[[nodiscard]] std::vector<GuardPlace> guard_places(const Problem& problem,
                                                   const ArenaLayout& layout, int set,
                                                   std::int64_t workspace);
// "C, 2 bytes past the end", or nothing if it is whole.
[[nodiscard]] std::optional<std::string> broken_text(const GuardPlace& place, const Broken& broken);

class DeviceGuards {
 public:
  explicit DeviceGuards(const DeviceArena& arena) : arena_(arena) {}
  // All of them.
  void paint(KernelBench& bench);
  // Checks those of the workspace and of some sets, and says what is broken first: of which set (-1
  // for the workspace).
  struct Breach {
    int set = -1;
    std::string text;
  };
  [[nodiscard]] std::optional<Breach> broken(KernelBench& bench, const std::vector<int>& sets);

 private:
  struct Block {  // of one set
    std::vector<GuardPlace> places;
    PooledMemory stretches;  // of the places that are not gaps, which come first
    std::int64_t count = 0;
  };
  void prepare(KernelBench& bench);
  void launch(KernelBench& bench, const Block& block, Broken* broken) const;

  const DeviceArena& arena_;
  std::int64_t workspace_ = -1;  // what the blocks were made for
  std::vector<Block> blocks_;    // the workspace's first, then set 0 ...
};

}  // namespace tilewright
