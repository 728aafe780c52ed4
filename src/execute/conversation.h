// SPDX-License-Identifier: Apache-2.0
// A Session that talks to a process over a channel: what is common to every kind of runner.
// Private to this folder. Kinds differ in how a process that ended is put away.
#pragma once

#include "execute/channel.h"
#include "execute/protocol.h"
#include "execute/session.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

// How the process behind a session ended, as whoever reaped it saw it.
struct Ending {
  bool known = false;  // false: nobody can tell, the runner itself is gone
  int status = 0;      // as waitpid gives it
  bool killed = false;
  std::int64_t strays = 0;  // processes that it left behind
};

struct ConversationLimits {
  std::chrono::nanoseconds call{};  // of one call of the candidate, and besides ...
  double slowest_flop = 1e9;        // ... the time that its operations need at this rate
};

class Conversation : public Session {
 public:
  Finding call(const std::string& contestant, int set, float alpha, float beta) override;
  Finding call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) override;
  TimingReply time(const std::vector<Burst>& plan) override;
  Finding reprepare() override;

  struct Answer {
    Finding finding;
    Reply reply;
    double wall_seconds = 0;
  };
  // Sends `body` and waits for its answer; whatever goes wrong ends the session. `who` is being
  // called, for the report.
  [[nodiscard]] Answer exchange(RequestBody body, std::chrono::nanoseconds limit,
                                std::string_view who, std::span<const int> fds = {});
  // Waits for the answer to request `number` with `nonce`.
  [[nodiscard]] Answer await(std::uint64_t number, std::string_view nonce,
                             std::chrono::nanoseconds limit, std::string_view who);
  // Takes down the seconds that one run of each baseline took, by the answer to the request that
  // opened the session. False if that answer does not fit.
  [[nodiscard]] bool primed(const std::vector<std::string>& baselines, const Answer& answer);
  // How long one call of `who` may take.
  [[nodiscard]] std::chrono::nanoseconds limit_of(std::string_view who) const;

 protected:
  Conversation(Channel channel, std::uint64_t sequence, const Problem& problem, int sets,
               ConversationLimits limits);
  // Makes sure that the process is gone, after `grace` for it to end by itself.
  [[nodiscard]] virtual Ending reap(std::chrono::milliseconds grace) = 0;

  Channel channel_;
  std::uint64_t sequence_ = 0;
  Finding ended_;  // why the session is over; ok while it lives

 private:
  // Whether `who` is one of this session's baselines.
  [[nodiscard]] bool trusted(std::string_view who) const;
  [[nodiscard]] Finding end(Finding why, std::chrono::milliseconds grace);
  [[nodiscard]] Finding lost(std::string_view who);

  double flop_ = 0;
  int sets_ = 0;
  ConversationLimits limits_;
  std::map<std::string, double, std::less<>> slowest_;  // seconds of a call, by contestant
};

}  // namespace tilewright
