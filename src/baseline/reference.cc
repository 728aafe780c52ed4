// SPDX-License-Identifier: Apache-2.0
// What a person would write first: three loops, rows dealt out to threads, f32 accumulation. It
// shows what tuning is worth and depends on no library. It is not the reference of the proof,
// which accumulates in f64 (verify).
#include "baseline/conversion.h"
#include "baseline/conversion_team.h"
#include "baseline/implementation.h"

#include <algorithm>
#include <vector>

namespace tilewright {
namespace {

class Reference final : public Baseline {
 public:
  Reference(const Problem& problem, const Device& device, int threads)
      : p_(problem),
        in_(conversion_for(problem.in, device)),
        team_(team_cpus(device, threads), threads) {}

  Status prepare(const tw_cpu_gemm_args& args) override { return check_sizes(args, p_); }

  Status run(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    team_.run([&](int part, int parts) {
      const std::int64_t rows = p_.batch * p_.m;
      for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        compute(args, row / p_.m, row % p_.m);
      }
    });
    return {};
  }

 private:
  static const std::uint16_t* halves(const void* base) {
    return static_cast<const std::uint16_t*>(base);
  }

  void compute(const tw_cpu_gemm_args& args, std::int64_t batch, std::int64_t i) const {
    const auto k = static_cast<std::size_t>(p_.k), n = static_cast<std::size_t>(p_.n);
    std::vector<float> a(k), b(std::max(n, k)), sum(n, 0.0F);
    const std::uint16_t* a_from = halves(args.a) + batch * args.stride_a;
    const std::uint16_t* b_from = halves(args.b) + batch * args.stride_b;
    if (p_.a_transposed) {
      for (std::int64_t l = 0; l < p_.k; ++l) in_.widen(a_from + l * args.lda + i, a.data() + l, 1);
    } else {
      in_.widen(a_from + i * args.lda, a.data(), p_.k);
    }
    if (args.alpha != 0 && p_.b_transposed) {
      for (std::size_t j = 0; j < n; ++j) {
        in_.widen(b_from + static_cast<std::int64_t>(j) * args.ldb, b.data(), p_.k);
        for (std::size_t l = 0; l < k; ++l) sum[j] += a[l] * b[l];
      }
    } else if (args.alpha != 0) {
      for (std::size_t l = 0; l < k; ++l) {
        in_.widen(b_from + static_cast<std::int64_t>(l) * args.ldb, b.data(), p_.n);
        for (std::size_t j = 0; j < n; ++j) sum[j] += a[l] * b[j];
      }
    }
    const std::int64_t c_row = batch * args.stride_c + i * args.ldc;
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t at = c_row + static_cast<std::int64_t>(j);
      // Each product is exact in a double, and so is all but the last rounding of the sum.
      double value = args.alpha == 0 ? 0.0 : static_cast<double>(args.alpha) * sum[j];
      if (args.beta != 0) value += static_cast<double>(args.beta) * load(p_.out, args.c, at);
      store(p_.out, args.c, at, value);
    }
  }

  Problem p_;
  Conversion in_;
  ConversionTeam team_;
};

}  // namespace

Availability look_reference(const Problem& problem, const Device&) {
  return {"plain loop, f32 accumulation",
          problem.in == ElementType::f32 ? "only half types are converted: in=f32" : ""};
}

Result<std::unique_ptr<Baseline>> make_reference(const Problem& problem, const Device& device,
                                                 int threads) {
  if (problem.in == ElementType::f32) return fail(ErrorCode::usage, "reference: in=f32");
  if (!problem.is_gemm()) return make_reference_operation(problem, device, threads);
  return std::make_unique<Reference>(problem, device, threads);
}

}  // namespace tilewright
