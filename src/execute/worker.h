// SPDX-License-Identifier: Apache-2.0
// The parent's side of a CPU worker, private to this folder: worker.cc starts and restarts the
// runner and reaps sessions; conversation.cc talks to one child. Read session.h first.
#pragma once

#include "execute/conversation.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct Worker::State {
  WorkerOptions options;
  Device device;
  std::filesystem::path runner;
  WorkerFacts facts;
  Channel control;
  pid_t zygote = -1;
  std::uint64_t sequence = 0;
  bool busy = false;  // a session is open

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] Status spawn();
  void stop();
  // One exchange with the zygote; an Error if it is gone, silent, or refused.
  [[nodiscard]] Result<Reply> ask(RequestBody body, std::span<const int> fds = {});
  [[nodiscard]] Ending reap(std::int64_t pid, std::chrono::milliseconds grace);
};

class HostSession final : public Conversation {
 public:
  HostSession(Worker::State& worker, Channel channel, std::int64_t pid, const Problem& problem,
              int sets);
  ~HostSession() override;
  std::int64_t process() const override { return pid_; }

 protected:
  Ending reap(std::chrono::milliseconds grace) override;

 private:
  Worker::State& worker_;
  std::int64_t pid_;
};

}  // namespace tilewright
