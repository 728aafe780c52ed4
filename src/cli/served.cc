// SPDX-License-Identifier: Apache-2.0
// See served.h.
#include "cli/served.h"

#include "base/file.h"
#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 5> kOrigins = {"exact", "nearest", "built in", "vendor",
                                                      "nothing"};

tw_type type_of(ElementType type) {
  return type == ElementType::f16 ? TW_F16 : type == ElementType::bf16 ? TW_BF16 : TW_F32;
}

Error error_of(const runtime::Failure& failure) {
  return {ErrorCode::negative, failure.message, {}};
}

}  // namespace

std::optional<ServedWay> served_way_from(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ServedWay>, 3> kWays = {
      {{"estimate", ServedWay::estimate}, {"timed", ServedWay::timed}, {"both", ServedWay::both}}};
  for (const auto& [each, way] : kWays) {
    if (each == name) return way;
  }
  return std::nullopt;
}

Result<runtime::Call> call_of(const Problem& problem) {
  tw_gemm_desc desc;
  tw_gemm_desc_init(&desc, type_of(problem.in), problem.m, problem.n, problem.k);
  desc.out = type_of(problem.out);
  desc.a_layout = problem.a_transposed ? TW_T : TW_N;
  desc.b_layout = problem.b_transposed ? TW_T : TW_N;
  desc.sums = problem.acc == Accumulator::f16 ? TW_F16_SUMS : TW_F32_SUMS;
  desc.batch = problem.batch;
  desc.lda = problem.a_stride();
  desc.ldb = problem.b_stride();
  desc.ldc = problem.c_stride();
  auto call = runtime::checked(&desc);
  if (!call) return tl::unexpected(error_of(call.error()));
  return *call;
}

Result<ServedKernels> ServedKernels::choose(const std::vector<Problem>& problems,
                                            const Device& device, const runtime::Options& options,
                                            ServedWay way) {
  if (device.kind != DeviceKind::cuda) {
    return fail(ErrorCode::usage, "--served: kernels of a CPU are part of the library, not files",
                "it is for CUDA devices; on a CPU see tests/runtime_cpu");
  }
  runtime::Options one_stream = options;
  one_stream.streams = 1;
  auto backend = runtime::open_cuda(one_stream, device.cuda.ordinal);
  if (!backend) {
    return fail(ErrorCode::environment, backend.error().message,
                "--kernels names a folder of bundles (*.twk)");
  }
  auto folder =
      OwnedFolder::make(std::filesystem::temp_directory_path(), "tilewright-served-", 0700);
  if (!folder) return tl::unexpected(folder.error());
  ServedKernels served(*std::move(folder));
  for (const Problem& problem : problems) {
    served.kernels_.emplace(to_text(problem), served.chosen(**backend, problem, way));
  }
  return served;
}

Result<ServedChoices> ServedKernels::chosen(runtime::Backend& backend, const Problem& problem,
                                            ServedWay way) {
  const Result<runtime::Call> call = call_of(problem);
  if (!call) return tl::unexpected(call.error());
  const bool scales = problem.alpha != AlphaClass::one || problem.beta != BetaClass::zero;
  ServedChoices choices;
  if (way != ServedWay::timed) {
    auto kernel = kernel_for(backend, *call, scales);
    if (!kernel) return tl::unexpected(kernel.error());
    choices.estimate = *std::move(kernel);
  }
  if (way != ServedWay::estimate) {
    if (auto prepared = backend.prepare(*call, nullptr); !prepared) {
      return tl::unexpected(error_of(prepared.error()));
    }
    auto kernel = kernel_for(backend, *call, scales);
    if (!kernel) return tl::unexpected(kernel.error());
    choices.timed = *std::move(kernel);
  }
  return choices;
}

Result<ServedKernel> ServedKernels::kernel_for(runtime::Backend& backend, const runtime::Call& call,
                                               bool scales) {
  auto choice = backend.choose(call, scales);
  if (!choice) return tl::unexpected(error_of(choice.error()));
  if (choice->launches != 1) {
    return fail(ErrorCode::negative,
                fmt::format("not timed: it is served in {} launches, which a runner does not make "
                            "(a larger --workspace-bytes may make them one)",
                            choice->launches));
  }
  ServedKernel kernel;
  kernel.program = choice->program;
  kernel.from = kOrigins.at(static_cast<std::size_t>(choice->origin));
  kernel.why = choice->why;
  kernel.vendor_because = choice->vendor_because;
  kernel.timed = choice->timed;
  kernel.vendor_timed = choice->vendor_timed;
  Binary& binary = kernel.binary;
  binary.hash = hash128(choice->cubin + to_json(choice->launch));
  binary.launch = choice->launch;
  binary.compiler = "a bundle";
  binary.from_cache = true;
  binary.path = folder_.path() / (binary.hash + ".cubin");
  std::error_code ignored;
  if (!std::filesystem::exists(binary.path, ignored)) {
    if (Status s = write_file_atomically(binary.path, choice->cubin); !s) {
      return tl::unexpected(s.error());
    }
  }
  return kernel;
}

Result<ServedChoices> ServedKernels::of(const Problem& problem) const {
  const auto found = kernels_.find(to_text(problem));
  if (found == kernels_.end()) {
    return fail(ErrorCode::internal, "the library was not asked for " + to_text(problem));
  }
  return found->second;
}

}  // namespace tilewright
