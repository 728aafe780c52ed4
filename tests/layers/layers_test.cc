// SPDX-License-Identifier: Apache-2.0
// The real tree keeps the rules of tree_rules.h, and the rules find what they should in invented
// trees. The edges are those that the build links: cmake/TilewrightFolder.cmake reads them too.
#include "layers/tree_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilewright::layers {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Tree real_tree() {
  const fs::path root = TILEWRIGHT_SOURCE_DIR;
  Tree tree;
  for (const char* top : {"src", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) continue;
      tree[fs::relative(entry.path(), root).generic_string()] = content_of(entry.path());
    }
  }
  return tree;
}

Map real_map() {
  return parse_map(content_of(fs::path(TILEWRIGHT_SOURCE_DIR) / "src/README.md"));
}

TEST(Layers, TheMapIsSound) {
  EXPECT_THAT(check_map(real_map()), IsEmpty());
}

TEST(Layers, EveryIncludeFollowsAnEdge) {
  const Tree tree = real_tree();
  ASSERT_GT(tree.size(), 20u) << "the tree was not found";
  EXPECT_THAT(check_includes(real_map(), tree), IsEmpty());
}

TEST(Layers, ATypeHasOneDefinition) {
  EXPECT_THAT(check_types(real_tree()), IsEmpty());
}

TEST(Layers, FilesAreSmallAndNamedForWhatTheyOwn) {
  EXPECT_THAT(check_files(real_tree()), IsEmpty());
}

constexpr const char* kReadme =
    "- **low**: the ground.\n"
    "- **middle**: on it.\n"
    "- **high**: above.\n"
    "\n"
    "| folder | may include |\n"
    "| --- | --- |\n"
    "| low | |\n"
    "| middle | low |\n"
    "| high | low middle |\n";

Tree sound_tree() {
  return {{"src/README.md", kReadme},
          {"src/low/a.h", "#pragma once\n"},
          {"src/middle/b.cc", "#include \"middle/b.h\"\n#include \"low/a.h\"\n#include <map>\n"},
          {"src/high/c.cc", "#include \"neighbour.h\"\n#include \"middle/b.h\"\n"},
          {"tests/high/c_test.cc", "#include \"low/a.h\"\n"}};
}

TEST(Rules, ASoundTreeHasNoComplaints) {
  const Map map = parse_map(kReadme);
  EXPECT_THAT(map.order, ElementsAre("low", "middle", "high"));
  EXPECT_THAT(map.described, ElementsAre("low", "middle", "high"));
  EXPECT_THAT(map.edges.at("high"), ElementsAre("low", "middle"));
  EXPECT_THAT(check_map(map), IsEmpty());
  EXPECT_THAT(check_includes(map, sound_tree()), IsEmpty());
  EXPECT_THAT(check_files(sound_tree()), IsEmpty());
}

TEST(Rules, AWrongArrowIsFoundAtItsLine) {
  Tree tree = sound_tree();
  tree["src/low/a.h"] = "#pragma once\n  # include \"high/c.h\"\n// #include \"middle/b.h\"\n";
  EXPECT_THAT(check_includes(parse_map(kReadme), tree),
              ElementsAre("src/low/a.h:2: includes high/c.h, but low -> high is no edge"));
}

TEST(Rules, AnIncludeOutsideOfTheFoldersIsFound) {
  for (const char* target : {"../low/a.h", "nowhere/x.h"}) {
    Tree tree = sound_tree();
    tree["src/high/c.cc"] = std::string("#include \"") + target + "\"\n";
    EXPECT_THAT(check_includes(parse_map(kReadme), tree),
                ElementsAre(HasSubstr("in no folder of src/")))
        << target;
  }
}

TEST(Rules, AnUnlistedFolderIsFound) {
  Tree tree = sound_tree();
  tree["src/attic/x.cc"] = "";
  EXPECT_THAT(check_includes(parse_map(kReadme), tree),
              ElementsAre("src/attic: no row in the table"));
}

TEST(Rules, ARowWithoutAFolderIsFound) {
  Tree tree = sound_tree();
  tree.erase("src/high/c.cc");
  EXPECT_THAT(check_includes(parse_map(kReadme), tree),
              ElementsAre("high: a row without a folder"));
}

TEST(Rules, AnEdgeThatDoesNotPointBackIsFound) {
  // low -> high closes a cycle; middle -> middle and middle -> nowhere are no earlier rows either.
  const Map map = parse_map(
      "- **low**: x.\n- **middle**: x.\n- **high**: x.\n"
      "| low | high |\n| middle | middle nowhere |\n| high | low |\n");
  EXPECT_THAT(check_map(map), ElementsAre(HasSubstr("low -> high"), HasSubstr("middle -> middle"),
                                          HasSubstr("middle -> nowhere")));
}

TEST(Rules, RowsAndDescriptionsMustAgree) {
  for (const char* readme : {
           "- **low**: x.\n| low | |\n| high | low |\n",                  // not described
           "- **low**: x.\n- **high**: x.\n| low | |\n",                  // no row
           "- **high**: x.\n- **low**: x.\n| low | |\n| high | low |\n",  // another order
           "- **low**: x.\n| low | |\n| low | |\n",                       // two rows
           "",                                                            // nothing
       }) {
    EXPECT_FALSE(check_map(parse_map(readme)).empty()) << readme;
  }
}

TEST(Rules, ALongFileIsFoundUnlessItIsData) {
  std::string lines;
  for (std::size_t i = 0; i < kMaxLines; ++i) lines += "\n";
  Tree tree = {{"src/low/a.cc", lines}, {"tests/golden/a.txt", lines + "\n"}};
  EXPECT_THAT(check_files(tree), IsEmpty());
  tree["src/low/a.cc"] += "\n";
  EXPECT_THAT(check_files(tree), ElementsAre(HasSubstr("src/low/a.cc: 501 lines")));
}

TEST(Rules, ATypeOfTwoHeadersIsFound) {
  const std::string first = "namespace low {\n\nstruct Pair {\n};\n}  // namespace low\n";
  const Tree tree = {{"src/low/a.h", first},
                     {"src/low/b.h", "namespace low {\nclass alignas(64) Pair {\n};\n}\n"},
                     {"src/low/c.h", "namespace high {\nenum class Pair {\n};\n}\n"},
                     {"src/low/d.h", "namespace low {\nclass Pair;\nstruct Pair::State {\n};\n}\n"},
                     {"src/low/e.cc", first}};
  EXPECT_THAT(check_types(tree), ElementsAre("src/low/b.h: Pair is also defined in src/low/a.h"));
}

TEST(Rules, NamesWithoutAnOwnerAreFound) {
  for (const char* path : {"src/low/utils.h", "src/common/a.cc", "src/low/cache_manager.cc",
                           "tests/low/test_util.h", "src/core/x.h", "src/low/misc"}) {
    EXPECT_THAT(check_files({{path, ""}}), ElementsAre(HasSubstr(path)));
  }
  for (const char* path : {"src/low/score.h", "src/low/encore.cc", "src/low/commonest.h"}) {
    EXPECT_THAT(check_files({{path, ""}}), IsEmpty()) << path;
  }
}

}  // namespace
}  // namespace tilewright::layers
