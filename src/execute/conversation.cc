// SPDX-License-Identifier: Apache-2.0
// One session from the parent's side: requests with limits, and what every way to die is called.
//
// The answer to a request is the only way to succeed. A line that is not the answer is a forgery
// (`protocol`), silence is a hang (`call-limit`), and a closed socket is a death whose cause the
// reaper reads from the exit status (`signal:...`, `exit-without-result`). Each ends the session;
// later calls repeat the finding that ended it. Next: failures.cc, what the runners' words mean.
#include "execute/conversation.h"

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

constexpr std::string_view kRival = "rival.";  // and a number
// How long a process whose socket closed may take to be gone. Large mappings take a while.
constexpr std::chrono::milliseconds kGrace{2000};
// The trusted libraries' limit per call; the plain reference is slow on purpose.
constexpr std::chrono::seconds kBaselineLimit{120};
constexpr double kAllowance = 10;  // of a burst's calls over the slowest call seen before
// Of any burst: on a busy machine threads that wait for each other may lose a turn at each call,
// however short it is. A call alone has its own limit, by which most that hang are found.
constexpr double kLeastBurstSeconds = 4;

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

std::string rival_name(int number) {
  return fmt::format("{}{}", kRival, number);
}

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

Conversation::Conversation(Channel channel, std::uint64_t sequence, const Problem& problem,
                           int sets, ConversationLimits limits)
    : channel_(std::move(channel)),
      sequence_(sequence),
      flop_(problem.flop()),
      sets_(sets),
      limits_(limits) {}

bool Conversation::primed(const std::vector<std::string>& baselines, const Answer& answer) {
  const auto& seconds = answer.reply.prime_seconds;
  if (!answer.finding.ok() || seconds.size() != baselines.size()) return false;
  for (std::size_t i = 0; i < baselines.size(); ++i) slowest_[baselines[i]] = seconds[i];
  return true;
}

Finding Conversation::end(Finding why, std::chrono::milliseconds grace) {
  channel_.reset();
  const Ending ending = reap(grace);
  if (ending.strays > 0) {
    why.detail +=
        fmt::format("; {} process{} left behind", ending.strays, ending.strays == 1 ? "" : "es");
  }
  ended_ = std::move(why);
  return ended_;
}

// The socket closed: the child is dead or has thrown its end away.
Finding Conversation::lost(std::string_view who) {
  channel_.reset();
  const Ending ending = reap(kGrace);
  Finding& why = ended_;
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
  return ended_;
}

bool Conversation::trusted(std::string_view who) const {
  return who != "candidate" && !who.starts_with(kRival) && slowest_.contains(who);
}

std::chrono::nanoseconds Conversation::limit_of(std::string_view who) const {
  const std::chrono::nanoseconds base =
      trusted(who) ? std::chrono::nanoseconds(kBaselineLimit) : limits_.call;
  return base + nanoseconds(flop_ / limits_.slowest_flop);
}

Conversation::Answer Conversation::exchange(RequestBody body, std::chrono::nanoseconds limit,
                                            std::string_view who, std::span<const int> fds) {
  if (!ended_.ok()) return {ended_, {}, 0};
  // Nothing was asked since the last answer, so nothing may have been said. (A nonce that nothing
  // equals: any line is either a trap or a forgery.)
  if (channel_.has_more()) return await(sequence_, fresh_nonce(), 0ns, who);
  const Request request{++sequence_, fresh_nonce(), std::move(body)};
  const std::string line = to_line(request);
  const auto start = Clock::now();
  if (!channel_.send(line, fds)) return {lost(who), {}, 0};
  Answer answer = await(request.sequence, request.nonce, limit, who);
  answer.wall_seconds = seconds_since(start);
  return answer;
}

Conversation::Answer Conversation::await(std::uint64_t number, std::string_view nonce,
                                         std::chrono::nanoseconds limit, std::string_view who) {
  std::string line;
  switch (channel_.receive(line, limit)) {
    case Channel::Got::line:
      break;
    case Channel::Got::closed:
      return {lost(who), {}, 0};
    case Channel::Got::timeout: {
      if (channel_.has_more()) {
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
  Finding finding = finding_of(*reply);
  if (is_last(*reply)) finding = end(std::move(finding), kGrace);
  return {std::move(finding), std::move(*reply), 0};
}

Finding Conversation::call(const std::string& contestant, int set, float alpha, float beta) {
  auto answer =
      exchange(CallRequest{contestant, set, alpha, beta}, limit_of(contestant), contestant);
  if (answer.finding.ok()) {
    double& slowest = slowest_[contestant];
    slowest = std::max(slowest, answer.wall_seconds);
  }
  return answer.finding;
}

Finding Conversation::call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return exchange(SizesRequest{m, n, k}, limit_of("candidate"), "candidate").finding;
}

Finding Conversation::reprepare() {
  const auto limit = kBaselineLimit * std::max(sets_, 1);
  return exchange(ReprepareRequest{}, limit, "the baselines").finding;
}

TimingReply Conversation::time(const std::vector<Burst>& plan) {
  TimingReply result;
  // The limit: pauses as planned, one call at its own limit, and the rest generously scaled from
  // the slowest call seen. So a hang is noticed about as soon as in call().
  double seconds = 0;
  const std::chrono::nanoseconds one_call = limit_of("candidate");
  for (const Burst& burst : plan) {
    const auto seen = slowest_.find(burst.contestant);
    const double limit = std::chrono::duration<double>(limit_of(burst.contestant)).count();
    const double each = seen == slowest_.end() ? limit : kAllowance * seen->second;
    const double calls = burst.calls + 1;
    seconds += burst.settle_seconds + calls * kAllowance * burst.gap_mean_us * 1e-6 +
               std::max(calls * each, kLeastBurstSeconds);
  }
  const std::string who =
      plan.size() == 1 ? fmt::format("timing {}", plan.front().contestant) : "timing";
  auto answer = exchange(TimeRequest{plan}, one_call + nanoseconds(seconds), who);
  result.finding = answer.finding;
  result.wall_seconds = answer.wall_seconds;
  if (!result.finding.ok()) return result;
  // These numbers will be believed, so make sure that nobody else answers as well.
  if (auto sync = exchange(SyncRequest{}, one_call, "timing"); !sync.finding.ok()) {
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
                              raw.seconds, raw.calls, raw.switches, raw.latency});
    result.claimed_seconds += raw.seconds * raw.calls;
  }
  return result;
}

}  // namespace tilewright
