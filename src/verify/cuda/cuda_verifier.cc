// SPDX-License-Identifier: Apache-2.0
// See cuda_verifier.h. Each entry makes the context current first: who proves may not be the
// thread that made the verifier.
#include "verify/cuda/cuda_verifier.h"

#include "verify/callers.h"
#include "verify/cuda/cuda_ground.h"
#include "verify/proof.h"
#include "verify/timed.h"

namespace tilewright {

struct CudaVerifier::State {
  std::uint64_t seed;
  std::uint64_t proofs = 0;
  std::shared_ptr<KernelBench> bench;
  CudaShelf shelf;
  CudaGround timed_ground;
  TimedOutputs timed;

  State(const DeviceArena& arena, std::shared_ptr<KernelBench> b, const VerifyOptions& options)
      : seed(options.seed),
        bench(std::move(b)),
        shelf(arena, *bench, seed_of(options.seed, 1)),
        timed_ground(shelf),
        timed(timed_ground, seed_of(options.seed, 2)) {}

  // Fresh for every proof, so that no candidate can have been made for it.
  std::uint64_t next_seed() { return seed_of(seed, 3) + (++proofs << 16); }
};

CudaVerifier::CudaVerifier(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<CudaVerifier>> CudaVerifier::create(const DeviceArena& arena,
                                                           const Device& device, Compiler& compiler,
                                                           VerifyOptions options,
                                                           std::shared_ptr<KernelBench> kernels) {
  if (!kernels || !kernels->trouble().ok()) {
    auto bench = KernelBench::open(arena.context(), compiler, device.cuda.capability);
    if (!bench) return tl::unexpected(bench.error());
    kernels = *std::move(bench);
  }
  kernels->enter();
  auto state = std::make_unique<State>(arena, std::move(kernels), options);
  if (const Finding& trouble = state->bench->trouble(); !trouble.ok()) {
    return fail(ErrorCode::environment, trouble.detail);
  }
  return std::unique_ptr<CudaVerifier>(new CudaVerifier(std::move(state)));
}

// What it owns is freed in the context.
CudaVerifier::~CudaVerifier() {
  state_->bench->enter();
}

const std::shared_ptr<KernelBench>& CudaVerifier::kernels() const {
  return state_->bench;
}

Verdict CudaVerifier::prove(Session& session, bool quick, bool ragged) {
  state_->bench->enter();
  CudaGround ground(state_->shelf);
  Proof proof(ground, candidate_caller(session, ragged), state_->next_seed());
  return quick ? proof.quick() : proof.full();
}

Verdict CudaVerifier::prove_baseline(Session& session, const std::string& baseline) {
  state_->bench->enter();
  CudaGround ground(state_->shelf, Owner::baseline);
  return Proof(ground, baseline_caller(session, baseline), state_->next_seed()).bounds_only();
}

void CudaVerifier::arm() {
  state_->bench->enter();
  state_->timed.arm();
}

void CudaVerifier::refresh() {
  state_->bench->enter();
  state_->timed.refresh();
}

Finding CudaVerifier::check_timed(const std::vector<int>& ran) {
  state_->bench->enter();
  return state_->timed.check(ran);
}

Finding CudaVerifier::replay(Session& session) {
  state_->bench->enter();
  return state_->timed.replay(candidate_caller(session, false));
}

}  // namespace tilewright
