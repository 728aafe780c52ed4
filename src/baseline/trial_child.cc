// SPDX-License-Identifier: Apache-2.0
// fork, pipe, poll, kill. No exec: the child needs only what this program already holds.
#include "baseline/trial_child.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

namespace tilewright {
namespace {

[[noreturn]] void answer(int out, const std::function<std::string()>& question) {
  std::string text;
  try {
    text = question();
  } catch (const std::exception&) {
    _exit(1);
  }
  const char* next = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    const ssize_t wrote = write(out, next, left);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) _exit(1);
    next += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
  _exit(0);  // no destructors: the parent's are not ours to run
}

}  // namespace

Result<std::string> ask_in_child(const std::function<std::string()>& question,
                                 std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::environment, fmt::format("pipe: {}", std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return fail(ErrorCode::environment, fmt::format("fork: {}", std::strerror(error)));
  }
  if (child == 0) {
    close(ends[0]);
    answer(ends[1], question);
  }
  close(ends[1]);

  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  std::string text;
  bool finished = false;
  while (!finished) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    pollfd waiting{.fd = ends[0], .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    char block[4096];
    const ssize_t got = read(ends[0], block, sizeof block);
    if (got > 0) text.append(block, static_cast<std::size_t>(got));
    if (got == 0) finished = true;
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (!finished) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished) {
    return fail(ErrorCode::environment, fmt::format("no answer within {} ms", limit.count()));
  }
  if (WIFSIGNALED(status)) {
    return fail(ErrorCode::environment, fmt::format("ended by signal {}", WTERMSIG(status)));
  }
  if (text.empty() || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::environment, fmt::format("exit code {}", WEXITSTATUS(status)));
  }
  return text;
}

}  // namespace tilewright
