// SPDX-License-Identifier: Apache-2.0
// Every rule of the CUDA families refuses what it says, alone and with its reason:
// tests/cases/program_refusals.txt.
#include "base/text.h"
#include "device/invented_gpu.h"
#include "program/devices.h"
#include "program/family_cuda.h"
#include "program/family_cuda_general.h"
#include "program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// The base program's text with words replaced, added or dropped (-key).
std::string changed(std::string_view base, std::string_view changes) {
  std::vector<std::string> out;
  for (const std::string_view word : words(base)) out.emplace_back(word);
  for (const std::string_view change : words(changes)) {
    const bool drops = change.starts_with('-');
    const std::string key(drops ? change.substr(1) : change.substr(0, change.find('=')));
    std::erase_if(out, [&](const std::string& word) { return word.starts_with(key + "="); });
    if (!drops) out.emplace_back(change);
  }
  std::string text;
  for (const std::string& word : out) text += word + " ";
  return text;
}

Device device_named(std::string_view name) {
  static const std::map<std::string_view, Device> all = {{"cpu", avx512_device(2)},
                                                         {"a100", invented_a100()},
                                                         {"rtx3090", invented_rtx3090()},
                                                         {"rtx4090", invented_rtx4090()},
                                                         {"h200", invented_h200()}};
  return all.at(name);
}

// Some problems can be refused, but not be written down as text.
Problem problem_of(std::string text) {
  ElementType in = ElementType::f16;
  Accumulator acc = Accumulator::f32;
  if (const std::size_t at = text.find(" f32"); at != std::string::npos) {
    text.erase(at);
    in = ElementType::f32;
  } else if (const std::size_t half = text.find(" bf16 acc=f16"); half != std::string::npos) {
    text.erase(half);
    in = ElementType::bf16;
    acc = Accumulator::f16;
  } else {
    return parse_problem(text).value();
  }
  Problem problem = parse_problem(text).value();
  problem.in = problem.out = in;
  problem.acc = acc;
  return problem;
}

TEST(Refusals, EachRuleRefusesAloneAndSaysWhy) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/cases/program_refusals.txt");
  ASSERT_TRUE(file.is_open());
  std::map<std::string, std::string> bases;
  std::set<std::string> fired;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("base ")) {
      const std::size_t equals = line.find(" = ");
      bases[line.substr(5, equals - 5)] = line.substr(equals + 3);
      continue;
    }
    const std::vector<std::string_view> cells = split(line, '|');
    ASSERT_EQ(cells.size(), 6U) << line;
    const std::string base(trim(cells[0]));
    ASSERT_TRUE(bases.contains(base)) << line;
    const auto program = parse_program(changed(bases[base], cells[3]));
    ASSERT_TRUE(program.has_value()) << line << "\n" << program.error().message;
    const auto refused =
        refusals(*program, problem_of(std::string(trim(cells[2]))), device_named(trim(cells[1])));
    ASSERT_FALSE(refused.empty()) << line;
    std::string_view rule = trim(cells[4]);
    if (rule.ends_with('+')) {
      rule.remove_suffix(1);
    } else {
      EXPECT_EQ(refused.size(), 1U)
          << line << "\nalso " << refused.back().rule << ": " << refused.back().reason;
    }
    EXPECT_EQ(refused.front().rule, rule) << line << "\n" << refused.front().reason;
    EXPECT_THAT(refused.front().reason, HasSubstr(std::string(trim(cells[5])))) << line;
    fired.insert(std::string(program->family().name) + " " + refused.front().rule);
  }
  for (const Family* family :
       {&sm80_family(), &sm90_family(), &cuda_rows_family(), &cuda_transpose_family()}) {
    for (const Rule& rule : family->rules) {
      EXPECT_TRUE(fired.contains(std::string(family->name) + " " + std::string(rule.name)))
          << family->name << ": no case of " << rule.name;
    }
  }
}

}  // namespace
}  // namespace tilewright
