// SPDX-License-Identifier: Apache-2.0
// The parent's side of a CUDA worker, private to this folder: cuda_worker.cc starts and restarts
// the runner, cuda_session.cc gives the channel back or buries the process.
#pragma once

#include "execute/conversation.h"
#include "execute/cuda/cuda_worker.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct CudaWorker::State {
  WorkerOptions options;
  Device device;
  std::filesystem::path runner;
  Channel channel;  // to the running process, unless a session has it
  pid_t pid = -1;
  std::uint64_t sequence = 0;
  int starts = 0;
  bool busy = false;  // a session is open

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] Status spawn();
  // Waits for the process to be gone, kills it if it is not after `grace`.
  Ending reap(std::chrono::milliseconds grace);
};

class CudaSession final : public Conversation {
 public:
  CudaSession(CudaWorker::State& worker, const Problem& problem, int sets);
  // The runner lives on, if this session has left it alive.
  ~CudaSession() override;

 protected:
  Ending reap(std::chrono::milliseconds grace) override;

 private:
  CudaWorker::State& worker_;
};

}  // namespace tilewright
