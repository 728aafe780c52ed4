// SPDX-License-Identifier: Apache-2.0
// Algorithms as text: the same bytes come back, and for nobody else.
#include "vendor/exact_algo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::vendor {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHere = "cublasLt 13.1.0 sm_90x132";
const LtAlgo kAlgo = {{66, 0xffffffffffffffff, 0, 0x0123456789abcdef, 5, 6, 7, 1}};

TEST(ExactAlgo, ComesBackAsItWas) {
  const std::string text = exact_text(kAlgo, kHere);
  EXPECT_TRUE(text.starts_with("cublasLt 13.1.0 sm_90x132 0000000000000042ffffffffffffffff"));
  const auto again = algo_from_exact(text, kHere);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, kAlgo);
}

TEST(ExactAlgo, OfAnotherLibraryOrDeviceIsRefusedInWords) {
  const std::string text = exact_text(kAlgo, kHere);
  for (const char* other : {"cublasLt 13.2.0 sm_90x132", "cublasLt 13.1.0 sm_90x114", ""}) {
    const auto refused = algo_from_exact(text, other);
    ASSERT_FALSE(refused) << other;
    EXPECT_THAT(refused.error().message, HasSubstr(kHere));
    EXPECT_THAT(refused.error().message, HasSubstr(other));
  }
}

TEST(ExactAlgo, WhatIsNoneIsRefused) {
  const std::string text = exact_text(kAlgo, kHere);
  std::string word = text, sign = text;
  word[text.size() - 3] = 'x';
  sign[text.size() - 16] = '-';
  for (const std::string& bad : {std::string(), std::string(kHere), std::string(kHere) + " ",
                                 text.substr(0, text.size() - 1), text + "0", word, sign}) {
    EXPECT_FALSE(algo_from_exact(bad, kHere)) << bad;
  }
}

}  // namespace
}  // namespace tilewright::vendor
