// SPDX-License-Identifier: Apache-2.0
// Checking a whole product without computing it: C x against A (B x) in f64.
//
// Columns are taken in groups of 64 (16 for bf16 results, whose rounding is eight times as coarse),
// each column with a random weight in +-[1/2, 1), so a fault in one result is weighed against the
// allowed error of 64 and not of all N. Weights differ from
// column to column, so exchanged columns show. The tolerance is the sum of the elementwise bounds
// of a group (bounds.h), hence an honest kernel never fails; on integer data that fit the output it
// is zero, and then one wrong result anywhere is seen unless it is off by a multiple that cancels.
// Cost: 1/32 (1/8) of the product, plus one pass over B when B changes. The kernel under test never
// sees the weights: they live in another process. Source: R. Freivalds, "Probabilistic machines can
// use less running time", IFIP 1977.
#pragma once

#include "verify/bounds.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

[[nodiscard]] constexpr std::int64_t freivalds_group(ElementType out) {
  return out == ElementType::bf16 ? 16 : 64;
}

// One random weight per column.
[[nodiscard]] std::vector<double> freivalds_weights(std::int64_t n, std::uint64_t seed);

// Of three vectors of weighted sums: what C holds, the product, what C held. They are all that a
// least-squares fit of the number of calls needs.
struct InnerProducts {
  double got_got = 0, product_product = 0, before_before = 0;
  double got_product = 0, got_before = 0, product_before = 0;
  void add(double got, double product, double before) {
    got_got += got * got;
    product_product += product * product;
    before_before += before * before;
    got_product += got * product;
    got_before += got * before;
    product_before += product * before;
  }
};
[[nodiscard]] std::int64_t likeliest_calls(const InnerProducts& products, double beta,
                                           std::int64_t most);

class Freivalds {
 public:
  // Draws weights and forms B x and |B| 1 from the present B.
  Freivalds(const Problem& problem, const Strided& b, std::uint64_t seed);

  // C x by groups, and |C| 1: of C before a call that reads it.
  struct Weighed {
    std::vector<double> sum, magnitude;  // batch x M x groups
  };
  [[nodiscard]] Weighed weigh(const Strided& c) const;

  struct Options {
    bool exact = false;  // no error is allowed: integer data whose results fit the output
    double beta = 0;     // not 0: `before` is needed, and `calls` were made since
    const Weighed* before = nullptr;
    std::int64_t calls = 1;
  };
  // The mismatch names a row and the first column of its group; got and want are weighted sums.
  [[nodiscard]] std::optional<Mismatch> check(const Strided& a, const Strided& c,
                                              const Options& options) const;

  // How many calls C shows, by least squares, where beta makes that visible.
  [[nodiscard]] std::int64_t count_calls(const Strided& a, const Strided& c, double beta,
                                         const Weighed& before, std::int64_t most) const;

 private:
  [[nodiscard]] std::vector<double> expected(const Strided& a, std::int64_t batch,
                                             std::vector<float>* magnitude) const;

  Problem problem_;
  std::int64_t width_;  // columns of a group
  std::int64_t groups_;
  std::vector<double> weights_;    // one per column
  std::vector<double> weighted_;   // batch x K x groups: B x
  std::vector<float> magnitudes_;  // batch x K x groups: |B| 1
};

}  // namespace tilewright
