// SPDX-License-Identifier: Apache-2.0
// The JSON of a CUDA launch: everything survives, and what is off is refused by name.
#include "launch/launch.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Launch full() {
  Launch launch;
  launch.target = "cuda";
  launch.symbol = "tw_gemm";
  launch.workspace = "slots*128*128*4+4096";
  launch.cuda.grid = {"roundup(cdiv(N,128),2)", "cdiv(M,128)", "batch"};
  launch.cuda.threads = 384;
  launch.cuda.cluster = {2, 1, 1};
  launch.cuda.shared_bytes = "4*(128+128)*64*2+1024";
  launch.cuda.zeroed = "4096";
  launch.cuda.maps = {{'a', 64, 128, 128, 256}, {'c', 32, 256, 0, 0}};
  launch.cuda.arguments = {"map0",      "map1",  "a",    "b",     "c",
                           "workspace", "alpha", "beta", "i32:M", "i64:sa*2"};
  launch.cuda.alignment = 8;
  launch.cuda.maps[1].copy = {"roundup(M,256)", "roundup(K,8)", "M*roundup(K,8)", "1"};
  launch.cuda.before = {
      {"tw_copy", {"cdiv(M,8)", "batch", "2"}, 256, {"a", "workspace", "i64:lda"}},
      {"tw_clear", {"1", "1", "1"}, 32, {}}};
  launch.cuda.chained = true;
  launch.k = 4096;
  return launch;
}

TEST(CudaLaunchJson, RoundTrip) {
  const Launch launch = full();
  const std::string text = to_json(launch);
  EXPECT_EQ(launch_from_json(text).value(), launch) << text;
  Launch plain;
  plain.target = "cuda";
  EXPECT_EQ(launch_from_json(to_json(plain)).value(), plain);
  EXPECT_EQ(launch_from_json(R"({"target":"cuda"})").value(), plain);
  EXPECT_THAT(to_json(plain), Not(HasSubstr("before")));
  EXPECT_THAT(to_json(plain), Not(HasSubstr("chained")));
}

TEST(CudaLaunchJson, TheDocumentedExampleIsRead) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/cuda.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto begin = page.find("```json\n"), end = page.find("```\n", begin + 8);
  ASSERT_NE(end, std::string::npos);
  const auto launch = launch_from_json(page.substr(begin + 8, end - begin - 8));
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(launch->cuda.maps.size(), 2U);
  EXPECT_EQ(launch_from_json(to_json(*launch)).value(), *launch);
}

TEST(CudaLaunchJson, NumbersAreExpressionsToo) {
  const auto launch = launch_from_json(
      R"({"target":"cuda","grid":[4,"M",1],"shared_bytes":1024,"zeroed":0,"workspace":16})");
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(launch->cuda.grid[0], "4");
  EXPECT_EQ(launch->cuda.shared_bytes, "1024");
  EXPECT_EQ(launch->workspace, "16");
}

TEST(CudaLaunchJson, CutAnywhereIsRefused) {
  const std::string text = to_json(full());
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(launch_from_json(std::string_view(text).substr(0, i))) << i;
  }
}

TEST(CudaLaunchJson, RefusesAndNamesWhatIsWrong) {
  struct Case {
    const char *fields, *part;
  };
  for (const auto& [fields, part] : std::vector<Case>{
           {R"("gird":["1","1","1"])", "did you mean 'grid'?"},
           {R"("grid":["1","1"])", "three expressions"},
           {R"("grid":"1")", "three expressions"},
           {R"("grid":["1",-1,"1"])", "grid[1]=-1"},
           {R"("grid":["M+","1","1"])", "grid[0]: "},
           {R"("grid":["MM","1","1"])", "'MM' is not a known name"},
           {R"("threads":0)", "threads=0"},
           {R"("threads":1025)", "threads=1025"},
           {R"("cluster":[1,1])", "three numbers"},
           {R"("cluster":[0,1,1])", "cluster[0]=0"},
           {R"("cluster":[17,1,1])", "cluster[0]=17"},
           {R"("cluster":[4,4,2])", "32 CTAs, 16 at most"},
           {R"("cluster":["2",1,1])", "cluster[0]=\"2\""},
           {R"("shared_bytes":-1)", "shared_bytes=-1"},
           {R"("shared_bytes":"K+")", "shared_bytes: "},
           {R"("shared_bytes":"slots*4")", "names slots"},
           {R"("zeroed":null)", "zeroed=null"},
           {R"("workspace":1.5)", "workspace=1.5"},
           {R"("alignment":0)", "alignment=0"},
           {R"("alignment":"8")", "alignment=\"8\""},
           {R"("maps":{})", "maps is not a list"},
           {R"("maps":["a"])", "maps[0] is not an object"},
           {R"("maps":[{}])", "maps[0].operand=null"},
           {R"("maps":[{"operand":"d"}])", "maps[0].operand=\"d\""},
           {R"("maps":[{"operand":"ab"}])", "maps[0].operand=\"ab\""},
           {R"("maps":[{"operand":"a","box":1}])", "unknown field 'box' in maps[0]"},
           {R"("maps":[{"operand":"a","columns":0}])", "maps[0].columns=0"},
           {R"("maps":[{"operand":"a","columns":12}])", "columns=12 is not a multiple of 8"},
           {R"("maps":[{"operand":"a","columns":264,"swizzle":0}])", "maps[0].columns=264"},
           {R"("maps":[{"operand":"a","rows":257}])", "maps[0].rows=257"},
           {R"("maps":[{"operand":"a","rows":0}])", "maps[0].rows=0"},
           {R"("maps":[{"operand":"a","swizzle":16}])", "swizzle=16 is none of 0, 32, 64, 128"},
           {R"("maps":[{"operand":"a","columns":128,"swizzle":128}])", "256 bytes a row"},
           {R"("maps":[{"operand":"a","columns":64,"swizzle":64}])", "128 bytes a row"},
           {R"("maps":[{"operand":"a","l2_promotion":32}])", "l2_promotion=32"},
           {R"("arguments":"a")", "arguments is not a list"},
           {R"("arguments":[1])", "arguments[0]=1"},
           {R"("arguments":["d"])", "arguments[0]='d'"},
           {R"("arguments":["map0"])", "there are 0 maps"},
           {R"("arguments":["mapx"],"maps":[{"operand":"a"}])", "'mapx'"},
           {R"("arguments":["f32:1"])", "arguments[0]='f32:1'"},
           {R"("arguments":["a","i32:"])", "arguments[1]: "},
           {R"("arguments":["i32:Q"])", "'Q' is not a known name"},
           {R"("maps":[{"operand":"a","copy":"w"}])", "maps[0].copy is not an object"},
           {R"("maps":[{"operand":"a","copy":{"at":1}}])", "unknown field 'at' in maps[0].copy"},
           {R"("maps":[{"operand":"a","copy":{"offset":-1}}])", "maps[0].copy.offset=-1"},
           {R"("maps":[{"operand":"a","copy":{"row_stride":"K+"}}])", "maps[0].copy.row_stride: "},
           {R"("chained":1)", "chained=1 is neither true nor false"},
           {R"("before":{})", "before is not a list"},
           {R"("before":[{},{},{},{},{}])", "at most 4 steps"},
           {R"("before":["tw"])", "before[0] is not an object"},
           {R"("before":[{"cluster":1}])", "unknown field 'cluster' in before[0]"},
           {R"("before":[{"symbol":"a b"}])", "before[0].symbol='a b'"},
           {R"("before":[{},{"threads":2000}])", "before[1].threads=2000"},
           {R"("before":[{"grid":["M"]}])", "before[0].grid=[\"M\"] is not three"},
           {R"("before":[{"grid":["M","Q","1"]}])", "before[0].grid[1]: "},
           {R"("maps":[{"operand":"a"}],"before":[{"arguments":["map0"]}])", "there are 0 maps"},
           {R"("before":[{"arguments":["a","i32:"]}])", "before[0].arguments[1]: "}}) {
    const auto result = launch_from_json(R"({"target":"cuda",)" + std::string(fields) + "}");
    ASSERT_FALSE(result) << fields;
    EXPECT_EQ(result.error().code, ErrorCode::refused) << fields;
    EXPECT_THAT(result.error().message, HasSubstr(part)) << fields;
  }
}

TEST(CudaWorkspace, KnowsStridesAndTheDevice) {
  Problem problem;
  problem.m = 100;
  problem.n = 64;
  problem.k = 32;
  problem.lda = 40;
  Launch launch = full();
  launch.k = 32;
  launch.workspace = "slots*sms + threads + lda + sa + sb + ldc";
  EXPECT_EQ(workspace_bytes(launch, problem, 132, 264).value(),
            264 * 132 + 384 + 40 + 100 * 40 + 32 * 64 + 64);
}

}  // namespace
}  // namespace tilewright
