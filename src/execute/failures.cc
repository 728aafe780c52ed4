// SPDX-License-Identifier: Apache-2.0
// The words of Reply::failure and what each says about the candidate.
#include "execute/conversation.h"

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

struct FailureRow {
  std::string_view word;
  Outcome outcome;
  bool last = false;  // the process cannot be used any more, and ends
};
constexpr std::array<FailureRow, 11> kFailures = {{
    {"dlopen", Outcome::launch_error},          // the loader refused the shared object
    {"cubin", Outcome::launch_error},           // the driver refused the cubin or its launch
    {"missing-symbol", Outcome::launch_error},  // no such function in it
    {"launch", Outcome::launch_error},          // it cannot be launched like this
    {"lockdown", Outcome::launch_error},        // isolation could not be put in force
    {"baseline", Outcome::launch_error},        // a library could not be made or returned an error
    {"request", Outcome::launch_error},         // our own request was off
    {"setup", Outcome::launch_error},           // the child could not map the operands, ...
    {"driver", Outcome::launch_error, true},    // no CUDA context could be made
    {"sticky", Outcome::crash, true},           // a CUDA error that every later call repeats
    {"sticky-baseline", Outcome::launch_error, true},  // the same, during a baseline
}};

// CUDA errors with a rule of their own; the others are `cuda:NAME`. The driver's name comes first
// in the detail.
struct StickyRow {
  std::string_view name;
  Outcome outcome;
  std::string_view rule;
};
constexpr std::array<StickyRow, 2> kSticky = {{
    {"CUDA_ERROR_ILLEGAL_ADDRESS", Outcome::crash, "illegal-address"},
    {"CUDA_ERROR_LAUNCH_TIMEOUT", Outcome::run_timeout, "call-limit"},  // the display's watchdog
}};

const FailureRow* row_of(const Reply& reply) {
  const auto row = std::find_if(kFailures.begin(), kFailures.end(), [&](const FailureRow& known) {
    return known.word == reply.failure;
  });
  return row == kFailures.end() ? nullptr : row;
}

Finding sticky(const Reply& reply) {
  const std::string name = reply.detail.substr(0, reply.detail.find(':'));
  for (const StickyRow& row : kSticky) {
    if (row.name == name) return {row.outcome, std::string(row.rule), reply.detail};
  }
  return {Outcome::crash, "cuda:" + name, reply.detail};
}

}  // namespace

Finding finding_of(const Reply& reply) {
  if (reply.failure.empty()) return {};
  const FailureRow* const row = row_of(reply);
  if (row == nullptr) {
    std::string shown;
    for (const char c : reply.failure.substr(0, 80)) shown += (c >= ' ' && c <= '~') ? c : '?';
    return {Outcome::cheat, "protocol", shown};
  }
  return row->word == "sticky" ? sticky(reply)
                               : Finding{row->outcome, std::string(row->word), reply.detail};
}

bool is_last(const Reply& reply) {
  const FailureRow* const row = row_of(reply);
  return row != nullptr && row->last;
}

}  // namespace tilewright
