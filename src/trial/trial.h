// SPDX-License-Identifier: Apache-2.0
// A Trial: everything known of one attempt. Reward, report and replay are pure functions of trials.
//
// trial.cc holds what follows from the fields; trial_json.cc the line that databases and logs keep.
#pragma once

#include "base/error.h"
#include "base/outcome.h"
#include "device/device.h"
#include "problem/problem.h"
#include "trial/profile.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

// Goes up when an old reader could misread a new line. A field more does not count: readers ignore
// fields that they do not know and give missing ones their default.
inline constexpr int kTrialSchemaVersion = 1;

struct BaselineTime {
  double time_us = 0;                               // median per call
  double ratio_low = 0, ratio = 0, ratio_high = 0;  // t_baseline / t_candidate with its interval
  std::string comparison{};  // faster | slower | same | ambiguous, from the candidate's side
  bool headline = true;      // part of "fastest baseline"
  double latency_us = 0;     // server mode: median with the host's share; 0 if not measured
  std::string choice{};      // what the library ran: its algorithm and knobs, where it tells
  std::string algorithm{};   // CUDA: the same exactly, for its library alone (CudaBaseline)
  friend bool operator==(const BaselineTime&, const BaselineTime&) = default;
};

// What the assembler says of a candidate's machine code, CUDA only.
struct CubinNotes {
  int registers = 0;             // per thread
  std::int64_t spill_bytes = 0;  // stores and loads
  bool wgmma_serialized = false;
  friend bool operator==(const CubinNotes&, const CubinNotes&) = default;
};

// The state of the device at one moment, as NVML reads it; 0 and empty are "not known".
struct Conditions {
  double sm_mhz = 0, watts = 0, celsius = 0;
  std::string throttle{};  // why it runs slower than it could, in words
  friend bool operator==(const Conditions&, const Conditions&) = default;
};

struct Trial {
  std::string problem;  // to_text(Problem)
  std::string program;  // Program::text(), or "source:<hash>" for outside candidates
  std::string device;   // Device::fingerprint()
  Outcome outcome = Outcome::illegal;
  std::string rule, detail;  // of the finding, if not ok
  std::string mode = "offline";
  double time_us = 0;     // median per call; 0 unless timed
  double latency_us = 0;  // server mode: median with the host's share; 0 if not measured
  double spread = 0;
  double noise = 0;  // of the self pair in the same run
  std::map<std::string, BaselineTime> baselines;
  double max_abs_error = 0, max_bound_ratio = 0, norm_ratio = 0;
  bool repeatable = true;
  bool cut_short = false;  // a final timing of a search that was interrupted: it may go on
  double compile_seconds = 0, total_seconds = 0;
  double proof_seconds = 0, timing_seconds = 0;  // parts of the total
  std::string binary_hash;
  std::string policy;  // who proposed it
  std::string stage;   // "screen", "contest", "final", or "bench" for a winner that was timed again
  std::string run;     // id of the tuning or bench run
  std::string split;   // "train" or "held-out"
  std::uint64_t seed = 0;
  std::int64_t unix_ms = 0;  // when it ended
  int program_language = 0, device_headers = 0;
  std::string compiler, libraries, host;  // versions (driver included) and where
  std::optional<CubinNotes> cubin;
  std::optional<Conditions> before, after;  // of the timing
  std::optional<Profile> profile;           // of the kernel, if somebody took one

  // Content id: the same trial recorded twice, or merged from two databases, is one row.
  [[nodiscard]] std::string id() const;
  // The fastest headline baseline, name and times, or null if there is none.
  [[nodiscard]] const std::pair<const std::string, BaselineTime>* fastest_baseline() const;
  // Its time, 0 if none.
  [[nodiscard]] double reference_us() const;
  // reference_us / time_us, 0 unless ok.
  [[nodiscard]] double speedup() const;
  friend bool operator==(const Trial&, const Trial&) = default;
};

// One line. Numbers come back as they were, NaN and infinities included (as words); bytes that are
// no UTF-8 (a compiler's message may hold some) become U+FFFD.
[[nodiscard]] std::string to_json(const Trial& trial);
// Needs schema_version, problem, program, device and outcome.
[[nodiscard]] Result<Trial> trial_from_json(std::string_view line);

// "held-out" or "train". Held out of every fit: shapes with a size of 12288, and a fixed tenth of
// the rest by hash. It depends on M, N and K alone, so that no type, layout or batch of a held-out
// shape is fitted on.
[[nodiscard]] std::string split_of(const Problem& problem);

}  // namespace tilewright
