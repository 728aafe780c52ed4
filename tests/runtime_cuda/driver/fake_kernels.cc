// SPDX-License-Identifier: Apache-2.0
// See fake_kernels.h.
#include "driver/fake_kernels.h"

#include "base/element.h"

#include <cmath>
#include <cstring>

namespace tilewright {

using cuda::Code;
using cuda::kSuccess;

namespace {

constexpr Code kInvalidValue = 1, kMisaligned = 716;

double finished(double x, int activation) {
  if (activation == 1) return x < 0 ? 0 : x;
  if (activation == 2) return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  return activation == 3 ? x / (1 + std::exp(-x)) : x;
}

struct Matrix {
  const void* base = nullptr;
  std::int64_t row = 0, entry = 0;  // strides in elements
};

}  // namespace

Code product(const FakeCubin& cubin, Values v, const std::map<std::string, EncodedMap>& maps,
             unsigned grid_z, const Faults& fault) {
  const ElementType in = *element_from(cubin.in), out = *element_from(cubin.out);
  const auto number = [&](const char* word) { return static_cast<std::int64_t>(v[word]); };
  const auto scalar = [&](const char* word, float otherwise) {
    if (!v.contains(word)) return otherwise;
    const auto bits = static_cast<std::uint32_t>(v[word]);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  const std::int64_t m = number("i32:M"), n = number("i32:N"), k = number("i32:K");
  const float alpha = scalar("alpha", 1), beta = scalar("beta", 0);
  Matrix a, b;
  std::int64_t batch = 1;
  const bool sums = alpha != 0 && k != 0;
  if (maps.contains("map0")) {
    const EncodedMap& ma = maps.at("map0");
    const EncodedMap& mb = maps.at("map1");
    a = {reinterpret_cast<const void*>(ma.address), static_cast<std::int64_t>(ma.row_bytes / 2),
         static_cast<std::int64_t>(ma.batch_bytes / 2)};
    b = {reinterpret_cast<const void*>(mb.address), static_cast<std::int64_t>(mb.row_bytes / 2),
         static_cast<std::int64_t>(mb.batch_bytes / 2)};
    batch = number("i32:batch");
    // Entries of a copy, of which there is one if all are the same.
    if (v.contains("i32:min(sa,1)")) a.entry *= number("i32:min(sa,1)");
    if (v.contains("i32:min(sb,1)")) b.entry *= number("i32:min(sb,1)");
    if (!sums) fault("a map for a sum of nothing");
  } else {
    a = {reinterpret_cast<const void*>(v["a"]), number("i64:lda"), number("i64:sa")};
    b = {reinterpret_cast<const void*>(v["b"]), number("i64:ldb"), number("i64:sb")};
    batch = grid_z;  // of split kernels this counts slices too: see below
    if (sums && (v["a"] % std::min(16, 2 * cubin.vector_a) != 0 ||
                 v["b"] % std::min(16, 2 * cubin.vector_b) != 0)) {
      return kMisaligned;
    }
  }
  void* const c = reinterpret_cast<void*>(v["c"]);
  const std::uint64_t vector_c =
      std::min<std::uint64_t>(16, static_cast<std::uint64_t>(cubin.vector_c) * size_of(out));
  if (v["c"] % vector_c != 0) return kMisaligned;
  // A head of counters: its bytes are the argument after the workspace.
  std::int64_t head = 0;
  for (std::size_t i = 0; i + 1 < cubin.arguments.size(); ++i) {
    if (cubin.arguments[i] == "workspace") head = number(cubin.arguments[i + 1].c_str());
  }
  if (head > 0) {
    auto* const bytes = reinterpret_cast<unsigned char*>(v["workspace"]);
    if (bytes == nullptr) return kInvalidValue;
    for (std::int64_t i = 0; i < head; ++i) {
      if (bytes[i] != 0) fault("the head of the workspace is dirty");
    }
    std::memset(bytes + head, 0xff, 4096);  // partial sums
  }
  for (std::int64_t e = 0; e < batch; ++e) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; sums && l < k; ++l) {
          sum += load(in, a.base, e * a.entry + (cubin.a == "n" ? i * a.row + l : l * a.row + i)) *
                 load(in, b.base, e * b.entry + (cubin.b == "n" ? l * b.row + j : j * b.row + l));
        }
        const std::int64_t at = e * number("i64:sc") + i * number("i64:ldc") + j;
        double x = alpha * sum + (beta != 0 ? beta * load(out, c, at) : 0);
        if (v["bias"] != 0) x += load(out, reinterpret_cast<const void*>(v["bias"]), j);
        store(out, c, at, finished(x, static_cast<int>(v["activation"])));
      }
    }
  }
  return kSuccess;
}

Code repack(const std::vector<std::uint64_t>& values) {
  auto* const workspace = reinterpret_cast<unsigned char*>(values[0]);
  if (workspace == nullptr || values[0] % 16 != 0) return kInvalidValue;
  for (std::size_t i = 1; i + 7 <= values.size(); i += 7) {
    const auto* const from = reinterpret_cast<const unsigned char*>(values[i]);
    const auto number = [&](std::size_t at) { return static_cast<std::int64_t>(values[i + at]); };
    const std::int64_t rows = number(2), columns = number(3), entries = number(4);
    const std::int64_t width = (columns + 7) / 8 * 8;
    unsigned char* to = workspace + number(1);
    std::memset(to, 0xff, static_cast<std::size_t>(2 * entries * rows * width));
    for (std::int64_t e = 0; e < entries; ++e) {
      for (std::int64_t row = 0; row < rows; ++row, to += 2 * width) {
        std::memcpy(to, from + 2 * (e * number(6) + row * number(5)),
                    static_cast<std::size_t>(2 * columns));
      }
    }
  }
  return kSuccess;
}

}  // namespace tilewright
