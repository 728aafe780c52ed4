// SPDX-License-Identifier: Apache-2.0
// CSV: known texts, and what is written comes back.
#include "profile/csv.h"

#include "base/rng.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::vector<CsvRow> rows(std::string_view text) {
  auto parsed = parse_csv(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : std::vector<CsvRow>();
}

TEST(Csv, KnownTexts) {
  EXPECT_EQ(rows(""), std::vector<CsvRow>{});
  EXPECT_EQ(rows("a,b\n"), (std::vector<CsvRow>{{"a", "b"}}));
  EXPECT_EQ(rows("a,,b,"), (std::vector<CsvRow>{{"a", "", "b", ""}}));
  EXPECT_EQ(rows("\r\n\na\r\n\n"), (std::vector<CsvRow>{{"a"}}));
  EXPECT_EQ(rows("\"void k<1, 2>(A)\",\"say \"\"x\"\"\",\"\"\n1"),
            (std::vector<CsvRow>{{"void k<1, 2>(A)", "say \"x\"", ""}, {"1"}}));
  EXPECT_EQ(rows("\"two\nlines\",b"), (std::vector<CsvRow>{{"two\nlines", "b"}}));
}

TEST(Csv, DamageIsNamedWithItsLine) {
  for (const auto& [text, line] :
       {std::pair{"a\n\"open", "line 2"}, {"a\nb\n\"x\"y,z", "line 3"}, {"a\"b", "line 1"}}) {
    const auto parsed = parse_csv(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(line), std::string::npos) << parsed.error().message;
  }
}

TEST(Csv, WhatIsWrittenComesBack) {
  static constexpr std::string_view kLetters = "ab,\"\"\n\r =0";
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<CsvRow> written(rng.below(4));
    std::string text;
    for (CsvRow& row : written) {
      row.resize(1 + rng.below(4));
      for (std::string& field : row) {
        for (auto left = rng.below(6); left > 0; --left) {
          field += kLetters[rng.below(kLetters.size())];
        }
      }
      text += csv_line(row) + "\n";
    }
    EXPECT_EQ(rows(text), written) << text;
  }
}

}  // namespace
}  // namespace tilewright
