// SPDX-License-Identifier: Apache-2.0
// The family `sm90`: kernels of tensor copies and wgmma on Hopper. The constraints are HOPPER facts
// of CUDA and PTX documentation; read next: generate/cuda/device/sm90_gemm.cuh.
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

using namespace cuda_family;
using Reason = std::optional<std::string>;

constexpr std::int64_t kSharedSlack = 2048;  // alignment, barriers, one flag
constexpr std::string_view kSwapped = "swapped";

std::vector<Decision> decisions() {
  return {
      {"schedule",
       {"single", "cooperative", "pingpong", "gather", "swapped"},
       {},
       "single: one warpgroup does all; cooperative: a producer, and warpgroups that share a tile; "
       "pingpong: a producer, and two warpgroups that take tiles by turns; gather: cooperative, "
       "and the producer's threads load operands that no tensor map can describe, which for the "
       "others are copied to aligned rows before; swapped: cooperative, for few rows, which fill "
       "no tile, and for B stored along N, which then is cut in whole boxes whatever M is: tiles "
       "are of C^T, so that tile_m counts columns of C and tile_n rows"},
      {"consumers",
       {"1", "2", "3"},
       {{"schedule", {"cooperative", "gather", "swapped"}}},
       "warpgroups that multiply"},
      {"tile_m", {"64", "128", "192", "256"}, {}, "rows of a CTA's tile"},
      {"tile_n",
       {"8", "16", "24", "32", "48", "64", "80", "96", "112", "128", "144", "160", "176", "192",
        "208", "224", "240", "256"},
       {},
       "columns of a CTA's tile: the width of one wgmma"},
      {"tile_k", {"64", "128"}, {}, "K of a stage"},
      {"stages", {"2", "3", "4", "5", "6", "7", "8", "10", "12", "16"}, {}, "stages of the ring"},
      split_k(),
      reduce(),
      {"cluster",
       {"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4"},
       {{"reduce", {"", "workspace", "spread"}},
        {"schedule", {"cooperative", "pingpong", "swapped"}}},
       "CTAs along M that share B, by CTAs along N that share A, with multicast"},
      {"grid",
       {"tiles", "persistent", "stream"},
       {{"split_k", {"1"}}, {"schedule", {"cooperative", "pingpong", "gather", "swapped"}}},
       "tiles: a CTA for each; persistent: as many CTAs as fit, which take tiles in turn; stream: "
       "and cut those that fill no wave along K"},
      {"in_flight", {"0", "1"}, {}, "groups of wgmma under way while the next stage is awaited"},
      {"epilogue",
       {"direct", "exchange", "shared", "tma", "deferred", "overlapped"},
       {},
       "direct: pairs as they lie in registers; exchange: lanes trade pairs for wide runs; tma: "
       "through shared memory by the copy engine; shared: the same by threads, for rows of C that "
       "no tensor map can describe; deferred: as tma, while the next tile is multiplied; "
       "overlapped: the same from a second set of accumulators"},
      raster_in_blocks(),
      group(),
      sizes(),
  };
}

std::int64_t consumers(const Choices& c) {
  if (c.is("schedule", "single")) return 1;
  return c.is("schedule", "pingpong") ? 2 : c.number("consumers");
}

// m64 blocks of a warpgroup.
std::int64_t blocks(const Choices& c) {
  return c.number("tile_m") / 64 / (c.is("schedule", "pingpong") ? 1 : consumers(c));
}

// Whether tiles are of C^T. The rules below see the problem as the kernel does, so their M is N.
bool is_swapped(const Choices& c) {
  return c.is("schedule", kSwapped);
}
bool shares_tiles(const Choices& c) {
  return c.is("schedule", "cooperative") || c.is("schedule", "gather") || is_swapped(c);
}
// Whether CTAs take tile after tile.
bool stays(const Choices& c) {
  return c.is("grid", "persistent") || c.is("grid", "stream");
}
bool is_staged(const Choices& c) {
  return c.is("epilogue", "shared") || stores_by_map(c.word("epilogue"));
}

std::int64_t cluster_m(const Choices& c) {
  return cluster_of(c.word("cluster")).m;
}
std::int64_t cluster_n(const Choices& c) {
  return cluster_of(c.word("cluster")).n;
}

// Accumulators of a thread that leave it registers to work with. A warpgroup of three has 160
// registers, of two 240, alone 255. An epilogue that stores pairs or reads C needs some for itself.
std::int64_t most_sums(const Choices& c, const Problem& p) {
  if (c.is("epilogue", "deferred")) return consumers(c) == 3 ? 64 : 128;   // half as many wait
  if (c.is("epilogue", "overlapped")) return consumers(c) == 3 ? 48 : 88;  // as many wait
  // reduce=spread has two ways to leave, and a counter to look at; what it loads is as much again.
  const bool spreads = c.is("reduce", "spread");
  if (consumers(c) == 3) return spreads ? 48 : 96;
  if (spreads) return 128;
  const bool lean =
      !c.is("epilogue", "direct") && p.alpha == AlphaClass::one && p.beta == BetaClass::zero;
  return lean || c.is("schedule", "single") ? 192 : 160;
}

std::vector<Rule> rules_of_tiles() {
  std::vector<Rule> rules = common_rules("sm90a", {Op::gemm});
  const auto add = [&rules](std::string_view name, std::vector<std::string_view> reads, auto rule) {
    rules.push_back({name, std::move(reads), rule});
  };
  add("tensor-map", {"schedule"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
    const CudaAlignment aligned = alignment_of(p);
    const bool described = aligned.a == 8 && aligned.b == 8;
    if (p.k == 0) return "K=0: a tensor map cannot be empty";
    if (c.is("schedule", "gather")) {
      if (!described) return std::nullopt;
      return "schedule=gather: tensor maps describe both operands, and the copy engine is faster";
    }
    return std::nullopt;
  });
  add("tile-rows", {"schedule", "consumers", "tile_m"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        const std::int64_t m = c.number("tile_m");
        if (c.is("schedule", "single") && m > 128) {
          return fmt::format("{}: one warpgroup has registers for 128 rows", said(c, "tile_m"));
        }
        if (shares_tiles(c) && m % (64 * consumers(c)) != 0) {
          return fmt::format("{} is no multiple of 64 for each of {} warpgroups", said(c, "tile_m"),
                             consumers(c));
        }
        if (c.is("schedule", "pingpong") && m > 192) {
          return fmt::format("{}: each warpgroup holds a whole tile", said(c, "tile_m"));
        }
        return oversized(c, "tile_m", p.m, 64);
      });
  add("sums", {"schedule", "consumers", "tile_m", "tile_n", "reduce", "epilogue"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        const std::int64_t sums = blocks(c) * c.number("tile_n") / 2;
        const std::int64_t most = most_sums(c, p);
        if (sums <= most) return std::nullopt;
        return fmt::format("{} sums for each thread, {} at most with {} {}", sums, most,
                           said(c, "schedule"), said(c, "epilogue"));
      });
  add("tile-columns", {"tile_n"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
    if (!p.b_transposed && c.number("tile_n") % 16 != 0) {
      return fmt::format("{}: B stored along N comes in boxes of 16, 32 or 64 columns",
                         said(c, "tile_n"));
    }
    return oversized(c, "tile_n", p.n, p.b_transposed && !is_swapped(c) ? 8 : 16);
  });
  add("stage-depth", {"tile_k"}, [](const Choices& c, const Problem& p, const Device&) {
    return oversized(c, "tile_k", p.k, 64);
  });
  add("stage-count", {"schedule", "tile_k", "stages", "split_k", "grid"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (stays(c)) return std::nullopt;  // the ring goes on to the next tile
        const std::int64_t tiles = tiles_of(tiles_of(p.k, c.number("tile_k")), c.number("split_k"));
        if (c.number("stages") <= std::max<std::int64_t>(tiles, 2)) return std::nullopt;
        return fmt::format("{} for {} tiles of K: the rest would stay empty", said(c, "stages"),
                           tiles);
      });
  add("pingpong-grid", {"schedule", "split_k", "grid"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("schedule", "pingpong")) return std::nullopt;
        if (c.number("split_k") > 1) return "pingpong takes whole tiles: split_k=1";
        if (c.is("grid", "tiles")) return "pingpong needs tiles to take by turns: grid=persistent";
        return std::nullopt;
      });
  add("cluster-parts", {"tile_m", "tile_n", "cluster"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        // Stored along K a box is cut by rows of the tile, in whole groups of 8; else by K.
        if (p.b_transposed && c.number("tile_n") % (8 * cluster_m(c)) != 0) {
          return fmt::format("{} cannot be cut into {} parts of whole groups of 8",
                             said(c, "tile_n"), cluster_m(c));
        }
        // More than half of a cluster has tiles.
        const std::int64_t m = tiles_of(p.m, c.number("tile_m"));
        const std::int64_t n = tiles_of(p.n, c.number("tile_n"));
        if (cluster_m(c) > 1 && m <= cluster_m(c) / 2) {
          return fmt::format("{}: {} along M", said(c, "cluster"),
                             m == 1 ? "one tile" : "few tiles");
        }
        if (cluster_n(c) > 1 && n <= cluster_n(c) / 2) {
          return fmt::format("{}: {} along N", said(c, "cluster"),
                             n == 1 ? "one tile" : "few tiles");
        }
        return std::nullopt;
      });
  add("persistent-tiles", {"tile_m", "tile_n", "grid"},
      [](const Choices& c, const Problem& p, const Device& d) -> Reason {
        if (!stays(c)) return std::nullopt;
        const std::int64_t tiles =
            tiles_of(p.m, c.number("tile_m")) * tiles_of(p.n, c.number("tile_n")) * p.batch;
        if (tiles > d.cuda.multiprocessors) return std::nullopt;
        return fmt::format("{} tiles for {} multiprocessors: none has a second one", tiles,
                           d.cuda.multiprocessors);
      });
  add("stream-schedule", {"schedule", "grid"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("grid", "stream") || c.is("schedule", "cooperative") || is_swapped(c)) {
          return std::nullopt;
        }
        return said(c, "schedule") + ": grid=stream is for schedule=cooperative and swapped";
      });
  add("stream-waves", {"tile_m", "tile_n", "tile_k", "cluster", "grid"},
      [](const Choices& c, const Problem& p, const Device& d) -> Reason {
        if (!c.is("grid", "stream")) return std::nullopt;
        const std::int64_t tiles = tiles_of(tiles_of(p.m, c.number("tile_m")), cluster_m(c)) *
                                   tiles_of(tiles_of(p.n, c.number("tile_n")), cluster_n(c)) *
                                   p.batch;
        const std::int64_t wave = d.cuda.multiprocessors / (cluster_m(c) * cluster_n(c));
        const std::int64_t steps = tiles_of(p.k, c.number("tile_k"));
        if (stream_cuts(tiles, wave, steps) > 1) return std::nullopt;
        return fmt::format(
            "grid=stream: of {} tiles {} fill no wave of {}, and are not cut for {} "
            "stages of K",
            tiles, wave > 0 ? tiles % wave : tiles, wave, steps);
      });
  add("staged-epilogue", {"tile_n", "split_k", "epilogue"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (!is_staged(c)) return std::nullopt;
        const std::string name = said(c, "epilogue");
        if (c.number("tile_n") % 16 != 0) {
          return fmt::format("{} stores 16, 32 or 64 columns at a time: {}", name,
                             said(c, "tile_n"));
        }
        if (c.number("split_k") > 1) return name + " stores whole tiles: split_k=1";
        if (p.out == ElementType::f32) return name + " stores 16-bit results";
        if (p.alpha != AlphaClass::one || p.beta != BetaClass::zero) {
          return name + " does not read C or scale";
        }
        if (!c.is("epilogue", "shared") && alignment_of(p).c < 8) {
          return fmt::format("a tensor map wants rows of C multiples of 16 bytes apart: ldc={}",
                             p.c_stride());
        }
        if (c.is("epilogue", "shared") && alignment_of(p).c == 8) {
          return "epilogue=shared: a tensor map describes C, and epilogue=tma is faster";
        }
        return std::nullopt;
      });
  add("deferred-tiles", {"schedule", "grid", "epilogue"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("epilogue", "deferred") && !c.is("epilogue", "overlapped")) return std::nullopt;
        if (!c.is("schedule", "cooperative") && !is_swapped(c)) {
          return fmt::format("{}: {} is for schedule=cooperative and swapped", said(c, "schedule"),
                             said(c, "epilogue"));
        }
        if (stays(c)) return std::nullopt;
        return said(c, "epilogue") + " stores while the next tile is multiplied: grid=persistent";
      });
  add("overlapped-sums", {"grid", "in_flight", "epilogue"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (!c.is("epilogue", "overlapped")) return std::nullopt;
        if (c.is("in_flight", "0")) return "epilogue=overlapped never waits for all: in_flight=1";
        if (c.is("grid", "stream")) return "epilogue=overlapped sums whole tiles: grid=persistent";
        if (p.acc != Accumulator::f16) return std::nullopt;
        return "epilogue=overlapped holds f32 sums, and acc=f16";
      });
  add("shared-memory",
      {"schedule", "consumers", "tile_m", "tile_n", "tile_k", "stages", "reduce", "epilogue"},
      [](const Choices& c, const Problem&, const Device& d) -> Reason {
        const std::int64_t m = c.number("tile_m"), n = c.number("tile_n");
        std::int64_t ring = c.number("stages") * (m + n) * c.number("tile_k") * 2;
        if (c.is("reduce", "cluster")) ring = std::max(ring, m * n * 4);
        const std::int64_t stores = is_staged(c) ? consumers(c) * store_bytes(n) : 0;
        const std::int64_t need = ring + stores + kSharedSlack;
        if (need <= d.cuda.shared_per_block) return std::nullopt;
        return fmt::format("{} bytes of shared memory, the device has {} for a CTA", need,
                           d.cuda.shared_per_block);
      });
  add("raster-group", {"tile_m", "tile_n", "cluster", "raster", "group"},
      [](const Choices& c, const Problem& p, const Device&) {
        return surplus_group(c, tiles_of(tiles_of(p.m, c.number("tile_m")), cluster_m(c)),
                             tiles_of(tiles_of(p.n, c.number("tile_n")), cluster_n(c)));
      });
  add("raster-blocks", {"raster", "group"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        const bool blocks = c.is("raster", "m4") || c.is("raster", "n4");
        if (!blocks || c.number("group") >= 8) return std::nullopt;
        return fmt::format("{} cuts groups of 8 and more: {}", said(c, "raster"), said(c, "group"));
      });
  return rules;
}

std::vector<Rule> rules() {
  std::vector<Rule> rules = rules_of_tiles();
  for (Rule& rule : rules) {
    if (rule.reads.empty()) continue;
    if (std::ranges::find(rule.reads, "schedule") == rule.reads.end()) {
      rule.reads.emplace_back("schedule");
    }
    rule.refuse = [asked = std::move(rule.refuse)](const Choices& c, const Problem& p,
                                                   const Device& d) {
      return is_swapped(c) ? asked(c, swapped(p), d) : asked(c, p, d);
    };
  }
  constexpr std::int64_t kFewRows = 128;
  rules.push_back(
      {"swapped-operands",
       {"schedule"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (!is_swapped(c)) return std::nullopt;
         if (p.m > kFewRows && p.n > kFewRows && p.b_transposed) {
           return fmt::format(
               "{}: M={} and N={} fill tiles of 128 rows, and B comes along K either way",
               said(c, "schedule"), p.m, p.n);
         }
         const CudaAlignment aligned = alignment_of(p);
         if (aligned.a == 8 && aligned.b == 8) return std::nullopt;
         return said(c, "schedule") + " reads A and B as they lie, by tensor maps";
       }});
  rules.push_back({"swapped-once",
                   {"schedule", "tile_n", "cluster"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     const std::int64_t rows = c.number("tile_n") * cluster_n(c);
                     if (!is_swapped(c) || p.m > kFewRows || rows >= p.m) return std::nullopt;
                     return fmt::format("{} {} for M={}: B would be read more than once",
                                        said(c, "schedule"), said(c, "tile_n"), p.m);
                   }});
  rules.push_back({"swapped-stores",
                   {"schedule", "tile_n", "epilogue"},
                   [](const Choices& c, const Problem&, const Device&) -> Reason {
                     if (!is_swapped(c)) return std::nullopt;
                     if (c.is("epilogue", "direct") || c.is("epilogue", "shared")) {
                       return fmt::format("{} {}: nothing transposes what it stores",
                                          said(c, "schedule"), said(c, "epilogue"));
                     }
                     if (c.number("tile_n") % 16 == 0) return std::nullopt;
                     return fmt::format("{}: 16 columns at a time are transposed",
                                        said(c, "tile_n"));
                   }});
  return rules;
}

}  // namespace

Problem cuda_family::seen_by(std::string_view schedule, const Problem& problem) {
  return schedule == kSwapped ? swapped(problem) : problem;
}

const Family& sm90_family() {
  static const Family family{"sm90", decisions(), rules()};
  return family;
}

}  // namespace tilewright
