// SPDX-License-Identifier: Apache-2.0
// See libraries.h. What differs between the libraries stands in kLibraries.
#include "device/cuda/libraries.h"

#include "base/python.h"
#include "base/subprocess.h"
#include "base/text.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

struct KnownLibrary {
  std::string_view stem;
  std::array<std::string_view, 2> sonames;  // best first; an empty one is none
  std::string_view wheel_folder;            // below nvidia/ in packages for CUDA 12
  std::string_view companion;               // what it needs from its own folder, a prefix of names
  std::string_view fix;
};
constexpr std::array kLibraries = {
    KnownLibrary{"nvrtc",
                 {"libnvrtc.so.13", "libnvrtc.so.12"},
                 "cuda_nvrtc",
                 "libnvrtc-builtins.so.",
                 "pip install nvidia-cuda-nvrtc (CUDA 12: nvidia-cuda-nvrtc-cu12), or a CUDA "
                 "toolkit"},
    KnownLibrary{"cublas",
                 {"libcublas.so.13", "libcublas.so.12"},
                 "cublas",
                 "libcublasLt.so.",
                 "pip install nvidia-cublas (CUDA 12: nvidia-cublas-cu12), or a CUDA toolkit"},
    KnownLibrary{"cublasLt",
                 {"libcublasLt.so.13", "libcublasLt.so.12"},
                 "cublas",
                 "",
                 "pip install nvidia-cublas (CUDA 12: nvidia-cublas-cu12), or a CUDA toolkit"},
    KnownLibrary{"nvml", {"libnvidia-ml.so.1", ""}, "", "", "it comes with the NVIDIA driver"},
};

const KnownLibrary* known(std::string_view stem) {
  const auto* row = std::ranges::find(kLibraries, stem, &KnownLibrary::stem);
  return row == kLibraries.end() ? nullptr : row;
}

// Collects files that exist, each once.
struct Places {
  const KnownLibrary& library;
  std::vector<std::string> list;
  bool has_file = false;

  void add_folder(const fs::path& folder) {
    std::error_code ignored;
    for (const std::string_view soname : library.sonames) {
      if (soname.empty() || folder.empty()) continue;
      const fs::path path = folder / soname;
      if (!fs::exists(path, ignored)) continue;
      has_file = true;
      if (std::ranges::find(list, path.string()) == list.end()) list.push_back(path.string());
    }
  }
  void add_python(const std::string& prefix) {
    for (const fs::path& packages : package_folders(prefix)) {
      add_folder(packages / "nvidia/cu13/lib");
      if (!library.wheel_folder.empty()) {
        add_folder(packages / "nvidia" / library.wheel_folder / "lib");
      }
    }
  }
  void add_sonames() {
    for (const std::string_view soname : library.sonames) {
      if (!soname.empty()) list.emplace_back(soname);
    }
  }
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

// Loads what `path` needs from its own folder: the loader then knows it by its soname. Packages
// record no path to such neighbours, or one that only their own loader understands.
void open_companions(const fs::path& path, std::string_view prefix) {
  if (prefix.empty() || !path.has_parent_path()) return;
  std::error_code error;
  for (fs::directory_iterator at(path.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) {
      dlopen(at->path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
}

// Everywhere but in the Python that must be asked.
Places near_places(const KnownLibrary& library) {
  Places places{library, {}, false};
  const std::string chosen = variable("TILEWRIGHT_CUDA_LIBRARIES");
  for (const std::string_view folder : split(chosen, ':')) places.add_folder(folder);
  for (const std::string& prefix : active_python_prefixes()) places.add_python(prefix);
  places.add_sonames();
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = variable(name); !home.empty()) {
      places.add_folder(fs::path(home) / "lib64");
    }
  }
  places.add_folder("/usr/local/cuda/lib64");
  return places;
}

}  // namespace

std::vector<std::string> library_places(std::string_view stem) {
  const KnownLibrary* row = known(stem);
  if (row == nullptr) return {};
  Places places = near_places(*row);
  if (!places.has_file && !row->wheel_folder.empty() && !python3_prefix().empty()) {
    places.add_python(python3_prefix());
  }
  return places.list;
}

std::string folder_that_python_knows(std::string_view stem) {
  const KnownLibrary* row = known(stem);
  if (row == nullptr || row->wheel_folder.empty() || near_places(*row).has_file) return {};
  Places places{*row, {}, false};
  if (!python3_prefix().empty()) places.add_python(python3_prefix());
  return places.list.empty() ? std::string{} : fs::path(places.list.front()).parent_path().string();
}

Result<void*> open_library(std::string_view stem) {
  const KnownLibrary* row = known(stem);
  if (row == nullptr) {
    return fail(ErrorCode::internal, fmt::format("no library '{}' of NVIDIA's is known", stem));
  }
  std::string reason;
  for (const std::string& place : library_places(stem)) {
    open_companions(place, row->companion);
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return handle;
    }
    const char* text = dlerror();
    // A file that is there and does not open tells more than a name that is not found.
    if (text != nullptr && (reason.empty() || place.find('/') != std::string::npos)) reason = text;
  }
  return fail(ErrorCode::environment,
              fmt::format("no {}: {}", row->sonames.front(), reason.empty() ? "not found" : reason),
              fmt::format("{}; TILEWRIGHT_CUDA_LIBRARIES may name its folder", row->fix));
}

std::optional<fs::path> find_nvcc() {
  if (auto path = find_program("nvcc")) return path;
  for (const std::string& home :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (home.empty()) continue;
    if (auto path = find_program((fs::path(home) / "bin/nvcc").string())) return path;
  }
  return std::nullopt;
}

std::string path_of(void* library, std::string_view stem) {
  link_map* map = nullptr;
  if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr &&
      map->l_name != nullptr && *map->l_name != '\0') {
    return map->l_name;
  }
  return std::string(stem);
}

}  // namespace tilewright::cuda
