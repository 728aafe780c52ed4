// SPDX-License-Identifier: Apache-2.0
// Tasks and models that are small enough to be worked out in full.
#pragma once

#include "learn/mask.h"
#include "learn/model.h"

#include <string_view>
#include <vector>

namespace tilewright::tiny {

// Double precision, so that differences show gradients.
inline ModelShape shape(bool f64 = true) {
  return {.size = "tiny", .width = 16, .layers = 2, .heads = 2, .context = 128, .f64 = f64};
}

inline Device processor() {
  Device device;
  device.isa = {"avx2", "f16c", "fma"};
  device.cores = 4;
  return device;
}

inline Problem problem(std::string_view text = "gemm 96x64x128 f16 acc=f32 nn") {
  return parse_problem(text).value();
}

inline std::vector<int> prompt(std::string_view text = "gemm 96x64x128 f16 acc=f32 nn") {
  return encode(Prompt{.problem = problem(text), .device = processor(), .want_decile = 9});
}

// Programs that a table may hold.
inline std::vector<Program> programs(std::size_t count) {
  Rng rng(17);
  const TokenMask mask(problem(), processor());
  std::vector<Program> list;
  while (list.size() < count) list.push_back(program_of(*draw_text(mask, false, rng)).value());
  return list;
}

inline LanguageModel model(std::uint64_t seed = 1, bool f64 = true) {
  return LanguageModel::create(shape(f64), seed).value();
}

}  // namespace tilewright::tiny
