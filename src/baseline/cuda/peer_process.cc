// SPDX-License-Identifier: Apache-2.0
// See peer_process.h.
#include "baseline/cuda/peer_process.h"

#include "base/text.h"

#include <fmt/format.h>

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLine = std::size_t{4} << 20;
constexpr std::size_t kMostComplaint = 200;  // characters of stderr that are quoted

struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnSettings(int socket, int errors) {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

}  // namespace

Result<PeerProcess> PeerProcess::start(const std::vector<std::string>& argv) {
  PeerProcess peer;
  std::array<int, 2> ends{-1, -1};
  peer.stderr_ = memfd_create("tilewright-peer-stderr", MFD_CLOEXEC);
  if (peer.stderr_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::environment,
                fmt::format("cannot talk to '{}': {}", argv[0], std::strerror(errno)));
  }
  peer.socket_ = ends[0];
  std::vector<char*> arguments;
  for (const std::string& each : argv) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const SpawnSettings settings(ends[1], peer.stderr_);
  const int failed = posix_spawnp(&peer.pid_, arguments[0], &settings.files, &settings.attributes,
                                  arguments.data(), environ);
  close(ends[1]);
  if (failed != 0) {
    peer.pid_ = -1;
    return fail(ErrorCode::environment,
                fmt::format("cannot start '{}': {}", argv[0], std::strerror(failed)));
  }
  return peer;
}

PeerProcess::~PeerProcess() {
  stop();
}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      stderr_(std::exchange(other.stderr_, -1)),
      pending_(std::move(other.pending_)) {}

PeerProcess& PeerProcess::operator=(PeerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(stderr_, other.stderr_);
  std::swap(pending_, other.pending_);
  return *this;
}

void PeerProcess::stop() {
  for (int* fd : {&socket_, &stderr_}) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string PeerProcess::last_complaint() const {
  std::array<char, 4096> buffer{};
  const off_t size = lseek(stderr_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(buffer.size()));
  const ssize_t got = pread(stderr_, buffer.data(), buffer.size(), from);
  if (got <= 0) return {};
  const std::string_view text = trim({buffer.data(), static_cast<std::size_t>(got)});
  const std::string_view line = text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
  return std::string(line.substr(0, kMostComplaint));
}

Error PeerProcess::ended(std::string_view what) {
  const std::string complaint = last_complaint();
  stop();
  return {ErrorCode::environment,
          complaint.empty() ? std::string(what) : fmt::format("{}: {}", what, complaint),
          {}};
}

Status PeerProcess::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t put = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return tl::unexpected(ended("the process is gone"));
    sent += static_cast<std::size_t>(put);
  }
  return {};
}

Result<std::string> PeerProcess::receive(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (const auto at = pending_.find('\n'); at != std::string::npos) {
      std::string line = pending_.substr(0, at);
      pending_.erase(0, at + 1);
      return line;
    }
    if (pending_.size() > kMostLine) return tl::unexpected(ended("the answer is too long"));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return tl::unexpected(ended(fmt::format("no answer within {} ms", limit.count())));
    }
    pollfd waiting{socket_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = read(socket_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return tl::unexpected(ended("the process ended without an answer"));
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace tilewright
