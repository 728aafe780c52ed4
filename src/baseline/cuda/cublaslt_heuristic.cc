// SPDX-License-Identifier: Apache-2.0
// cublasLt's own first suggestion, as a program takes it that asks once and does not tune.
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

Result<LtPick> choose_first(LtSearch& search) {
  const auto proposals = search.propose();
  if (!proposals) return tl::unexpected(proposals.error());
  std::string refused;
  for (std::size_t i = 0; i < proposals->usable.size(); ++i) {
    const vendor::LtAlgo& algo = proposals->usable[i];
    if (const Status right = search.verify(algo); !right) {
      refused = right.error().message;
      continue;
    }
    const auto config = search.config_of(algo);
    if (!config) return tl::unexpected(config.error());
    std::string text = vendor::to_text(*config);
    if (i > 0) text += fmt::format(" (suggestion {}: {})", i + 1, refused);
    return LtPick{algo, text, {algo}};
  }
  return fail(ErrorCode::environment, fmt::format("none of cublasLt's {} suggestions is right: {}",
                                                  proposals->usable.size(), refused));
}

}  // namespace

std::unique_ptr<CudaBaseline> make_cublaslt_heuristic(CudaShared& shared, const Problem& problem) {
  return make_lt_baseline("cublaslt_heuristic", shared, problem, choose_first);
}

}  // namespace tilewright
