// SPDX-License-Identifier: Apache-2.0
// See interrupt.h.
#include "cli/interrupt.h"

#include <csignal>

namespace tilewright {
namespace {

// A signal handler has no argument of ours, so this is the one thing it can reach.
std::atomic<bool> stop_requested = false;
extern "C" void request_stop(int) {
  stop_requested.store(true);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action{};
  action.sa_handler = request_stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_requested;
}

}  // namespace tilewright
