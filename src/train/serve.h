// SPDX-License-Identifier: Apache-2.0
// The answers of `tilewright-learner serve`: one JSON line for each line, whatever it holds
// (policy/learner.h has the protocol). It keeps the model, the mask of the problem that is being
// searched, and what it sampled for it, so that an update needs the measured trials alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tilewright {

class LearnerServer {
 public:
  explicit LearnerServer(std::string compute);  // cpu, cuda, cuda:N
  ~LearnerServer();
  [[nodiscard]] std::string answer(std::string_view line);
  [[nodiscard]] bool done() const;  // it was asked to quit

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
