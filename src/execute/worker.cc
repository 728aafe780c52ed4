// SPDX-License-Identifier: Apache-2.0
// Starting the runner, opening sessions, starting it again if it is gone.
//
// The runner lives as long as its control socket: when this process ends, however it ends, the
// kernel closes our end and the runner kills what it has forked and exits. The parent-death signal
// would be wrong here, since it fires when the *thread* that spawned the runner ends (prctl(2)).
// Next: session.cc, then runner/main.cc for the other side.
#include "execute/worker.h"

#include "base/subprocess.h"
#include "baseline/baseline.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

extern char** environ;

namespace tilewright {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRunnerName = "tilewright-runner";
constexpr std::chrono::seconds kZygoteLimit{60};  // it answers at once, unless the machine is ill
// A library may have to load, generate code and convert weights for each set.
constexpr std::chrono::seconds kPrimeLimit{120};

Result<std::filesystem::path> find_runner(const std::filesystem::path& asked) {
  std::vector<std::filesystem::path> places;
  const char* const variable = std::getenv("TILEWRIGHT_RUNNER");
  const bool named = !asked.empty() || (variable != nullptr && *variable != '\0');
  if (named) {
    places.push_back(asked.empty() ? std::filesystem::path(variable) : asked);
  } else {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
      places.push_back(self.parent_path() / kRunnerName);
      places.push_back(self.parent_path().parent_path() / "bin" / kRunnerName);
    }
    if (auto in_path = find_program(kRunnerName)) places.push_back(*in_path);
  }
  for (const auto& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  if (named) {
    return fail(ErrorCode::environment,
                fmt::format("runner {}: {}", places.front().string(), std::strerror(errno)),
                "the option and TILEWRIGHT_RUNNER name the tilewright-runner program");
  }
  return fail(ErrorCode::environment, "tilewright-runner is not beside this program nor in PATH",
              "build the target tilewright-runner, or set TILEWRIGHT_RUNNER to its path");
}

// Our environment with `added` in front: getenv finds the first.
std::vector<std::string> environment_with(std::vector<std::string> added) {
  for (char** entry = environ; *entry != nullptr; ++entry) added.emplace_back(*entry);
  return added;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Spawns `program` in a process group of its own, so that Ctrl-C reaches this process alone and the
// runner goes when we let it go. Descriptor 3 is `socket`.
Result<pid_t> spawn_runner(const std::filesystem::path& program, const Device& device, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::vector<std::string> argument_texts = {program.string()};
  std::vector<std::string> variable_texts = environment_with(baseline_environment(device));
  const std::vector<char*> argv = pointers(argument_texts);
  const std::vector<char*> variables = pointers(variable_texts);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::environment,
                fmt::format("runner {}: {}", program.string(), std::strerror(error)));
  }
  return pid;
}

}  // namespace

std::string fresh_nonce() {
  std::uint64_t word = 0;
  while (getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
  }
  return fmt::format("{:016x}", word);
}

Worker::State::~State() {
  stop();
}

void Worker::State::stop() {
  control.reset();
  if (zygote > 0) {
    // It exits by itself on seeing the socket closed, after its children; the kill is for one that
    // cannot.
    for (int waited = 0; waited < 2000; ++waited) {
      const pid_t got = waitpid(zygote, nullptr, WNOHANG);
      if (got == zygote || (got < 0 && errno == ECHILD)) {
        zygote = -1;
        return;
      }
      usleep(1000);
    }
    kill(-zygote, SIGKILL);
    waitpid(zygote, nullptr, 0);
  }
  zygote = -1;
}

Status Worker::State::spawn() {
  stop();
  auto [ours, theirs] = channel_pair();
  if (!ours.valid()) {
    return fail(ErrorCode::environment, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  auto started = spawn_runner(runner, device, theirs.fd());
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
  auto runner = find_runner(options.runner);
  if (!runner) return tl::unexpected<Error>(runner.error());
  auto state = std::make_unique<State>();
  state->options = options;
  state->device = device;
  if (!options.cpus.empty()) state->device.cpus = options.cpus;
  state->runner = *runner;
  if (Status spawned = state->spawn(); !spawned) return tl::unexpected<Error>(spawned.error());
  return Worker(std::move(state));
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
                     fmt::format("{}: {}", candidate->path.string(), std::strerror(errno))}};
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

  auto session = std::make_unique<HostSession::State>();
  session->worker = state_.get();
  session->problem = arena.problem();
  session->sets = arena.layout().sets;
  session->channel = std::move(ours);
  session->pid = reply->pid;
  state_->busy = true;

  // Baselines first, under a limit of their own; then the candidate, under the limit of a call.
  const auto patience = kPrimeLimit * (1 + static_cast<int>(baselines.size()));
  auto primed = session->await(reply->sequence, reply->nonce, patience, "the baselines");
  if (primed.finding.ok() && primed.reply.prime_seconds.size() == baselines.size()) {
    for (std::size_t i = 0; i < baselines.size(); ++i) {
      session->slowest[baselines[i]] = primed.reply.prime_seconds[i];
    }
  } else {
    return fail(ErrorCode::environment,
                fmt::format("baselines: {} {}", primed.finding.rule, primed.finding.detail),
                "`tilewright doctor` lists the libraries that were found");
  }
  auto loaded = session->exchange(LoadRequest{}, session->limit_of("loading"), "loading");
  if (loaded.finding.rule == "lockdown" || (!loaded.finding.ok() && candidate == nullptr)) {
    return fail(ErrorCode::environment, fmt::format("runner {}: {} {}", state_->runner.string(),
                                                    loaded.finding.rule, loaded.finding.detail));
  }
  if (!loaded.finding.ok()) return Opened{nullptr, loaded.finding};
  return Opened{std::make_unique<HostSession>(std::move(session)), {}};
}

}  // namespace tilewright
