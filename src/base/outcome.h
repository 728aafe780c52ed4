// SPDX-License-Identifier: Apache-2.0
// How an attempt at a candidate ended. Stored in every trial; the names are part of the database
// format, so a name is never reused for another meaning.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

enum class Outcome {
  ok,                // proven and timed
  illegal,           // refused before generation, with the rule that refused it
  compile_error,     // the compiler said no
  compile_timeout,   // the compiler did not finish within its limit
  launch_error,      // the binary could not be loaded or started
  crash,             // a signal, an abort, or an exit without a result
  run_timeout,       // did not return within its limit; killed with its process group
  out_of_bounds,     // wrote outside C: guard bands, row gaps
  wrong,             // a proof failed
  nondeterministic,  // different bits for the same call where the program promises equal ones
  cheat,             // broke the rules of the measurement: input written, thread started, ...
  noisy,             // right, but no timing could be trusted
};

inline constexpr std::array<std::string_view, 12> kOutcomeNames = {
    "ok",          "illegal",       "compile_error", "compile_timeout",  "launch_error", "crash",
    "run_timeout", "out_of_bounds", "wrong",         "nondeterministic", "cheat",        "noisy"};

[[nodiscard]] constexpr std::string_view name_of(Outcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

[[nodiscard]] constexpr std::optional<Outcome> outcome_from(std::string_view name) {
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    if (kOutcomeNames[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

// One finding about a candidate: what happened, by which named rule, and the evidence.
// `rule` is a short stable word such as `guards`, `exact-integers` or `forbidden-syscall`.
struct Finding {
  Outcome outcome = Outcome::ok;
  std::string rule;
  std::string detail;
  [[nodiscard]] bool ok() const { return outcome == Outcome::ok; }
};

}  // namespace tilewright
