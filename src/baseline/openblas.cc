// SPDX-License-Identifier: Apache-2.0
// OpenBLAS: f32 multiplication with the operands converted, in three forms.
//
//   openblas         A, B and C converted inside the clock: what half data costs its caller
//   openblas_ahead   B, the weights, converted in prepare(): shown beside, not in the headline
//   openblas_sbgemm  bf16 operands as they are, where this build has it; C converted
#include "baseline/conversion.h"
#include "baseline/conversion_team.h"
#include "baseline/environment.h"
#include "baseline/floats.h"
#include "baseline/implementation.h"
#include "baseline/openblas_api.h"
#include "baseline/pool_scope.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <optional>

namespace tilewright {
namespace {

enum class Form { plain, ahead, sbgemm };

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

class Openblas final : public Baseline {
 public:
  Openblas(const OpenblasApi& api, Form form, const Problem& problem, const Device& device,
           int threads)
      : api_(api),
        form_(form),
        p_(problem),
        in_(conversion_for(problem.in, device)),
        team_(team_cpus(device, threads), threads),
        a_(form == Form::sbgemm ? 0 : a_count() * p_.batch),
        b_(form == Form::plain ? b_count() * p_.batch : 0),
        c_(p_.out == ElementType::f32 ? 0 : p_.m * p_.n * p_.batch) {
    if (p_.out != ElementType::f32) out_ = conversion_for(p_.out, device);
  }

  // Makes the pool exist before a lockdown forbids new threads: a product large enough for all.
  void start_pool(int threads) {
    constexpr int kSize = 384;
    const Floats a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
    api_.set_num_threads(threads);
    api_.sgemm(kRowMajor, kNoTranspose, kNoTranspose, kSize, kSize, kSize, 1, a.get(), kSize,
               b.get(), kSize, 0, c.get(), kSize);
  }

  Status prepare(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    if (form_ != Form::ahead) return {};
    auto [place, made] = ahead_.try_emplace(args.b, b_count() * p_.batch);
    widen(args.b, args.stride_b, args.ldb, p_.b_rows(), p_.b_cols(), place->second.get());
    return {};
  }

  Status run(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    const float* b = b_.get();
    if (form_ == Form::ahead) {
      const auto found = ahead_.find(args.b);
      if (found == ahead_.end()) {
        return fail(ErrorCode::internal, "openblas_ahead called with a B that was not prepared");
      }
      b = found->second.get();
    }
    if (form_ == Form::plain) {
      widen(args.b, args.stride_b, args.ldb, p_.b_rows(), p_.b_cols(), b_.get());
    }
    if (form_ != Form::sbgemm) {
      widen(args.a, args.stride_a, args.lda, p_.a_rows(), p_.a_cols(), a_.get());
    }
    for (std::int64_t i = 0; i < p_.batch; ++i) multiply(args, i, b);
    if (p_.out != ElementType::f32) narrow(args);
    return {};
  }

 private:
  [[nodiscard]] std::int64_t a_count() const { return p_.m * p_.k; }
  [[nodiscard]] std::int64_t b_count() const { return p_.k * p_.n; }

  void widen(const void* from, std::int64_t stride, std::int64_t ld, std::int64_t rows,
             std::int64_t cols, float* to) {
    const auto* halves = static_cast<const std::uint16_t*>(from);
    team_.share(rows * cols * p_.batch, [&](int part, int parts) {
      for (std::int64_t i = 0; i < p_.batch; ++i) {
        widen_part(in_, halves + i * stride, ld, rows, cols, to + i * rows * cols, part, parts);
      }
    });
  }
  void narrow(const tw_cpu_gemm_args& args) {
    auto* halves = static_cast<std::uint16_t*>(args.c);
    team_.share(p_.m * p_.n * p_.batch, [&](int part, int parts) {
      for (std::int64_t i = 0; i < p_.batch; ++i) {
        narrow_part(*out_, c_.get() + i * p_.m * p_.n, p_.m, p_.n, halves + i * args.stride_c,
                    args.ldc, args.beta, part, parts);
      }
    });
  }
  void multiply(const tw_cpu_gemm_args& args, std::int64_t i, const float* b) {
    const bool direct = p_.out == ElementType::f32;  // else beta is applied in narrow()
    float* c =
        direct ? static_cast<float*>(args.c) + i * args.stride_c : c_.get() + i * p_.m * p_.n;
    const int ldc = static_cast<int>(direct ? args.ldc : p_.n);
    const float beta = direct ? args.beta : 0;
    const int transpose_a = p_.a_transposed ? kTranspose : kNoTranspose;
    const int transpose_b = p_.b_transposed ? kTranspose : kNoTranspose;
    const int m = static_cast<int>(p_.m), n = static_cast<int>(p_.n), k = static_cast<int>(p_.k);
    if (form_ == Form::sbgemm) {
      api_.sbgemm(kRowMajor, transpose_a, transpose_b, m, n, k, args.alpha,
                  static_cast<const std::uint16_t*>(args.a) + i * args.stride_a,
                  static_cast<int>(args.lda),
                  static_cast<const std::uint16_t*>(args.b) + i * args.stride_b,
                  static_cast<int>(args.ldb), beta, c, ldc);
      return;
    }
    api_.sgemm(kRowMajor, transpose_a, transpose_b, m, n, k, args.alpha, a_.get() + i * a_count(),
               static_cast<int>(p_.a_cols()), b + i * b_count(), static_cast<int>(p_.b_cols()),
               beta, c, ldc);
  }

  OpenblasApi api_;
  Form form_;
  Problem p_;
  Conversion in_;
  std::optional<Conversion> out_;
  ConversionTeam team_;
  Floats a_, b_, c_;
  std::map<const void*, Floats> ahead_;  // by the address of B
};

std::string why_not(const Problem& p) {
  if (is_empty(p)) return "the product is empty: nothing to time";
  if (p.in == ElementType::f32) return "only half types are converted: in=f32";
  for (const std::int64_t size : {p.m, p.n, p.k, p.a_stride(), p.b_stride(), p.c_stride()}) {
    if (size > kIntMax) return fmt::format("OpenBLAS counts in 32 bits: size {}", size);
  }
  return {};
}

Result<std::unique_ptr<Baseline>> make(Form form, const Problem& problem, const Device& device,
                                       int threads) {
  if (const std::string reason = why_not(problem); !reason.empty()) {
    return fail(ErrorCode::usage, reason);
  }
  const PoolScope scope(team_cpus(device, threads));
  const auto api = OpenblasApi::open();
  if (!api) return tl::unexpected(api.error());
  if (!core_type_fits(api->get_corename(), device)) {
    return fail(ErrorCode::environment, wrong_core_type(api->get_corename(), device));
  }
  if (form == Form::sbgemm && (api->sbgemm == nullptr || problem.in != ElementType::bf16)) {
    return fail(ErrorCode::environment, "cblas_sbgemm: absent from this build, or not bf16");
  }
  auto made = std::make_unique<Openblas>(*api, form, problem, device, threads);
  made->start_pool(threads);
  return made;
}

}  // namespace

Availability look_openblas(const Problem& problem, const Device& device) {
  const OpenblasFacts& facts = openblas_facts();
  if (!facts.found) {
    return {"", fmt::format("{}; install libopenblas0-pthread", facts.error)};
  }
  std::string core_type = facts.core_type;
  std::string reason = why_not(problem);
  if (const std::string set = rigging_variable(); !set.empty()) {
    reason = fmt::format("{0} is set and would cripple it; unset {0}", set);
  } else if (!core_type_fits(core_type, device) && openblas_core_type_is_chosen()) {
    reason = wrong_core_type(core_type, device);
  } else if (!core_type_fits(core_type, device)) {
    core_type = best_core_type(device);  // as baseline_environment() will make it
  }
  return {fmt::format("{} ({})", facts.version, core_type), reason};
}

Availability look_openblas_sbgemm(const Problem& problem, const Device& device) {
  Availability found = look_openblas(problem, device);
  if (!found.why_not.empty()) return found;
  if (!openblas_facts().sbgemm) {
    found.why_not = fmt::format(
        "{} was built without cblas_sbgemm; an OpenBLAS built with BUILD_BFLOAT16=1 has it",
        openblas_facts().version);
  } else if (problem.in != ElementType::bf16) {
    found.why_not = "sbgemm multiplies bf16 only";
  }
  return found;
}

Result<std::unique_ptr<Baseline>> make_openblas(const Problem& p, const Device& d, int threads) {
  return make(Form::plain, p, d, threads);
}
Result<std::unique_ptr<Baseline>> make_openblas_ahead(const Problem& p, const Device& d,
                                                      int threads) {
  return make(Form::ahead, p, d, threads);
}
Result<std::unique_ptr<Baseline>> make_openblas_sbgemm(const Problem& p, const Device& d,
                                                       int threads) {
  return make(Form::sbgemm, p, d, threads);
}

}  // namespace tilewright
