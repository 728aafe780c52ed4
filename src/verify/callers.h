// SPDX-License-Identifier: Apache-2.0
// What every Verifier shares besides the rules: a session as a Caller, and the seeds of its draws.
#pragma once

#include "verify/proof.h"

#include <cstdint>
#include <string>

namespace tilewright {

// Draws of one purpose lie 2^32 apart, so that no two share a seed.
[[nodiscard]] constexpr std::uint64_t seed_of(std::uint64_t seed, std::uint64_t purpose) {
  return (seed << 40) ^ (purpose << 32) ^ (seed >> 24);
}

[[nodiscard]] inline Caller candidate_caller(Session& session, bool ragged) {
  Caller caller;
  caller.call = [&session](int set, float alpha, float beta) {
    return session.call("candidate", set, alpha, beta);
  };
  if (ragged) {
    caller.call_sizes = [&session](const Extent& e) { return session.call_sizes(e.m, e.n, e.k); };
  }
  return caller;
}

[[nodiscard]] inline Caller baseline_caller(Session& session, const std::string& baseline) {
  Caller caller;
  // Its B has changed, so it prepares again.
  caller.call = [&session, baseline](int set, float alpha, float beta) {
    if (Finding finding = session.reprepare(); !finding.ok()) return finding;
    return session.call(baseline, set, alpha, beta);
  };
  return caller;
}

}  // namespace tilewright
