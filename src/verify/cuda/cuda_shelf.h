// SPDX-License-Identifier: Apache-2.0
// Data for the proofs of one problem on a device: how they are drawn there, and their references.
//
// A Feed here is a recipe, not a copy: kind, seed and what is changed. Its operands are drawn when
// they are placed, bit for bit what inputs.h draws on a host (both/drawing.h); that takes no longer
// than copying them would. Its reference stays on the device. Next: cuda_ground.h.
#pragma once

#include "verify/cuda/cuda_reference.h"
#include "verify/cuda/device_guards.h"
#include "verify/ground.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

// One element of A or B that is not as drawn.
struct FeedChange {
  bool in_a = true;
  std::int64_t at = 0;  // as packed
  unsigned bits = 0;
};
struct CudaFeed final : Feed {
  std::uint64_t number = 0;  // unlike every other feed's of its shelf
  std::uint64_t seed = 0;
  std::vector<FeedChange> changes;
  std::optional<Extent> extent;  // NaN outside
  bool unread = false;           // NaN everywhere
  std::shared_ptr<const DeviceReference> reference;
};

// What all proofs of one problem share: the kernels' bench, tables, fixed data with references, and
// scratch memory for the operands of the feed made last.
class CudaShelf {
 public:
  struct Limits {
    ReferenceLimits thorough = kThorough, brief = kBrief;
  };
  CudaShelf(const DeviceArena& arena, KernelBench& bench, std::uint64_t seed);
  CudaShelf(const DeviceArena& arena, KernelBench& bench, std::uint64_t seed, const Limits& limits);

  [[nodiscard]] const DeviceArena& arena() const { return arena_; }
  [[nodiscard]] const Problem& problem() const { return arena_.problem(); }
  [[nodiscard]] KernelBench& bench() { return bench_; }
  [[nodiscard]] DeviceGuards& guards() { return guards_; }
  [[nodiscard]] const ReferenceLimits& limits(Depth depth) const {
    return depth == Depth::brief ? limits_.brief : limits_.thorough;
  }

  [[nodiscard]] FeedPointer fixed(DataKind kind);
  [[nodiscard]] FeedPointer fresh(DataKind kind, std::uint64_t seed, Depth depth);
  [[nodiscard]] FeedPointer one_changed(const CudaFeed& feed, bool in_a, std::uint64_t seed);
  [[nodiscard]] const std::vector<RaggedFeed>& ragged();

  [[nodiscard]] FeedPointer unread(const CudaFeed& feed);

  // A and B of a feed, packed, until the next call.
  struct Operands {
    DeviceView a, b;
  };
  [[nodiscard]] Operands materialise(const CudaFeed& feed);
  // How an operand is drawn, with tables on the device; or C under a fill.
  [[nodiscard]] Drawing drawing(DataKind kind, Operand operand, std::uint64_t seed);
  [[nodiscard]] Drawing drawing(Fill fill, std::uint64_t seed);
  // The same with tables of the host's.
  [[nodiscard]] Drawing host_drawing(Fill fill, std::uint64_t seed);
  void draw(const DeviceView& to, const Drawing& drawing);

 private:
  struct Table {  // a recipe here and on the device
    std::shared_ptr<const Recipe> recipe;
    PooledMemory values, ordinals;
    std::uint64_t seed = 0;
  };
  Drawing on_device(const Table& table, std::uint64_t seed) const;
  const Table& table(DataKind kind, Operand operand, std::uint64_t seed);
  const Table& table(Fill fill);
  std::shared_ptr<CudaFeed> make(DataKind kind, std::uint64_t seed);
  void complete(CudaFeed* feed, std::uint64_t sample_seed, const ReferenceLimits& limits);

  const DeviceArena& arena_;
  KernelBench& bench_;
  DeviceGuards guards_;
  std::uint64_t seed_;
  Limits limits_;
  std::map<std::pair<DataKind, Operand>, Table> tables_;
  std::map<Fill, Table> fills_;
  std::map<DataKind, FeedPointer> fixed_;
  std::vector<RaggedFeed> ragged_;
  std::size_t kept_bytes_ = 0;  // of references on the device
  PooledMemory scratch_a_, scratch_b_;
  std::uint64_t feeds_ = 0, in_scratch_ = 0;  // numbers of feeds
};

}  // namespace tilewright
