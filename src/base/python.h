// SPDX-License-Identifier: Apache-2.0
// Where the user's Python keeps its files. Vendors ship their libraries as Python packages, so that
// is where they are on a machine without a package manager.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// Prefixes of the active environments: VIRTUAL_ENV, CONDA_PREFIX.
[[nodiscard]] std::vector<std::string> active_python_prefixes();
// Prefix of the `python3` in PATH, or empty. Asking it takes tens of milliseconds, so it is asked
// once per process, and only by who has found nothing nearer.
[[nodiscard]] const std::string& python3_prefix();

// <prefix>/lib/python3.x/{site,dist}-packages, as far as they exist.
[[nodiscard]] std::vector<std::filesystem::path> package_folders(const std::string& prefix);

}  // namespace tilewright
