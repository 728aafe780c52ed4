// SPDX-License-Identifier: Apache-2.0
// The family `sm80`: kernels of mma.sync, from Ampere on; on Hopper they serve small problems. Read
// next: generate/cuda/device/sm80_gemm.cuh and sm80_direct.cuh.
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

using namespace cuda_family;
using Reason = std::optional<std::string>;

constexpr std::int64_t kLargestCta = 1024;      // threads
constexpr std::int64_t kTileRegisters = 160;    // of 255, for sums and fragments
constexpr std::int64_t kMostCopies = 16;        // their addresses are kept in registers
constexpr std::int64_t kDirectRegisters = 192;  // accumulators and loaded fragments
constexpr std::int64_t kMostLines = 24;         // of a lane, that are loaded ahead
// More threads than 256 have 128 registers each, so much less for sums and fragments.
constexpr std::int64_t kManyThreads = 256;
constexpr std::int64_t kWithMany = 80;

std::vector<Decision> decisions() {
  return {
      {"form",
       {"tile", "direct"},
       {},
       "tile: a ring of stages in shared memory; direct: from global memory into fragments"},
      {"tile_m", {"16", "32", "64", "128", "256"}, {}, "rows of a CTA's tile"},
      {"tile_n", {"8", "16", "32", "64", "128", "256"}, {}, "columns of a CTA's tile"},
      {"tile_k", {"32", "64", "128"}, {{"form", {"tile"}}}, "K of a stage"},
      {"warps_m", {"1", "2", "4"}, {{"form", {"tile"}}}, "warps along the tile's rows"},
      {"warps_n", {"1", "2", "4"}, {{"form", {"tile"}}}, "warps along the tile's columns"},
      {"warps_k",
       {"1", "2", "4", "8", "16"},
       {},
       "groups of warps that share K inside the CTA and add up at the end"},
      {"stages", {"2", "3", "4", "5", "6", "8"}, {{"form", {"tile"}}}, "stages of the ring"},
      {"ahead",
       {"1", "2", "4"},
       {{"form", {"direct"}}},
       "blocks of 32 in K that are loaded before the first is used"},
      {"fragments",
       {"single", "double"},
       {{"form", {"tile"}}},
       "double: the next step's fragments are loaded before this step's products"},
      {"copies",
       {"together", "staggered"},
       {{"form", {"tile"}}},
       "staggered: copies of B are issued between products, apart from those of A"},
      split_k(),
      reduce(),
      {"epilogue",
       {"direct", "exchange", "shared"},
       {{"form", {"tile"}}},
       "direct: pairs as they lie in registers; exchange: lanes trade pairs for wide runs; shared: "
       "through shared memory"},
      raster(),
      group(),
      sizes(),
  };
}

std::int64_t shared_need(const Choices& c) {
  const std::int64_t m = c.number("tile_m"), n = c.number("tile_n");
  const std::int64_t groups = c.number("warps_k");
  const std::int64_t exchange = c.is("reduce", "cluster") ? m * n * 4 : 0;
  if (c.is("form", "direct")) return std::max(groups * m * n * 4, exchange);
  const std::int64_t ring = c.number("stages") * (m + n) * c.number("tile_k") * 2;
  const std::int64_t staged = c.is("epilogue", "shared") ? m * (n + 8) * 2 : 0;
  return std::max({ring, (groups - 1) * m * n * 4, exchange, staged});
}

std::vector<Rule> rules() {
  std::vector<Rule> rules = common_rules("sm80", {Op::gemm, Op::conv2d});
  const auto add = [&rules](std::string_view name, std::vector<std::string_view> reads, auto rule) {
    rules.push_back({name, std::move(reads), rule});
  };
  add("convolution", {"form", "sizes"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (p.op != Op::conv2d) return std::nullopt;
        if (c.is("form", "direct")) return "form=direct reads A as it is stored: form=tile gathers";
        if (c.is("sizes", "runtime")) return "a convolution's sizes are constants: sizes=static";
        return std::nullopt;
      });
  add("tile-rows", {"tile_m"}, [](const Choices& c, const Problem& p, const Device&) {
    return oversized(c, "tile_m", p.m, 16);
  });
  add("tile-columns", {"form", "tile_n"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (c.is("form", "tile") && c.number("tile_n") < 16) {
          return "tile_n=8: ldmatrix brings 16 columns of B (form=direct has 8)";
        }
        return oversized(c, "tile_n", p.n, c.is("form", "tile") ? 16 : 8);
      });
  add("direct-registers", {"form", "tile_m", "tile_n", "warps_k", "ahead"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "direct")) return std::nullopt;
        const std::int64_t m = c.number("tile_m"), n = c.number("tile_n");
        const std::int64_t need = m * n / 32 + c.number("ahead") * (m / 2 + n / 2);
        const std::int64_t most =
            32 * c.number("warps_k") > kManyThreads ? kWithMany : kDirectRegisters;
        if (n <= 64 && need <= most) return std::nullopt;
        return fmt::format("{} {} {} needs {} registers for sums and fragments, {} at most",
                           said(c, "tile_m"), said(c, "tile_n"), said(c, "ahead"), need, most);
      });
  add("direct-lines", {"form", "tile_m", "tile_n", "ahead"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "direct")) return std::nullopt;
        const std::int64_t lines =
            c.number("ahead") * (c.number("tile_m") + c.number("tile_n")) / 8;
        if (lines <= kMostLines) return std::nullopt;
        return fmt::format(
            "each lane loads {} lines ahead, {} at most: the loop would exceed the instruction "
            "cache",
            lines, kMostLines);
      });
  add("warp-tile", {"form", "tile_m", "tile_n", "warps_m", "warps_n"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "tile")) return std::nullopt;
        const std::int64_t m = c.number("tile_m"), n = c.number("tile_n");
        const std::int64_t wm = c.number("warps_m"), wn = c.number("warps_n");
        if (m % (16 * wm) != 0 || n % (16 * wn) != 0) {
          return fmt::format("a tile of {} x {} has no {} x {} parts of whole 16 x 16 fragments", m,
                             n, wm, wn);
        }
        return std::nullopt;
      });
  add("registers", {"form", "tile_m", "tile_n", "warps_m", "warps_n", "warps_k", "fragments"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "tile")) return std::nullopt;
        const std::int64_t m = c.number("tile_m") / c.number("warps_m");
        const std::int64_t n = c.number("tile_n") / c.number("warps_n");
        const std::int64_t step = m / 4 + n / 4;  // fragments of one step
        const std::int64_t need = m * n / 32 + step * (c.is("fragments", "double") ? 2 : 1);
        const std::int64_t threads =
            32 * c.number("warps_m") * c.number("warps_n") * c.number("warps_k");
        const std::int64_t most = threads > kManyThreads ? kWithMany : kTileRegisters;
        if (need <= most) return std::nullopt;
        return fmt::format(
            "a warp's {} x {} with {} needs {} registers for sums and fragments, {} at most with "
            "{} "
            "threads",
            m, n, said(c, "fragments"), need, most, threads);
      });
  add("copies-per-thread", {"form", "tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "warps_k"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "tile")) return std::nullopt;
        const std::int64_t threads =
            32 * c.number("warps_m") * c.number("warps_n") * c.number("warps_k");
        const std::int64_t copies =
            std::max(c.number("tile_m"), c.number("tile_n")) * c.number("tile_k") / 8 / threads;
        if (copies <= kMostCopies) return std::nullopt;
        return fmt::format("{} copies of 16 bytes by each thread for a stage, {} at most", copies,
                           kMostCopies);
      });
  add("threads", {"form", "warps_m", "warps_n", "warps_k"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        const std::int64_t warps =
            c.is("form", "tile") ? c.number("warps_m") * c.number("warps_n") : 1;
        const std::int64_t threads = 32 * warps * c.number("warps_k");
        if (threads <= kLargestCta / 2) return std::nullopt;
        return fmt::format("{} threads; with more than {} they have too few registers", threads,
                           kLargestCta / 2);
      });
  add("k-steps", {"form", "tile_k", "warps_k"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "tile")) return std::nullopt;
        if (c.number("tile_k") / 16 % c.number("warps_k") == 0) return std::nullopt;
        return fmt::format("{} has {} steps, which {} groups of warps cannot share equally",
                           said(c, "tile_k"), c.number("tile_k") / 16, c.word("warps_k"));
      });
  add("stage-depth", {"form", "tile_k"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        return c.is("form", "tile") ? oversized(c, "tile_k", p.k, 32) : std::nullopt;
      });
  add("stage-count", {"form", "tile_k", "stages", "split_k"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (!c.is("form", "tile")) return std::nullopt;
        const std::int64_t tiles = tiles_of(tiles_of(p.k, c.number("tile_k")), c.number("split_k"));
        if (c.number("stages") <= std::max<std::int64_t>(tiles + 1, 2)) return std::nullopt;
        return fmt::format("{} for {} tiles of K: the rest would stay empty", said(c, "stages"),
                           tiles);
      });
  add("direct-warps", {"form", "warps_k", "split_k"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (!c.is("form", "direct")) return std::nullopt;
        const std::int64_t blocks = tiles_of(p.k, 32);
        if (c.number("warps_k") * c.number("split_k") <= std::max<std::int64_t>(blocks, 1)) {
          return std::nullopt;
        }
        return fmt::format("{} warps for {} blocks of 32 in K",
                           c.number("warps_k") * c.number("split_k"), blocks);
      });
  add("spread-form", {"form", "reduce"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "direct") || !c.is("reduce", "spread")) return std::nullopt;
        return "reduce=spread: with form=direct one warp holds all sums, few and in few parts";
      });
  add("copies-steps", {"form", "tile_k", "warps_k", "copies", "fragments"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (!c.is("form", "tile") || c.number("tile_k") / 16 / c.number("warps_k") > 1) {
          return std::nullopt;
        }
        if (c.is("fragments", "single") && c.is("copies", "together")) return std::nullopt;
        return "a warp has one step in a stage: nothing to load ahead or to stagger";
      });
  add("shared-epilogue", {"epilogue", "split_k"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (!c.is("epilogue", "shared")) return std::nullopt;
        if (c.number("split_k") > 1) return "epilogue=shared stores a whole tile: split_k=1";
        if (p.out == ElementType::f32) return "epilogue=shared stores 16-bit results";
        if (p.alpha != AlphaClass::one || p.beta != BetaClass::zero) {
          return "epilogue=shared does not read C or scale";
        }
        return std::nullopt;
      });
  add("shared-memory",
      {"form", "tile_m", "tile_n", "tile_k", "warps_k", "stages", "reduce", "epilogue"},
      [](const Choices& c, const Problem&, const Device& d) -> Reason {
        const std::int64_t need = shared_need(c);
        if (need <= d.cuda.shared_per_block) return std::nullopt;
        return fmt::format("{} bytes of shared memory, the device has {} for a CTA", need,
                           d.cuda.shared_per_block);
      });
  add("raster-group", {"tile_m", "tile_n", "raster", "group"},
      [](const Choices& c, const Problem& p, const Device&) {
        return surplus_group(c, tiles_of(p.m, c.number("tile_m")),
                             tiles_of(p.n, c.number("tile_n")));
      });
  return rules;
}

}  // namespace

const Family& sm80_family() {
  static const Family family{"sm80", decisions(), rules(), {Op::gemm, Op::conv2d}};
  return family;
}

}  // namespace tilewright
