// SPDX-License-Identifier: Apache-2.0
// See self_check.h.
#include "cli/self_check.h"

#include "baseline/baseline.h"
#include "baseline/cuda/cuda_self_check.h"
#include "device/fma_peak.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

// cuBLAS and cublasLt against each other, in this process.
Status require_honest_vendor(const Cli& cli, const Device& device, Context& context) {
  const auto absent = [&](const Error& why) -> Status {
    note(cli, fmt::format("no library to compare with: {}", why.message));
    context["baseline_self_check"] = "no library";
    return {};
  };
  const Result<cuda::Context> here = cuda::Context::open(device.cuda.ordinal);
  if (!here) return tl::unexpected(here.error());
  Result<CudaLibraries> libraries = CudaLibraries::open(*here);
  if (!libraries) return absent(libraries.error());
  const CudaSelfCheck check = cuda_self_check(*libraries, *here);
  context["heuristic_over_cublas"] = fmt::format("{:.3f}", check.heuristic_over_cublas);
  context["baseline_tflops"] = fmt::format("{:.0f}", check.tflops);
  context["baseline_self_check"] = check.passed ? "passed" : "failed";
  if (check.passed) return {};
  return fail(ErrorCode::environment, fmt::format("the baseline is mis-set: {}", check.reason),
              check.fix);
}

}  // namespace

Status require_honest_baselines(const Cli& cli, const Device& device, Context& context) {
  if (cli.skip_self_check) {
    context["baseline_self_check"] = "skipped";
    note(cli, "the baselines were not checked (--skip-self-check): these ratios prove nothing");
    return {};
  }
  if (device.kind == DeviceKind::cuda) return require_honest_vendor(cli, device, context);
  const double peak = measure_fma_peak(device, device.cores);
  context["fma_peak_gflops"] = fmt::format("{:.1f}", peak / 1e9);
  const SelfCheck check = self_check(device, device.cores, peak);
  if (check.absent) {
    note(cli, fmt::format("no BLAS to compare with: {}", check.reason));
    context["baseline_self_check"] = "no BLAS";
    return {};
  }
  context["openblas_core"] = check.core_type;
  context["sgemm_fraction_of_peak"] = fmt::format("{:.3f}", check.sgemm_fraction);
  context["baseline_self_check"] = check.passed ? "passed" : "failed";
  if (check.passed) return {};
  return fail(ErrorCode::environment, fmt::format("the baseline is mis-set: {}", check.reason),
              "a speed-up over a slow baseline is none, so nothing was timed");
}

}  // namespace tilewright
