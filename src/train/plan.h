// SPDX-License-Identifier: Apache-2.0
// What a training run is: all its numbers as one value, and what it learns from. They are starting
// values of ours: the papers publish none of them (docs/policy.md).
#pragma once

#include "learn/objective.h"
#include "replay/tables.h"
#include "train/corpus.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct TrainPlan {
  std::string size = "xs";
  std::uint64_t seed = 1;
  std::string compute = "cpu";  // where the model is trained: cpu, cuda, cuda:N
  Device device;                // that the programs are for

  std::size_t shapes = 200, random_programs = 64;
  std::size_t operations = 40;  // problems of the corpus that are no products

  std::int64_t pretrain_steps = 1500, sft_steps = 300;
  std::size_t texts_per_step = 32;
  double pretrain_rate = 1e-3, sft_rate = 3e-4;
  float prompt_weight = 0.3F;  // of the prompt's own words in pretraining

  std::int64_t iterations = 60;  // of reinforcement, and of expert iteration
  std::size_t prompts = 8, samples = 12, off_policy = 4;
  double exemplar_share = 0.5;  // of the prompts that are shown measured programs
  double temperature = 1;
  double rl_rate = 2e-4;
  int epochs = 2;
  AdvantageKind advantage = AdvantageKind::leave_one_out;
  double kl_weight = 0.01, archive_weight = 0.1;
  std::int64_t renew_every = 10;  // iterations between two references
  RewardBasis basis;
  std::int64_t expert_steps = 2;  // of fine-tuning in a round of expert iteration

  // Gates
  double least_legal = 0.95;     // share of texts that are legal without the mask
  std::size_t unmasked = 32;     // texts that are written without it to find out
  std::size_t judged = 64;       // samples for each world that a gate looks at
  bool force = false;            // go on behind a gate that failed; the run says so
  std::int64_t save_every = 25;  // steps between checkpoints; iterations count 10 steps each
};
// The numbers that go with a model's size; an unknown size lists the known ones.
[[nodiscard]] Result<TrainPlan> plan_for(std::string_view size);
// All numbers as text, one a line: a run is continued only by the plan that began it.
[[nodiscard]] std::string to_text(const TrainPlan& plan);

// Measures programs of one problem, in order, one trial each. In replay a table answers.
using Measure = std::function<Result<std::vector<Trial>>(const Problem&, std::span<const Program>)>;

// Tables to learn from by reinforcement (train), to choose between the stages' weights (choice),
// and to judge them by (held_out). Nothing is fitted to the last two.
struct Worlds {
  std::vector<ReplayWorld> train, choice, held_out;
};
[[nodiscard]] Worlds divide(std::vector<ReplayWorld> worlds);
[[nodiscard]] Measure measure_in(const std::vector<ReplayWorld>& worlds);

struct TrainInput {
  TrainPlan plan;
  std::filesystem::path folder;
  std::vector<Trial> trials;  // recorded ones; held-out shapes among them are passed over
  Worlds worlds;              // of products
  Worlds operations;          // of all else: what the stage `general` learns on
  Measure measure;            // empty: measure_in() of the stage's tables
  std::function<void(const std::string&)> log{};  // a line of progress
  std::function<bool()> stop{};                   // true: save and stop after this step
};

}  // namespace tilewright
