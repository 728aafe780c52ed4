// SPDX-License-Identifier: Apache-2.0
// What a runner's words say about a candidate.
#include "execute/conversation.h"

#include <gmock/gmock.h>

#include <vector>

namespace tilewright {
namespace {

TEST(FailuresTest, WordsBecomeFindings) {
  struct Case {
    const char *word, *detail;
    Outcome outcome;
    const char* rule;
    bool last;
  };
  for (const auto& [word, detail, outcome, rule, last] : std::vector<Case>{
           {"", "", Outcome::ok, "", false},
           {"dlopen", "x", Outcome::launch_error, "dlopen", false},
           {"launch", "grid.x=0", Outcome::launch_error, "launch", false},
           {"cubin", "x", Outcome::launch_error, "cubin", false},
           {"driver", "x", Outcome::launch_error, "driver", true},
           {"sticky", "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal ...", Outcome::crash,
            "illegal-address", true},
           {"sticky", "CUDA_ERROR_HARDWARE_STACK_ERROR: x", Outcome::crash,
            "cuda:CUDA_ERROR_HARDWARE_STACK_ERROR", true},
           {"sticky", "CUDA_ERROR_LAUNCH_TIMEOUT: x", Outcome::run_timeout, "call-limit", true},
           {"sticky-baseline", "CUDA_ERROR_ILLEGAL_ADDRESS: x", Outcome::launch_error,
            "sticky-baseline", true},
           {"invented\n", "x", Outcome::cheat, "protocol", false}}) {
    Reply reply;
    reply.failure = word;
    reply.detail = detail;
    const Finding finding = finding_of(reply);
    EXPECT_EQ(finding.outcome, outcome) << word;
    EXPECT_EQ(finding.rule, rule) << word;
    EXPECT_EQ(is_last(reply), last) << word;
  }
}

}  // namespace
}  // namespace tilewright
