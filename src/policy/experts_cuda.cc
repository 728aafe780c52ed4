// SPDX-License-Identifier: Apache-2.0
// What follows from the table of expert_rows_cuda.h, and the palette that the cost model ranks.
#include "policy/experts_cuda.h"

#include "base/text.h"
#include "policy/cost_model_cuda.h"
#include "policy/expert_rows_cuda.h"
#include "policy/lineup.h"
#include "policy/proposers.h"
#include "policy/walk.h"
#include "problem/regime.h"
#include "program/family_cuda.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

namespace tilewright {
namespace {

using cuda_family::tiles_of;

// The palette. Rings are as long as fits and K fills, up to kLongestRing.
constexpr std::array<std::string_view, 62> kTiles90 = {
    // For few rows, or B stored along N.
    "schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=64",
    "schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=128",
    "schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=64",
    "schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=128",
    "schedule=swapped consumers=1 tile_m=64 tile_n=64 tile_k=128",
    "schedule=swapped consumers=1 tile_m=128 tile_n=16 tile_k=64",
    "schedule=swapped consumers=1 tile_m=128 tile_n=16 tile_k=128",
    "schedule=swapped consumers=1 tile_m=128 tile_n=32 tile_k=128",
    "schedule=swapped consumers=2 tile_m=128 tile_n=64 tile_k=128",
    "schedule=swapped consumers=3 tile_m=192 tile_n=16 tile_k=128",
    "schedule=swapped consumers=2 tile_m=256 tile_n=16 tile_k=64",
    "schedule=swapped consumers=2 tile_m=256 tile_n=32 tile_k=64",
    "schedule=swapped consumers=2 tile_m=256 tile_n=64 tile_k=64",
    "schedule=swapped consumers=2 tile_m=128 tile_n=144 tile_k=64",
    "schedule=swapped consumers=2 tile_m=128 tile_n=160 tile_k=64",
    "schedule=swapped consumers=2 tile_m=128 tile_n=176 tile_k=64",
    "schedule=swapped consumers=2 tile_m=192 tile_n=128 tile_k=64",
    "schedule=swapped consumers=2 tile_m=128 tile_n=256 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=64",
    "schedule=single tile_m=64 tile_n=16 tile_k=128",
    "schedule=single tile_m=64 tile_n=32 tile_k=128",
    "schedule=single tile_m=64 tile_n=64 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=128",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=192 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=256 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=128",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=96 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=160 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=192 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=256 tile_n=192 tile_k=64",
    // For sizes that are no power of two: what divides them, or fills the last wave.
    "schedule=cooperative consumers=1 tile_m=64 tile_n=80 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=96 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=112 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=144 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=160 tile_k=64",
    "schedule=cooperative consumers=1 tile_m=64 tile_n=176 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=112 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=144 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=176 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=208 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=128 tile_n=224 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=256 tile_n=64 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=256 tile_n=96 tile_k=64",
    "schedule=cooperative consumers=2 tile_m=256 tile_n=112 tile_k=64",
    "schedule=cooperative consumers=3 tile_m=192 tile_n=192 tile_k=64",
    "schedule=pingpong tile_m=64 tile_n=128 tile_k=64",
    "schedule=pingpong tile_m=64 tile_n=256 tile_k=64",
    "schedule=pingpong tile_m=128 tile_n=128 tile_k=64",
    "schedule=pingpong tile_m=128 tile_n=144 tile_k=64",
    "schedule=pingpong tile_m=128 tile_n=160 tile_k=64",
    "schedule=pingpong tile_m=128 tile_n=176 tile_k=64",
    "schedule=pingpong tile_m=128 tile_n=192 tile_k=64",
    "schedule=pingpong tile_m=192 tile_n=128 tile_k=64",
};
// Where no tensor map describes A or B. The others copy such operands first.
constexpr std::array<std::string_view, 7> kTilesGather = {
    "schedule=gather consumers=1 tile_m=64 tile_n=32 tile_k=64",
    "schedule=gather consumers=1 tile_m=64 tile_n=64 tile_k=64",
    "schedule=gather consumers=1 tile_m=64 tile_n=128 tile_k=64",
    "schedule=gather consumers=2 tile_m=128 tile_n=64 tile_k=64",
    "schedule=gather consumers=2 tile_m=128 tile_n=128 tile_k=64",
    "schedule=gather consumers=2 tile_m=128 tile_n=256 tile_k=64",
    "schedule=gather consumers=3 tile_m=192 tile_n=128 tile_k=64",
};
constexpr std::array<std::string_view, 15> kTiles80 = {
    "form=direct tile_m=16 tile_n=8 warps_k=2 ahead=2",
    "form=direct tile_m=16 tile_n=8 warps_k=4 ahead=2",
    "form=direct tile_m=16 tile_n=16 warps_k=2 ahead=2",
    "form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2",
    "form=direct tile_m=16 tile_n=16 warps_k=8 ahead=2",
    "form=direct tile_m=16 tile_n=16 warps_k=16 ahead=2",
    "form=direct tile_m=32 tile_n=16 warps_k=8 ahead=2",
    "form=direct tile_m=32 tile_n=32 warps_k=4 ahead=2",
    "form=tile tile_m=16 tile_n=64 tile_k=64 warps_m=1 warps_n=4 warps_k=1 stages=2",
    "form=tile tile_m=16 tile_n=64 tile_k=64 warps_m=1 warps_n=2 warps_k=2 stages=4",
    "form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 stages=4",
    "form=tile tile_m=32 tile_n=64 tile_k=64 warps_m=1 warps_n=2 warps_k=2 stages=4",
    "form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
    "fragments=double",
    "form=tile tile_m=128 tile_n=64 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
    "fragments=double",
    "form=tile tile_m=128 tile_n=128 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4",
};
constexpr std::array<std::string_view, 11> kSplits = {
    "split_k=1",
    "split_k=2 reduce=cluster",
    "split_k=3 reduce=cluster",
    "split_k=4 reduce=cluster",
    "split_k=8 reduce=cluster",
    "split_k=4 reduce=workspace",
    "split_k=16 reduce=workspace",
    "split_k=3 reduce=spread",
    "split_k=4 reduce=spread",
    "split_k=8 reduce=spread",
    "split_k=16 reduce=spread",
};

// Later wishes replace earlier ones.
void wish(Wishes& wishes, std::string_view text) {
  for (const std::string_view word : words(text)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const auto next = std::pair(word.substr(0, equals), word.substr(equals + 1));
    std::erase_if(wishes, [&](const auto& w) { return w.first == next.first; });
    wishes.push_back(next);
  }
}

// The ring of a palette's program stops here: beyond, another kernel gains nothing.
constexpr std::string_view kLongestRing = "stages=12";

// What is wished of a decision, or nothing.
std::string_view wished(const Wishes& wishes, std::string_view key) {
  for (const auto& [k, value] : wishes) {
    if (k == key) return value;
  }
  return {};
}
std::int64_t wished_number(const Wishes& wishes, std::string_view key) {
  const std::string_view value = wished(wishes, key);
  return value.empty() ? 1 : std::atoll(std::string(value).c_str());
}

// The order of tiles. Where all are in flight at once, the one by which the CTAs of a GPC read
// least (for a short K of the plain ones, which were measured to start sooner). Else column by
// column where L2 keeps all of A meanwhile, or in groups, of 16 rows where it does not keep B
// either.
std::string_view order_of(const Wishes& tile, const Problem& given, const Device& device) {
  struct Order {
    std::string_view text;
    bool along_n;
    double group;
  };
  constexpr std::array<Order, 5> kOrders = {{{"raster=m group=1", false, 1},
                                             {"raster=n group=1", true, 1},
                                             {"raster=m group=4", false, 4},
                                             {"raster=m group=2", false, 2},
                                             {"raster=n group=2", true, 2}}};
  constexpr std::size_t kPlain = 2;
  constexpr std::int64_t kShortK = 2048;
  const Problem p = cuda_family::seen_by(wished(tile, "schedule"), given);
  const std::int64_t tile_m = wished_number(tile, "tile_m"), tile_n = wished_number(tile, "tile_n");
  const std::int64_t rows = tiles_of(p.m, tile_m), columns = tiles_of(p.n, tile_n);
  const std::int64_t processors = device.cuda.multiprocessors;
  if (rows * columns * p.batch <= 2 * processors) {
    const Order* best = nullptr;
    double least = 0;
    for (std::size_t i = 0; i < (p.k < kShortK ? kPlain : kOrders.size()); ++i) {
      const Order& o = kOrders[i];
      const double reads = reads_of_gpc({static_cast<double>(tile_m), static_cast<double>(tile_n),
                                         static_cast<double>(rows), static_cast<double>(columns),
                                         o.along_n, o.group});
      if (best == nullptr || reads < 0.95 * least) best = &o, least = reads;
    }
    return best->text;
  }
  const auto kept = [&](std::int64_t lines) { return lines * p.k * 2 < device.l2_bytes / 3; };
  if (rows == 1) return "raster=m group=1";
  if (rows < 8 || kept(p.m)) return "raster=n group=1";
  if (rows >= 32) return kept(p.n) ? "raster=m group=8" : "raster=m group=16";
  return "raster=m group=4";
}

// The epilogue that stores through shared memory, where the tile and the results allow it.
std::string_view staged_epilogue(const Problem& problem) {
  return alignment_of(problem).c == 8 ? "epilogue=tma" : "epilogue=shared";
}

// Whether a tile is worth cutting along K where it fills no wave: the large ones, which leave most.
bool streams(std::string_view tile) {
  Wishes wishes;
  wish(wishes, tile);
  return wished(wishes, "schedule") != "pingpong" &&
         wished_number(wishes, "tile_m") * wished_number(wishes, "tile_n") >= 128 * 160;
}

struct Palette {
  const Problem& problem;
  const Device& device;
  Seen seen;
  std::vector<Program> out;

  void add(const Walk& walk, std::string_view tile, std::string_view more) {
    Wishes wishes, fixed;
    wish(wishes, "in_flight=1 cluster=1x1 grid=persistent copies=together");
    wish(wishes, staged_epilogue(problem));
    wish(wishes, kLongestRing);
    wish(wishes, more);
    wish(wishes, tile);
    wish(fixed, tile);
    wish(fixed, order_of(fixed, problem, device));
    std::erase_if(fixed, [](const auto& w) { return w.first == "stages" || w.first == "ahead"; });
    for (const std::string_view split : kSplits) {
      Wishes exact = fixed;
      wish(exact, split);
      // A shorter ring beside a staged epilogue is better than a longer one without.
      wish(exact, staged_epilogue(problem));
      auto program = walk.nearest(wishes, exact);
      if (!program) {
        exact.pop_back();
        program = walk.nearest(wishes, exact);
      }
      if (!program) continue;
      Program best = sized(*program, problem, device);
      if (seen.add(best)) out.push_back(std::move(best));
    }
  }
};

// Widths that a row leaves to the problem, as wishes.
constexpr std::int64_t kStep = 16;
std::string_view width_wish(std::int64_t width) {
  constexpr std::array<std::string_view, 16> kWidths = {
      "tile_n=16",  "tile_n=32",  "tile_n=48",  "tile_n=64",  "tile_n=80",  "tile_n=96",
      "tile_n=112", "tile_n=128", "tile_n=144", "tile_n=160", "tile_n=176", "tile_n=192",
      "tile_n=208", "tile_n=224", "tile_n=240", "tile_n=256"};
  return kWidths[static_cast<std::size_t>(width / kStep - 1)];
}

// tile_n=fitted: the width that is expected to be the fastest, of those of which two sets of 128
// rows of accumulators fit. A last wave that is not full costs a third of what it idles, since the
// others meanwhile have more power and bandwidth; and a column of a narrow tile costs more, as more
// of A is read for it. Both measured, 11 shapes of 8 to 128 rows of tiles.
std::int64_t fitted_width(std::int64_t rows, std::int64_t n, std::int64_t processors) {
  constexpr std::int64_t kWidest = 192, kNarrowest = 128;
  constexpr double kNarrow = 14;
  const double even = static_cast<double>(rows * n) / static_cast<double>(processors);
  std::int64_t best = 0;
  double least = 0;
  for (std::int64_t width = kWidest; width >= kNarrowest; width -= kStep) {
    const double waves = static_cast<double>(tiles_of(rows * tiles_of(n, width), processors));
    const auto columns = static_cast<double>(width);
    const double cost = (2 * even + waves * columns) / 3 * (1 + kNarrow / columns);
    if (best == 0 || cost < least) best = width, least = cost;
  }
  return best;
}
// tile_n=wave: the narrowest with which all tiles are one wave, or 0.
std::int64_t width_of_wave(std::int64_t rows, std::int64_t n, std::int64_t processors) {
  constexpr std::int64_t kWidest = 256;
  for (std::int64_t width = kStep; width <= kWidest; width += kStep) {
    if (rows * tiles_of(n, width) <= processors) return width;
  }
  return 0;
}
// The wish in place of either, or nothing where there is none.
std::string_view width_for(const Wishes& wishes, const Problem& given, const Device& device) {
  const Problem p = cuda_family::seen_by(wished(wishes, "schedule"), given);
  const std::int64_t rows = tiles_of(p.m, wished_number(wishes, "tile_m")) * p.batch;
  const std::int64_t processors = device.cuda.multiprocessors;
  const std::int64_t width = wished(wishes, "tile_n") == "fitted"
                                 ? fitted_width(rows, p.n, processors)
                                 : width_of_wave(rows, p.n, processors);
  return width > 0 ? width_wish(width) : std::string_view{};
}

// A row's program; with its tile or, `loosely`, a near one.
std::optional<Program> expert_program(const CudaExpert& expert, const Problem& problem,
                                      const Device& device, bool loosely) {
  const std::string_view name = expert.wishes.substr(0, expert.wishes.find(' '));
  Wishes wishes, fixed;
  wish(wishes, "in_flight=1 cluster=1x1 epilogue=exchange copies=together");
  wish(wishes, expert.wishes);
  if (const auto width = wished(wishes, "tile_n"); width == "fitted" || width == "wave") {
    const std::string_view wish_of_it = width_for(wishes, problem, device);
    if (wish_of_it.empty()) return std::nullopt;
    wish(wishes, wish_of_it);
  }
  wish(wishes, order_of(wishes, problem, device));
  if (expert.wishes.find("epilogue=tma") != std::string_view::npos) {
    wish(wishes, staged_epilogue(problem));
  }
  for (const auto& w : wishes) {
    // A schedule that the shape does not allow has no near relative.
    if (w.first == "schedule" || w.first == "form" || w.first == "reduce" ||
        (!loosely && (w.first == "tile_m" || w.first == "tile_n" || w.first == "split_k" ||
                      w.first == "epilogue"))) {
      fixed.push_back(w);
    }
  }
  auto program = Walk(*find_family(name), problem, device).nearest(wishes, fixed);
  return program ? std::optional(sized(*program, problem, device)) : std::nullopt;
}

}  // namespace

std::vector<Program> cuda_experts(const Problem& problem, const Device& device) {
  std::vector<Program> out;
  Seen seen;
  const Regime wanted = regime_of(problem, device.cuda.multiprocessors);
  for (const bool loosely : {false, true}) {
    for (const CudaExpert& expert : cuda_expert_rows()) {
      if (expert.of != wanted) continue;
      const auto program = expert_program(expert, problem, device, loosely);
      if (program && seen.add(*program)) out.push_back(*program);
    }
    if (!out.empty()) break;
  }
  return out;
}

std::vector<Program> cuda_palette(const Problem& problem, const Device& device) {
  Palette palette{problem, device, {}, {}};
  const Walk sm90(sm90_family(), problem, device), sm80(sm80_family(), problem, device);
  for (const std::string_view tile : kTiles90) {
    palette.add(sm90, tile, "");
    // Two CTAs to a multiprocessor instead of a persistent one.
    if (tile.find("tile_m=128") != std::string_view::npos)
      palette.add(sm90, tile, "grid=tiles in_flight=0");
    // The larger box is the one to share.
    const bool tall = tile.find("tile_m=256") != std::string_view::npos;
    palette.add(sm90, tile, tall ? "cluster=1x2" : "cluster=2x1");
    if (streams(tile)) {
      palette.add(sm90, tile, tall ? "grid=stream in_flight=0" : "grid=stream");
    }
  }
  for (const std::string_view tile : kTilesGather) {
    palette.add(sm90, tile, "epilogue=shared");
    palette.add(sm90, tile, "grid=tiles epilogue=exchange");
  }
  for (const std::string_view tile : kTiles80) palette.add(sm80, tile, "epilogue=exchange");
  return palette.out;
}

}  // namespace tilewright
