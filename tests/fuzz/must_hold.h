// SPDX-License-Identifier: Apache-2.0
// How a fuzzer says that a property does not hold: whatever the build type, unlike assert.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tilewright {

inline void must_hold(bool property, std::string_view what) {
  if (property) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace tilewright
