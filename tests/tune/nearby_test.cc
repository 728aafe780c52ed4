// SPDX-License-Identifier: Apache-2.0
// Which programs a tune begins with, from invented wisdom.
#include "tune/nearby.h"

#include "program/devices.h"
#include "program/family_cpu.h"
#include "program/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Problem problem(const char* text) {
  return parse_problem(text).value();
}

// Different programs that are legal for small products.
std::vector<std::string> some_programs(std::size_t count) {
  Rng rng(1);
  std::vector<std::string> out;
  const Space space(cpu_family(), problem("gemm 64x64x64 f16 acc=f32 nn"), avx512_device(2));
  while (out.size() < count) {
    const std::string text = space.sample(rng)->text();
    const Program program = parse_program(text).value();
    const bool everywhere =
        is_legal(program, problem("gemm 64x64x64 f16 acc=f32 nt"), avx512_device(2)) &&
        is_legal(program, problem("gemm 96x64x64 f16 acc=f32 nn"), avx512_device(2)) &&
        is_legal(program, problem("gemm 64x64x64 bf16 acc=f32 nn"), avx512_device(2));
    if (everywhere && std::ranges::find(out, text) == out.end()) out.push_back(text);
  }
  return out;
}

TEST(Nearby, TheSameShapeBeforeTheNextAndItsOwnLayoutBeforeOthers) {
  const std::vector<std::string> p = some_programs(4);
  Wisdom wisdom;
  const auto add = [&wisdom](const char* of, const std::string& program) {
    wisdom.entries.push_back({of, program, "offline", 1, "none", 0, "2026-11-30"});
  };
  add("gemm 128x64x64 f16 acc=f32 nn", p[3]);
  add("gemm 64x64x64 bf16 acc=f32 nn", p[2]);
  add("gemm 64x64x64 f16 acc=f32 nt", p[1]);
  add("gemm 64x64x64 f16 acc=f32 nn", p[0]);
  add("gemm 64x64x64 f16 acc=f32 tn", p[0]);  // the same again
  add("gemm 64x64x64 f16 acc=f32 tt", "cpu isa=none");
  add("gemm 64x64 f16", p[3]);
  const NearbyPrograms nearby(wisdom);
  const auto texts = [&nearby](const char* of, std::size_t count) {
    std::vector<std::string> out;
    for (const Program& program : nearby.of(problem(of), avx512_device(2), count)) {
      out.push_back(program.text());
    }
    return out;
  };
  EXPECT_THAT(texts("gemm 64x64x64 f16 acc=f32 nn", 9), ElementsAre(p[0], p[1], p[2], p[3]));
  EXPECT_THAT(texts("gemm 64x64x64 f16 acc=f32 nt", 2), ElementsAre(p[1], p[0]));
  EXPECT_THAT(texts("gemm 64x64x64 bf16 acc=f32 nn", 1), ElementsAre(p[2]));
  EXPECT_THAT(texts("gemm 127x64x64 f16 acc=f32 nn", 1), ElementsAre(p[3]));
  EXPECT_THAT(texts("gemm 64x64x64 f16 acc=f32 nn", 0), IsEmpty());
  EXPECT_THAT(
      NearbyPrograms(Wisdom{}).of(problem("gemm 64x64x64 f16 acc=f32 nn"), avx512_device(2), 3),
      IsEmpty());
}

}  // namespace
}  // namespace tilewright
