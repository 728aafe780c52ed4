// SPDX-License-Identifier: Apache-2.0
// One session from the parent's side: requests with limits, and what every way to die is called.
//
// The answer to a request is the only way to succeed. A line that is not the answer is a forgery
// (`protocol`), silence is a hang (`call-limit`), and a closed socket is a death whose cause the
// zygote reads from the exit status (`signal:...`, `exit-without-result`). Each ends the session;
// later calls repeat the finding that ended it.
#include "execute/session.h"

#include "execute/worker.h"

#include <seccomp.h>
#include <signal.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace tilewright {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long a process whose socket closed may take to be gone. Large mappings take a while.
constexpr std::chrono::milliseconds kGrace{2000};
constexpr double kSlowestPlausible = 1e9;  // FLOP/s that a call's time limit allows for
// The trusted libraries' limit per call; the plain reference is slow on purpose.
constexpr std::chrono::seconds kBaselineLimit{120};
constexpr double kAllowance = 10;  // of a burst's calls over the slowest call seen before

// The words of Reply::failure and what each says about the candidate.
struct FailureRow {
  std::string_view word;
  Outcome outcome;
};
constexpr std::array<FailureRow, 6> kFailures = {{
    {"dlopen", Outcome::launch_error},          // the loader refused the shared object
    {"missing-symbol", Outcome::launch_error},  // no such function in it
    {"lockdown", Outcome::launch_error},        // isolation could not be put in force
    {"baseline", Outcome::launch_error},        // a library could not be made or returned an error
    {"request", Outcome::launch_error},         // our own request was off
    {"setup", Outcome::launch_error},           // the child could not map the operands, ...
}};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  // A limit beyond a day is a day: the product of a plan may exceed what the type holds.
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, 86400.0) * 1e9));
}

std::string syscall_name(int number) {
  char* const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  if (name == nullptr) return fmt::format("number {}", number);
  std::string text = name;
  std::free(name);
  return text;
}

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? fmt::format("{}", number) : fmt::format("SIG{}", name);
}

std::string printable(std::string_view line) {
  std::string shown;
  for (const char c : line.substr(0, 80)) shown += (c >= ' ' && c <= '~') ? c : '?';
  return shown;
}

}  // namespace

std::vector<std::int64_t> calls_per_set(const std::vector<Burst>& plan, std::string_view contestant,
                                        int sets) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(std::max(sets, 1)));
  const auto size = static_cast<std::int64_t>(count.size());
  for (const Burst& burst : plan) {
    if (burst.contestant != contestant) continue;
    const std::int64_t first = burst.each ? 0 : -1;
    for (std::int64_t call = first; call < burst.calls; ++call) {
      ++count[static_cast<std::size_t>((burst.first_set + call + size) % size)];
    }
  }
  return count;
}

Finding finding_of(const Reply& reply) {
  if (reply.failure.empty()) return {};
  const auto row = std::find_if(kFailures.begin(), kFailures.end(), [&](const FailureRow& known) {
    return known.word == reply.failure;
  });
  if (row == kFailures.end()) return {Outcome::cheat, "protocol", printable(reply.failure)};
  return {row->outcome, reply.failure, reply.detail};
}

HostSession::State::~State() {
  // With its socket closed a healthy child ends by itself; a few milliseconds are plenty.
  channel.reset();
  if (pid > 0) static_cast<void>(worker->reap(pid, 200ms));
  worker->busy = false;
}

Finding HostSession::State::end(Finding why, std::chrono::milliseconds grace) {
  channel.reset();
  if (pid > 0) {
    const Ending ending = worker->reap(pid, grace);
    if (ending.strays > 0) {
      why.detail +=
          fmt::format("; {} process{} left behind", ending.strays, ending.strays == 1 ? "" : "es");
    }
  }
  pid = -1;
  ended = std::move(why);
  return ended;
}

// The socket closed: the child is dead or has thrown its end away.
Finding HostSession::State::lost(std::string_view who) {
  channel.reset();
  const Ending ending = worker->reap(pid, kGrace);
  pid = -1;
  Finding& why = ended;
  why.outcome = Outcome::crash;
  if (!ending.known) {
    why.rule = "runner-lost";
    why.detail = fmt::format("the runner itself ended during {}", who);
  } else if (ending.killed) {
    why = {Outcome::cheat, "protocol", fmt::format("the socket was closed during {}", who)};
  } else if (WIFSIGNALED(ending.status) && WTERMSIG(ending.status) == SIGSYS) {
    // The handler could not run: signals were blocked, as the C library has them round the start of
    // a thread or process, or the number belonged to another ABI.
    why = {Outcome::cheat, "forbidden-syscall",
           fmt::format("clone with signals blocked, or a foreign ABI's call, during {}", who)};
  } else if (WIFSIGNALED(ending.status)) {
    why.rule = "signal:" + signal_name(WTERMSIG(ending.status));
    why.detail = fmt::format("{} during {}", strsignal(WTERMSIG(ending.status)), who);
  } else {
    why.rule = "exit-without-result";
    why.detail = fmt::format("exit code {} during {}", WEXITSTATUS(ending.status), who);
  }
  if (ending.strays > 0) {
    why.detail +=
        fmt::format("; {} process{} left behind", ending.strays, ending.strays == 1 ? "" : "es");
  }
  return ended;
}

bool HostSession::State::trusted(std::string_view who) const {
  return who != "candidate" && slowest.contains(who);
}

std::chrono::nanoseconds HostSession::State::limit_of(std::string_view who) const {
  const bool trusted = who != "candidate" && slowest.contains(who);
  const std::chrono::nanoseconds base = trusted
                                            ? std::chrono::nanoseconds(kBaselineLimit)
                                            : std::chrono::nanoseconds(worker->options.call_limit);
  return base + nanoseconds(problem.flop() / kSlowestPlausible);
}

HostSession::State::Answer HostSession::State::exchange(RequestBody body,
                                                        std::chrono::nanoseconds limit,
                                                        std::string_view who) {
  if (!ended.ok()) return {ended, {}, 0};
  // Nothing was asked since the last answer, so nothing may have been said. (A nonce that nothing
  // equals: any line is either a trap or a forgery.)
  if (channel.has_more()) return await(sequence, fresh_nonce(), 0ns, who);
  const Request request{++sequence, fresh_nonce(), std::move(body)};
  const std::string line = to_line(request);
  const auto start = Clock::now();
  if (!channel.send(line)) return {lost(who), {}, 0};
  Answer answer = await(request.sequence, request.nonce, limit, who);
  answer.wall_seconds = seconds_since(start);
  return answer;
}

HostSession::State::Answer HostSession::State::await(std::uint64_t number, std::string_view nonce,
                                                     std::chrono::nanoseconds limit,
                                                     std::string_view who) {
  std::string line;
  switch (channel.receive(line, limit)) {
    case Channel::Got::line:
      break;
    case Channel::Got::closed:
      return {lost(who), {}, 0};
    case Channel::Got::timeout: {
      if (channel.has_more()) {
        return {end({Outcome::cheat, "protocol", "half a line"}, 0ms), {}, 0};
      }
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
      return {end({Outcome::run_timeout, "call-limit",
                   fmt::format("{} did not return within {} ms", who, waited)},
                  0ms),
              {},
              0};
    }
    case Channel::Got::overlong:
      return {end({Outcome::cheat, "protocol", "a line without end"}, 0ms), {}, 0};
  }
  if (const auto trapped = parse_trap(line)) {
    std::string detail = syscall_name(*trapped);
    if (trusted(who)) {  // a library may want what only a session without a candidate allows
      detail = fmt::format("{} wants {}, forbidden beside a candidate", who, detail);
      return {end({Outcome::launch_error, "baseline", detail}, 0ms), {}, 0};
    }
    if (who != "candidate") detail += fmt::format(", during {}", who);
    return {end({Outcome::cheat, "forbidden-syscall", detail}, 0ms), {}, 0};
  }
  auto reply = parse_reply(line);
  if (!reply || reply->sequence != number || reply->nonce != nonce) {
    return {end({Outcome::cheat, "protocol", "forged: " + printable(line)}, 0ms), {}, 0};
  }
  return {finding_of(*reply), std::move(*reply), 0};
}

HostSession::HostSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
HostSession::~HostSession() = default;

Finding HostSession::call(const std::string& contestant, int set, float alpha, float beta) {
  auto answer = state_->exchange(CallRequest{contestant, set, alpha, beta},
                                 state_->limit_of(contestant), contestant);
  if (answer.finding.ok()) {
    double& slowest = state_->slowest[contestant];
    slowest = std::max(slowest, answer.wall_seconds);
  }
  return answer.finding;
}

Finding HostSession::call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return state_->exchange(SizesRequest{m, n, k}, state_->limit_of("candidate"), "candidate")
      .finding;
}

Finding HostSession::reprepare() {
  const auto limit = kBaselineLimit * std::max(state_->sets, 1);
  return state_->exchange(ReprepareRequest{}, limit, "the baselines").finding;
}

TimingReply HostSession::time(const std::vector<Burst>& plan) {
  TimingReply result;
  // The limit: pauses as planned, one call at its own limit, and the rest generously scaled from
  // the slowest call seen. So a hang is noticed about as soon as in call().
  double seconds = 0;
  const std::chrono::nanoseconds one_call = state_->limit_of("candidate");
  for (const Burst& burst : plan) {
    const auto seen = state_->slowest.find(burst.contestant);
    const double limit = std::chrono::duration<double>(state_->limit_of(burst.contestant)).count();
    const double each = seen == state_->slowest.end() ? limit : kAllowance * seen->second;
    const double calls = burst.calls + 1;
    seconds += burst.settle_seconds + calls * (kAllowance * burst.gap_mean_us * 1e-6 + each);
  }
  auto answer = state_->exchange(TimeRequest{plan}, one_call + nanoseconds(seconds), "timing");
  result.finding = answer.finding;
  result.wall_seconds = answer.wall_seconds;
  if (!result.finding.ok()) return result;
  // These numbers will be believed, so make sure that nobody else answers as well.
  if (auto sync = state_->exchange(SyncRequest{}, one_call, "timing"); !sync.finding.ok()) {
    result.finding = sync.finding;
    return result;
  }
  result.claimed_seconds = answer.reply.uncounted_seconds;
  for (const RawSample& raw : answer.reply.samples) {
    if (raw.burst < 0 || static_cast<std::size_t>(raw.burst) >= plan.size() || raw.calls < 1 ||
        !(raw.seconds >= 0)) {
      result.finding = {Outcome::cheat, "protocol", "a sample of no burst in the plan"};
      return result;
    }
    result.samples.push_back({plan[static_cast<std::size_t>(raw.burst)].contestant, raw.burst,
                              raw.seconds, raw.calls, raw.switches});
    result.claimed_seconds += raw.seconds * raw.calls;
  }
  return result;
}

}  // namespace tilewright
