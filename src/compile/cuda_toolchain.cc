// SPDX-License-Identifier: Apache-2.0
// See cuda_toolchain.h.
#include "compile/cuda_toolchain.h"

#include "base/subprocess.h"
#include "compile/entry.h"
#include "device/cuda/libraries.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvrtcProgram = "tilewright-nvrtc";
constexpr const char* kHint =
    "pip install nvidia-cuda-nvrtc, or install a CUDA toolkit; TILEWRIGHT_CUDA_LIBRARIES may name "
    "the folder of libnvrtc, TILEWRIGHT_CUDA_COMPILER an nvcc. Cubins that are in the cache are "
    "used without";

// What nvcc needs to do as tilewright-nvrtc does by itself.
const std::vector<std::string>& nvcc_flags() {
  static const std::vector<std::string> flags = {"-cubin", "-std=c++20", "--ptxas-options=-v"};
  return flags;
}

std::optional<fs::path> nvrtc_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    for (const fs::path& folder : {self.parent_path(), self.parent_path().parent_path() / "bin"}) {
      if (access((folder / kNvrtcProgram).c_str(), X_OK) == 0) return folder / kNvrtcProgram;
    }
  }
  return find_program(kNvrtcProgram);
}

Result<Toolchain> probe_nvrtc(const fs::path& program, const std::string& origin) {
  Toolchain toolchain;
  toolchain.program = {program.string()};
  // Else each process would ask Python again.
  if (const std::string folder = cuda::folder_that_python_knows("nvrtc"); !folder.empty()) {
    toolchain.environment.push_back("TILEWRIGHT_CUDA_LIBRARIES=" + folder);
  }
  return probe(std::move(toolchain), origin, kHint);
}

Result<Toolchain> probe_nvcc(const fs::path& program, const std::string& origin) {
  Toolchain toolchain;
  toolchain.program = {program.string()};
  toolchain.always = nvcc_flags();
  // These would add arguments that no record shows.
  toolchain.environment = {"NVCC_PREPEND_FLAGS=", "NVCC_APPEND_FLAGS="};
  return probe(std::move(toolchain), origin, kHint, "release");
}

}  // namespace

Result<Toolchain> find_cuda_toolchain(const std::string& requested) {
  const char* variable = std::getenv("TILEWRIGHT_CUDA_COMPILER");
  const bool from_variable = requested.empty() && variable != nullptr && *variable != '\0';
  const std::string name = from_variable ? variable : requested;
  if (!name.empty()) {
    const std::string origin = from_variable ? " (from TILEWRIGHT_CUDA_COMPILER)" : "";
    const auto path = find_program(name);
    if (!path) {
      return fail(ErrorCode::environment,
                  fmt::format("no CUDA compiler: '{}'{} is not a program", name, origin), kHint);
    }
    std::error_code error;
    const fs::path absolute = fs::absolute(*path, error);
    return absolute.filename() == kNvrtcProgram ? probe_nvrtc(absolute, origin)
                                                : probe_nvcc(absolute, origin);
  }
  Result<Toolchain> found =
      fail(ErrorCode::environment, "no CUDA compiler: tilewright-nvrtc is not beside this program",
           kHint);
  if (const auto program = nvrtc_program()) found = probe_nvrtc(*program, "");
  if (found) return found;
  const auto nvcc = cuda::find_nvcc();
  return nvcc ? probe_nvcc(*nvcc, "") : found;
}

std::vector<std::string> cuda_arguments(const Source& source, const Toolchain& toolchain) {
  std::vector<std::string> list = toolchain.always;
  list.insert(list.end(), source.flags.begin(), source.flags.end());
  list.push_back(fmt::format("-I{}", kHeaderFolder));
  list.emplace_back("-o");
  list.emplace_back(kCudaEntry.object);
  list.emplace_back(kCudaEntry.source);
  return list;
}

}  // namespace tilewright
