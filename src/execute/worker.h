// SPDX-License-Identifier: Apache-2.0
// The parent's side of a worker and of a session, private to this folder: worker.cc starts and
// restarts the runner and reaps sessions; session.cc talks to one child. Read session.h first.
#pragma once

#include "execute/channel.h"
#include "execute/protocol.h"
#include "execute/session.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

// How a session ended, as the zygote saw it.
struct Ending {
  bool known = false;  // false: the zygote itself is gone
  int status = 0;      // as waitpid gives it
  bool killed = false;
  std::int64_t strays = 0;
};

struct Worker::State {
  WorkerOptions options;
  Device device;
  std::filesystem::path runner;
  WorkerFacts facts;
  Channel control;
  pid_t zygote = -1;
  std::uint64_t sequence = 0;
  bool busy = false;  // a session is open

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] Status spawn();
  void stop();
  // One exchange with the zygote; an Error if it is gone, silent, or refused.
  [[nodiscard]] Result<Reply> ask(RequestBody body, std::span<const int> fds = {});
  [[nodiscard]] Ending reap(std::int64_t pid, std::chrono::milliseconds grace);
};

class HostSession final : public Session {
 public:
  struct State;
  explicit HostSession(std::unique_ptr<State> state);
  ~HostSession() override;
  Finding call(const std::string& contestant, int set, float alpha, float beta) override;
  Finding call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) override;
  TimingReply time(const std::vector<Burst>& plan) override;
  Finding reprepare() override;

 private:
  std::unique_ptr<State> state_;
};

struct HostSession::State {
  Worker::State* worker = nullptr;
  Problem problem;
  int sets = 0;
  Channel channel;
  std::int64_t pid = -1;
  std::uint64_t sequence = 0;
  Finding ended;                                       // why the session is over; ok while it lives
  std::map<std::string, double, std::less<>> slowest;  // seconds of a call, by contestant

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  struct Answer {
    Finding finding;
    Reply reply;
    double wall_seconds = 0;
  };
  // Sends `body` and waits for its answer; whatever goes wrong ends the session. `who` is being
  // called, for the report.
  [[nodiscard]] Answer exchange(RequestBody body, std::chrono::nanoseconds limit,
                                std::string_view who);
  // Waits for the answer to request `number` with `nonce`.
  [[nodiscard]] Answer await(std::uint64_t number, std::string_view nonce,
                             std::chrono::nanoseconds limit, std::string_view who);
  // Whether `who` is one of this session's baselines.
  [[nodiscard]] bool trusted(std::string_view who) const;
  // How long one call of `who` may take.
  [[nodiscard]] std::chrono::nanoseconds limit_of(std::string_view who) const;

 private:
  [[nodiscard]] Finding end(Finding why, std::chrono::milliseconds grace);
  [[nodiscard]] Finding lost(std::string_view who);
};

// Sixteen hexadecimal digits from the kernel.
[[nodiscard]] std::string fresh_nonce();
// The finding of a `failure` word in a reply.
[[nodiscard]] Finding finding_of(const Reply& reply);

}  // namespace tilewright
