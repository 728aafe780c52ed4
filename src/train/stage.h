// SPDX-License-Identifier: Apache-2.0
// A stage of training: numbered steps, a gate at the end, and notes from which it goes on where it
// was stopped. run_stage() does what all stages share: checkpoints, the log, the progress. All
// randomness of step i comes from generators of (seed, stage, i), so a run that was killed and
// started again makes the same steps as one that was not.
#pragma once

#include "learn/trainer.h"
#include "train/plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

using Numbers = std::vector<std::pair<std::string, double>>;

// May the next stage begin? With its numbers, whatever the answer.
struct Gate {
  bool passed = false;
  std::string reason;
  Numbers numbers;
};

class TrainingStage {
 public:
  virtual ~TrainingStage() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  // Steps between checkpoints.
  [[nodiscard]] virtual std::int64_t save_every() const = 0;
  // Before the first step, also of a run that goes on.
  [[nodiscard]] virtual Status begin() { return {}; }
  // What a line of the log says of it.
  [[nodiscard]] virtual Result<Numbers> step(std::int64_t number) = 0;
  // Besides the trainer's state, what the next step depends on.
  [[nodiscard]] virtual std::string notes() const { return {}; }
  [[nodiscard]] virtual Status restore(const std::string& /*notes*/) { return {}; }
  [[nodiscard]] virtual Result<Gate> gate() = 0;
};

// A generator for step `number` of a stage.
[[nodiscard]] Rng rng_of(std::uint64_t seed, std::string_view stage, std::int64_t number,
                         std::uint64_t part = 0);

struct StageRoom {
  std::filesystem::path folder;  // checkpoint and log of this stage
  std::function<void(const std::string&)> log;
  std::function<bool()> stop;
  // For tests: true ends the run at this point as a crash would. "step" is after a step, "saved"
  // after a checkpoint.
  std::function<bool(std::string_view point, std::int64_t step)> fault;
};

// From the checkpoint, if there is one, to the last step. An Error of code interrupted if it was
// stopped; its checkpoint is written then.
[[nodiscard]] Result<Gate> run_stage(TrainingStage& stage, Trainer& trainer, const StageRoom& room);

[[nodiscard]] std::string line_of(const Numbers& numbers);  // "loss 1.234  rate 0.001"

}  // namespace tilewright
