// SPDX-License-Identifier: Apache-2.0
// Policies on CUDA devices: the contract on invented GPUs, and what the cost model's choice costs
// on problems whose programs were timed (tests/cases/cuda_times.txt).
#include "device/invented_gpu.h"
#include "policy/cost_model_cuda.h"
#include "policy/experts.h"
#include "policy/experts_cuda.h"
#include "policy/lineup.h"
#include "policy/policy.h"
#include "policy/ranking.h"
#include "policy/shortlist.h"
#include "problem/suite.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

namespace tilewright {
namespace {

constexpr const char* kProblems[] = {
    "64x64x64 f16 acc=f32 nt",          "1x6144x4096 bf16 acc=f32 nt",
    "100x1001x77 f16 acc=f32 nn",       "512x512x4096 f16 acc=f32 tn",
    "128x128x16384 f16 acc=f32 nn",     "8192x8192x256 f16 acc=f32 nn",
    "4096x4096x4096 f16 acc=f16 nt",    "256x384x512 bf16 acc=f32 nn out=f32 alpha=any beta=any",
    "64x96x128 f16 acc=f32 nn batch=8", "3000x1000x520 f16 acc=f32 tt",
};

std::vector<Device> gpus() {
  return {invented_h200(), invented_a100(), invented_rtx3090(), invented_rtx4090()};
}

Problem problem_of(const char* text) {
  return parse_problem(text).value();
}

// Legal and without repeats.
void expect_sound(const std::vector<Program>& programs, const Problem& problem,
                  const Device& device) {
  std::set<std::string> seen;
  for (const Program& program : programs) {
    EXPECT_TRUE(seen.insert(program.text()).second) << program.text();
    for (const Refusal& refusal : refusals(program, problem, device)) {
      ADD_FAILURE() << device.name << ", " << to_text(problem) << ": " << program.text() << ": "
                    << refusal.rule << ": " << refusal.reason;
    }
  }
}

TEST(CudaPolicy, ExpertsPaletteAndShortlistsAreLegalAndDistinct) {
  for (const Device& device : gpus()) {
    for (const char* text : kProblems) {
      const Problem problem = problem_of(text);
      const auto experts = cuda_experts(problem, device);
      EXPECT_FALSE(experts.empty()) << device.name << ", " << text;
      expect_sound(experts, problem, device);
      expect_sound(cuda_palette(problem, device), problem, device);
      const auto list = shortlist(problem, device, 10);
      EXPECT_GE(list.size(), 3U) << device.name << ", " << text;
      EXPECT_LE(list.size(), 10U);
      expect_sound(list, problem, device);
      EXPECT_EQ(list, shortlist(problem, device, 10));
    }
  }
}

TEST(CudaPolicy, EveryPolicyProposesLegalProgramsOnce) {
  for (const char* name : {"analytic", "evolve"}) {
    for (const Device& device : {invented_h200(), invented_rtx3090()}) {
      const PolicyContext context{problem_of("512x768x1024 f16 acc=f32 nn"), device, 3, {}};
      std::vector<Program> runs[2];
      for (auto& run : runs) {
        auto policy = make_policy(name, context).value();
        for (int i = 0; i < 6; ++i) std::ranges::move(policy->propose(4), std::back_inserter(run));
        EXPECT_EQ(run.size(), 24U) << name;
        expect_sound(run, context.problem, device);
      }
      EXPECT_EQ(runs[0], runs[1]) << name;
    }
  }
}

// What the two cheap policies measure first.
std::vector<Program> first(const char* policy, const Problem& problem, std::size_t count) {
  if (policy == std::string_view("shortlist")) return shortlist(problem, invented_h200(), count);
  return make_policy(policy, {problem, invented_h200(), 1, {}}).value()->propose(count);
}

TEST(CudaPolicy, FirstProposalsAreDifferentKernels) {
  constexpr const char* kMore[] = {"256x256x256 f16 acc=f32 nn", "64x4096x1024 f16 acc=f32 nt",
                                   "2048x2048x2048 f16 acc=f32 nn", "8192x8192x64 f16 acc=f32 nn",
                                   "16384x64x16384 f16 acc=f32 nt"};
  std::vector<const char*> problems(std::begin(kProblems), std::end(kProblems));
  problems.insert(problems.end(), std::begin(kMore), std::end(kMore));
  for (const char* policy : {"analytic", "shortlist"}) {
    for (const char* text : problems) {
      std::set<std::string> builds, tiles;
      const auto programs = first(policy, problem_of(text), kDiversePlaces);
      for (std::size_t i = 0; i < programs.size(); ++i) {
        const Program& p = programs[i];
        EXPECT_TRUE(builds.insert(build_of(p)).second)
            << policy << ", " << text << ": " << p.text();
        if (i < 6) {
          tiles.insert(fmt::format("{} {} {} {} {} {}", p.family().name, p.find_word("form"),
                                   p.find_word("schedule"), p.word("tile_m"), p.word("tile_n"),
                                   p.word("split_k")));
        }
      }
      EXPECT_GE(programs.size(), 6U) << policy << ", " << text;
      EXPECT_GE(tiles.size(), 3U) << policy << ", " << text;
    }
  }
  Device cpu;
  EXPECT_TRUE(shortlist(problem_of("64x64x64"), cpu, 10).empty());
}

TEST(CudaPolicy, SizesAreStaticWhereTheyPay) {
  const auto sizes = [](const char* text) {
    std::set<std::string> words;
    for (const Program& p : first("analytic", problem_of(text), 6)) {
      words.insert(std::string(p.word("sizes")));
    }
    return words;
  };
  EXPECT_EQ(sizes("64x64x64 f16 acc=f32 nt"), std::set<std::string>{"static"});
  EXPECT_EQ(sizes("512x512x512 f16 acc=f32 nn"), std::set<std::string>{"static"});
  EXPECT_EQ(sizes("8192x8192x8192 f16 acc=f32 nn"), std::set<std::string>{"runtime"});
}

TEST(CudaPolicy, ExpertsFollowTheClass) {
  const Device device = invented_h200();
  const auto best = [&](const char* text) {
    return cuda_experts(problem_of(text), device).front();
  };
  EXPECT_EQ(best("64x64x64 f16 acc=f32 nt").word("sizes"), "static");
  EXPECT_GT(best("128x128x16384 f16 acc=f32 nn").number("split_k"), 1);
  EXPECT_EQ(best("8192x8192x256 f16 acc=f32 nn").word("schedule"), "pingpong");
  EXPECT_GE(best("8192x8192x8192 f16 acc=f32 nn").number("tile_n"), 192);
  // An older GPU has the other family only.
  for (const Program& p : cuda_experts(problem_of("8192x8192x8192"), invented_a100())) {
    EXPECT_EQ(p.family().name, "sm80");
  }
}

// Tiles for 132 multiprocessors: 16 x 41 of 128x176 are five waves, of 192 or 160 more is left
// idle; 128 of 64x96 are one.
TEST(CudaPolicy, ExpertsFitWidthsToWaves) {
  struct Case {
    const char* problem;
    const char* tile;
  };
  for (const Case& c :
       {Case{"2048x7168x5120 f16 acc=f32 nt", "schedule=pingpong tile_m=128 tile_n=176 "},
        Case{"512x28672x4096 f16 acc=f32 nt", "schedule=pingpong tile_m=128 tile_n=176 "},
        Case{"1024x4608x3584 f16 acc=f32 nt", "schedule=pingpong tile_m=128 tile_n=144 "},
        Case{"16384x16384x256 f16 acc=f32 nt", "schedule=pingpong tile_m=128 tile_n=192 "},
        Case{"64x12288x8192 f16 acc=f32 nt", "consumers=1 tile_m=64 tile_n=96 "},
        Case{"64x10240x8192 f16 acc=f32 nt", "consumers=1 tile_m=64 tile_n=80 "},
        Case{"128x12288x8192 f16 acc=f32 nn", "consumers=1 tile_m=64 tile_n=192 "},
        Case{"12288x64x8192 f16 acc=f32 nt",
             "schedule=swapped consumers=1 tile_m=64 tile_n=96 "}}) {
    const std::vector<Program> experts = cuda_experts(problem_of(c.problem), invented_h200());
    const bool found = std::ranges::any_of(
        experts, [&](const Program& p) { return p.text().find(c.tile) != std::string::npos; });
    EXPECT_TRUE(found) << c.problem << ": " << c.tile;
  }
}

// Copying them first costs less than loading them without the copy engine.
TEST(CudaPolicy, LargeOddProductsAreCopiedFirst) {
  const Problem odd = problem_of("4095x4095x4095 f16 acc=f32 nn");
  const Problem even = problem_of("4096x4096x4096 f16 acc=f32 nn");
  const auto first = shortlist(odd, invented_h200(), 6);
  ASSERT_EQ(first.size(), 6U);
  for (const Program& program : first) {
    EXPECT_EQ(program.family().name, "sm90") << program.text();
    EXPECT_NE(program.find_word("schedule"), "gather") << program.text();
  }
  // 2 * 2 * 33.5 MB, which L2 does not hold.
  const Program with = parse_program(
                           "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 "
                           "stages=4 split_k=1 cluster=1x1 grid=persistent in_flight=1 "
                           "epilogue=direct raster=m group=8 sizes=runtime")
                           .value();
  const double more = estimate_cuda(with, odd, invented_h200()).fixed -
                      estimate_cuda(with, even, invented_h200()).fixed;
  EXPECT_GT(more, 25);
  EXPECT_LT(more, 60);
}

TEST(CudaRanking, BeatsALargerRandomSample) {
  const Device device = invented_h200();
  for (const char* text : {"256x256x256 f16 acc=f32 nn", "1024x1024x1024 f16 acc=f32 nn",
                           "64x16384x4096 f16 acc=f32 nt"}) {
    const PolicyContext context{problem_of(text), device, 1, {}};
    const auto spaces = legal_spaces(context.problem, device);
    Rng rng(5);
    const auto ranked = rank_sample(spaces, context, Seen(), rng);
    ASSERT_FALSE(ranked.empty());
    EXPECT_TRUE(std::ranges::is_sorted(ranked, {}, &Ranked::seconds));
    double best = 1;
    for (int i = 0; i < 3000; ++i) {
      best = std::min(best, estimate_seconds(*sample_any(spaces, rng), context.problem, device));
    }
    EXPECT_LE(ranked.front().seconds, 1.02 * best) << text;
  }
}

struct Timed {
  double us;
  Program program;
};

std::map<std::string, std::vector<Timed>> timed_programs() {
  std::map<std::string, std::vector<Timed>> out;
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/cases/cuda_times.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t a = line.find(" | "), b = line.find(" | ", a + 3);
    auto program = parse_program(line.substr(b + 3));
    if (!program) {
      ADD_FAILURE() << line << ": " << program.error().message;
      continue;
    }
    out[line.substr(a + 3, b - a - 3)].push_back({std::stod(line), *std::move(program)});
  }
  return out;
}

TEST(CudaCostModel, ChoosesWellAmongTimedPrograms) {
  const Device device = invented_h200();
  double regret = 0, off = 0;
  int problems = 0, programs = 0, pairs = 0, ordered = 0;
  for (const auto& [text, timed] : timed_programs()) {
    const Problem problem = problem_of(text.c_str());
    const auto estimate = [&](const Timed& t) {
      return estimate_seconds(t.program, problem, device) * 1e6;
    };
    const Timed& chosen = *std::ranges::min_element(timed, {}, estimate);
    const Timed& fastest = *std::ranges::min_element(timed, {}, &Timed::us);
    EXPECT_LE(chosen.us, 1.3 * fastest.us) << text << ": " << chosen.program.text();
    regret += std::log(chosen.us / fastest.us);
    ++problems;
    for (const Timed& a : timed) {
      off += std::abs(std::log(estimate(a) / a.us));
      ++programs;
      for (const Timed& b : timed) {
        if (a.us * 1.25 > b.us) continue;
        ++pairs;
        ordered += estimate(a) < estimate(b) ? 1 : 0;
      }
    }
  }
  ASSERT_GT(problems, 10);
  EXPECT_LT(std::exp(regret / problems), 1.05);
  EXPECT_LT(std::exp(off / programs), 1.25);
  EXPECT_GT(ordered, 0.95 * pairs) << ordered << " of " << pairs;
}

// A sweep measures a few programs a shape: what the best of the first six costs, as far as their
// builds were timed: of problems of which many were. One of which none was counts as half as fast.
TEST(CudaPolicy, SixProposalsHoldAFastProgram) {
  for (const char* policy : {"analytic", "shortlist"}) {
    double regret = 0;
    int problems = 0, seen = 0;
    for (const auto& [text, timed] : timed_programs()) {
      if (timed.size() < 12 || ++seen % 2 == 0) continue;  // every other: half a second each
      const double fastest = std::ranges::min_element(timed, {}, &Timed::us)->us;
      double best = 2 * fastest;
      for (const Program& program : first(policy, problem_of(text.c_str()), 6)) {
        for (const Timed& t : timed) {
          if (build_of(t.program) == build_of(program)) best = std::min(best, t.us);
        }
      }
      EXPECT_LE(best, 1.3 * fastest) << policy << ", " << text;
      regret += std::log(best / fastest);
      ++problems;
    }
    ASSERT_GT(problems, 4);
    EXPECT_LT(std::exp(regret / problems), 1.05) << policy;
  }
}

TEST(CudaCostModel, IsFiniteAndPositiveEverywhere) {
  Rng rng(11);
  for (const Device& device : gpus()) {
    for (const char* text : kProblems) {
      const Problem problem = problem_of(text);
      const auto spaces = legal_spaces(problem, device);
      for (int i = 0; i < 20; ++i) {
        const Program program = *sample_any(spaces, rng);
        const double seconds = estimate_seconds(program, problem, device);
        EXPECT_TRUE(std::isfinite(seconds)) << program.text();
        EXPECT_GT(seconds, 0.5e-6) << program.text();
      }
    }
  }
}

TEST(Sweep, SharesKernelsBetweenShapes) {
  const Suite grid = read_suite("@grid1000").value();
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < grid.entries.size(); i += 5) {
    problems.push_back(grid.entries[i].problem);
    problems.back().b_transposed = i % 2 == 1;
  }
  const auto kernels = sweep_set(problems, invented_h200(), 8);
  std::set<std::string> keys, programs;
  std::size_t served = 0;
  for (const SweepKernel& kernel : kernels) {
    EXPECT_TRUE(keys.insert(kernel_key(kernel.program, kernel.problem)).second);
    EXPECT_TRUE(is_legal(kernel.program, kernel.problem, invented_h200()));
    if (kernel.program.word("sizes") == "runtime") programs.insert(kernel.program.text());
    served += kernel.serves;
  }
  EXPECT_GT(served, 6 * problems.size());
  // The whole grid in both layouts, at 10 a shape, needs about 350.
  EXPECT_LT(programs.size(), 350U);
  RecordProperty("runtime_programs", static_cast<int>(programs.size()));
}

}  // namespace
}  // namespace tilewright
