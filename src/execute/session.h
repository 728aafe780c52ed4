// SPDX-License-Identifier: Apache-2.0
// Talking to tilewright-runner, the only process that touches candidate code.
//
// A Worker is one persistent runner: libraries loaded, baselines primed, single-threaded. For each
// candidate it forks a child that makes its thread team, locks itself down (seccomp, rlimits, no
// network, no file writes, no new threads or processes), and only then loads the candidate. The
// child answers requests, one line each, until the session closes. Whatever the candidate does -
// hang, abort, exit(0), fork - ends that child alone: the parent kills its process group, reports a
// Finding, and the next session starts from a clean fork.
#pragma once

#include "base/error.h"
#include "base/outcome.h"
#include "compile/compile.h"
#include "execute/arena.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct WorkerOptions {
  // Empty: $TILEWRIGHT_RUNNER, else beside this program or in ../bin from there, else PATH.
  std::filesystem::path runner;
  std::vector<int> cpus;  // CPUs the team is pinned to; empty: device.cpus
  // Wall limit of one candidate call; a call has this and the time that 1 GFLOP/s would need.
  std::chrono::milliseconds call_limit{2000};
  std::size_t memory_limit = std::size_t{8} << 30;  // what a session may add to its start
  // CUDA: times the usual budgets of the vendor library's own searches (SearchBudgets).
  double vendor_search = 1;
};

// One burst: `calls` calls of one contestant back to back, rotating over the sets. Pauses
// `settle_seconds`; then, unless `each`, makes one call more on the set before `first_set`, not
// counted, which brings the contestant's own threads back from their sleep; then the clock starts.
//
// On CUDA the calls are launches of a graph (64 at a time) and the clock is the device's, unless
// `wall`: then the host launches each, and the clock is the host's, until the last has finished.
struct Burst {
  std::string contestant;  // "candidate", a rival_name(), or a baseline's name
  int calls = 1;
  int first_set = 0;
  bool each = false;       // true: one sample per call (server mode), else one per burst
  double gap_mean_us = 0;  // > 0: exponential idle gaps before each call, not counted
  std::uint64_t gap_seed = 0;
  double settle_seconds = 0;
  bool wall = false;  // CUDA: launched one by one by the host and timed by its clock
  friend bool operator==(const Burst&, const Burst&) = default;
};

// Candidates beside the first in a session: number 1 to kMostRivals, on CUDA alone.
inline constexpr int kMostRivals = 24;
[[nodiscard]] std::string rival_name(int number);

// Timed calls pass alpha = 1 and this beta: zero, one, or for `any` a half, with which a C that is
// accumulated into a thousand times converges instead of overflowing.
[[nodiscard]] constexpr float timed_beta(const Problem& problem) {
  if (problem.beta == BetaClass::zero) return 0;
  return problem.beta == BetaClass::one ? 1.0F : 0.5F;
}
// How often `contestant` is called on each set by `plan`, uncounted calls included.
[[nodiscard]] std::vector<std::int64_t> calls_per_set(const std::vector<Burst>& plan,
                                                      std::string_view contestant, int sets);

struct Sample {
  std::string contestant;
  int burst = 0;       // index of its burst in the plan
  double seconds = 0;  // per call
  int calls = 1;
  std::int64_t switches = 0;  // involuntary context switches during the burst
  // CUDA, one call at a time: from before the launch until the host knows that it is done, by the
  // host's clock; `seconds` is then the device's share. Else 0.
  double latency = 0;
};

struct TimingReply {
  Finding finding;  // ok, or how the candidate ended
  std::vector<Sample> samples;
  double wall_seconds = 0;     // by the parent's clock, whole request
  double claimed_seconds = 0;  // samples, gaps, pauses and uncounted calls, by the child's
};

struct WorkerFacts {
  std::vector<std::string> isolation;  // what is in force: "seccomp", "rlimits", "no-new-privs"
  std::string missing;                 // what is not, and why
};

// The talk with one candidate and the baselines beside it. A session that was ended by what the
// candidate did repeats that finding for every later request.
class Session {
 public:
  virtual ~Session() = default;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One call of a contestant on one operand set. On a CPU a baseline beside a candidate takes alpha
  // = 1 and beta = timed_beta() or 0: the lockdown forbids new machine code, and a library may make
  // some for each scale. Without a candidate there is no lockdown and any scale will do.
  [[nodiscard]] virtual Finding call(const std::string& contestant, int set, float alpha = 1,
                                     float beta = 0) = 0;
  // The candidate on other sizes than the problem's (ragged neighbours): operands of set 0 with
  // m <= M, n <= N, k <= K and the arena's strides.
  [[nodiscard]] virtual Finding call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) = 0;
  // Runs the bursts in order. Baselines were prepared when the session opened; reprepare() after
  // their B has changed.
  [[nodiscard]] virtual TimingReply time(const std::vector<Burst>& plan) = 0;
  [[nodiscard]] virtual Finding reprepare() = 0;
  // The process that calls the contestants, for whoever counts what it does; -1 if nobody can tell.
  [[nodiscard]] virtual std::int64_t process() const { return -1; }
};

// A Finding other than ok (launch_error, crash, cheat) means that the candidate could not be
// loaded.
struct Opened {
  std::unique_ptr<Session> session;  // null unless finding.ok()
  Finding finding;
  // CUDA: what each baseline chose to run, in words and exactly (CudaBaseline).
  std::vector<std::string> choices{}, algorithms{};
};

class Worker {
 public:
  [[nodiscard]] static Result<Worker> start(const WorkerOptions& options, const Device& device);
  ~Worker();
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  [[nodiscard]] const WorkerFacts& facts() const;

  // Opens a session for a candidate (nullptr: baselines only) with the named baselines. The arena
  // must outlive the session, the worker too, and a worker has one session at a time. An Error
  // means that the runner itself failed.
  [[nodiscard]] Result<Opened> open(const Arena& arena, const Binary* candidate,
                                    const std::vector<std::string>& baselines);

 private:
  friend class HostSession;
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
