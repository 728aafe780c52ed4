// SPDX-License-Identifier: Apache-2.0
// Starting the CUDA runner when it is first needed, again after a fault, and opening sessions.
//
// The runner lives as long as its socket, as the CPU's does (worker.cc). It is always waited for:
// a process that was killed during a kernel goes only when the driver has taken the device back,
// and until then the next one would find the device's memory and SMs occupied.
#include "execute/cuda/cuda_worker.h"

#include "execute/cuda/cuda_session.h"
#include "execute/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

using namespace std::chrono_literals;

constexpr RunnerName kRunner = {"tilewright-cuda-runner", "TILEWRIGHT_CUDA_RUNNER"};
// Making a context and opening the libraries takes seconds, a search for the best algorithm more.
constexpr std::chrono::seconds kPrimeLimit{120};
constexpr std::chrono::milliseconds kLeaveLimit{10000};    // to end by itself
constexpr std::chrono::milliseconds kBurialLimit{120000};  // to be gone after SIGKILL
static_assert(2 + kMostRivals <= kMaxDescriptors, "the arena, a candidate and its rivals");

// A user's setting that would make every launch wait must not get into a measurement.
std::vector<std::string> runner_environment() {
  return {"CUDA_LAUNCH_BLOCKING=0"};
}

// Descriptors that are closed again.
struct OpenFiles {
  std::vector<int> fds;
  OpenFiles() = default;
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  ~OpenFiles() {
    for (const int fd : fds) close(fd);
  }
  [[nodiscard]] bool open(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) fds.push_back(fd);
    return fd >= 0;
  }
};

std::vector<const Binary*> all_of(const Binary* candidate, std::span<const Binary> rivals) {
  std::vector<const Binary*> all;
  if (candidate != nullptr) all.push_back(candidate);
  for (const Binary& rival : rivals) all.push_back(&rival);
  return all;
}

// Words that say that the runner, not the candidate or a baseline, is at fault.
bool is_ours(std::string_view rule) {
  return rule == "driver" || rule == "setup" || rule == "request";
}

}  // namespace

CudaWorker::State::~State() {
  channel.reset();
  static_cast<void>(reap(kLeaveLimit));
}

Status CudaWorker::State::spawn() {
  channel.reset();
  static_cast<void>(reap(kLeaveLimit));
  auto [ours, theirs] = channel_pair();
  if (!ours.valid()) {
    return fail(ErrorCode::environment, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  const auto started = spawn_runner(runner, runner_environment(), theirs.fd());
  if (!started) return tl::unexpected<Error>(started.error());
  pid = *started;
  channel = std::move(ours);
  ++starts;
  return {};
}

Ending CudaWorker::State::reap(std::chrono::milliseconds grace) {
  if (pid <= 0) return {};
  // A death takes the driver a while; only a hang is known from the start (grace 0).
  auto status = wait_for(pid, grace == 0ms ? 0ms : std::max(grace, kLeaveLimit));
  if (!status) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    status = wait_for(pid, kBurialLimit);
  }
  pid = -1;
  if (!status) return {};
  // Never `killed`: no candidate has host code with which to close a socket and live on.
  return {.known = true, .status = *status, .killed = false, .strays = 0};
}

CudaWorker::CudaWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaWorker::~CudaWorker() = default;
CudaWorker::CudaWorker(CudaWorker&&) noexcept = default;
CudaWorker& CudaWorker::operator=(CudaWorker&&) noexcept = default;

int CudaWorker::restarts() const {
  return std::max(state_->starts - 1, 0);
}

Result<std::filesystem::path> find_cuda_runner(const std::filesystem::path& asked) {
  return find_runner(kRunner, asked);
}

Result<CudaWorker> CudaWorker::start(const WorkerOptions& options, const Device& device) {
  if (device.kind != DeviceKind::cuda) {
    return fail(ErrorCode::usage, fmt::format("device '{}' is no CUDA device", device.name));
  }
  // Without a driver the runner could not say so in better words.
  if (const auto driver = cuda::driver(); !driver) return tl::unexpected<Error>(driver.error());
  auto runner = find_cuda_runner(options.runner);
  if (!runner) return tl::unexpected<Error>(runner.error());
  auto state = std::make_unique<State>();
  state->options = options;
  state->device = device;
  state->runner = *runner;
  return CudaWorker(std::move(state));
}

Result<Opened> CudaWorker::open(const DeviceArena& arena, const Binary* candidate,
                                const std::vector<std::string>& baselines,
                                const std::map<std::string, std::string>& algorithms,
                                std::span<const Binary> rivals) {
  if (state_->busy) return fail(ErrorCode::internal, "the worker has a session open already");
  if (rivals.size() > kMostRivals || (candidate == nullptr && !rivals.empty())) {
    return fail(ErrorCode::internal, fmt::format("{} rivals, at most {} beside a candidate",
                                                 rivals.size(), kMostRivals));
  }
  OpenRequest request;
  request.problem = to_text(arena.problem());
  request.device = to_json(state_->device);
  request.layout = arena.layout();
  request.baselines = baselines;
  request.arena = arena.id();
  request.workspace_in_use = arena.workspace_in_use();
  request.workspace_zeroed = arena.workspace_zeroed();
  request.vendor_search = state_->options.vendor_search;
  for (const std::string& name : baselines) {
    const auto known = algorithms.find(name);
    request.algorithms.push_back(known == algorithms.end() ? std::string() : known->second);
  }
  if (candidate != nullptr) request.launch = to_json(candidate->launch);
  for (const Binary& rival : rivals) request.rivals.push_back(to_json(rival.launch));
  OpenFiles cubins;
  for (const Binary* binary : all_of(candidate, rivals)) {
    if (!cubins.open(binary->path)) {
      return Opened{nullptr,
                    {Outcome::launch_error, "unreadable",
                     fmt::format("{}: {}", binary->path.string(), std::strerror(errno))},
                    {},
                    {}};
    }
  }
  std::vector<int> fds = {arena.fd()};
  fds.insert(fds.end(), cubins.fds.begin(), cubins.fds.end());

  // A runner that died since the last session is replaced, once.
  const auto patience = kPrimeLimit * (1 + static_cast<int>(baselines.size()));
  std::unique_ptr<CudaSession> session;
  Conversation::Answer primed;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool fresh = !state_->channel.valid();
    if (fresh) {
      if (Status spawned = state_->spawn(); !spawned) {
        return tl::unexpected<Error>(spawned.error());
      }
    }
    session.reset();
    session = std::make_unique<CudaSession>(*state_, arena.problem(), arena.layout().sets);
    primed = session->exchange(request, patience, "the baselines", fds);
    if (primed.finding.outcome != Outcome::crash || fresh) break;
    session.reset();
  }
  if (primed.finding.rule == "launch" || primed.finding.rule == "cubin") {
    return Opened{nullptr, primed.finding, {}, {}};
  }
  if (session == nullptr || !session->primed(baselines, primed)) {
    const bool ours = is_ours(primed.finding.rule) || baselines.empty();
    return fail(ErrorCode::environment,
                fmt::format("{}: {} {}", ours ? "the CUDA runner" : "baselines",
                            primed.finding.rule, primed.finding.detail),
                "`tilewright doctor` lists the devices and libraries that were found");
  }
  const auto loaded = session->exchange(LoadRequest{}, session->limit_of("loading"), "loading");
  if (!loaded.finding.ok() && candidate == nullptr) {
    return fail(ErrorCode::environment,
                fmt::format("the CUDA runner: {} {}", loaded.finding.rule, loaded.finding.detail));
  }
  if (!loaded.finding.ok()) return Opened{nullptr, loaded.finding, {}, {}};
  return Opened{std::move(session), {}, primed.reply.choices, primed.reply.algorithms};
}

}  // namespace tilewright
