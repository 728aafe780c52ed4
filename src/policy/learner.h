// SPDX-License-Identifier: Apache-2.0
// The language model behind a pipe. Its process, `tilewright-learner`, carries LibTorch; this
// program never does, and works without it.
//
// One JSON object a line, one answer each: {"ask":"hello"} -> {"ok":true,...} or
// {"ok":false,"error":"...","hint":"..."}. The asks and their fields:
//
//   hello                                     -> protocol, language, vocabulary
//   load     path                             -> parameters, stage
//   begin    problem, device, only (texts; left out: all legal programs)
//   sample   n, temperature, seed, exemplars [{problem, program, score, profile?}]
//                                             -> programs, logprobs (drawn, duplicates included)
//   learn    trials, steps                    -> steps, skipped: an update from sampled programs
//   save     path
//   quit
//
// src/train/serve.h answers them.
#pragma once

#include "base/line_process.h"
#include "device/device.h"
#include "problem/problem.h"
#include "trial/trial.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr int kLearnerProtocol = 1;
inline constexpr const char* kLearnerProgram = "tilewright-learner";
inline constexpr const char* kLearnerVariable = "TILEWRIGHT_LEARNER";
inline constexpr const char* kWeightsVariable = "TILEWRIGHT_WEIGHTS";
// Of the tokens of the program language, in order: weights of another vocabulary are of no use.
[[nodiscard]] std::string vocabulary_hash();

// Empty fields: the variables above, then beside this program (for the weights: the folder
// ../share/tilewright/policy from there).
struct LearnerPlace {
  std::filesystem::path program, weights, log;
};
// An Error that says how to build it, or how to train weights, where one is not there.
[[nodiscard]] Result<std::filesystem::path> find_learner(const LearnerPlace& place);
[[nodiscard]] Result<std::filesystem::path> find_weights(const LearnerPlace& place);

struct Shown {
  std::string problem, program;
  double score = 0;  // ln of the speed-up
  std::optional<Profile> profile{};
};
struct SampleRequest {
  std::vector<Shown> exemplars;
  std::size_t n = 64;
  double temperature = 1;
  std::uint64_t seed = 1;
};
struct Sampled {
  std::string program;
  double logprob = 0;  // of the whole program, after mask and temperature
};

class Learner {
 public:
  // Started, greeted, and with the weights loaded.
  [[nodiscard]] static Result<std::unique_ptr<Learner>> start(const LearnerPlace& place);
  [[nodiscard]] Status begin(const Problem& problem, const Device& device,
                             const std::vector<std::string>* only);
  [[nodiscard]] Result<std::vector<Sampled>> sample(const SampleRequest& request);
  [[nodiscard]] Status learn(std::span<const Trial> trials, int steps);
  [[nodiscard]] Status save(const std::filesystem::path& path);

 private:
  explicit Learner(std::unique_ptr<LineProcess> process) : process_(std::move(process)) {}
  std::unique_ptr<LineProcess> process_;
};

}  // namespace tilewright
