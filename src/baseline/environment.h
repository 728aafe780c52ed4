// SPDX-License-Identifier: Apache-2.0
// What the environment does to a library: where it is found, how its idle threads behave, and the
// variables that make it slow. Libraries read all this once, when they are loaded.
#pragma once

#include "device/device.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Sets, in this process, each variable of baseline_environment() that is not set. To be called
// before a library is loaded, in a process that has one thread.
void apply_baseline_environment(const Device& device);

// Sonames and paths where oneDNN `major` may be, best first: TILEWRIGHT_ONEDNN (a file or folder,
// version 3 only), the loader's path, the active Python environment and its interpreter's prefix.
[[nodiscard]] std::vector<std::string> onednn_places(int major);

// Variables that cap what a library may use. A baseline under any of them is no baseline.
inline constexpr std::array<std::string_view, 6> kRiggingVariables = {
    "OPENBLAS_L2_SIZE", "OMP_THREAD_LIMIT",           "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE",
};
// The first of those that is set, with its value ("DNNL_MAX_CPU_ISA=AVX2"), or empty.
[[nodiscard]] std::string rigging_variable();

// Whether OpenBLAS' `core_type` uses the vectors of `device`; the one to ask for if it does not.
[[nodiscard]] bool core_type_fits(std::string_view core_type, const Device& device);
[[nodiscard]] std::string_view best_core_type(const Device& device);
// Whether the environment dictates OPENBLAS_CORETYPE, and the sentence for a choice that is wrong.
[[nodiscard]] bool openblas_core_type_is_chosen();
[[nodiscard]] std::string wrong_core_type(std::string_view core_type, const Device& device);

}  // namespace tilewright
