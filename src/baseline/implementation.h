// SPDX-License-Identifier: Apache-2.0
// What baseline.cc's table holds of each baseline: how to see whether it can serve a problem, and
// how to make one. A new baseline is one file with these two functions and one row.
#pragma once

#include "baseline/baseline.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace tilewright {

struct Availability {
  std::string library;  // name and version, empty if absent
  std::string why_not;  // empty: available
};
using Look = Availability (*)(const Problem& problem, const Device& device);
using Make = Result<std::unique_ptr<Baseline>> (*)(const Problem& problem, const Device& device,
                                                   int threads);

Availability look_onednn(const Problem& problem, const Device& device);          // onednn.cc
Availability look_onednn_current(const Problem& problem, const Device& device);  // onednn.cc
Availability look_onednn_widened(const Problem& problem, const Device& device);
Availability look_openblas(const Problem& problem, const Device& device);  // openblas.cc
Availability look_openblas_sbgemm(const Problem& problem, const Device& device);
Availability look_reference(const Problem& problem, const Device& device);  // reference.cc

Result<std::unique_ptr<Baseline>> make_onednn(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_onednn_current(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_onednn_widened(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_openblas(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_openblas_ahead(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_openblas_sbgemm(const Problem&, const Device&, int threads);
Result<std::unique_ptr<Baseline>> make_reference(const Problem&, const Device&, int threads);
// Of an operation that is no gemm: reference_operation.cc.
Result<std::unique_ptr<Baseline>> make_reference_operation(const Problem&, const Device&,
                                                           int threads);

// The first `threads` CPUs that a team is pinned to.
[[nodiscard]] std::vector<int> team_cpus(const Device& device, int threads);
// An Error unless `args` has the sizes and row strides of `problem`.
template <class Arguments>  // tw_cpu_gemm_args, CudaGemm
[[nodiscard]] Status check_sizes(const Arguments& args, const Problem& p) {
  struct Pair {
    const char* name;
    std::int64_t got, want;
  };
  const std::array pairs = {Pair{"m", args.m, p.m},
                            Pair{"n", args.n, p.n},
                            Pair{"k", args.k, p.k},
                            Pair{"batch", args.batch, p.batch},
                            Pair{"lda", args.lda, p.a_stride()},
                            Pair{"ldb", args.ldb, p.b_stride()},
                            Pair{"ldc", args.ldc, p.c_stride()}};
  for (const Pair& pair : pairs) {
    if (pair.got != pair.want) {
      return fail(ErrorCode::internal, fmt::format("baseline called with {} {}, made for {}",
                                                   pair.name, pair.got, pair.want));
    }
  }
  return {};
}
[[nodiscard]] inline bool is_empty(const Problem& p) {
  return p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0;
}

}  // namespace tilewright
