// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include "base/outcome.h"

#include <gmock/gmock.h>

#include <array>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Text, TrimSplitWords) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(words("  a \t bc\r\n d"), ElementsAre("a", "bc", "d"));
  EXPECT_THAT(words(" \n"), IsEmpty());
}

TEST(Text, ParseInteger) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-17"), -17);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_integer("-9223372036854775808"), INT64_MIN);
  for (const char* bad : {"", "-", "+1", " 1", "1 ", "12e3", "1.0", "0x10", "--1", "1,000",
                          "9223372036854775808", "99999999999999999999"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(Text, NearestWord) {
  constexpr std::array<std::string_view, 5> kKnown = {"f16", "bf16", "workspace", "threads", "nt"};
  EXPECT_EQ(nearest_word("f61", kKnown), "f16");  // a swap is one slip
  EXPECT_EQ(nearest_word("fp16", kKnown), "f16");
  EXPECT_EQ(nearest_word("BF16", kKnown), "bf16");
  EXPECT_EQ(nearest_word("worskpcae", kKnown), "workspace");
  EXPECT_EQ(nearest_word("quux", kKnown), "");
  EXPECT_EQ(nearest_word("", kKnown), "");
  EXPECT_EQ(nearest_word("xy", kKnown), "");  // both letters differ: not near
  EXPECT_EQ(nearest_word(std::string(100000, 'a'), kKnown), "");
  EXPECT_EQ(nearest_word("f16", {}), "");
}

TEST(Outcome, NamesAreUniqueAndReadBack) {
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from(name_of(outcome)), outcome);
  }
  EXPECT_FALSE(outcome_from("fine"));
}

}  // namespace
}  // namespace tilewright
