// SPDX-License-Identifier: Apache-2.0
// The Verifier of an Arena: one library of data per problem, a proof per candidate, and the timed
// outputs.
#include "verify/callers.h"
#include "verify/host_ground.h"
#include "verify/proof.h"
#include "verify/timed.h"
#include "verify/verify.h"

namespace tilewright {

struct HostVerifier::State {
  const Arena& arena;
  std::uint64_t seed;
  std::uint64_t proofs = 0;
  DataLibrary library;
  HostGround timed_ground;
  TimedOutputs timed;

  State(const Arena& a, const VerifyOptions& options)
      : arena(a),
        seed(options.seed),
        library(a.problem(), seed_of(options.seed, 1)),
        timed_ground(a, library),
        timed(timed_ground, seed_of(options.seed, 2)) {}

  // Fresh for every proof, so that no candidate can have been made for it.
  std::uint64_t next_seed() { return seed_of(seed, 3) + (++proofs << 16); }
};

HostVerifier::HostVerifier(const Arena& arena, VerifyOptions options)
    : state_(std::make_unique<State>(arena, options)) {}
HostVerifier::~HostVerifier() = default;

Verdict HostVerifier::prove(Session& session, bool quick, bool ragged) {
  HostGround ground(state_->arena, state_->library);
  Proof proof(ground, candidate_caller(session, ragged), state_->next_seed());
  return quick ? proof.quick() : proof.full();
}

Verdict HostVerifier::prove_baseline(Session& session, const std::string& baseline) {
  HostGround ground(state_->arena, state_->library, Owner::baseline);
  return Proof(ground, baseline_caller(session, baseline), state_->next_seed()).bounds_only();
}

void HostVerifier::arm() {
  state_->timed.arm();
}

void HostVerifier::refresh() {
  state_->timed.refresh();
}

Finding HostVerifier::check_timed(const std::vector<int>& ran) {
  return state_->timed.check(ran);
}

Finding HostVerifier::replay(Session& session) {
  return state_->timed.replay(candidate_caller(session, false));
}

}  // namespace tilewright
