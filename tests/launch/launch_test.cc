// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <vector>

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LaunchJson, RoundTrip) {
  Launch launch;
  EXPECT_EQ(launch_from_json(to_json(launch)).value(), launch);
  launch.symbol = "tw_gemm_64";
  launch.threads = 16;
  launch.workspace = "threads*roundup(M,64)*4";
  launch.m = 0;
  launch.k = (std::int64_t{1} << 40) - 1;
  EXPECT_EQ(launch_from_json(to_json(launch)).value(), launch);
  EXPECT_EQ(to_json(Launch{}),
            R"({"target":"cpu","symbol":"tw_kernel","threads":1,"workspace":"0"})");
}

TEST(LaunchJson, WhatIsAbsentHasItsDefault) {
  EXPECT_EQ(launch_from_json("{}").value(), Launch{});
  EXPECT_EQ(launch_from_json(R"({"workspace": 4096})").value().workspace, "4096");
}

TEST(LaunchJson, RefusesAndNamesWhatIsWrong) {
  struct Case {
    const char *text, *part;
  };
  for (const auto& [text, part] :
       std::vector<Case>{{"", "not a launch description"},
                         {"{", "not a launch description"},
                         {"[]", "not a JSON object"},
                         {"null", "not a JSON object"},
                         {R"({"worskpace":"64"})", "did you mean 'workspace'?"},
                         {R"({"target":"hip"})", "target='hip'"},
                         {R"({"grid":["1","1","1"]})", "unknown field 'grid'"},
                         {R"({"target":1})", "must be string"},
                         {R"({"symbol":""})", "symbol=''"},
                         {R"({"symbol":"a b"})", "symbol='a b'"},
                         {R"({"symbol":"9a"})", "symbol='9a'"},
                         {R"({"symbol":"a;system"})", "C identifier"},
                         {R"({"threads":0})", "threads=0"},
                         {R"({"threads":-1})", "threads=-1"},
                         {R"({"threads":1.5})", "threads=1.5"},
                         {R"({"threads":"2"})", "threads=\"2\""},
                         {R"({"threads":18446744073709551615})", "threads=18446744073709551615"},
                         {R"({"workspace":-1})", "workspace=-1"},
                         {R"({"workspace":1e3})", "workspace=1000.0"},
                         {R"({"workspace":null})", "workspace=null"},
                         {R"({"m":-1})", "m=-1"},
                         {R"({"n":1099511627776})", "n=1099511627776"},
                         {R"({"k":"8"})", "k=\"8\""},
                         {R"({"k":null})", "k=null"}}) {
    const auto result = launch_from_json(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::refused) << text;
    EXPECT_THAT(result.error().message, HasSubstr(part)) << text;
  }
}

TEST(LaunchJson, CutAnywhereIsRefused) {
  Launch launch;
  launch.m = 64;
  const auto text = to_json(launch);
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(launch_from_json(std::string_view(text).substr(0, i))) << i;
  }
}

TEST(Workspace, IsEvaluatedForTheProblem) {
  Problem problem;
  problem.m = 100;
  problem.n = 30;
  problem.k = 5;
  problem.batch = 2;
  Launch launch;
  launch.threads = 4;
  EXPECT_EQ(workspace_bytes(launch, problem).value(), 0);
  launch.workspace = "threads*roundup(M,64)*4 + batch*N + K";
  EXPECT_EQ(workspace_bytes(launch, problem).value(), 4 * 128 * 4 + 2 * 30 + 5);
  launch.workspace = "M*";
  EXPECT_FALSE(workspace_bytes(launch, problem));
}

TEST(Workspace, StaticSizesMustBeTheProblems) {  // CASES N30: both values are named
  Problem problem;
  problem.m = 64;
  problem.n = 65;
  problem.k = 66;
  Launch launch;
  launch.m = 64;
  launch.n = 65;
  launch.k = 66;
  EXPECT_TRUE(workspace_bytes(launch, problem));
  for (const auto& [field, name] :
       {std::pair{&Launch::m, "M"}, {&Launch::n, "N"}, {&Launch::k, "K"}}) {
    auto other = launch;
    other.*field = 1000;
    const auto result = workspace_bytes(other, problem);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr(fmt::format("{}=1000", name)), HasSubstr("tw_kernel"),
                      HasSubstr(fmt::format("has {}=6", name))));
  }
}

}  // namespace
}  // namespace tilewright
