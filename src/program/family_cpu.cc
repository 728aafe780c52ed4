// SPDX-License-Identifier: Apache-2.0
// The family `cpu`: its decisions and its rules. docs/program-language.md explains each in prose;
// src/generate/cpu/device holds the kernels.
//
// Order matters: a decision may depend on earlier ones only, and rules are asked as soon as their
// last decision is made, so what prunes most comes first.
#include "program/family_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

using Reason = std::optional<std::string>;

using namespace cpu_family_parts;

const std::array<Isa, 4>& isas() {
  static const std::array<Isa, 4> table = {{
      {"scalar", {}, 1, 16},
      {"avx2", {"avx2", "fma", "f16c"}, 8, 16},
      {"avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, 16, 32},
      {"avx512bf16", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"}, 16, 32},
  }};
  return table;
}

// Blocks of 0 stand for the whole dimension.
Reason block_smaller_than(std::string_view key, std::int64_t block, std::string_view axis,
                          std::int64_t size) {
  if (block == 0 || block < size) return std::nullopt;
  return fmt::format("{}={} is not smaller than {}={}: that is {}=0, the whole dimension", key,
                     block, axis, size, key);
}

Reason whole_tiles(std::string_view key, std::int64_t block, std::string_view tile_key,
                   std::int64_t tile) {
  if (block % tile == 0) return std::nullopt;
  return fmt::format("{}={} is not a multiple of {}={}", key, block, tile_key, tile);
}

std::vector<Decision> decisions() {
  return {
      {"isa",
       {"scalar", "avx2", "avx512", "avx512bf16"},
       {},
       "instruction set; avx512bf16 multiplies bf16 pairs with vdpbf16ps, which flushes "
       "subnormals"},
      {"form",
       {"direct", "dot", "blocked"},
       {},
       "direct: B read in place along n; dot: both operands along k; blocked: packed panels"},
      {"threads", {"1", "2", "4", "6", "8", "12", "16", "24", "32", "48", "64"}, {}, "team size"},
      {"split",
       {"batch", "m", "n", "mn", "k"},
       {{"threads", {"2", "4", "6", "8", "12", "16", "24", "32", "48", "64"}}},
       "what the team divides; k adds f32 partials after a barrier"},
      {"mr",
       {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16"},
       {},
       "rows of the register tile"},
      {"nr",
       {"1", "2", "4", "6", "8", "16", "24", "32", "48", "64", "80", "96", "128", "160", "192",
        "256"},
       {},
       "columns of the register tile"},
      {"kc",
       {"0", "16", "32", "64", "128", "192", "256", "384", "512", "768", "1024"},
       {{"form", {"direct", "blocked"}}},
       "block of k (0: all of k)"},
      {"mc",
       {"0", "24", "48", "60", "84", "96", "112", "120", "168", "192", "240", "336", "480"},
       {{"form", {"blocked"}}},
       "block of rows packed at a time (0: all)"},
      {"nc",
       {"0", "32", "48", "64", "128", "192", "256", "384", "512", "768", "1536", "3072"},
       {{"form", {"direct", "blocked"}}},
       "block of columns (0: all)"},
      {"packa",
       {"none", "f32"},
       {{"form", {"direct", "dot"}}},
       "f32: each thread first widens its rows of A; none: at each use"},
      {"packb",
       {"f32", "half", "pair"},
       {{"form", {"blocked"}}},
       "a packed panel of B: widened, as stored, or pairs along k for vdpbf16ps"},
      {"unroll", {"1", "2", "4", "8"}, {}, "steps of k (dot: registers of k) per loop turn"},
      {"prefetch",
       {"0", "2", "4", "8", "16"},
       {{"form", {"direct", "blocked"}}},
       "how far B is prefetched: steps of k, in direct with kc > 0 tiles along the row (0: not)"},
      {"prefetch_bytes",
       {"0", "256", "512", "1024", "2048"},
       {{"form", {"dot"}}},
       "bytes that each row of B is prefetched ahead (0: not)"},
      {"order",
       {"nm", "mn"},
       {},
       "nm: a panel of B stays close while rows of A pass; mn: the other way round"},
      {"sizes",
       {"runtime", "static"},
       {},
       "static: M, N, K are constants of the kernel, which then serves this shape only"},
  };
}

std::vector<Rule> rules() {
  return {
      operation_rule({Op::gemm}),
      {"accumulator",
       {},
       [](const Choices&, const Problem& p, const Device&) -> Reason {
         if (p.acc == Accumulator::f32) return std::nullopt;
         return "acc=f16: this family accumulates in f32 only";
       }},
      {"input-type",
       {},
       [](const Choices&, const Problem& p, const Device&) -> Reason {
         if (p.in != ElementType::f32) return std::nullopt;
         return "f32 inputs: this family multiplies f16 and bf16";
       }},
      device_kind_rule(),
      isa_rule(),
      {"isa-type",
       {"isa"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (!c.is("isa", "avx512bf16") || p.in == ElementType::bf16) return std::nullopt;
         return fmt::format("isa=avx512bf16 multiplies bf16, not {}", name_of(p.in));
       }},
      {"form-layout",
       {"form"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.is("form", "direct") && p.b_transposed) {
           return "form=direct reads rows of B along n, but B is stored n x k";
         }
         if (c.is("form", "dot") && !p.b_transposed) {
           return "form=dot reads rows of B along k, but B is stored k x n";
         }
         return std::nullopt;
       }},
      {"form-isa",
       {"isa", "form"},
       [](const Choices& c, const Problem&, const Device&) -> Reason {
         if (c.is("isa", "avx512bf16") && c.is("form", "direct")) {
           return "vdpbf16ps wants pairs along k, which rows of B along n do not hold";
         }
         return std::nullopt;
       }},
      threads_rule(),
      {"split-shares",
       {"threads", "split", "mr", "nr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         const std::int64_t threads = c.number("threads");
         const auto tiles = [](std::int64_t size, std::int64_t tile) {
           return (size + tile - 1) / tile;
         };
         const std::string_view split = c.word("split");
         std::int64_t shares = threads;
         if (split == "batch") shares = p.batch;
         if (split == "m") shares = tiles(p.m, c.number("mr"));
         if (split == "n") shares = tiles(p.n, c.number("nr"));
         if (split == "mn") shares = tiles(p.m, c.number("mr")) * tiles(p.n, c.number("nr"));
         if (split == "k") shares = tiles(p.k, 64);
         if (shares >= threads) return std::nullopt;
         return fmt::format("split={} yields {} shares for {} threads", split, shares, threads);
       }},
      {"tile-height",
       {"mr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.number("mr") <= std::max<std::int64_t>(p.m, 1)) return std::nullopt;
         return fmt::format("mr={} exceeds M={}: rows would be computed and thrown away",
                            c.word("mr"), p.m);
       }},
      {"tile-width",
       {"isa", "form", "nr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         const std::int64_t nr = c.number("nr");
         const std::int64_t width = c.is("form", "dot") ? 1 : isa_of(c).width;
         if (nr % width != 0) {
           return fmt::format("nr={} is no whole number of {}-lane registers", nr, width);
         }
         if (nr >= 2 * width && nr - width >= p.n) {
           return fmt::format("nr={} exceeds N={} by a register or more", nr, p.n);
         }
         return std::nullopt;
       }},
      {"registers",
       {"isa", "form", "mr", "nr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         const Isa& isa = isa_of(c);
         const std::int64_t mr = c.number("mr"), nr = c.number("nr");
         std::int64_t need = 0;
         if (c.is("form", "dot")) {
           // Sums, a column of A and one of B; bf16 widens two registers at a time.
           const std::int64_t group =
               p.in == ElementType::bf16 && !c.is("isa", "avx512bf16") && isa.width > 1 ? 2 : 1;
           need = mr * nr + mr * group + group;
         } else {
           // Sums, a row of B (one register of it at a time if it is used once), a broadcast of A;
           // widening bf16 in the tile takes one register more.
           const std::int64_t row = nr / isa.width;
           need = mr * row + (mr == 1 ? 1 : row) + 1;
           if (c.is("form", "direct") && p.in == ElementType::bf16 && isa.width > 1) ++need;
         }
         if (need <= isa.registers) return std::nullopt;
         return fmt::format("mr={} nr={} needs {} registers of {}", mr, nr, need, isa.registers);
       }},
      {"kc-block",
       {"kc"},
       [](const Choices& c, const Problem& p, const Device&) {
         return block_smaller_than("kc", c.number("kc"), "K", p.k);
       }},
      {"mc-block",
       {"mr", "mc"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.word("mc").empty()) return std::nullopt;
         if (auto r = block_smaller_than("mc", c.number("mc"), "M", p.m)) return r;
         return whole_tiles("mc", c.number("mc"), "mr", c.number("mr"));
       }},
      {"nc-block",
       {"nr", "nc"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.word("nc").empty()) return std::nullopt;
         if (auto r = block_smaller_than("nc", c.number("nc"), "N", p.n)) return r;
         return whole_tiles("nc", c.number("nc"), "nr", c.number("nr"));
       }},
      {"packa-form",
       {"isa", "form", "packa"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (!c.is("form", "dot")) return std::nullopt;
         const bool pairs = c.is("isa", "avx512bf16");
         if (pairs && c.is("packa", "f32")) return "vdpbf16ps reads A as bf16: packa=none";
         if (p.a_transposed && pairs) return "vdpbf16ps wants rows of A along k, but A is k x m";
         if (p.a_transposed && c.is("packa", "none")) {
           return "A is stored k x m: rows along k exist only after packing (packa=f32)";
         }
         return std::nullopt;
       }},
      {"packb-isa",
       {"isa", "packb"},
       [](const Choices& c, const Problem&, const Device&) -> Reason {
         if (c.word("packb").empty()) return std::nullopt;
         if (c.is("packb", "pair") == c.is("isa", "avx512bf16")) return std::nullopt;
         return c.is("packb", "pair") ? "packb=pair is read by vdpbf16ps only (isa=avx512bf16)"
                                      : "isa=avx512bf16 reads packed B as pairs (packb=pair)";
       }},
  };
}

}  // namespace

namespace cpu_family_parts {

const Isa& isa_of(const Choices& c) {
  return *std::ranges::find(isas(), c.word("isa"), &Isa::name);
}

Rule device_kind_rule() {
  return {"device-kind", {}, [](const Choices&, const Problem&, const Device& d) -> Reason {
            if (d.kind == DeviceKind::cpu) return std::nullopt;
            return "the device is not a CPU";
          }};
}

Rule isa_rule() {
  return {
      "isa-available", {"isa"}, [](const Choices& c, const Problem&, const Device& d) -> Reason {
        for (const std::string_view feature : isa_of(c).needs) {
          if (!d.has(feature)) {
            return fmt::format("isa={} needs {}, which this device does not have", c.word("isa"),
                               feature);
          }
        }
        return std::nullopt;
      }};
}

Rule threads_rule() {
  return {"threads-available",
          {"threads"},
          [](const Choices& c, const Problem&, const Device& d) -> Reason {
            if (c.number("threads") <= d.cores) return std::nullopt;
            return fmt::format("threads={} but the device offers {} cores", c.word("threads"),
                               d.cores);
          }};
}

}  // namespace cpu_family_parts

const Family& cpu_family() {
  static const Family family{"cpu", decisions(), rules()};
  return family;
}

}  // namespace tilewright
