// SPDX-License-Identifier: Apache-2.0
// The table of CUDA baselines, in the order in which tables show them. `torch` is not among them:
// it runs in a process of its own (torch_peer.h).
#include "baseline/cuda/cuda_baseline.h"

#include "base/text.h"
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

struct Implementation {
  std::string_view name;
  bool lt;  // the library it is shown with: cublasLt, else cuBLAS
  MakeCuda make;
};
constexpr std::array kImplementations = {
    Implementation{"cublas", false, make_cublas},
    Implementation{"cublaslt_heuristic", true, make_cublaslt_heuristic},
    Implementation{"cublaslt_autotune", true, make_cublaslt_autotune},
    Implementation{"cublaslt_neighbours", true, make_cublaslt_neighbours},
};

struct Found {
  std::string blas, lt;  // "cuBLAS 13.1.0"
  std::string why_not;
};

std::string in_one_line(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
}

// Cheap reasons first: the libraries are opened only where they could run.
Found look(const Problem& problem, const Device& device) {
  if (device.kind != DeviceKind::cuda) return {"", "", "the device is not a CUDA device"};
  if (const std::string reason = vendor::why_not(problem); !reason.empty()) return {"", "", reason};
  if (const auto driver = cuda::driver(); !driver) return {"", "", in_one_line(driver.error())};
  const auto blas = vendor::cublas();
  if (!blas) return {"", "", in_one_line(blas.error())};
  const auto lt = vendor::cublas_lt();
  if (!lt) return {"", "", in_one_line(lt.error())};
  return {"cuBLAS " + (*blas)->version, "cublasLt " + (*lt)->version, ""};
}

}  // namespace

std::vector<BaselineInfo> cuda_baselines_for(const Problem& problem, const Device& device) {
  const Found found = look(problem, device);
  std::vector<BaselineInfo> result;
  for (const Implementation& row : kImplementations) {
    result.push_back({.name = std::string(row.name),
                      .library = row.lt ? found.lt : found.blas,
                      .available = found.why_not.empty(),
                      .why_not = found.why_not,
                      .headline = true});  // the bar is the fastest of them
  }
  return result;
}

struct CudaLibraries::State {
  std::unique_ptr<CudaShared> shared;
};

CudaLibraries::CudaLibraries(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaLibraries::~CudaLibraries() = default;
CudaLibraries::CudaLibraries(CudaLibraries&&) noexcept = default;
CudaLibraries& CudaLibraries::operator=(CudaLibraries&&) noexcept = default;

Result<CudaLibraries> CudaLibraries::open(const cuda::Context& context) {
  auto shared = CudaShared::open(context);
  if (!shared) return tl::unexpected(shared.error());
  return CudaLibraries(std::make_unique<State>(State{std::move(*shared)}));
}

void CudaLibraries::set_budgets(const SearchBudgets& budgets) {
  state_->shared->budgets = budgets;
}

Result<std::unique_ptr<CudaBaseline>> CudaLibraries::make(std::string_view name,
                                                          const Problem& problem) {
  if (name.starts_with(kGivenAlgorithm)) {
    const auto config = vendor::parse_algo_config(name.substr(kGivenAlgorithm.size()));
    if (!config) return tl::unexpected(config.error());
    return make_cublaslt_given(*state_->shared, problem, *config);
  }
  const auto* row = std::ranges::find(kImplementations, name, &Implementation::name);
  if (row == kImplementations.end()) {
    std::vector<std::string_view> known;
    for (const Implementation& one : kImplementations) known.push_back(one.name);
    return fail(ErrorCode::usage, fmt::format("CUDA baseline '{}' is not known", name),
                fmt::format("nearest: {}", nearest_word(name, known)));
  }
  if (const std::string reason = vendor::why_not(problem); !reason.empty()) {
    return fail(ErrorCode::usage, fmt::format("{} for {}: {}", name, to_text(problem), reason));
  }
  return row->make(*state_->shared, problem);
}

}  // namespace tilewright
