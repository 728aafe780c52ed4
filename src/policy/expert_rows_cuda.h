// SPDX-License-Identifier: Apache-2.0
// The table of programs that an expert would try first on a GPU, by what limits a shape.
#pragma once

#include "problem/regime.h"

#include <span>
#include <string_view>

namespace tilewright {

// `wishes`: a family, and values of its decisions; the rest follows (experts_cuda.cc).
struct CudaExpert {
  Regime of;
  std::string_view wishes;
};
// Those of a regime in the order in which they are to be tried.
[[nodiscard]] std::span<const CudaExpert> cuda_expert_rows();

}  // namespace tilewright
