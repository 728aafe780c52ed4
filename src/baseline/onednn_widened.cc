// SPDX-License-Identifier: Apache-2.0
// oneDNN in f32 for the operations besides gemm, which it has for few half types or none: A is
// converted to f32 and C back inside the clock, as for OpenBLAS. B (a layer's scale and shift, a
// convolution's filters) is converted ahead, since every baseline of these has it ready.
#include "baseline/conversion.h"
#include "baseline/conversion_team.h"
#include "baseline/floats.h"
#include "baseline/implementation.h"

#include <map>

namespace tilewright {
namespace {

// The same in f32, packed; a C that is f32 already stays where it is.
Problem widened(const Problem& p) {
  Problem wide = p;
  wide.in = wide.out = ElementType::f32;
  wide.lda = wide.ldb = 0;
  if (p.out != ElementType::f32) wide.ldc = 0;
  return wide;
}

class OnednnWidened final : public Baseline {
 public:
  OnednnWidened(std::unique_ptr<Baseline> onednn, const Problem& problem, const Device& device,
                int threads)
      : onednn_(std::move(onednn)),
        p_(problem),
        wide_(widened(problem)),
        in_(conversion_for(problem.in, device)),
        out_(conversion_for(problem.out == ElementType::f32 ? problem.in : problem.out, device)),
        team_(team_cpus(device, threads), threads),
        a_(p_.a_rows() * p_.a_cols()),
        c_(p_.out == ElementType::f32 ? 0 : p_.c_rows() * p_.c_cols()) {}

  Status prepare(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    const std::int64_t rows = p_.b_rows(), cols = p_.b_cols();
    const Floats& b = b_.try_emplace(args.b, rows * cols).first->second;
    if (rows > 0) widen_part(in_, halves(args.b), args.ldb, rows, cols, b.get(), 0, 1);
    return onednn_->prepare(arguments(args));
  }

  Status run(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    if (!b_.contains(args.b)) {
      return fail(ErrorCode::internal, "onednn_f32 called with a B that was not prepared");
    }
    const std::int64_t rows = p_.a_rows(), cols = p_.a_cols();
    team_.share(rows * cols, [&](int part, int parts) {
      widen_part(in_, halves(args.a), args.lda, rows, cols, a_.get(), part, parts);
    });
    if (auto ran = onednn_->run(arguments(args)); !ran) return ran;
    if (p_.out == ElementType::f32) return {};
    team_.share(p_.c_rows() * p_.c_cols(), [&](int part, int parts) {
      narrow_part(out_, c_.get(), p_.c_rows(), p_.c_cols(), static_cast<std::uint16_t*>(args.c),
                  args.ldc, 0, part, parts);
    });
    return {};
  }

 private:
  static const std::uint16_t* halves(const void* base) {
    return static_cast<const std::uint16_t*>(base);
  }
  [[nodiscard]] tw_cpu_gemm_args arguments(const tw_cpu_gemm_args& args) const {
    tw_cpu_gemm_args wide = args;
    wide.a = a_.get();
    wide.b = b_.at(args.b).get();
    if (p_.out != ElementType::f32) wide.c = c_.get();
    wide.lda = wide_.a_stride(), wide.ldb = wide_.b_stride(), wide.ldc = wide_.c_stride();
    wide.stride_a = wide_.a_rows() * wide.lda;
    wide.stride_b = wide_.b_rows() * wide.ldb;
    wide.stride_c = wide_.c_rows() * wide.ldc;
    return wide;
  }

  std::unique_ptr<Baseline> onednn_;
  Problem p_, wide_;
  Conversion in_, out_;
  ConversionTeam team_;
  Floats a_, c_;
  std::map<const void*, Floats> b_;  // by the address of the caller's
};

}  // namespace

Availability look_onednn_widened(const Problem& problem, const Device& device) {
  return look_onednn(widened(problem), device);
}

Result<std::unique_ptr<Baseline>> make_onednn_widened(const Problem& problem, const Device& device,
                                                      int threads) {
  auto onednn = make_onednn(widened(problem), device, threads);
  if (!onednn) return tl::unexpected(onednn.error());
  return std::make_unique<OnednnWidened>(*std::move(onednn), problem, device, threads);
}

}  // namespace tilewright
