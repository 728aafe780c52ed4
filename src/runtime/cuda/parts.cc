// SPDX-License-Identifier: Apache-2.0
// See parts.h.
#include "runtime/cuda/parts.h"

#include "base/element.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 28;  // rows or columns of a launch
constexpr std::int64_t kMostTiles = std::int64_t{1} << 29;   // of a launch, all slices of K
constexpr std::int64_t kMostGridZ = 65535;
constexpr std::int64_t kMostParts = 4096;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// In double: sizes may be beyond what any memory holds.
double copied_bytes(const Call& call, Copies copies) {
  const auto copy = [&call](std::int64_t rows, std::int64_t columns, std::int64_t batch_stride) {
    const bool once = batch_stride == 0 || call.batch <= 1;
    return (once ? 1 : static_cast<double>(call.batch)) * static_cast<double>(rows) *
               static_cast<double>(ceil_div(columns, 8) * 16) +
           256;
  };
  return (copies.a ? copy(call.a_rows(), call.a_columns(), call.stride_a) : 0) +
         (copies.b ? copy(call.b_rows(), call.b_columns(), call.stride_b) : 0);
}

}  // namespace

Grain fitting(Grain grain, const Call& call, Copies copies, std::int64_t bytes) {
  const auto half = [](std::int64_t size, std::int64_t tile) {
    return ceil_div(size / 2, tile) * tile;
  };
  Call part = call;
  while (copied_bytes(part, copies) > static_cast<double>(bytes)) {
    const std::int64_t rows = half(part.m, grain.tile_m), columns = half(part.n, grain.tile_n);
    const bool cuts_rows = copies.a && rows < part.m, cuts_columns = copies.b && columns < part.n;
    if (part.batch > 1) {
      part.batch = grain.most_batch = ceil_div(part.batch, 2);
    } else if (cuts_rows && (part.m >= part.n || !cuts_columns)) {
      part.m = grain.most_m = rows;
    } else if (cuts_columns) {
      part.n = grain.most_n = columns;
    } else {
      break;
    }
  }
  return grain;
}

std::vector<Part> parts_of(const Call& call, const Grain& grain) {
  const std::int64_t columns = std::min({call.n, kMostExtent, grain.most_n});
  const std::int64_t tiles_n = ceil_div(columns, grain.tile_n);
  // Whole tiles of rows, so many that all of them can be counted.
  const std::int64_t most_tiles_m = std::max<std::int64_t>(kMostTiles / grain.split / tiles_n, 1);
  const std::int64_t rows =
      std::min({call.m, kMostExtent, most_tiles_m * grain.tile_m, grain.most_m});
  const std::int64_t tiles = tiles_n * ceil_div(rows, grain.tile_m) * grain.split;
  std::int64_t entries = std::clamp<std::int64_t>(kMostTiles / tiles, 1, kMostExtent);
  if (grain.batch_in_z) entries = std::min(entries, kMostGridZ / grain.split);
  entries = std::min({entries, call.batch, grain.most_batch});
  const std::int64_t along_m = ceil_div(call.m, rows), along_n = ceil_div(call.n, columns);
  const std::int64_t along_batch = ceil_div(call.batch, entries);
  if (along_m > kMostParts || along_n > kMostParts || along_batch > kMostParts ||
      along_m * along_n * along_batch > kMostParts) {
    return {};
  }
  std::vector<Part> parts;
  for (std::int64_t b = 0; b < call.batch; b += entries) {
    for (std::int64_t m = 0; m < call.m; m += rows) {
      for (std::int64_t n = 0; n < call.n; n += columns) {
        parts.push_back({m, n, b, std::min(rows, call.m - m), std::min(columns, call.n - n),
                         std::min(entries, call.batch - b)});
      }
    }
  }
  return parts;
}

Call part_call(const Call& call, const Part& part) {
  Call out = call;
  out.m = part.m;
  out.n = part.n;
  out.batch = part.batch;
  return out;
}

Offsets offsets_of(const Call& call, const Part& part) {
  const auto in = static_cast<std::int64_t>(size_of(call.in));
  const auto out = static_cast<std::int64_t>(size_of(call.out));
  // One entry has no stride to step by, whatever the caller said of it.
  const std::int64_t b = call.batch > 1 ? part.b0 : 0;
  return {in * (b * call.stride_a + part.m0 * (call.a_transposed ? 1 : call.lda)),
          in * (b * call.stride_b + part.n0 * (call.b_transposed ? call.ldb : 1)),
          out * (b * call.stride_c + part.m0 * call.ldc + part.n0), out * part.n0};
}

Call folded(const Call& call) {
  const bool rows_go_on = call.batch > 1 && !call.a_transposed && call.stride_b == 0 &&
                          call.stride_a == call.m * call.lda && call.stride_c == call.m * call.ldc;
  if (!rows_go_on) return call;
  Call out = call;
  out.m *= out.batch;
  out.batch = 1;
  return out;
}

}  // namespace tilewright::runtime
