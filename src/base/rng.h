// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, a counter-based generator: the i-th block is a pure function of (key, i), so the
// same numbers come out on any machine, in any order, on CPU and GPU.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
#pragma once

#include <array>
#include <cstdint>

namespace tilewright {

[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

// A stream of numbers from one seed and stream id. Satisfies UniformRandomBitGenerator (32 bits).
// `<random>` distributions differ between libraries, so uniform and normal are our own.
class Rng {
 public:
  using result_type = std::uint32_t;
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffU; }
  result_type operator()();
  [[nodiscard]] std::uint64_t next64();
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);  // unbiased; bound >= 1
  [[nodiscard]] double uniform();                          // [0, 1), 53 bits
  [[nodiscard]] double normal();                           // mean 0, variance 1 (Box-Muller)

 private:
  std::uint64_t seed_, stream_, block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace tilewright
