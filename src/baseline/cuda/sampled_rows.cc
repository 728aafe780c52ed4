// SPDX-License-Identifier: Apache-2.0
// See sampled_rows.h.
#include "baseline/cuda/sampled_rows.h"

#include "base/element.h"
#include "base/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace tilewright {
namespace {

constexpr int kLeastRows = 16, kMostRows = 64;
constexpr std::int64_t kElements = 1 << 17;  // that a host compares in a millisecond
constexpr unsigned char kNaNByte = 0xff;     // 0xffff and 0xffffffff are NaN in all three types
constexpr unsigned char kPlainByte = 0x3f;   // 1.8 in f16, 0.75 in bf16 and f32

bool agree(double want, double got, const RowTolerance& limits, double scale) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (want == got) return true;  // equal infinities
  const double largest = std::max(std::abs(want), std::abs(got));
  return std::abs(want - got) <= limits.relative * largest + limits.of_scale * scale;
}

}  // namespace

std::vector<std::int64_t> sampled_rows(std::int64_t total, int most, std::uint64_t seed) {
  std::set<std::int64_t> rows;
  if (total <= most) {
    for (std::int64_t row = 0; row < total; ++row) rows.insert(row);
  } else {
    rows = {0, total - 1};
    Rng rng(seed);
    while (std::ssize(rows) < most) {
      rows.insert(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(total))));
    }
  }
  return {rows.begin(), rows.end()};
}

int rows_for(std::int64_t columns) {
  const std::int64_t fitting = kElements / std::max<std::int64_t>(columns, 1);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, kLeastRows, kMostRows));
}

RowTolerance tolerance_for(const Problem& p) {
  const auto k = static_cast<double>(p.k);
  if (p.acc == Accumulator::f16) {
    return {.relative = std::ldexp(1, -8), .of_scale = std::sqrt(k) * std::ldexp(1, -10)};
  }
  // Four unit roundoffs of the result's type: 2^-9 for f16, 2^-6 for bf16. For f32 the order of
  // summation is all there is.
  const double relative = std::max(4 * unit_roundoff(p.out), std::ldexp(1, -18));
  return {.relative = relative, .of_scale = k * std::ldexp(1, -23) + std::ldexp(1, -18)};
}

std::string disagreement(const Problem& problem, const std::vector<std::byte>& want,
                         const std::vector<std::byte>& got) {
  if (want.size() != got.size()) {
    return fmt::format("{} bytes of result instead of {}", got.size(), want.size());
  }
  if (want == got) return {};
  const auto count = static_cast<std::int64_t>(want.size() / size_of(problem.out));
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = load(problem.out, want.data(), i);
    if (std::isfinite(value)) squares += value * value;
  }
  const double scale = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(1, count)));
  const RowTolerance limits = tolerance_for(problem);
  const std::size_t size = size_of(problem.out);
  for (std::int64_t i = 0; i < count; ++i) {
    // Two orders of summation mostly round to the same bits.
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(want.data() + at, got.data() + at, size) == 0) continue;
    const double x = load(problem.out, want.data(), i), y = load(problem.out, got.data(), i);
    if (!agree(x, y, limits, scale)) {
      return fmt::format("sampled row {} column {} is {} instead of {}", i / problem.n,
                         i % problem.n, y, x);
    }
  }
  return {};
}

SampledRows::SampledRows(const cuda::Context& context, cuda::Stream stream, const Problem& problem,
                         const CudaGemm& gemm)
    : context_(context),
      stream_(stream),
      gemm_(gemm),
      element_(size_of(problem.out)),
      rows_(sampled_rows(gemm.m * gemm.batch, rows_for(gemm.n), 1)) {}

cuda::Pointer SampledRows::address(std::int64_t row) const {
  const std::int64_t element = row / gemm_.m * gemm_.stride_c + row % gemm_.m * gemm_.ldc;
  return gemm_.c + static_cast<cuda::Pointer>(element) * element_;
}

Status SampledRows::poison() const {
  const cuda::Driver& d = context_.driver();
  const std::size_t bytes = static_cast<std::size_t>(gemm_.n) * element_;
  const unsigned char fill = gemm_.beta == 0 ? kNaNByte : kPlainByte;
  for (const std::int64_t row : rows_) {
    if (Status s = d.check(d.MemsetD8Async(address(row), fill, bytes, stream_), "poisoning a row");
        !s) {
      return s;
    }
  }
  return {};
}

Result<std::vector<std::byte>> SampledRows::fetch() const {
  const cuda::Driver& d = context_.driver();
  const std::size_t bytes = static_cast<std::size_t>(gemm_.n) * element_;
  std::vector<std::byte> rows(bytes * rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (Status s =
            d.check(d.MemcpyDtoHAsync(rows.data() + i * bytes, address(rows_[i]), bytes, stream_),
                    "reading a result");
        !s) {
      return tl::unexpected(s.error());
    }
  }
  if (Status s = d.check(d.StreamSynchronize(stream_), "waiting for a baseline"); !s) {
    return tl::unexpected(s.error());
  }
  return rows;
}

}  // namespace tilewright
