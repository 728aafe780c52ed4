// SPDX-License-Identifier: Apache-2.0
// See language.h.
#include "compile/language.h"

#include "compile/cuda_toolchain.h"
#include "compile/inspect_cubin.h"

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

Result<Toolchain> host_toolchain(const CompileOptions& options) {
  return find_toolchain(options.compiler);
}

std::vector<std::string> host_arguments(const Source& source, const Toolchain&, bool strict) {
  return arguments(source, strict);
}

Result<Toolchain> cuda_toolchain(const CompileOptions& options) {
  return find_cuda_toolchain(options.cuda_compiler);
}

// What is strict about CUDA is the inspection alone.
std::vector<std::string> cuda_arguments_of(const Source& source, const Toolchain& toolchain,
                                           bool /*strict*/) {
  return cuda_arguments(source, toolchain);
}

constexpr std::array<Language, 2> kLanguages = {
    {{"c++", kCpuEntry, true, host_toolchain, host_arguments, inspect},
     {"cuda", kCudaEntry, false, cuda_toolchain, cuda_arguments_of, inspect_cubin}}};

}  // namespace

const Language* find_language(std::string_view name) {
  const auto* row = std::ranges::find(kLanguages, name, &Language::name);
  return row == kLanguages.end() ? nullptr : row;
}

}  // namespace tilewright
