// SPDX-License-Identifier: Apache-2.0
// An invented device with dense tables: what is fast depends on the shape, in ways that the prompt
// shows and the cost model does not know. So a model that reads shapes can do on held-out ones what
// it learned on others, and one that has only seen the cost model cannot.
#pragma once

#include "policy/policy.h"
#include "program/devices.h"
#include "replay/tables.h"
#include "train/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tilewright {

inline double landscape_us(const Problem& problem, const Program& program) {
  const auto off = [](double value, double best) {
    return std::abs(std::log2((value + 1) / (best + 1)));
  };
  if (!problem.is_gemm()) {
    const bool wide = problem.n >= 1024;
    const double log_time = 0.4 * off(static_cast<double>(program.number("unroll")), 4) +
                            (program.word("isa") == (wide ? "avx512" : "avx2") ? 0 : 0.6) +
                            (program.word("passes") == "joint" ? 0 : 0.6);
    return 1e-4 * problem.flop() / 1e3 * std::exp(log_time) + 1;
  }
  const bool few_rows = problem.m <= 32, narrow = problem.n <= 1024;
  const bool direct = program.word("form") == "direct";
  const double log_time = 0.25 * off(static_cast<double>(program.number("mr")), few_rows ? 3 : 11) +
                          0.2 * off(static_cast<double>(program.number("nr")), narrow ? 16 : 64) +
                          (direct == few_rows ? 0 : 0.5) +
                          (program.word("order") == (narrow ? "mn" : "nm") ? 0 : 0.3) +
                          (program.word("sizes") == "static" ? 0 : 0.1);
  return 1e-4 * problem.flop() / 1e3 * std::exp(log_time) + 1;
}

inline Trial landscape_trial(const Problem& problem, const Program& program, const Device& device,
                             std::int64_t at) {
  Trial trial;
  trial.problem = to_text(problem);
  trial.program = program.text();
  trial.device = device.fingerprint();
  trial.outcome = Outcome::ok;
  trial.stage = "screen";
  trial.policy = "table";
  trial.split = split_of(problem);
  trial.unix_ms = at;
  trial.time_us = landscape_us(problem, program);
  // A library at about the middle of the table.
  trial.baselines["library"].time_us = 1e-4 * problem.flop() / 1e3 * std::exp(0.9) + 1;
  return trial;
}

// `count` shapes of one split, deterministic.
inline std::vector<Problem> landscape_shapes(const std::string& split, std::size_t count) {
  std::vector<Problem> out;
  Rng rng(5, split == "train" ? 1 : 2);
  for (int tries = 0; out.size() < count && tries < 10000; ++tries) {
    Problem p;
    p.m = std::int64_t{1} << (3 + rng.below(7));  // 8 to 512
    p.n = 256 * static_cast<std::int64_t>(1 + rng.below(12));
    p.k = 256 * static_cast<std::int64_t>(1 + rng.below(8));
    if (p.m > 16 && p.m < 64) continue;
    if (split_of(p) == split && std::ranges::find(out, p) == out.end()) out.push_back(p);
  }
  return out;
}

// Tables of `programs` common programs (fewer where some are not legal).
inline std::vector<Trial> landscape_table(const std::vector<Problem>& problems,
                                          std::size_t programs,
                                          const char* like = "64x1536x1024 f16 acc=f32 nn") {
  const Device device = avx512_device(2);
  PolicyContext context;
  context.problem = parse_problem(like).value();
  context.device = device;
  context.seed = 3;
  const std::vector<Program> common = make_policy("random", context).value()->propose(programs);
  std::vector<Trial> trials;
  std::int64_t at = 1;
  for (const Problem& problem : problems) {
    for (const Program& program : common) {
      if (!is_legal(program, problem, device)) continue;
      trials.push_back(landscape_trial(problem, program, device, at++));
    }
  }
  return trials;
}

// The same of softmax, whose best programs depend on the columns.
inline std::vector<Problem> landscape_rows(const std::string& split, std::size_t count) {
  std::vector<Problem> out;
  for (std::int64_t m = 64; m <= 4096 && out.size() < count; m *= 2) {
    for (std::int64_t n = 256; n <= 4096 && out.size() < count; n += 128) {
      Problem p;
      p.op = Op::softmax;
      p.m = m;
      p.n = n;
      p.k = 1;
      if (split_of(p) == split) out.push_back(p);
    }
  }
  return out;
}

inline TrainInput landscape_input(const std::filesystem::path& folder, std::size_t train,
                                  std::size_t held_out, std::size_t programs) {
  TrainInput input;
  Result<TrainPlan> plan = plan_for("xs");
  input.plan = *plan;
  input.plan.device = avx512_device(2);
  input.folder = folder;
  std::vector<Problem> shapes = landscape_shapes("train", train);
  const std::vector<Problem> others = landscape_shapes("held-out", held_out);
  shapes.insert(shapes.end(), others.begin(), others.end());
  input.trials = landscape_table(shapes, programs);
  input.worlds = divide(make_worlds(input.trials, input.plan.device, 16, nullptr));
  return input;
}

// Tables of softmax besides, which the stage `general` learns on.
inline void add_rows(TrainInput& input, std::size_t train, std::size_t held_out,
                     std::size_t programs) {
  std::vector<Problem> rows = landscape_rows("train", train);
  const std::vector<Problem> others = landscape_rows("held-out", held_out);
  rows.insert(rows.end(), others.begin(), others.end());
  const std::vector<Trial> trials = landscape_table(rows, programs, "softmax 512x1024 f16");
  input.operations = divide(make_worlds(trials, input.plan.device, 16, nullptr));
  input.trials.insert(input.trials.end(), trials.begin(), trials.end());
}

}  // namespace tilewright
