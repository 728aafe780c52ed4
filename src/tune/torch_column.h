// SPDX-License-Identifier: Apache-2.0
// The `torch` column of a rig: one Python process for all problems, begun when it is first needed,
// with operands only while it is being timed. Whatever is missing costs the column, not the run.
#pragma once

#include "baseline/cuda/torch_peer.h"
#include "measure/measure.h"
#include "tune/unpaired.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace tilewright {

inline constexpr const char* kTorchColumn = "torch";

class TorchColumn {
 public:
  using Log = std::function<void(const std::string&)>;
  explicit TorchColumn(TorchPeerOptions options, Log log = {})
      : options_(std::move(options)), log_(std::move(log)) {}

  // With as many operand sets as the candidate has, as far as they fit. Nothing in other modes than
  // offline and wall, and where torch is absent, fails or is wrong: each reason is logged once.
  [[nodiscard]] std::optional<UnpairedTime> time(const Problem& problem, Mode mode, int sets);

 private:
  bool ready();
  Result<UnpairedTime> time_on(TorchPeer& peer, const Problem& problem, TorchMode mode, int sets);
  void remark(const std::string& reason);

  TorchPeerOptions options_;
  Log log_;
  std::optional<TorchPeer> peer_;
  int failures_ = 0;
  std::set<std::string> said_;
};

// How torch is timed in `mode`, if it is.
[[nodiscard]] std::optional<TorchMode> torch_mode(Mode mode);
// Of the `wanted` operand sets, those that fit in the memory that torch may take; 0: not one.
[[nodiscard]] int torch_sets(const Problem& problem, int wanted);
// Calls of one sample: several milliseconds, and equally many on each set.
[[nodiscard]] int torch_calls(double seconds_per_call, int sets);

}  // namespace tilewright
