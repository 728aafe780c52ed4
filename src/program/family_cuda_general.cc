// SPDX-License-Identifier: Apache-2.0
// Decisions and rules of the general operations on a GPU. docs/program-language.md explains them.
#include "program/family_cuda_general.h"

#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kMostKept = 64;    // numbers of a row in the registers of a thread
constexpr std::int64_t kMostLoaded = 64;  // and of those that are loaded at once
constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // kernels count in 32 bits

Decision cta_decision() {
  return {"cta", {"128", "256", "512"}, {}, "threads of a CTA"};
}
Decision vector_decision(std::string_view help) {
  return {"vector", {"1", "2", "4", "8"}, {}, help};
}

Reason beyond(std::string_view key, std::int64_t vector, std::int64_t aligned,
              std::string_view what) {
  if (vector <= aligned) return std::nullopt;
  return fmt::format("{}={} but rows of {} begin at multiples of {} numbers only", key, vector,
                     what, aligned);
}

std::vector<Rule> device_rules(std::vector<Op> ops) {
  std::vector<Rule> rules = {operation_rule(std::move(ops))};
  rules.push_back(
      {"device-kind", {}, [](const Choices&, const Problem&, const Device& d) -> Reason {
         if (d.kind == DeviceKind::cuda && d.has("sm80")) return std::nullopt;
         return d.kind == DeviceKind::cuda ? "the device lacks sm80" : "the device is not a GPU";
       }});
  rules.push_back(
      {"sizes-32-bit", {}, [](const Choices&, const Problem& p, const Device&) -> Reason {
         if (std::max(p.m, p.n) < kLargest / 2) return std::nullopt;
         return "a size of 2^30 or more: these kernels count in 32 bits";
       }});
  return rules;
}

std::vector<Decision> row_decisions() {
  return {cta_decision(),
          {"row_threads",
           {"8", "16", "32", "64", "128", "256", "512"},
           {},
           "threads that share a row; the CTA has as many rows as they fit into it"},
          vector_decision("numbers of a row that a thread loads at once"),
          {"keep",
           {"none", "f32"},
           {},
           "f32: a thread keeps its part of a row in registers for the later passes; none: each "
           "pass loads it again"},
          {"passes",
           {"separate", "joint"},
           {},
           "joint: softmax finds the maximum and the sum in one pass, rescaling the sum; separate: "
           "one after the other"},
          {"unroll",
           {"1", "2", "4", "8"},
           {{"keep", {"none"}}},
           "loads of a thread that are under way at once"},
          {"sizes",
           {"runtime", "static"},
           {},
           "static: rows and columns are constants of the kernel, which then serves this shape "
           "only"}};
}

std::vector<Rule> row_rules() {
  std::vector<Rule> rules = device_rules({Op::softmax, Op::layernorm, Op::reduce, Op::map});
  const auto add = [&rules](std::string_view name, std::vector<std::string_view> reads, auto rule) {
    rules.push_back({name, std::move(reads), rule});
  };
  add("row-cta", {"cta", "row_threads"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (c.number("row_threads") <= c.number("cta")) return std::nullopt;
        return fmt::format("row_threads={} but the CTA has {}", c.word("row_threads"),
                           c.word("cta"));
      });
  add("vector-rows", {"vector"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
    const CudaAlignment aligned = alignment_of(p);
    if (auto r = beyond("vector", c.number("vector"), aligned.a, "A")) return r;
    if (auto r = beyond("vector", c.number("vector"), aligned.b, "B")) return r;
    // A reduction stores single numbers.
    return p.op == Op::reduce ? std::nullopt : beyond("vector", c.number("vector"), aligned.c, "C");
  });
  add("idle-threads", {"row_threads", "vector"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        const std::int64_t covered = c.number("row_threads") * c.number("vector");
        if (covered < 2 * std::max<std::int64_t>(p.n, 8)) return std::nullopt;
        return fmt::format("row_threads={} vector={} cover {} numbers of a row of {}",
                           c.word("row_threads"), c.word("vector"), covered, p.n);
      });
  add("keep-passes", {"keep"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
    if (c.is("keep", "none") || p.op == Op::softmax || p.op == Op::layernorm) return std::nullopt;
    return "keep=f32: this operation reads a row once";
  });
  add("keep-registers", {"row_threads", "vector", "keep"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (c.is("keep", "none")) return std::nullopt;
        const std::int64_t kept = loads_of_row(c, p.n) * c.number("vector");
        if (kept <= kMostKept) return std::nullopt;
        return fmt::format("keep=f32 needs {} registers of a thread, at most {}", kept, kMostKept);
      });
  add("keep-static", {"keep", "sizes"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (c.is("keep", "none") || c.is("sizes", "static")) return std::nullopt;
        return "keep=f32 names registers, whose number follows from the columns: sizes=static";
      });
  add("passes-softmax", {"passes"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (c.is("passes", "separate") || p.op == Op::softmax) return std::nullopt;
        return "passes=joint is of a softmax";
      });
  add("keep-joint", {"keep", "passes"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (c.is("keep", "none") || c.is("passes", "separate")) return std::nullopt;
        return "keep=f32 makes a second pass free: passes=separate";
      });
  add("loads-row", {"row_threads", "vector", "unroll"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        if (c.word("unroll").empty()) return std::nullopt;
        const std::int64_t loads = loads_of_row(c, p.n), unroll = c.number("unroll");
        if (unroll * c.number("vector") > kMostLoaded) {
          return fmt::format("unroll={} vector={} need more than {} registers", unroll,
                             c.word("vector"), kMostLoaded);
        }
        if (unroll < 2 * std::max<std::int64_t>(loads, 1)) return std::nullopt;
        return fmt::format("unroll={} is twice the {} loads of a row", unroll, loads);
      });
  return rules;
}

std::vector<Decision> transpose_decisions() {
  return {cta_decision(),
          {"tile_m", {"16", "32", "64", "128"}, {}, "rows of A that a CTA turns"},
          {"tile_n", {"16", "32", "64", "128"}, {}, "columns of A that a CTA turns"},
          vector_decision("numbers that a thread loads from a row of A at once"),
          {"vector_c", {"1", "2", "4", "8"}, {}, "numbers that it stores to a row of C at once"},
          {"pad",
           {"0", "1", "2", "8"},
           {},
           "numbers by which rows of the tile in shared memory are longer, against bank conflicts"},
          {"raster", {"m", "n"}, {}, "the axis of A along which CTAs follow each other"},
          {"sizes",
           {"runtime", "static"},
           {},
           "static: rows and columns are constants of the kernel, which then serves this shape "
           "only"}};
}

std::vector<Rule> transpose_rules() {
  std::vector<Rule> rules = device_rules({Op::transpose});
  const auto add = [&rules](std::string_view name, std::vector<std::string_view> reads, auto rule) {
    rules.push_back({name, std::move(reads), rule});
  };
  const auto oversized = [&add](std::string_view name, std::string_view key,
                                std::int64_t Problem::* size) {
    add(name, {key}, [key, size](const Choices& c, const Problem& p, const Device&) -> Reason {
      if (c.number(key) < 2 * std::max<std::int64_t>(p.*size, 16)) return std::nullopt;
      return fmt::format("{}={} is twice {} or more", key, c.word(key), p.*size);
    });
  };
  oversized("tile-rows", "tile_m", &Problem::m);
  oversized("tile-columns", "tile_n", &Problem::n);
  add("vector-rows", {"vector"}, [](const Choices& c, const Problem& p, const Device&) -> Reason {
    return beyond("vector", c.number("vector"), alignment_of(p).a, "A");
  });
  add("vector-columns", {"vector_c"},
      [](const Choices& c, const Problem& p, const Device&) -> Reason {
        return beyond("vector_c", c.number("vector_c"), alignment_of(p).c, "C");
      });
  add("idle-threads", {"cta", "tile_m", "tile_n", "vector", "vector_c"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        const std::int64_t wide = std::max(c.number("vector"), c.number("vector_c"));
        const std::int64_t pieces = c.number("tile_m") * c.number("tile_n") / wide;
        if (pieces >= c.number("cta")) return std::nullopt;
        return fmt::format("a tile has {} pieces for {} threads", pieces, c.word("cta"));
      });
  add("pad-vector", {"vector", "pad"},
      [](const Choices& c, const Problem&, const Device&) -> Reason {
        if (c.number("pad") % c.number("vector") == 0) return std::nullopt;
        return fmt::format("pad={} leaves rows of shared memory unaligned to vector={}",
                           c.word("pad"), c.word("vector"));
      });
  return rules;
}

}  // namespace

std::int64_t loads_of_row(const Choices& c, std::int64_t columns) {
  const std::int64_t step = c.number("row_threads") * c.number("vector");
  return step == 0 ? 0 : (columns + step - 1) / step;
}

const Family& cuda_rows_family() {
  static const Family family{
      "cuda-rows", row_decisions(), row_rules(), {Op::softmax, Op::layernorm, Op::reduce, Op::map}};
  return family;
}

const Family& cuda_transpose_family() {
  static const Family family{
      "cuda-transpose", transpose_decisions(), transpose_rules(), {Op::transpose}};
  return family;
}

}  // namespace tilewright
