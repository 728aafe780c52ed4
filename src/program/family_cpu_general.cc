// SPDX-License-Identifier: Apache-2.0
// Decisions and rules of the general operations on a CPU. docs/program-language.md explains them.
#include "program/family_cpu_general.h"

#include "program/family_cpu.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

using namespace cpu_family_parts;
using Reason = std::optional<std::string>;

constexpr std::int64_t kWidest = 16;  // f32 lanes of avx512

Decision isa_decision() {
  return {"isa", {"scalar", "avx2", "avx512"}, {}, "instruction set"};
}
Decision threads_decision() {
  return {
      "threads", {"1", "2", "4", "6", "8", "12", "16", "24", "32", "48", "64"}, {}, "team size"};
}
Decision sizes_decision() {
  return {
      "sizes",
      {"runtime", "static"},
      {},
      "static: rows and columns are constants of the kernel, which then serves this shape only"};
}

// What any kernel of a CPU needs of the device.
std::vector<Rule> device_rules(std::vector<Op> ops) {
  return {operation_rule(std::move(ops)), device_kind_rule(), isa_rule(), threads_rule()};
}

std::vector<Decision> row_decisions() {
  return {isa_decision(),
          threads_decision(),
          {"keep",
           {"none", "f32"},
           {},
           "f32: a row, once read, is kept widened (softmax: its exponentials) for the later "
           "passes; none: each pass reads it again"},
          {"passes",
           {"separate", "joint"},
           {},
           "joint: softmax finds the maximum and the sum in one pass, rescaling the sum; separate: "
           "one after the other"},
          {"unroll", {"1", "2", "4", "8"}, {}, "registers of a row per loop turn"},
          {"prefetch_bytes",
           {"0", "256", "512", "1024", "2048"},
           {},
           "how far the row is prefetched ahead in the pass that reads it first (0: not)"},
          sizes_decision()};
}

std::vector<Rule> row_rules() {
  std::vector<Rule> rules = device_rules({Op::softmax, Op::layernorm, Op::reduce, Op::map});
  rules.push_back({"threads-rows",
                   {"threads"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     if (c.number("threads") <= std::max<std::int64_t>(p.m, 1)) return std::nullopt;
                     return fmt::format("threads={} share {} rows", c.word("threads"), p.m);
                   }});
  rules.push_back(
      {"keep-passes", {"keep"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.is("keep", "none") || p.op == Op::softmax || p.op == Op::layernorm) {
           return std::nullopt;
         }
         return "keep=f32: this operation reads a row once";
       }});
  rules.push_back({"passes-softmax",
                   {"passes"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     if (c.is("passes", "separate") || p.op == Op::softmax) return std::nullopt;
                     return "passes=joint is of a softmax";
                   }});
  rules.push_back({"keep-joint",
                   {"keep", "passes"},
                   [](const Choices& c, const Problem&, const Device&) -> Reason {
                     if (c.is("keep", "none") || c.is("passes", "separate")) return std::nullopt;
                     return "passes=joint has exponentials of several maxima: keep=none";
                   }});
  rules.push_back({"unroll-row",
                   {"isa", "unroll"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     const std::int64_t registers = (p.n + isa_of(c).width - 1) / isa_of(c).width;
                     if (c.number("unroll") < 2 * std::max<std::int64_t>(registers, 1))
                       return std::nullopt;
                     return fmt::format("unroll={} is twice the {} registers of a row",
                                        c.word("unroll"), registers);
                   }});
  rules.push_back({"prefetch-row",
                   {"prefetch_bytes"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     const std::int64_t bytes = p.n * static_cast<std::int64_t>(size_of(p.in));
                     if (c.number("prefetch_bytes") < std::max<std::int64_t>(bytes * p.m, 1)) {
                       return std::nullopt;
                     }
                     return fmt::format("prefetch_bytes={} is past the end of A",
                                        c.word("prefetch_bytes"));
                   }});
  return rules;
}

std::vector<Decision> transpose_decisions() {
  return {isa_decision(),
          threads_decision(),
          {"split",
           {"m", "n"},
           {{"threads", {"2", "4", "6", "8", "12", "16", "24", "32", "48", "64"}}},
           "what the team divides: rows of A or rows of C"},
          {"block",
           {"1", "8", "16"},
           {},
           "rows and columns that are turned in registers at a time (1: none are)"},
          {"tile_m",
           {"16", "32", "64", "128", "256"},
           {},
           "rows of A that are worked on before its next columns"},
          {"tile_n",
           {"16", "32", "64", "128", "256"},
           {},
           "columns of A that are worked on before its next rows"},
          {"order", {"nm", "mn"}, {}, "mn: tiles follow along the rows of A; nm: along those of C"},
          {"prefetch", {"0", "2", "4", "8", "16"}, {}, "rows of A prefetched ahead (0: none)"},
          sizes_decision()};
}

std::vector<Rule> transpose_rules() {
  std::vector<Rule> rules = device_rules({Op::transpose});
  rules.push_back({"block-isa",
                   {"isa", "block"},
                   [](const Choices& c, const Problem&, const Device&) -> Reason {
                     if (c.is("block", "1") || !c.is("isa", "scalar")) return std::nullopt;
                     return fmt::format("block={} needs registers: isa=avx2 or isa=avx512",
                                        c.word("block"));
                   }});
  rules.push_back({"split-shares",
                   {"threads", "split"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     if (c.word("split").empty()) return std::nullopt;
                     const std::int64_t size = c.is("split", "m") ? p.m : p.n;
                     const std::int64_t shares = (size + kWidest - 1) / kWidest;
                     if (shares >= c.number("threads")) return std::nullopt;
                     return fmt::format("split={} yields {} shares for {} threads", c.word("split"),
                                        shares, c.number("threads"));
                   }});
  const auto tile = [&rules](std::string_view name, std::string_view key,
                             std::int64_t Problem::* size) {
    rules.push_back(
        {name, {key}, [key, size](const Choices& c, const Problem& p, const Device&) -> Reason {
           if (c.number(key) < 2 * std::max(p.*size, kWidest)) return std::nullopt;
           return fmt::format("{}={} is twice {} or more", key, c.word(key), p.*size);
         }});
  };
  tile("tile-rows", "tile_m", &Problem::m);
  tile("tile-columns", "tile_n", &Problem::n);
  return rules;
}

std::vector<Decision> convolution_decisions() {
  return {isa_decision(),
          threads_decision(),
          {"split",
           {"m", "n"},
           {{"threads", {"2", "4", "6", "8", "12", "16", "24", "32", "48", "64"}}},
           "what the team divides: pixels of the output or filters"},
          {"mr",
           {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16"},
           {},
           "pixels of the register tile"},
          {"nr",
           {"1", "2", "4", "6", "8", "16", "24", "32", "48", "64", "80", "96", "128"},
           {},
           "filters of the register tile"},
          {"packa",
           {"none", "f32"},
           {},
           "f32: what lies under the filter is gathered and widened once for all filters; none: "
           "read where it lies, at each use"},
          {"unroll", {"1", "2", "4", "8"}, {}, "steps of k per loop turn"}};
}

std::vector<Rule> convolution_rules() {
  std::vector<Rule> rules = device_rules({Op::conv2d});
  rules.push_back({"split-shares",
                   {"threads", "split", "mr", "nr"},
                   [](const Choices& c, const Problem& p, const Device&) -> Reason {
                     if (c.word("split").empty()) return std::nullopt;
                     const bool rows = c.is("split", "m");
                     const std::int64_t tile = c.number(rows ? "mr" : "nr");
                     const std::int64_t shares = ((rows ? p.m : p.n) + tile - 1) / tile;
                     if (shares >= c.number("threads")) return std::nullopt;
                     return fmt::format("split={} yields {} shares for {} threads", c.word("split"),
                                        shares, c.number("threads"));
                   }});
  rules.push_back(
      {"tile-height", {"mr"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
         if (c.number("mr") <= p.m) return std::nullopt;
         return fmt::format("mr={} exceeds the {} pixels of the output", c.word("mr"), p.m);
       }});
  rules.push_back(
      {"tile-width",
       {"isa", "nr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         const std::int64_t nr = c.number("nr"), width = isa_of(c).width;
         if (nr % width != 0) {
           return fmt::format("nr={} is no whole number of {}-lane registers", nr, width);
         }
         if (nr < 2 * width || nr - width < p.n) return std::nullopt;
         return fmt::format("nr={} exceeds the {} filters by a register or more", nr, p.n);
       }});
  rules.push_back(
      {"registers",
       {"isa", "mr", "nr"},
       [](const Choices& c, const Problem& p, const Device&) -> Reason {
         // Sums, a row of B, a broadcast of A; widening bf16 takes one more.
         const std::int64_t mr = c.number("mr"), row = c.number("nr") / isa_of(c).width;
         const std::int64_t wide = p.in == ElementType::bf16 && !c.is("isa", "scalar") ? 1 : 0;
         const std::int64_t need = mr * row + (mr == 1 ? 1 : row) + 1 + wide;
         const std::int64_t have = isa_of(c).registers;
         if (need <= have) return std::nullopt;
         return fmt::format("mr={} nr={} needs {} registers of {}", mr, c.word("nr"), need, have);
       }});
  return rules;
}

}  // namespace

const Family& cpu_conv2d_family() {
  static const Family family{
      "cpu-conv2d", convolution_decisions(), convolution_rules(), {Op::conv2d}};
  return family;
}

const Family& cpu_rows_family() {
  static const Family family{
      "cpu-rows", row_decisions(), row_rules(), {Op::softmax, Op::layernorm, Op::reduce, Op::map}};
  return family;
}

const Family& cpu_transpose_family() {
  static const Family family{
      "cpu-transpose", transpose_decisions(), transpose_rules(), {Op::transpose}};
  return family;
}

}  // namespace tilewright
