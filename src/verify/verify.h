// SPDX-License-Identifier: Apache-2.0
// Proof: a program is admitted only if every rule here holds (docs/verification.md).
//
// Reference: f64 accumulation of the half inputs, one rounding. Rules, by the name a verdict
// carries: exact-01, exact-signs, exact-split-k, bound (normal, uniform, cancelling, large, tiny),
// norm, poison (NaN and a plausible pattern), guards, inputs-unchanged, other-sets, fresh-data,
// fresh-address, workspace, bait, ragged, alpha-beta, timed-outputs, replay. `verifier` is a fault
// of the checker itself, outcome noisy. Next: proof.cc.
#pragma once

#include "base/outcome.h"
#include "execute/session.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct VerifyOptions {
  std::uint64_t seed = 0;  // of the data; the same seed draws the same data
};

struct Verdict {
  Finding finding;             // ok, or the first rule that failed with its evidence
  int checks = 0;              // how many rules were tried
  double max_bound_ratio = 0;  // largest |err| / bound seen
  double max_abs_error = 0;    // largest |err| on normal data: the paper's deviation
  double norm_ratio = 0;       // normwise error / that of the correctly rounded reference
  bool repeatable = true;      // bitwise, run to run
};

// Holds references for one problem so that many candidates are checked against the same data. The
// rules are the same wherever the operands lie (ground.h).
class Verifier {
 public:
  virtual ~Verifier() = default;
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  // The whole proof, before timing. Draws data after the candidate was compiled.
  // `quick`: the screening subset instead. `ragged`: the kernel serves other sizes as well (its
  // launch fixes none of m, n, k), and is held to it.
  [[nodiscard]] virtual Verdict prove(Session& session, bool quick = false,
                                      bool ragged = false) = 0;
  // The same checks (bound only) for a baseline: its status is not enough.
  [[nodiscard]] virtual Verdict prove_baseline(Session& session, const std::string& baseline) = 0;

  // Around timing. arm(): fresh normal data in every set, C holds a plausible pattern.
  virtual void arm() = 0;
  // Between rounds: rewrites A of every set, so that results of an earlier round are wrong now.
  virtual void refresh() = 0;
  // After a round: every set's C against its present A, by Freivalds products in f64, set 0 in
  // full; guards and inputs too. `ran` lists the sets that the round's calls visited.
  [[nodiscard]] virtual Finding check_timed(const std::vector<int>& ran) = 0;
  // After timing: A rewritten, C poisoned, called once more, checked in full.
  [[nodiscard]] virtual Finding replay(Session& session) = 0;

 protected:
  Verifier() = default;
};

// Operands in host memory. For those on a GPU: cuda/cuda_verifier.h.
class HostVerifier final : public Verifier {
 public:
  HostVerifier(const Arena& arena, VerifyOptions options);
  ~HostVerifier() override;

  Verdict prove(Session& session, bool quick = false, bool ragged = false) override;
  Verdict prove_baseline(Session& session, const std::string& baseline) override;
  void arm() override;
  void refresh() override;
  Finding check_timed(const std::vector<int>& ran) override;
  Finding replay(Session& session) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
