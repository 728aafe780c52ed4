// SPDX-License-Identifier: Apache-2.0
// See line_process.h. A socket instead of two pipes: a write to a program that is gone is then an
// error and no signal.
#include "base/line_process.h"

#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLongest = std::size_t{1} << 28;  // bytes of an answer
constexpr std::chrono::milliseconds kFarewell{2000};

std::vector<std::string> environment_of(const LineProgram& program) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    out.emplace_back(*entry);
  }
  for (const std::string& added : program.environment) {
    if (std::getenv(added.substr(0, added.find('=')).c_str()) == nullptr) out.push_back(added);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

LineProcess::LineProcess(int pid, int socket, std::string name)
    : pid_(pid), socket_(socket), name_(std::move(name)) {}

Result<std::unique_ptr<LineProcess>> LineProcess::start(const LineProgram& program) {
  const std::string& name = program.argv.front();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::environment,
                fmt::format("{}: cannot make a socket: {}", name, std::strerror(errno)));
  }
  const std::string log = program.log.empty() ? "/dev/null" : program.log.string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C reaches this process alone, which lets the child go.
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::vector<std::string> arguments = program.argv, variables = environment_of(program);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, name.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return fail(ErrorCode::environment,
                fmt::format("cannot run {}: {}", name, std::strerror(error)));
  }
  return std::unique_ptr<LineProcess>(new LineProcess(pid, ends[0], name));
}

LineProcess::~LineProcess() {
  if (socket_ >= 0) ::close(socket_);
  const Clock::time_point deadline = Clock::now() + kFarewell;
  int status = 0;
  while (true) {
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || (got < 0 && errno != EINTR)) return;
    if (Clock::now() >= deadline) break;
    ::usleep(1000);
  }
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

tl::unexpected<Error> LineProcess::lost(const std::string& how) {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  return fail(ErrorCode::environment, fmt::format("{} {}", name_, how));
}

Result<std::string> LineProcess::ask(std::string_view line, std::chrono::milliseconds limit) {
  if (socket_ < 0) return lost("is gone");
  const Clock::time_point deadline = Clock::now() + limit;
  const std::string out = std::string(line) + "\n";
  std::size_t sent = 0;
  std::string buffer(std::size_t{1} << 16, '\0');
  while (true) {
    if (const std::size_t end = rest_.find('\n'); sent == out.size() && end != std::string::npos) {
      std::string answer = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return answer;
    }
    const bool writing = sent < out.size();
    pollfd source{socket_, static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0};
    const int ready = ::poll(&source, 1, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return lost(fmt::format("gave no answer within {} s", limit.count() / 1000));
    if (writing && (source.revents & POLLOUT) != 0) {
      const ssize_t count =
          ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return lost("ended");
    }
    if ((source.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count == 0) return lost("ended");
      if (count < 0 && errno != EAGAIN && errno != EINTR) return lost("ended");
      if (count > 0) rest_.append(buffer.data(), static_cast<std::size_t>(count));
      if (rest_.size() > kLongest) return lost("said too much");
    }
  }
}

Result<std::filesystem::path> find_companion(const std::string& name, const char* variable,
                                             const std::filesystem::path& asked,
                                             const std::string& hint) {
  const char* const value = std::getenv(variable);
  std::filesystem::path named = asked;
  if (named.empty() && value != nullptr) named = value;
  if (!named.empty()) {
    if (::access(named.c_str(), X_OK) == 0) return named;
    return fail(ErrorCode::environment,
                fmt::format("{} {}: {}", name, named.string(), std::strerror(errno)),
                fmt::format("the option and {} name that program", variable));
  }
  std::vector<std::filesystem::path> places;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.push_back(self.parent_path() / name);
    places.push_back(self.parent_path().parent_path() / "bin" / name);
  }
  if (auto in_path = find_program(name)) places.push_back(*in_path);
  for (const auto& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return fail(ErrorCode::environment,
              fmt::format("{} is not beside this program nor in PATH", name), hint);
}

}  // namespace tilewright
