// SPDX-License-Identifier: Apache-2.0
// The Verifier: one library of data per problem, a proof per candidate, and the timed outputs.
#include "verify/verify.h"

#include "verify/library.h"
#include "verify/proof.h"
#include "verify/timed.h"

#include <utility>

namespace tilewright {
namespace {

// Draws of one purpose lie 2^32 apart, so that no two share a seed.
constexpr std::uint64_t seed_of(std::uint64_t seed, std::uint64_t purpose) {
  return (seed << 40) ^ (purpose << 32) ^ (seed >> 24);
}

Caller caller_for(Session& session, bool ragged) {
  Caller caller;
  caller.call = [&session](int set, float alpha, float beta) {
    return session.call("candidate", set, alpha, beta);
  };
  if (ragged) {
    caller.call_sizes = [&session](const Extent& e) { return session.call_sizes(e.m, e.n, e.k); };
  }
  return caller;
}

}  // namespace

struct Verifier::State {
  const Arena& arena;
  std::uint64_t seed;
  std::uint64_t proofs = 0;
  Library library;
  TimedOutputs timed;

  State(const Arena& a, const VerifyOptions& options)
      : arena(a),
        seed(options.seed),
        library(a.problem(), seed_of(options.seed, 1)),
        timed(a, seed_of(options.seed, 2)) {}

  // Fresh for every proof, so that no candidate can have been made for it.
  std::uint64_t next_seed() { return seed_of(seed, 3) + (++proofs << 16); }
};

Verifier::Verifier(const Arena& arena, VerifyOptions options)
    : state_(std::make_unique<State>(arena, options)) {}
Verifier::~Verifier() = default;

Verdict Verifier::prove(Session& session, bool quick, bool ragged) {
  Proof proof(state_->arena, state_->library, caller_for(session, ragged), state_->next_seed());
  return quick ? proof.quick() : proof.full();
}

Verdict Verifier::prove_baseline(Session& session, const std::string& baseline) {
  Caller caller;
  caller.owner = Owner::baseline;
  // Its B has changed, so it prepares again.
  caller.call = [&](int set, float alpha, float beta) {
    if (Finding finding = session.reprepare(); !finding.ok()) return finding;
    return session.call(baseline, set, alpha, beta);
  };
  Proof proof(state_->arena, state_->library, std::move(caller), state_->next_seed());
  return proof.bounds_only();
}

void Verifier::arm() {
  state_->timed.arm();
}

void Verifier::refresh() {
  state_->timed.refresh();
}

Finding Verifier::check_timed(const std::vector<int>& ran) {
  return state_->timed.check(ran);
}

Finding Verifier::replay(Session& session) {
  return state_->timed.replay(caller_for(session, false));
}

}  // namespace tilewright
