// SPDX-License-Identifier: Apache-2.0
// See installed_wisdom.h.
#include "cli/installed_wisdom.h"

#include "base/file.h"

#include <algorithm>

namespace tilewright {

Result<std::filesystem::path> installed_wisdom_path(const Device& device) {
  Result<std::filesystem::path> home = data_home();
  if (!home) return tl::unexpected(home.error());
  return *home / "wisdom" / (device.fingerprint() + ".txt");
}

std::optional<WisdomEntry> installed_winner(const Problem& problem, const Device& device,
                                            const std::string& mode) {
  const Result<std::filesystem::path> path = installed_wisdom_path(device);
  std::error_code ignored;
  if (!path || !std::filesystem::exists(*path, ignored)) return std::nullopt;
  const Result<Wisdom> wisdom = load_wisdom(*path, device);
  if (!wisdom) return std::nullopt;
  const std::string text = to_text(problem);
  const auto entry = std::ranges::find_if(
      wisdom->entries, [&](const WisdomEntry& e) { return e.problem == text && e.mode == mode; });
  if (entry == wisdom->entries.end()) return std::nullopt;
  return *entry;
}

}  // namespace tilewright
