// SPDX-License-Identifier: Apache-2.0
// Programs of the CUDA families that together take every value of every decision, and most pairs
// of values, over devices, layouts and types: what the tests of generated kernels walk through.
// Deterministic: the same programs on every machine, until a table of decisions changes.
#pragma once

#include "base/rng.h"
#include "device/invented_gpu.h"
#include "program/family_cuda.h"
#include "program/space.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct Candidate {
  Device device;
  Problem problem;
  Program program;
  [[nodiscard]] std::string text() const {
    return std::to_string(device.cuda.capability) + " | " + to_text(problem) + " | " +
           program.text();
  }
};

struct CoverGround {
  const Family* family;
  Device device;
  Problem problem;
};

// Where programs are looked for. Large problems let every tile exist, small ones the rest.
inline std::vector<CoverGround> cover_grounds() {
  const std::vector<Device> ampere = {invented_a100(), invented_rtx3090(), invented_rtx4090(),
                                      invented_h200()};
  // What any family can compute ...
  constexpr std::array kAligned = {
      "4096x4096x4096 f16 acc=f32 nn",
      "2048x4096x8192 bf16 acc=f32 nt",
      "1000x3000x2056 f16 acc=f16 tn",
      "4096x1024x4096 f16 acc=f32 tt out=f32 alpha=any beta=any",
      "64x512x4096 f16 acc=f32 nn batch=3",
      "40x1544x7168 bf16 acc=f32 tn",
      "256x256x8192 f16 acc=f16 nt alpha=any beta=one",
      "8192x8192x1024 bf16 acc=f32 tt",
      "128x4096x2048 f16 acc=f32 nt out=f32",
      "5000x136x520 bf16 acc=f32 nn alpha=any beta=any",
  };
  // ... and what has rows that no wide load can read.
  constexpr std::array kUnaligned = {
      "1x4096x4096 f16 acc=f32 nt",
      "777x1003x555 f16 acc=f32 nn",
      "33x202x1002 bf16 acc=f32 tn",
      "17x36x900 f16 acc=f16 tt beta=one batch=2",
  };
  std::vector<CoverGround> grounds;
  for (std::size_t i = 0; i < kAligned.size(); ++i) {
    const Problem problem = parse_problem(kAligned[i]).value();
    grounds.push_back({&sm80_family(), ampere[i % ampere.size()], problem});
    grounds.push_back({&sm90_family(), invented_h200(), problem});
    if (i >= kUnaligned.size()) continue;
    grounds.push_back(
        {&sm80_family(), ampere[(i + 3) % ampere.size()], parse_problem(kUnaligned[i]).value()});
    grounds.push_back({&sm90_family(), invented_h200(), parse_problem(kUnaligned[i]).value()});
  }
  return grounds;
}

// Pairs of tokens that stand in a candidate together, of the program and of its problem.
class Coverage {
 public:
  [[nodiscard]] bool has(const std::string& token) const { return pairs_.contains({token, token}); }
  // New pairs that `token` makes with `others` and itself; one that was never seen counts most.
  [[nodiscard]] int gain(const std::string& token, const std::vector<std::string>& others) const {
    int news = has(token) ? 0 : 1000;
    for (const std::string& other : others) news += pairs_.contains({other, token}) ? 0 : 1;
    return news;
  }
  void add(const std::vector<std::string>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) pairs_.insert({tokens[j], tokens[i]});
    }
  }

 private:
  std::set<std::pair<std::string, std::string>> pairs_;
};

// What of a problem and device alters a kernel's text, as tokens.
inline std::vector<std::string> problem_tokens(const CoverGround& ground) {
  const Problem& p = ground.problem;
  const std::string family(ground.family->name);
  return {family + " sm_" + std::to_string(ground.device.cuda.capability),
          family + " " + p.layout(),
          family + " in=" + std::string(name_of(p.in)),
          family + " out=" + std::string(name_of(p.out)),
          family + (p.acc == Accumulator::f16 ? " acc=f16" : " acc=f32"),
          family + (p.alpha == AlphaClass::one && p.beta == BetaClass::zero ? "" : " scaled")};
}

// A walk through the decisions that takes at each the value with most new pairs, at random among
// equals. Such a walk meets rare values far more often than a uniform sample does.
inline Program covering_program(const Space& space, std::vector<std::string>& tokens,
                                const Coverage& seen, Rng& rng) {
  const Family& family = space.family();
  Choices choices(family);
  for (std::size_t i = 0; i < family.decisions.size(); ++i) {
    const Decision& decision = family.decisions[i];
    if (!exists(decision, choices)) {
      choices.set(i, kAbsent);
      continue;
    }
    std::vector<std::pair<int, Choice>> best;
    for (const Choice value : space.next(choices)) {
      const int gain = seen.gain(std::string(family.name) + " " + std::string(decision.key) + "=" +
                                     std::string(decision.values[static_cast<std::size_t>(value)]),
                                 tokens);
      if (!best.empty() && gain < best.front().first) continue;
      if (!best.empty() && gain > best.front().first) best.clear();
      best.emplace_back(gain, value);
    }
    const Choice chosen = best[rng.below(best.size())].second;
    choices.set(i, chosen);
    tokens.push_back(std::string(family.name) + " " + std::string(decision.key) + "=" +
                     std::string(decision.values[static_cast<std::size_t>(chosen)]));
  }
  return Program(choices);
}

// Decisions' values, as tokens, that no candidate has.
inline std::vector<std::string> uncovered(const std::vector<Candidate>& candidates) {
  std::set<std::string> have;
  for (const Candidate& candidate : candidates) {
    const std::string family(candidate.program.family().name);
    for (const std::string& token : candidate.program.tokens()) have.insert(family + " " + token);
  }
  std::vector<std::string> missing;
  for (const Family* family : {&sm80_family(), &sm90_family()}) {
    for (const Decision& decision : family->decisions) {
      for (const std::string_view value : decision.values) {
        const std::string token =
            std::string(family->name) + " " + std::string(decision.key) + "=" + std::string(value);
        if (!have.contains(token)) missing.push_back(token);
      }
    }
  }
  return missing;
}

// `count` greedy walks over all grounds in turn, then random ones for the values that these missed,
// because the decisions before them had to be just so.
inline std::vector<Candidate> covering_candidates(
    std::size_t count, std::uint64_t seed,
    const std::vector<CoverGround>& grounds = cover_grounds()) {
  std::vector<Space> spaces;
  for (const CoverGround& ground : grounds) {
    spaces.emplace_back(*ground.family, ground.problem, ground.device);
  }
  Coverage seen;
  Rng rng(seed);
  std::vector<Candidate> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i % grounds.size();
    std::vector<std::string> tokens = problem_tokens(grounds[at]);
    Program program = covering_program(spaces[at], tokens, seen, rng);
    seen.add(tokens);
    out.push_back({grounds[at].device, grounds[at].problem, std::move(program)});
  }
  std::vector<std::string> missing = uncovered(out);
  for (std::size_t tries = 0; !missing.empty() && tries < 4000; ++tries) {
    const std::size_t at = tries % grounds.size();
    std::vector<std::string> tokens;
    const Program program = covering_program(spaces[at], tokens, Coverage(), rng);
    if (std::ranges::find_first_of(tokens, missing) == tokens.end()) continue;
    out.push_back({grounds[at].device, grounds[at].problem, program});
    missing = uncovered(out);
  }
  return out;
}

}  // namespace tilewright
