// SPDX-License-Identifier: Apache-2.0
// What a session may no longer do once candidate code is near.
//
// Two stages, because loading a shared object needs what running it does not. Stage 1, before the
// loader: a table of system calls that are never needed. Stage 2, before the first call: a table of
// those few that are. A forbidden call raises SIGSYS, whose handler tells the parent which one it
// was and ends the process.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::runner {

struct Isolation {
  std::vector<std::string> in_force;
  std::string missing;  // what could not be had, and why; empty if all is in force
  [[nodiscard]] bool has(const std::string& what) const;
};

// Tries everything in a forked child and reports what worked.
[[nodiscard]] Isolation probe_isolation();

// Default signal handling but for SIGSYS, which reports to `socket`; exit() reports nothing and
// ends at once. Call before limits and stages.
[[nodiscard]] Status prepare_ending(int socket);
// Gives the calling thread a stack of its own for the handler: its usual one may be exhausted.
void use_signal_stack();

// No core, no file growth, few descriptors, `memory_limit` bytes more than now, an hour of CPU.
[[nodiscard]] Status limit_resources(std::uint64_t memory_limit);
// Both apply to all threads of the process.
[[nodiscard]] Status first_stage();
[[nodiscard]] Status second_stage();

}  // namespace tilewright::runner
