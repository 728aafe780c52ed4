// SPDX-License-Identifier: Apache-2.0
// Starting the runner, opening sessions, starting it again if it is gone.
//
// The runner lives as long as its control socket: when this process ends, however it ends, the
// kernel closes our end and the runner kills what it has forked and exits. The parent-death signal
// would be wrong here, since it fires when the *thread* that spawned the runner ends (prctl(2)).
// Next: conversation.cc, then runner/main.cc for the other side.
#include "execute/worker.h"

#include "baseline/baseline.h"
#include "execute/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

using namespace std::chrono_literals;

constexpr RunnerName kRunner = {"tilewright-runner", "TILEWRIGHT_RUNNER"};
constexpr std::chrono::seconds kZygoteLimit{60};  // it answers at once, unless the machine is ill
// A library may have to load, generate code and convert weights for each set.
constexpr std::chrono::seconds kPrimeLimit{120};

}  // namespace

Worker::State::~State() {
  stop();
}

void Worker::State::stop() {
  control.reset();
  if (zygote > 0) {
    // It exits by itself on seeing the socket closed, after its children; the kill is for one that
    // cannot.
    if (!wait_for(zygote, 2000ms)) {
      kill(-zygote, SIGKILL);
      waitpid(zygote, nullptr, 0);
    }
  }
  zygote = -1;
}

Status Worker::State::spawn() {
  stop();
  auto [ours, theirs] = channel_pair();
  if (!ours.valid()) {
    return fail(ErrorCode::environment, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  auto started = spawn_runner(runner, baseline_environment(device), theirs.fd());
  if (!started) return tl::unexpected<Error>(started.error());
  zygote = *started;
  control = std::move(ours);
  theirs.reset();
  auto hello = ask(HelloRequest{});
  if (!hello) return tl::unexpected<Error>(hello.error());
  facts = {hello->isolation, hello->missing};
  return {};
}

Result<Reply> Worker::State::ask(RequestBody body, std::span<const int> fds) {
  const Request request{++sequence, fresh_nonce(), std::move(body)};
  const auto gone = [this](std::string_view why) {
    return fail(ErrorCode::environment, fmt::format("runner {}: {}", runner.string(), why));
  };
  if (!control.send(to_line(request), fds)) return gone("is gone");
  std::string line;
  const Channel::Got got = control.receive(line, kZygoteLimit);
  if (got != Channel::Got::line) {
    return gone(got == Channel::Got::timeout ? "does not answer" : "is gone");
  }
  auto reply = parse_reply(line);
  if (!reply) return reply;
  if (reply->sequence != request.sequence || reply->nonce != request.nonce) {
    return gone("answered out of turn");
  }
  if (!reply->failure.empty()) return gone(reply->failure + ": " + reply->detail);
  return reply;
}

Ending Worker::State::reap(std::int64_t pid, std::chrono::milliseconds grace) {
  auto reply = ask(ReapRequest{pid, grace.count()});
  if (!reply) {
    control.reset();  // whatever it is doing, the next session starts a new one
    return {};
  }
  return {true, static_cast<int>(reply->status), reply->killed, reply->strays};
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Worker::~Worker() = default;
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
const WorkerFacts& Worker::facts() const {
  return state_->facts;
}

Result<Worker> Worker::start(const WorkerOptions& options, const Device& device) {
  auto runner = find_runner(kRunner, options.runner);
  if (!runner) return tl::unexpected<Error>(runner.error());
  auto state = std::make_unique<State>();
  state->options = options;
  state->device = device;
  if (!options.cpus.empty()) state->device.cpus = options.cpus;
  state->runner = *runner;
  if (Status spawned = state->spawn(); !spawned) return tl::unexpected<Error>(spawned.error());
  return Worker(std::move(state));
}

HostSession::HostSession(Worker::State& worker, Channel channel, std::int64_t pid,
                         const Problem& problem, int sets)
    : Conversation(std::move(channel), 0, problem, sets, {worker.options.call_limit}),
      worker_(worker),
      pid_(pid) {}

HostSession::~HostSession() {
  // With its socket closed a healthy child ends by itself; a few milliseconds are plenty.
  channel_.reset();
  static_cast<void>(HostSession::reap(200ms));
  worker_.busy = false;
}

Ending HostSession::reap(std::chrono::milliseconds grace) {
  const std::int64_t pid = std::exchange(pid_, -1);
  return pid > 0 ? worker_.reap(pid, grace) : Ending{};
}

Result<Opened> Worker::open(const Arena& arena, const Binary* candidate,
                            const std::vector<std::string>& baselines) {
  if (state_->busy) return fail(ErrorCode::internal, "the worker has a session open already");
  int binary = -1;
  if (candidate != nullptr) {
    binary = ::open(candidate->path.c_str(), O_RDONLY | O_CLOEXEC);
    if (binary < 0) {
      return Opened{nullptr,
                    {Outcome::launch_error, "unreadable",
                     fmt::format("{}: {}", candidate->path.string(), std::strerror(errno))},
                    {}};
    }
  }
  OpenRequest request;
  request.problem = to_text(arena.problem());
  request.device = to_json(state_->device);
  if (candidate != nullptr) request.launch = to_json(candidate->launch);
  request.layout = arena.layout();
  request.baselines = baselines;
  request.cpus = state_->device.cpus;
  request.memory_limit = state_->options.memory_limit;

  // A zygote that died since the last session is replaced, once.
  Channel ours;
  Result<Reply> reply;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0 || !state_->control.valid()) {
      if (Status spawned = state_->spawn(); !spawned) {
        reply = tl::unexpected<Error>(spawned.error());
        continue;
      }
    }
    auto [mine, theirs] = channel_pair();
    std::vector<int> fds = {theirs.fd(), arena.fd()};
    if (binary >= 0) fds.push_back(binary);
    reply = state_->ask(request, fds);
    ours = std::move(mine);
    if (reply) break;
  }
  if (binary >= 0) close(binary);
  if (!reply) return tl::unexpected<Error>(reply.error());

  auto session = std::make_unique<HostSession>(*state_, std::move(ours), reply->pid,
                                               arena.problem(), arena.layout().sets);
  state_->busy = true;

  // Baselines first, under a limit of their own; then the candidate, under the limit of a call.
  const auto patience = kPrimeLimit * (1 + static_cast<int>(baselines.size()));
  const auto primed = session->await(reply->sequence, reply->nonce, patience, "the baselines");
  if (!session->primed(baselines, primed)) {
    return fail(ErrorCode::environment,
                fmt::format("baselines: {} {}", primed.finding.rule, primed.finding.detail),
                "`tilewright doctor` lists the libraries that were found");
  }
  auto loaded = session->exchange(LoadRequest{}, session->limit_of("loading"), "loading");
  if (loaded.finding.rule == "lockdown" || (!loaded.finding.ok() && candidate == nullptr)) {
    return fail(ErrorCode::environment, fmt::format("runner {}: {} {}", state_->runner.string(),
                                                    loaded.finding.rule, loaded.finding.detail));
  }
  if (!loaded.finding.ok()) return Opened{nullptr, loaded.finding, {}};
  return Opened{std::move(session), {}, {}};
}

}  // namespace tilewright
