// SPDX-License-Identifier: Apache-2.0
// Text that a test compares byte by byte with a file of tests/golden/. With
// TILEWRIGHT_UPDATE_GOLDEN=1 in the environment the file is written instead; the diff is reviewed.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace tilewright {

inline void expect_golden(const std::string& file_name, const std::string& text) {
  const std::string path = std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/golden/" + file_name;
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    ASSERT_TRUE(out.flush()) << path;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; write it with TILEWRIGHT_UPDATE_GOLDEN=1";
  const std::string expected{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, expected) << path;
}

}  // namespace tilewright
