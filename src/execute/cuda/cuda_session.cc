// SPDX-License-Identifier: Apache-2.0
// See cuda_session.h. All of the talking is Conversation's.
#include "execute/cuda/cuda_session.h"

namespace tilewright {
namespace {

// What a call's operations may take at worst. A plain kernel of three loops does better on any
// device with tensor cores, so this is generous and still notices a hang on a large problem.
constexpr double kSlowestFlop = 2e11;

}  // namespace

CudaSession::CudaSession(CudaWorker::State& worker, const Problem& problem, int sets)
    : Conversation(std::move(worker.channel), worker.sequence, problem, sets,
                   {worker.options.call_limit, kSlowestFlop}),
      worker_(worker) {
  worker_.busy = true;
}

CudaSession::~CudaSession() {
  worker_.sequence = sequence_;
  if (ended_.ok()) worker_.channel = std::move(channel_);
  worker_.busy = false;
}

Ending CudaSession::reap(std::chrono::milliseconds grace) {
  return worker_.reap(grace);
}

}  // namespace tilewright
