// SPDX-License-Identifier: Apache-2.0
// The CUDA compiler: tilewright-nvrtc (NVRTC in a process of its own) or nvcc.
#pragma once

#include "compile/toolchain.h"

namespace tilewright {

// The nvcc (or tilewright-nvrtc) named `requested`, else the one that TILEWRIGHT_CUDA_COMPILER
// names, else tilewright-nvrtc beside this program if it finds NVRTC, else nvcc. The error says how
// to get one; it needs no device and no driver.
[[nodiscard]] Result<Toolchain> find_cuda_toolchain(const std::string& requested);

// What follows the program: kernel.cu in the current folder becomes kernel.cubin, and the log holds
// what the assembler says of registers and spills.
[[nodiscard]] std::vector<std::string> cuda_arguments(const Source& source,
                                                      const Toolchain& toolchain);

}  // namespace tilewright
