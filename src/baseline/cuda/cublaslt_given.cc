// SPDX-License-Identifier: Apache-2.0
// An algorithm of cublasLt by its knobs. A search inside a profiler would find something else than
// one outside, because its clocks are slower there.
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

// A suggestion of the library that has these knobs, or the library's plain algorithm turned to
// them: an algorithm holds more than its knobs tell.
Result<vendor::LtAlgo> algorithm(LtSearch& search, const vendor::AlgoConfig& wanted) {
  const auto proposals = search.propose();
  if (!proposals) return tl::unexpected(proposals.error());
  for (const vendor::LtAlgo& algo : proposals->usable) {
    const auto config = search.config_of(algo);
    if (config && *config == wanted) return algo;
  }
  return search.admit(proposals->usable.front(), wanted);
}

Result<LtPick> choose(LtSearch& search, const vendor::AlgoConfig& wanted) {
  const auto algo = algorithm(search, wanted);
  if (!algo) return tl::unexpected(algo.error());
  if (const Status right = search.verify(*algo); !right) return tl::unexpected(right.error());
  return LtPick{*algo, vendor::to_text(wanted), {*algo}};
}

}  // namespace

std::unique_ptr<CudaBaseline> make_cublaslt_given(CudaShared& shared, const Problem& problem,
                                                  const vendor::AlgoConfig& config) {
  return make_lt_baseline("cublaslt " + vendor::to_text(config), shared, problem,
                          [config](LtSearch& search) { return choose(search, config); });
}

}  // namespace tilewright
