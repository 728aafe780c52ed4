// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries as scripts/bootstrap.sh installs them for the tests: Python packages in .venv.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tilewright {

// Makes them findable in this process and its children, unless an environment is active already.
inline void use_test_libraries() {
  std::error_code ignored;
  const char* const venv = TILEWRIGHT_SOURCE_DIR "/.venv";
  if (std::filesystem::is_directory(venv, ignored)) ::setenv("VIRTUAL_ENV", venv, 0);
}

}  // namespace tilewright
