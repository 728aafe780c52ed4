// SPDX-License-Identifier: Apache-2.0
// Where NVIDIA's run-time libraries may be, and opening them.
//
// They come with a toolkit, with the driver (NVML) or as Python packages, whose folders no loader
// knows. Nothing of them is linked, so that one binary runs with any of these and without.
#pragma once

#include "base/error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cuda {

// Sonames and paths where the library `stem` (nvrtc, cublas, cublasLt, nvml) may be, best first:
// the folders of TILEWRIGHT_CUDA_LIBRARIES (separated by colons), the active Python environment,
// the loader's path, the toolkit of CUDA_HOME or CUDA_PATH, /usr/local/cuda. Only where none of
// these has a file of it is `python3` asked where its packages are. Paths are of files that exist.
[[nodiscard]] std::vector<std::string> library_places(std::string_view stem);

// The first of its places that opens, with what it needs from the same folder; never closed. The
// error names the packages that have the library.
[[nodiscard]] Result<void*> open_library(std::string_view stem);

// The folder of `stem` if only `python3` knew it, else empty. For children: named to them in
// TILEWRIGHT_CUDA_LIBRARIES, it spares each of them the question.
[[nodiscard]] std::string folder_that_python_knows(std::string_view stem);

// The file that `library` was loaded from.
[[nodiscard]] std::string path_of(void* library, std::string_view stem);

// nvcc in PATH, or of the toolkit in CUDA_HOME, CUDA_PATH or /usr/local/cuda.
[[nodiscard]] std::optional<std::filesystem::path> find_nvcc();

}  // namespace tilewright::cuda
