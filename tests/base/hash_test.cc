// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright {
namespace {

TEST(Hash, KnownAnswers) {
  // XXH3_128bits of nothing, seed 0: xxHash's own sanity test.
  EXPECT_EQ(hash128(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, EveryByteCounts) {
  std::set<std::string> seen;
  std::string text(300, '\0');
  seen.insert(hash128(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = '\1';
    const auto hash = hash128(text);
    EXPECT_EQ(hash.size(), 32U);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(hash).second) << i;
    text[i] = '\0';
  }
  EXPECT_TRUE(seen.insert(hash128(std::string(299, '\0'))).second);
}

}  // namespace
}  // namespace tilewright
