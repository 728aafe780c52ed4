// SPDX-License-Identifier: Apache-2.0
// An `ncu` of a few lines of shell (fake_ncu.sh), for tests without a GPU.
#pragma once

#include <filesystem>
#include <string>

namespace tilewright {

// Puts it at `folder`/ncu. There it reads `known` (what --query-metrics prints), obeys `mode`
// ("perm", "refuse METRIC", "none") and leaves its arguments in `arguments`.
inline std::filesystem::path write_fake_ncu(const std::filesystem::path& folder) {
  const std::filesystem::path script = folder / "ncu";
  std::filesystem::copy_file(TILEWRIGHT_SOURCE_DIR "/tests/fakecuda/fake_ncu.sh", script);
  return script;
}

}  // namespace tilewright
