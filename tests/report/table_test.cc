// SPDX-License-Identifier: Apache-2.0
// Layout of tables, hostile cells included.
#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Align = TableColumn::Align;

TEST(Table, AlignsAndLeavesNoTrailingBlanks) {
  Table table({{"name", Align::left}, {"us"}, {"verdict", Align::left}});
  table.add({"a", "1", "faster"});
  table.add({"longer", "1234", ""});
  EXPECT_EQ(table.text(120),
            "name      us  verdict\n"
            "------  ----  -------\n"
            "a          1  faster\n"
            "longer  1234\n");
}

TEST(Table, CutsTheWidestTextAndNeverANumber) {
  Table table({{"program", Align::left}, {"us"}, {"note", Align::left}});
  table.add({std::string(100, 'p'), "123456789", "short"});
  const std::string text = table.text(40);
  EXPECT_THAT(text, testing::HasSubstr("\n" + std::string(19, 'p') + "...  123456789  short\n"));
  // Where even that is not enough, the line is long and the numbers whole.
  EXPECT_THAT(table.text(10), testing::HasSubstr("123456789"));
}

TEST(Table, WidthsCountCodePoints) {
  Table table({{"device", Align::left}, {"n"}});
  table.add({"größer", "1"});
  table.add({"ok", "2"});
  EXPECT_EQ(table.text(120),
            "device  n\n"
            "------  -\n"
            "größer  1\n"
            "ok      2\n");
}

TEST(Table, CutsBetweenCodePoints) {
  Table table({{"x", Align::left}});
  table.add({"ääääääääääääääääääää"});  // 20 of two bytes
  EXPECT_THAT(table.text(12), testing::EndsWith("\näääääääää...\n"));
}

TEST(Table, HostileCellsStayInTheirCell) {
  Table table({{"a", Align::left}, {"b", Align::left}});
  table.add({"x|y\nz\x1b[31m", "say \"hi\", twice"});
  EXPECT_EQ(table.markdown(), "| a | b |\n| :-- | :-- |\n| x\\|y z [31m | say \"hi\", twice |\n");
  EXPECT_EQ(table.csv(), "a,b\n\"x|y\nz\x1b[31m\",\"say \"\"hi\"\", twice\"\n");
  EXPECT_THAT(table.text(120), testing::Not(testing::HasSubstr("\x1b")));
}

TEST(Table, RowsAreAsWideAsTheTable) {
  Table table({{"a"}, {"b"}});
  table.add({"1"});
  table.add({"1", "2", "3"});
  EXPECT_EQ(table.csv(), "a,b\n1,\n1,2\n");
}

}  // namespace
}  // namespace tilewright
