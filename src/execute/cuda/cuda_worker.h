// SPDX-License-Identifier: Apache-2.0
// Talking to tilewright-cuda-runner, the only process that runs candidate device code.
//
// A candidate is a cubin and a declarative launch, so it has no host code to lock down: one runner
// serves many candidates of one device. It is killed and started again after whatever leaves a
// context unusable: a hang, an illegal address, a failed launch that sticks. The next candidate
// then meets a fresh process, and the parent's context and operands are untouched.
#pragma once

#include "execute/cuda/device_arena.h"
#include "execute/session.h"

#include <map>
#include <span>

namespace tilewright {

class CudaWorker {
 public:
  // `options.runner`: empty looks for tilewright-cuda-runner as Worker does for its runner, the
  // variable is TILEWRIGHT_CUDA_RUNNER. The process itself starts with the first session.
  [[nodiscard]] static Result<CudaWorker> start(const WorkerOptions& options, const Device& device);
  ~CudaWorker();
  CudaWorker(CudaWorker&&) noexcept;
  CudaWorker& operator=(CudaWorker&&) noexcept;

  // As Worker::open. Names of baselines: baseline/cuda/cuda_baseline.h. `algorithms`: for some of
  // them what an earlier Opened told, to be taken instead of a search (CudaBaseline::recall).
  // `rivals`: candidates beside the first, by rival_name(1) and on; all write the same C and
  // workspace, so only their times are of use.
  [[nodiscard]] Result<Opened> open(const DeviceArena& arena, const Binary* candidate,
                                    const std::vector<std::string>& baselines,
                                    const std::map<std::string, std::string>& algorithms = {},
                                    std::span<const Binary> rivals = {});
  // How often the runner had to be started again: a fault costs a restart.
  [[nodiscard]] int restarts() const;

 private:
  friend class CudaSession;
  struct State;
  explicit CudaWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The program that a worker starts: `asked` if not empty, else as WorkerOptions::runner says.
[[nodiscard]] Result<std::filesystem::path> find_cuda_runner(const std::filesystem::path& asked);

}  // namespace tilewright
