// SPDX-License-Identifier: Apache-2.0
// See served.h.
#include "cli/served.h"

#include "base/file.h"
#include "base/hash.h"
#include "report/groups.h"
#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
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

struct Group {
  std::string name;
  std::vector<const ServedRow*> rows;
  bool fallback = false;
};

std::vector<std::string> cells_of(const Group& group) {
  std::map<std::string, int> verdicts;
  std::vector<double> ratios;
  const ServedRow* worst = nullptr;
  double least = 0;
  for (const ServedRow* row : group.rows) {
    const bool vendor = group.fallback && row->vendor_first;
    const double ratio = vendor ? 1 : row->ratio;
    ++verdicts[vendor ? "same" : row->comparison];
    ratios.push_back(ratio);
    if (worst == nullptr || ratio < least) {
      worst = row;
      least = ratio;
    }
  }
  const auto count = [&](const char* verdict) { return fmt::format("{}", verdicts[verdict]); };
  return {group.name,
          fmt::format("{}", ratios.size()),
          count("faster"),
          count("same"),
          count("ambiguous"),
          count("slower"),
          ratio_text(geomean_of(ratios)),
          ratio_text(median_of(ratios)),
          ratio_text(least),
          short_problem(worst->problem)};
}

}  // namespace

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
                                            const Device& device, const runtime::Options& options) {
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
    served.kernels_.emplace(to_text(problem), served.chosen(**backend, problem));
  }
  return served;
}

Result<ServedKernel> ServedKernels::chosen(runtime::Backend& backend, const Problem& problem) {
  const Result<runtime::Call> call = call_of(problem);
  if (!call) return tl::unexpected(call.error());
  const bool scales = problem.alpha != AlphaClass::one || problem.beta != BetaClass::zero;
  auto choice = backend.choose(*call, scales);
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

Result<ServedKernel> ServedKernels::of(const Problem& problem) const {
  const auto found = kernels_.find(to_text(problem));
  if (found == kernels_.end()) {
    return fail(ErrorCode::internal, "the library was not asked for " + to_text(problem));
  }
  return found->second;
}

std::optional<ServedRow> served_row(const Trial& trial, const ServedKernel& kernel,
                                    const std::string& baseline) {
  const auto found = trial.baselines.find(baseline);
  if (found == trial.baselines.end()) return std::nullopt;
  return ServedRow{trial.problem, kernel.from, !kernel.vendor_because.empty(), found->second.ratio,
                   found->second.comparison};
}

std::string render_served(const std::vector<ServedRow>& rows, const std::string& baseline,
                          Format format) {
  if (rows.empty()) return {};
  std::vector<Group> groups;
  const auto add = [&](std::string name, bool fallback,
                       const std::function<bool(const ServedRow&)>& belongs) {
    Group group{std::move(name), {}, fallback};
    for (const ServedRow& row : rows) {
      if (belongs(row)) group.rows.push_back(&row);
    }
    if (!group.rows.empty()) groups.push_back(std::move(group));
  };
  for (const std::string_view from : kOrigins) {
    add(std::string(from), false, [&](const ServedRow& row) { return row.from == from; });
  }
  add("all", false, [](const ServedRow&) { return true; });
  add("all, with the fallback", true, [](const ServedRow&) { return true; });
  Table table({{"served by", TableColumn::Align::left},
               {"problems"},
               {"faster"},
               {"same"},
               {"ambiguous"},
               {"slower"},
               {"geomean"},
               {"median"},
               {"worst"},
               {"worst at", TableColumn::Align::left}});
  for (const Group& group : groups) table.add(cells_of(group));
  const auto fallbacks =
      std::ranges::count_if(rows, [](const ServedRow& row) { return row.vendor_first; });
  const auto needless = std::ranges::count_if(
      rows, [](const ServedRow& row) { return row.vendor_first && row.comparison == "faster"; });
  return fmt::format(
      "The library's kernels against {}. With the fallback: of {} problems it leaves {} to the\n"
      "vendor's library, which count as 1; {} of those it would have been faster at itself.\n\n{}",
      baseline, rows.size(), fallbacks, needless,
      format == Format::md ? table.markdown() : table.text(kReportWidth));
}

}  // namespace tilewright
