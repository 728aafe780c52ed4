// SPDX-License-Identifier: Apache-2.0
// See device_guards.h; the pattern is guard_byte() of both/bit_patterns.h.
#include "verify/cuda/device_guards.h"

#include "execute/arena_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

constexpr LayoutRules kRules = {.alignment = 256, .guard_bytes = kDeviceGuardBytes, .page = 256};

std::string bytes_text(std::int64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

void add_bands(const Piece& piece, std::int64_t start, std::vector<GuardPlace>* places) {
  const std::int64_t end = start + piece.bytes();
  const std::int64_t guard = piece.guard_bytes(kRules);
  places->push_back({piece.name, GuardPlace::kAfter, {end, end + guard}, 0, 0, 0, 0});
  places->push_back({piece.name, GuardPlace::kBefore, {start - guard, start}, 0, 0, 0, 0});
}

}  // namespace

std::vector<GuardPlace> guard_places(const Problem& problem, const ArenaLayout& layout, int set,
                                     std::int64_t workspace) {
  std::vector<GuardPlace> places;
  if (set < 0) {
    add_bands(workspace_piece(layout, workspace), layout.workspace, &places);
    return places;
  }
  const auto pieces = matrices(problem, layout);
  const std::int64_t base = set * layout.set_stride;
  for (const Piece& piece : pieces) add_bands(piece, base + piece.offset, &places);
  for (const Piece& piece : pieces) {
    const std::int64_t start = base + piece.offset;
    if (piece.bytes() == 0 || piece.stride_bytes == piece.row_bytes) continue;
    places.push_back({piece.name,
                      GuardPlace::kGaps,
                      {start, start + piece.bytes()},
                      piece.row_bytes,
                      piece.stride_bytes,
                      piece.batch * piece.rows,
                      piece.rows});
  }
  return places;
}

std::optional<std::string> broken_text(const GuardPlace& place, const Broken& broken) {
  if (broken.count == 0) return std::nullopt;
  const auto first = static_cast<std::int64_t>(broken.first);
  const auto last = static_cast<std::int64_t>(broken.last);
  const std::string all =
      broken.count > 1
          ? fmt::format(" ({} in all)", bytes_text(static_cast<std::int64_t>(broken.count)))
          : std::string();
  switch (place.kind) {
    case GuardPlace::kAfter:
      return fmt::format("{}, {} past the end{}", place.name,
                         bytes_text(first - place.stretch.begin + 1), all);
    case GuardPlace::kBefore:
      return fmt::format("{}, {} before the start{}", place.name,
                         bytes_text(place.stretch.end - last), all);
    case GuardPlace::kGaps:
      break;
  }
  const std::int64_t row = (first - place.stretch.begin) / place.stride_bytes;
  const std::int64_t into =
      (first - place.stretch.begin) % place.stride_bytes - place.row_bytes + 1;
  const std::string batch = place.rows > place.batch_rows
                                ? fmt::format("batch {}, ", row / place.batch_rows)
                                : std::string();
  return fmt::format("{}, {}row {}, {} into the row gap{}", place.name, batch,
                     row % place.batch_rows, bytes_text(into), all);
}

void DeviceGuards::prepare(KernelBench& bench) {
  if (workspace_ == arena_.workspace_in_use()) return;
  workspace_ = arena_.workspace_in_use();
  blocks_.clear();
  for (int set = -1; set < arena_.layout().sets; ++set) {
    Block block;
    block.places = guard_places(arena_.problem(), arena_.layout(), set, workspace_);
    std::vector<Stretch> stretches;
    for (const GuardPlace& place : block.places) {
      if (place.kind != GuardPlace::kGaps) stretches.push_back(place.stretch);
    }
    block.count = static_cast<std::int64_t>(stretches.size());
    block.stretches = bench.upload(stretches);
    blocks_.push_back(std::move(block));
  }
}

void DeviceGuards::launch(KernelBench& bench, const Block& block, Broken* broken) const {
  auto* const base = device_pointer<unsigned char>(arena_.base());
  bench.run(
      Kernel::guard_stretches, 8 * block.count,
      GuardArguments{base, device_pointer<const Stretch>(block.stretches), block.count, broken});
  for (std::size_t i = static_cast<std::size_t>(block.count); i < block.places.size(); ++i) {
    const GuardPlace& place = block.places[i];
    const GapArguments gaps{base,
                            place.stretch.begin,
                            place.row_bytes,
                            place.stride_bytes,
                            place.rows,
                            broken == nullptr ? nullptr : broken + i};
    const std::int64_t bytes = (place.rows - 1) * (place.stride_bytes - place.row_bytes);
    bench.run(Kernel::guard_gaps, bench.blocks_for(bytes), gaps);
  }
}

void DeviceGuards::paint(KernelBench& bench) {
  prepare(bench);
  for (const Block& block : blocks_) launch(bench, block, nullptr);
}

std::optional<DeviceGuards::Breach> DeviceGuards::broken(KernelBench& bench,
                                                         const std::vector<int>& sets) {
  prepare(bench);
  std::vector<int> chosen = {-1};
  chosen.insert(chosen.end(), sets.begin(), sets.end());
  std::vector<Broken> none;
  for (const int set : chosen) {
    none.resize(none.size() + blocks_[static_cast<std::size_t>(set + 1)].places.size());
  }
  const cuda::Pointer results = bench.results(none.size() * sizeof(Broken));
  bench.upload_to(results, none);
  auto* next = device_pointer<Broken>(results);
  for (const int set : chosen) {
    const Block& block = blocks_[static_cast<std::size_t>(set + 1)];
    launch(bench, block, next);
    next += block.places.size();
  }
  const std::vector<Broken> found = bench.download<Broken>(results, none.size());
  std::size_t at = 0;
  for (const int set : chosen) {
    for (const GuardPlace& place : blocks_[static_cast<std::size_t>(set + 1)].places) {
      if (auto text = broken_text(place, found[at++])) return Breach{set, *std::move(text)};
    }
  }
  return std::nullopt;
}

}  // namespace tilewright
