// SPDX-License-Identifier: Apache-2.0
// What a person would write first for each of the general operations: plain loops over widened
// rows, rows dealt out to threads, the compiler left to find vectors. It is the baseline where no
// library has the operation, and depends on none. Not the reference of a proof (verify).
#include "baseline/conversion.h"
#include "baseline/conversion_team.h"
#include "baseline/implementation.h"
#include "problem/operations.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tilewright {
namespace {

// The buffers of one thread.
struct Scratch {
  std::vector<float> x, b, y;
};

class ReferenceOperation final : public Baseline {
 public:
  ReferenceOperation(const Problem& problem, const Device& device, int threads)
      : p_(problem),
        in_(conversion_for(problem.in, device)),
        out_(conversion_for(problem.out == ElementType::f32 ? problem.in : problem.out, device)),
        team_(team_cpus(device, threads), threads, ConversionTeam::Waiting::spinning),
        scratch_(static_cast<std::size_t>(team_.threads())) {
    for (Scratch& s : scratch_) {
      s.x.resize(static_cast<std::size_t>(std::max(p_.n, p_.a_cols())));
      s.b.resize(static_cast<std::size_t>(2 * p_.n));
      s.y.resize(static_cast<std::size_t>(p_.n));
    }
  }

  Status prepare(const tw_cpu_gemm_args& args) override { return check_sizes(args, p_); }

  Status run(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    team_.run([&](int part, int parts) {
      Scratch& s = scratch_[static_cast<std::size_t>(part)];
      if (p_.op == Op::layernorm) {
        in_.widen(halves(args.b), s.b.data(), p_.n);
        in_.widen(halves(args.b) + args.ldb, s.b.data() + p_.n, p_.n);
      }
      for (std::int64_t row = p_.m * part / parts; row < p_.m * (part + 1) / parts; ++row) {
        compute(args, row, s);
      }
    });
    return {};
  }

 private:
  static const std::uint16_t* halves(const void* base) {
    return static_cast<const std::uint16_t*>(base);
  }

  void compute(const tw_cpu_gemm_args& args, std::int64_t row, Scratch& s) const {
    if (p_.op == Op::transpose) return transpose(args, row);
    if (p_.op == Op::conv2d) {
      convolve(args, row, s);
    } else {
      in_.widen(halves(args.a) + row * args.lda, s.x.data(), p_.n);
      if (p_.op == Op::softmax) softmax(s);
      if (p_.op == Op::layernorm) layernorm(s);
      if (p_.op == Op::map) map(s);
      if (p_.op == Op::reduce) s.y[0] = reduce(s);
    }
    const std::int64_t at = row * args.ldc, count = p_.c_cols();
    if (p_.out == ElementType::f32) {
      std::copy_n(s.y.data(), count, static_cast<float*>(args.c) + at);
    } else {
      out_.narrow(s.y.data(), static_cast<std::uint16_t*>(args.c) + at, count);
    }
  }

  void transpose(const tw_cpu_gemm_args& args, std::int64_t row) const {
    const std::uint16_t* from = halves(args.a) + row * args.lda;
    auto* to = static_cast<std::uint16_t*>(args.c) + row;
    for (std::int64_t j = 0; j < p_.n; ++j) to[j * args.ldc] = from[j];
  }

  void softmax(Scratch& s) const {
    const auto n = static_cast<std::size_t>(p_.n);
    const float most = *std::max_element(s.x.begin(), s.x.begin() + p_.n);
    float sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      s.y[j] = std::exp(s.x[j] - most);
      sum += s.y[j];
    }
    const float inverse = 1 / sum;
    for (std::size_t j = 0; j < n; ++j) s.y[j] *= inverse;
  }

  void layernorm(Scratch& s) const {
    const auto n = static_cast<std::size_t>(p_.n);
    float sum = 0, squares = 0;
    for (std::size_t j = 0; j < n; ++j) sum += s.x[j];
    const float mean = sum / static_cast<float>(n);
    for (std::size_t j = 0; j < n; ++j) squares += (s.x[j] - mean) * (s.x[j] - mean);
    const float inverse =
        1 / std::sqrt(squares / static_cast<float>(n) + static_cast<float>(kLayernormEpsilon));
    for (std::size_t j = 0; j < n; ++j) s.y[j] = (s.x[j] - mean) * inverse * s.b[j] + s.b[n + j];
  }

  float reduce(const Scratch& s) const {
    if (p_.function == Function::max) {
      return *std::max_element(s.x.begin(), s.x.begin() + p_.n);
    }
    float sum = 0;
    for (std::int64_t j = 0; j < p_.n; ++j) sum += s.x[static_cast<std::size_t>(j)];
    return sum;
  }

  void map(Scratch& s) const {
    const auto n = static_cast<std::size_t>(p_.n);
    if (p_.function == Function::relu) {
      for (std::size_t j = 0; j < n; ++j) s.y[j] = std::max(s.x[j], 0.0F);
    } else if (p_.function == Function::gelu) {
      constexpr float kRootHalf = 0.70710678F;
      for (std::size_t j = 0; j < n; ++j) {
        s.y[j] = 0.5F * s.x[j] * (1 + std::erf(s.x[j] * kRootHalf));
      }
    } else {
      for (std::size_t j = 0; j < n; ++j) s.y[j] = s.x[j] / (1 + std::exp(-s.x[j]));
    }
  }

  // A pixel of the output: each place of the filter adds its channels times their rows of B.
  void convolve(const tw_cpu_gemm_args& args, std::int64_t row, Scratch& s) const {
    const Convolution& c = p_.conv;
    const std::int64_t x0 = row % c.out_width() * c.stride - c.pad;
    const std::int64_t y0 = row / c.out_width() % c.out_height() * c.stride - c.pad;
    const std::int64_t image = row / (c.out_width() * c.out_height());
    std::fill(s.y.begin(), s.y.end(), 0.0F);
    for (std::int64_t at = 0; at < c.filter_height * c.filter_width; ++at) {
      const std::int64_t y = y0 + at / c.filter_width, x = x0 + at % c.filter_width;
      if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
      const std::int64_t pixel = (image * c.height + y) * c.width + x;
      in_.widen(halves(args.a) + pixel * args.lda, s.x.data(), c.channels);
      for (std::int64_t l = 0; l < c.channels; ++l) {
        const float left = s.x[static_cast<std::size_t>(l)];
        in_.widen(halves(args.b) + (at * c.channels + l) * args.ldb, s.b.data(), p_.n);
        for (std::size_t j = 0; j < s.y.size(); ++j) s.y[j] += left * s.b[j];
      }
    }
  }

  Problem p_;
  Conversion in_, out_;
  ConversionTeam team_;
  std::vector<Scratch> scratch_;
};

}  // namespace

Result<std::unique_ptr<Baseline>> make_reference_operation(const Problem& problem,
                                                           const Device& device, int threads) {
  return std::make_unique<ReferenceOperation>(problem, device, threads);
}

}  // namespace tilewright
