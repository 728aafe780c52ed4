// SPDX-License-Identifier: Apache-2.0
// Policies: who writes the next programs. Everything that proposes is behind this interface.
#pragma once

#include "base/error.h"
#include "policy/experience.h"
#include "policy/knobs.h"
#include "policy/learner.h"
#include "policy/program_set.h"
#include "program/space.h"
#include "trial/trial.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Policy {
 public:
  virtual ~Policy() = default;
  // Up to `count` legal programs not proposed before by this object; fewer or none when it has no
  // more to say.
  [[nodiscard]] virtual std::vector<Program> propose(std::size_t count) = 0;
  // Told the result of every proposal, failures included, in any order.
  virtual void observe(const Trial& trial) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
};

struct PolicyContext {
  Problem problem;
  Device device;
  std::uint64_t seed = 1;
  std::vector<Trial> history{};  // earlier trials that may be learned from (any problem)
  // The same, parsed and shared; made from `history` where it is null.
  std::shared_ptr<const Experience> experience{};
  std::shared_ptr<const ProgramSet> only{};  // where not null, nothing else may be proposed
  Knobs knobs{};
  LearnerPlace learner{};  // of the language model
};

struct PolicyInfo {
  std::string_view name;
  std::string_view help;
  bool outside = false;  // asks a process that needs what is not part of this program
};
[[nodiscard]] std::vector<PolicyInfo> policies();
// An unknown name lists the known ones; one that lacks a library here says so.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name,
                                                          PolicyContext context);

// The cache model that orders programs before anything is measured: estimated seconds of a call
// from FMA throughput, register and cache traffic, packing and thread imbalance. It need not be
// right, only rank well.
[[nodiscard]] double estimate_seconds(const Program& program, const Problem& problem,
                                      const Device& device);

}  // namespace tilewright
