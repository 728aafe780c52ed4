// SPDX-License-Identifier: Apache-2.0
// Drawing the data of a proof; what each kind is for stands in inputs.h.
#include "verify/inputs.h"

#include "base/rng.h"
#include "problem/operations.h"
#include "verify/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilewright {
namespace {

constexpr std::int64_t kTableSize = 65536;
constexpr double kDamping = 0x1p-7;
using Table = std::vector<std::uint32_t>;  // bits of the element type

enum class Stream : std::uint32_t { a = 1, b = 2, c = 3, structure = 4 };

// Acklam's rational approximation of the normal quantile, relative error below 1.2e-9.
// Source: P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution
// function", 2003.
double normal_quantile(double p) {
  constexpr std::array<double, 6> a = {-3.969683028665376e+01, 2.209460984245205e+02,
                                       -2.759285104469687e+02, 1.383577518672690e+02,
                                       -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 5> b = {-5.447609879822406e+01, 1.615858368580409e+02,
                                       -1.556989798598866e+02, 6.680131188771972e+01,
                                       -1.328068155288572e+01};
  constexpr std::array<double, 6> c = {-7.784894002430293e-03, -3.223964580411365e-01,
                                       -2.400758277161838e+00, -2.549732539343734e+00,
                                       4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 4> d = {7.784695709041462e-03, 3.224671290700398e-01,
                                       2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double low = 0.02425;
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p < low) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

// Quantiles of the standard normal distribution, the middles of 65,536 equal parts. A constant,
// made when first asked for because it takes milliseconds.
const std::vector<double>& normal_quantiles() {
  static const std::vector<double> quantiles = [] {
    std::vector<double> made(kTableSize);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(kTableSize));
    }
    return made;
  }();
  return quantiles;
}

template <class Quantile>
Table tabulate(ElementType type, const Quantile& quantile) {
  Table table(kTableSize);
  for (std::size_t i = 0; i < table.size(); ++i) {
    store(type, &table[i], 0,
          quantile((static_cast<double>(i) + 0.5) / static_cast<double>(kTableSize)));
  }
  return table;
}

Table normal_table(ElementType type, double scale) {
  Table table(kTableSize);
  for (std::size_t i = 0; i < table.size(); ++i) {
    store(type, &table[i], 0, scale * normal_quantiles()[i]);
  }
  return table;
}

// Element i of the stream picks a table entry by 16 of the bits of Philox block i / 8.
std::vector<std::byte> draw_from(const Table& table, ElementType type, std::int64_t count,
                                 std::uint64_t seed, Stream stream) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  const std::array<std::uint32_t, 2> key = {static_cast<std::uint32_t>(seed),
                                            static_cast<std::uint32_t>(seed >> 32)};
  for_ranges((count + 7) / 8, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto words =
          philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                      static_cast<std::uint32_t>(stream), 0},
                     key);
      const std::int64_t last = std::min<std::int64_t>(count - block * 8, 8);
      std::byte* to = bytes.data() + static_cast<std::size_t>(block * 8) * size;
      for (std::int64_t i = 0; i < last; ++i, to += size) {
        const std::uint32_t pick = words[static_cast<std::size_t>(i / 2)] >> (i % 2 * 16);
        std::memcpy(to, &table[pick & 0xffffU], size);
      }
    }
  });
  return bytes;
}

// The share of non-zeros in {0,1} and {-1,0,1} data. Results count K * share^2 on average: about
// 8192 where K allows, which an f16 accumulator cannot reach, and at most 1024 for a problem that
// asks for that accumulator, so that all its sums stay below 2048.
double density(const Problem& p) {
  const double target = p.acc == Accumulator::f16 ? 1024 : 8192;
  const double most = p.acc == Accumulator::f16 ? 0.75 : 0.97;
  return std::min(most, std::sqrt(target / static_cast<double>(std::max<std::int64_t>(p.k, 1))));
}

// Standard deviation of both operands so that results have standard deviation `sigma`.
double operand_scale(const Problem& p, double sigma) {
  return std::sqrt(sigma / std::sqrt(static_cast<double>(std::max<std::int64_t>(p.k, 1))));
}

double large_scale(const Problem& p) {
  // A table of 65,536 quantiles ends at 4.3 sigma; operands must stay finite themselves.
  const double operand_limit = p.in == ElementType::f16 ? 65504.0 / 8 : 1e18;
  const double sigma = p.out == ElementType::f16 ? 65504.0 / 7 : 1e36;
  return std::min(operand_limit, operand_scale(p, sigma));
}

Table table_for(const Problem& p, DataKind kind, Stream stream) {
  const auto sign_table = [&](bool negative) {
    const double share = density(p);
    return tabulate(p.in, [=](double u) {
      if (u >= share) return 0.0;
      return negative && u < share / 2 ? -1.0 : 1.0;
    });
  };
  switch (kind) {
    case DataKind::zero_one:
      return sign_table(false);
    case DataKind::signs:
      return sign_table(true);
    case DataKind::uniform:
      return tabulate(p.in, [](double u) { return 2 * u - 1; });
    case DataKind::large:
      return normal_table(p.in, large_scale(p));
    // |C| is largest near 4 sigma over a few thousand results.
    case DataKind::tiny:
      return normal_table(p.in, operand_scale(p, 1e-6));
    case DataKind::damped:
      return normal_table(p.in, stream == Stream::a ? kDamping : 1);
    case DataKind::normal:
    case DataKind::cancelling:
    case DataKind::split_k:
      break;
  }
  return normal_table(p.in, 1);
}

// Where element (outer, k) of a packed operand lies; outer is a row of A or a column of B.
struct Place {
  std::int64_t outer_count = 0, k_count = 0;
  bool k_is_row = false;  // stored with k as the row
  [[nodiscard]] std::int64_t at(std::int64_t batch, std::int64_t outer, std::int64_t k) const {
    const std::int64_t in_batch = k_is_row ? k * outer_count + outer : outer * k_count + k;
    return batch * outer_count * k_count + in_batch;
  }
};
Place place_a(const Problem& p) {
  return {p.m, p.k, p.a_transposed};
}
Place place_b(const Problem& p) {
  return {p.n, p.k, !p.b_transposed};
}

// B's second half of k mirrors the first with the sign turned, A's repeats it, and B's last
// elements of each half differ by about a thousandth: what is left after cancelling.
void cancel_halves(const Problem& p, Operands* data) {
  const std::int64_t half = p.k / 2;
  const Place pa = place_a(p);
  const Place pb = place_b(p);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t k = 0; k < half; ++k) {
        store(p.in, data->a.data(), pa.at(batch, i, half + k),
              load(p.in, data->a.data(), pa.at(batch, i, k)));
      }
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t k = 0; k < half; ++k) {
        const double first = load(p.in, data->b.data(), pb.at(batch, j, k));
        const double kept = k % 16 == 3 ? 1.0 - 1.0 / 64 : 1.0;
        store(p.in, data->b.data(), pb.at(batch, j, half + k), -first * kept);
      }
    }
  }
}

// What each k holds in split_k data: a payload, or the two exponents of its power of two.
struct SplitPlan {
  std::vector<bool> payload;
  std::vector<int> exponent;  // of the product, where no payload
  std::int64_t spike = 0;     // the k that takes all others back
};

SplitPlan plan_split_k(std::int64_t k, Rng* rng) {
  constexpr int kTotal = 21;
  SplitPlan plan{std::vector<bool>(static_cast<std::size_t>(k)),
                 std::vector<int>(static_cast<std::size_t>(k)), 0};
  // Payload every `pitch` >= 2 elements, 16 of them at most; two elements at least carry signal.
  const std::int64_t count = k < 3 ? 0 : std::clamp<std::int64_t>(k / 32, 1, 16);
  const std::int64_t pitch = count ? k / count : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto shift = static_cast<std::int64_t>(
        pitch > 2 ? rng->below(static_cast<std::uint64_t>(pitch - 1)) : 0);
    plan.payload[static_cast<std::size_t>(i * pitch + shift)] = true;
  }
  const std::int64_t positive = k - count - 1;
  do {
    plan.spike = static_cast<std::int64_t>(rng->below(static_cast<std::uint64_t>(k)));
  } while (plan.payload[static_cast<std::size_t>(plan.spike)]);
  // 2^e <= 2^21 / positive < 2^(e+1); (positive + doubled) * 2^e = 2^21.
  int e = kTotal;
  while ((std::int64_t{1} << (kTotal - e)) < positive) --e;
  std::int64_t doubled = (std::int64_t{1} << (kTotal - e)) - positive;
  std::int64_t left = positive;
  for (std::int64_t i = 0; i < k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (plan.payload[at] || i == plan.spike) continue;
    // Spread the doubled ones: each of those left is one with probability doubled / left.
    const bool two =
        static_cast<std::int64_t>(rng->below(static_cast<std::uint64_t>(left))) < doubled;
    plan.exponent[at] = e + (two ? 1 : 0);
    doubled -= two ? 1 : 0;
    --left;
  }
  plan.exponent[static_cast<std::size_t>(plan.spike)] = kTotal;
  return plan;
}

// The first payload is odd: +-1 in both operands. The others are even in B, so the sum is odd.
std::int64_t odd_place(const SplitPlan& plan) {
  return std::find(plan.payload.begin(), plan.payload.end(), true) - plan.payload.begin();
}

// Bits of one operand per k: there are only three values each, minus, zero and plus.
std::vector<std::array<std::uint32_t, 3>> split_bits(const Problem& p, const SplitPlan& plan,
                                                     bool is_a) {
  const std::int64_t odd = odd_place(plan);
  std::vector<std::array<std::uint32_t, 3>> bits(static_cast<std::size_t>(p.k));
  for (std::int64_t k = 0; k < p.k; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const int e = plan.exponent[at];
    double value = std::ldexp(1.0, is_a ? e / 2 : e - e / 2);
    if (k == plan.spike && is_a) value = -value;
    if (plan.payload[at]) value = is_a || k == odd ? 1 : 2;
    for (int sign = -1; sign <= 1; ++sign) {
      store(p.in, &bits[at][static_cast<std::size_t>(sign + 1)], 0, sign * value);
    }
  }
  return bits;
}

// One operand of split_k data.
void fill_split_k(const Problem& p, const SplitPlan& plan, std::int64_t batch, bool is_a,
                  std::uint64_t seed, std::vector<std::byte>* bytes) {
  const Place place = is_a ? place_a(p) : place_b(p);
  const std::size_t size = size_of(p.in);
  const std::int64_t odd = odd_place(plan);
  const auto bits = split_bits(p, plan, is_a);
  for_ranges(
      place.outer_count, (1 << 14) / (p.k + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end; ++o) {
          Rng rng(seed, static_cast<std::uint64_t>((batch * place.outer_count + o) * 8) +
                            static_cast<std::uint64_t>(is_a ? Stream::a : Stream::b));
          const std::size_t outer_sign = rng.below(2) * 2;
          for (std::int64_t k = 0; k < p.k; ++k) {
            const auto at = static_cast<std::size_t>(k);
            std::size_t pick = outer_sign;
            if (plan.payload[at]) pick = k == odd ? rng.below(2) * 2 : rng.below(3);
            std::memcpy(bytes->data() + static_cast<std::size_t>(place.at(batch, o, k)) * size,
                        &bits[at][pick], size);
          }
        }
      });
}

Operands draw_split_k(const Problem& p, std::uint64_t seed) {
  const auto size = static_cast<std::int64_t>(size_of(p.in));
  Operands data{std::vector<std::byte>(static_cast<std::size_t>(p.batch * p.m * p.k * size)),
                std::vector<std::byte>(static_cast<std::size_t>(p.batch * p.n * p.k * size))};
  Rng rng(seed, static_cast<std::uint64_t>(Stream::structure));
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const SplitPlan plan = plan_split_k(p.k, &rng);
    fill_split_k(p, plan, batch, true, seed, &data.a);
    fill_split_k(p, plan, batch, false, seed, &data.b);
  }
  return data;
}

Table plausible_table(const Problem& p, DataKind kind) {
  const double sigma = std::sqrt(static_cast<double>(std::max<std::int64_t>(p.k, 1))) *
                       (kind == DataKind::damped ? kDamping : 1);
  return normal_table(p.out, sigma);
}

Table even_table(const Problem& p) {
  return tabulate(p.out, [](double u) { return 2 * std::floor(17 * u) - 16; });
}

// What draw_split_k() and fill_split_k() do, as tables by batch entry and k.
Recipe split_recipe(const Problem& p, bool is_a, std::uint64_t seed) {
  Recipe made;
  Rng rng(seed, static_cast<std::uint64_t>(Stream::structure));
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const SplitPlan plan = plan_split_k(p.k, &rng);
    for (const auto& three : split_bits(p, plan, is_a)) {
      made.values.insert(made.values.end(), three.begin(), three.end());
    }
    int payloads = 0;
    for (const bool payload : plan.payload) made.ordinals.push_back(payload ? payloads++ : -1);
  }
  return made;
}

std::shared_ptr<const Recipe> pointed(std::shared_ptr<Recipe> made, Drawing::Form form,
                                      Operand operand, const Place& place) {
  made->drawing.form = form;
  made->drawing.stream = static_cast<unsigned>(operand);
  made->drawing.values = made->values.data();
  made->drawing.ordinals = made->ordinals.data();
  made->drawing.outer = place.outer_count;
  made->drawing.inner = place.k_count;
  made->drawing.inner_is_row = place.k_is_row;
  return made;
}

}  // namespace

bool is_exact(DataKind kind, const Problem& p) {
  if (p.is_gemm() || p.op == Op::conv2d) return is_exact(kind);
  return only_moves(p) || (p.function == Function::sum && is_exact(kind));
}

bool applies(DataKind kind, const Problem& p) {
  if (!p.is_gemm()) {
    // The squares of bf16 numbers as large as these leave the range of f32.
    if (kind == DataKind::large) return p.op != Op::layernorm || p.in == ElementType::f16;
    return kind != DataKind::split_k && kind != DataKind::cancelling;
  }
  if (kind == DataKind::split_k) {
    return p.k >= 2 && p.k <= (std::int64_t{1} << 20) && p.acc == Accumulator::f32;
  }
  if (kind == DataKind::large || kind == DataKind::cancelling) return p.acc == Accumulator::f32;
  return true;
}

std::vector<std::byte> draw_a(const Problem& p, DataKind kind, std::uint64_t seed) {
  return draw_from(table_for(p, kind, Stream::a), p.in, p.batch * p.a_rows() * p.a_cols(), seed,
                   Stream::a);
}

Operands draw(const Problem& p, DataKind kind, std::uint64_t seed) {
  if (kind == DataKind::split_k) return draw_split_k(p, seed);
  Operands data{draw_a(p, kind, seed),
                draw_from(table_for(p, kind, Stream::b), p.in, p.batch * p.b_rows() * p.b_cols(),
                          seed, Stream::b)};
  if (kind == DataKind::cancelling) cancel_halves(p, &data);
  return data;
}

std::vector<std::byte> plausible_c(const Problem& p, std::uint64_t seed, DataKind kind) {
  return draw_from(plausible_table(p, kind), p.out, p.batch * p.c_rows() * p.c_cols(), seed,
                   Stream::c);
}

std::vector<std::byte> even_c(const Problem& p, std::uint64_t seed) {
  return draw_from(even_table(p), p.out, p.batch * p.c_rows() * p.c_cols(), seed, Stream::c);
}

std::shared_ptr<const Recipe> recipe(const Problem& p, DataKind kind, Operand operand,
                                     std::uint64_t seed) {
  const bool is_a = operand == Operand::a;
  const Place place = is_a ? place_a(p) : place_b(p);
  if (kind == DataKind::split_k) {
    auto made = std::make_shared<Recipe>(split_recipe(p, is_a, seed));
    made->seeded = true;
    return pointed(std::move(made), Drawing::kSplit, operand, place);
  }
  auto made = std::make_shared<Recipe>();
  made->values = table_for(p, kind, is_a ? Stream::a : Stream::b);
  if (kind != DataKind::cancelling)
    return pointed(std::move(made), Drawing::kTable, operand, place);
  for (const double kept : {1.0, 1.0 - 1.0 / 64}) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(kDrawTable); ++i) {
      std::uint32_t bits = made->values[i];
      if (!is_a) store(p.in, &bits, 0, -load(p.in, &bits, 0) * kept);
      made->values.push_back(bits);
    }
  }
  return pointed(std::move(made), Drawing::kCancelling, operand, place);
}

std::shared_ptr<const Recipe> plausible_recipe(const Problem& p, DataKind kind) {
  auto made = std::make_shared<Recipe>();
  made->values = plausible_table(p, kind);
  return pointed(std::move(made), Drawing::kTable, Operand::c, {});
}

std::shared_ptr<const Recipe> even_recipe(const Problem& p) {
  auto made = std::make_shared<Recipe>();
  made->values = even_table(p);
  return pointed(std::move(made), Drawing::kTable, Operand::c, {});
}

}  // namespace tilewright
