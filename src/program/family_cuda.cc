// SPDX-License-Identifier: Apache-2.0
// What the CUDA families share. See family_cuda.h.
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace cuda_family {
namespace {

using Reason = std::optional<std::string>;
constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // kernels count in 32 bits
// CTAs for each multiprocessor beyond which K is not split; it also bounds the partial sums.
constexpr double kMostSplitCtas = 8;
// reduce=spread is for CTAs that run at once, two to a multiprocessor at most; it also bounds its
// counters.
constexpr double kMostSpreadCtas = 2;
constexpr std::int64_t kSmallestSlice = 64;  // of K, or splitting is all overhead

}  // namespace

Decision split_k() {
  return {"split_k",
          {"1", "2", "3", "4", "5", "6", "7", "8", "12", "16"},
          {},
          "CTAs that share the K of one tile"};
}

Decision reduce() {
  return {"reduce",
          {"cluster", "workspace", "spread"},
          {{"split_k", {"2", "3", "4", "5", "6", "7", "8", "12", "16"}}},
          "where their sums meet: cluster: each CTA adds a part from its peers' shared memory; "
          "workspace: in L2, and the last to arrive adds; spread: in L2, and each that is still "
          "there adds a part"};
}

Decision raster() {
  return {"raster", {"m", "n"}, {}, "the axis along which groups of tiles are formed"};
}

Decision raster_in_blocks() {
  return {"raster",
          {"m", "n", "m4", "n4"},
          {},
          "the axis along which groups of tiles are formed; m4, n4: walked in blocks of 4 x 4 "
          "tiles, which 16 CTAs of a GPC share"};
}

Decision group() {
  return {
      "group",
      {"1", "2", "4", "8", "16", "32"},
      {},
      "rows (columns) of tiles that are walked together, so that L2 serves them (block swizzle)"};
}

Decision sizes() {
  return {"sizes",
          {"runtime", "static"},
          {},
          "static: M, N, K are constants of the kernel, which then serves this shape only"};
}

std::string said(const Choices& choices, std::string_view key) {
  return fmt::format("{}={}", key, choices.word(key));
}

Reason oversized(const Choices& choices, std::string_view key, std::int64_t size,
                 std::int64_t least) {
  const std::int64_t tile = choices.number(key);
  if (tile <= least || tile / 2 < size) return std::nullopt;
  return fmt::format("{} is at least twice the {} it covers: half of the products are thrown away",
                     said(choices, key), size);
}

Cluster cluster_of(std::string_view word) {
  if (word.empty()) return {};
  return {word.front() - '0', word.back() - '0'};
}

Reason surplus_group(const Choices& choices, std::int64_t tiles_m, std::int64_t tiles_n) {
  const std::int64_t tiles = choices.word("raster").starts_with("m") ? tiles_m : tiles_n;
  const std::int64_t group = choices.number("group");
  if (group == 1 || group <= tiles) return std::nullopt;
  return fmt::format("{} exceeds the {} tiles along {}", said(choices, "group"), tiles,
                     choices.word("raster").substr(0, 1));
}

int alignment_of(std::int64_t stride, std::int64_t rows, std::int64_t batch) {
  int aligned = 8;
  while (aligned > 1 && (stride % aligned != 0 || (batch > 1 && rows * stride % aligned != 0))) {
    aligned /= 2;
  }
  return aligned;
}

std::vector<Rule> common_rules(std::string_view feature, std::vector<Op> ops) {
  std::vector<Rule> rules = {operation_rule(std::move(ops))};
  rules.push_back({"device-kind", {}, [feature](const Choices&, const Problem&, const Device& d) {
                     Reason reason;
                     if (d.kind != DeviceKind::cuda) {
                       reason = "the device is not a GPU";
                     } else if (!d.has(feature)) {
                       reason = fmt::format("the device lacks {}", feature);
                     }
                     return reason;
                   }});
  rules.push_back({"input-type", {}, [](const Choices&, const Problem& p, const Device&) {
                     Reason reason;
                     if (p.in == ElementType::f32) {
                       reason = "f32 inputs: this family multiplies f16 and bf16";
                     } else if (p.acc == Accumulator::f16 && p.in != ElementType::f16) {
                       reason = "acc=f16: there are no such products of bf16";
                     }
                     return reason;
                   }});
  rules.push_back({"size-limit", {}, [](const Choices&, const Problem& p, const Device&) {
                     Reason reason;
                     if (std::max({p.m, p.n, p.k, p.batch}) >= kLargest) {
                       reason = "kernels count rows and columns in 32 bits";
                     }
                     return reason;
                   }});
  rules.push_back(
      {"split-slices", {"split_k"}, [](const Choices& c, const Problem& p, const Device&) {
         Reason reason;
         const std::int64_t split = c.number("split_k");
         if (split > 1 && p.k < split * kSmallestSlice) {
           reason = fmt::format("split_k={} leaves fewer than {} of K={} to a CTA", split,
                                kSmallestSlice, p.k);
         }
         return reason;
       }});
  rules.push_back({"split-ctas",
                   {"tile_m", "tile_n", "split_k"},
                   [](const Choices& c, const Problem& p, const Device& d) {
                     Reason reason;
                     const std::int64_t split = c.number("split_k");
                     const double tiles = static_cast<double>(tiles_of(p.m, c.number("tile_m"))) *
                                          static_cast<double>(tiles_of(p.n, c.number("tile_n"))) *
                                          static_cast<double>(p.batch);
                     if (split > 1 && tiles * static_cast<double>(split) >
                                          kMostSplitCtas * d.cuda.multiprocessors) {
                       reason = fmt::format(
                           "{} makes {:.0f} CTAs of {:.0f} tiles: {} multiprocessors are busy "
                           "without it",
                           said(c, "split_k"), tiles * static_cast<double>(split), tiles,
                           d.cuda.multiprocessors);
                     }
                     return reason;
                   }});
  rules.push_back({"spread-ctas",
                   {"tile_m", "tile_n", "split_k", "reduce"},
                   [](const Choices& c, const Problem& p, const Device& d) {
                     Reason reason;
                     if (!c.is("reduce", "spread")) return reason;
                     const double ctas = static_cast<double>(tiles_of(p.m, c.number("tile_m"))) *
                                         static_cast<double>(tiles_of(p.n, c.number("tile_n"))) *
                                         static_cast<double>(p.batch * c.number("split_k"));
                     if (ctas > kMostSpreadCtas * d.cuda.multiprocessors) {
                       reason = fmt::format(
                           "reduce=spread: {:.0f} CTAs do not run at once on {} multiprocessors",
                           ctas, d.cuda.multiprocessors);
                     }
                     return reason;
                   }});
  rules.push_back({"cluster-split",
                   {"split_k", "reduce"},
                   [](const Choices& c, const Problem&, const Device& d) {
                     Reason reason;
                     if (!c.is("reduce", "cluster")) return reason;
                     if (!d.has("sm90a")) {
                       reason = "reduce=cluster: clusters came with sm90";
                     } else if (c.number("split_k") > 8) {
                       reason = fmt::format("{}: a cluster has 8 CTAs at most", said(c, "split_k"));
                     }
                     return reason;
                   }});
  return rules;
}

}  // namespace cuda_family

CudaAlignment alignment_of(const Problem& p) {
  // What a convolution gathers is of one pixel, so its channels count as well.
  const std::int64_t of_a =
      p.op == Op::conv2d ? std::gcd(p.a_stride(), p.conv.channels) : p.a_stride();
  return {cuda_family::alignment_of(of_a, p.a_rows(), p.batch),
          cuda_family::alignment_of(p.b_stride(), p.b_rows(), p.batch),
          cuda_family::alignment_of(p.c_stride(), p.m, p.batch)};
}

std::int64_t packed_bytes(const Problem& p) {
  const CudaAlignment aligned = alignment_of(p);
  const auto copy = [&p](std::int64_t rows, std::int64_t columns) {
    const std::int64_t bytes = 16 * cuda_family::tiles_of(columns, 8) * rows * p.batch;
    return 256 * cuda_family::tiles_of(bytes, 256);
  };
  return (aligned.a < 8 ? copy(p.a_rows(), p.a_cols()) : 0) +
         (aligned.b < 8 ? copy(p.b_rows(), p.b_cols()) : 0);
}

}  // namespace tilewright
