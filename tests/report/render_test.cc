// SPDX-License-Identifier: Apache-2.0
// Golden text of every format, and what must hold whatever the trials say.
#include "golden_text.h"
#include "report/invented_trials.h"
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace tilewright {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Case {
  const char* name;
  Format format;
};
constexpr Case kCases[] = {{"human", Format::human},
                           {"md", Format::md},
                           {"csv", Format::csv},
                           {"json", Format::json},
                           {"jsonl", Format::jsonl}};

class Rendered : public ::testing::TestWithParam<Case> {};

TEST_P(Rendered, WinnersAreUnchanged) {
  expect_golden(std::string("report_winners.") + GetParam().name + ".txt",
                render_winners(invented_winners(), GetParam().format, invented_context()));
}

TEST_P(Rendered, SummaryIsUnchanged) {
  expect_golden(std::string("report_summary.") + GetParam().name + ".txt",
                render_summary(summarize(invented_winners(), invented_trials()), GetParam().format,
                               invented_context()));
}

TEST_P(Rendered, NothingAtAllRendersToo) {
  EXPECT_FALSE(render_winners({}, GetParam().format, {}).empty());
  EXPECT_FALSE(render_summary({}, GetParam().format, {}).empty());
}

// A database that others wrote may hold any bytes; none may throw or reach a terminal.
TEST_P(Rendered, HostileTextNeitherThrowsNorEscapes) {
  Trial trial = invented_winners().front();
  trial.program = "cpu \xff\xfe\x1b[2J\nsecond line | x,\"y\"";
  trial.problem = "gemm \xc3 1x1x1 \x1b[31m\r\n";
  Trial failed = trial;
  failed.outcome = Outcome::crash;
  failed.problem += "2";
  const Summary summary = summarize({trial}, {trial, failed});
  const std::string text = render_winners({trial, failed}, GetParam().format, {{"k\n", "v\x1b"}}) +
                           render_summary(summary, GetParam().format, {{"k\n", "v\x1b"}});
  if (GetParam().format != Format::csv) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Rendered, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Render, HumanTablesFitATerminal) {
  std::vector<Trial> winners = invented_winners();
  winners.push_back(
      invented("gemm 1099511627775x1099511627775x1 bf16 acc=f32 nt out=f32 batch=4 lda=1040 "
               "alpha=any beta=any",
               1e9, {{"a_baseline_with_a_long_name", compared(0.123, "slower", 1e9)}}));
  for (const std::string& text : {render_winners(winners, Format::human, {}),
                                  render_summary(summarize(winners, winners), Format::human, {})}) {
    for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(Render, LossesAreMarked) {
  EXPECT_THAT(render_winners(invented_winners(), Format::human, {}), HasSubstr("! slower"));
  EXPECT_THAT(render_winners(invented_winners(), Format::md, {}), HasSubstr("**slower**"));
}

TEST(Render, JsonSaysWhatTheDemoPromises) {
  const json summary = json::parse(render_summary(summarize(invented_winners(), invented_trials()),
                                                  Format::json, invented_context()));
  EXPECT_EQ(summary.at("schema_version"), kReportSchemaVersion);
  EXPECT_EQ(summary.at("context").at("onednn"), "3.5");
  EXPECT_EQ(summary.at("problems"), 6);
  EXPECT_EQ(summary.at("trials"), 8);
  EXPECT_EQ(summary.at("outcomes").at("wrong"), 2);
  EXPECT_EQ(summary.at("programs").size(), 5u);
  for (const json& ratio : summary.at("ratios")) {
    for (const char* field : {"baseline", "group", "problems", "wins", "losses", "same",
                              "ambiguous", "geomean", "median", "worst"}) {
      EXPECT_TRUE(ratio.contains(field)) << field;
    }
    const auto count = [&](const char* field) { return ratio.at(field).get<int>(); };
    EXPECT_EQ(count("wins") + count("losses") + count("same") + count("ambiguous"),
              count("problems"));
  }
}

TEST(Render, EachJsonLineStandsAlone) {
  const auto lines = lines_of(render_winners(invented_winners(), Format::jsonl, {}));
  ASSERT_EQ(lines.size(), 1 + invented_winners().size());
  EXPECT_EQ(json::parse(lines[0]).at("schema_version"), kReportSchemaVersion);
  for (const std::string& line : lines) EXPECT_TRUE(json::parse(line).contains("kind"));
}

TEST(Render, NumbersThatAreNoneBecomeNull) {
  Trial trial = invented_winners().front();
  trial.spread = std::numeric_limits<double>::quiet_NaN();
  const json winners = json::parse(render_winners({trial}, Format::json, {}));
  EXPECT_TRUE(winners.at("winners").at(0).at("spread").is_null());
}

TEST(Render, EveryCsvRowCarriesVersionAndContext) {
  const auto lines = lines_of(render_winners(invented_winners(), Format::csv, invented_context()));
  ASSERT_EQ(lines.size(), 1u + 3 + 3 + 1 + 1 + 1) << "a row per problem and baseline";
  EXPECT_THAT(lines.front(), HasSubstr("context_device"));
  const auto commas = std::ranges::count(lines.front(), ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with("1,"));
    EXPECT_EQ(std::ranges::count(lines[i], ','), commas) << lines[i];
    EXPECT_THAT(lines[i], HasSubstr("cpu of nobody"));
  }
}

TEST(Render, FormatsByName) {
  for (const Case& c : kCases) EXPECT_EQ(format_from(c.name).value(), c.format);
  const auto wrong = format_from("jsn");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("'jsn'"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("json"));
}

}  // namespace
}  // namespace tilewright
