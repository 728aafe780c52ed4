// SPDX-License-Identifier: Apache-2.0
// tilewright-runner: the zygote.
//
// It reads requests from descriptor 3, forks a child for each session, and kills and reaps what the
// child leaves. It has one thread for its whole life and loads no library: a library's worker
// threads do not survive a fork, so each child loads its own. It lives until its socket closes.
// Next: contest.h, what a child does.
#include "execute/channel.h"
#include "execute/protocol.h"
#include "execute/runner/contest.h"
#include "execute/runner/lockdown.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

namespace tilewright::runner {
namespace {

constexpr int kControlFd = 3;

// Children of this process. It is the subreaper of what they fork, so orphans appear here too,
// whatever process group they chose.
std::set<pid_t> children() {
  std::set<pid_t> found;
  std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
  for (pid_t pid = 0; list >> pid;) found.insert(pid);
  return found;
}

// Waits for `pid` up to `grace_ms`. False if it still runs.
bool ended(pid_t pid, std::int64_t grace_ms, int& status) {
  constexpr useconds_t kStep = 500;  // microseconds
  for (std::int64_t waited = 0;; waited += kStep) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return true;
    if (waited >= grace_ms * 1000) return false;
    usleep(kStep);
  }
}

class Zygote {
 public:
  explicit Zygote(Channel control) : control_(std::move(control)) {}

  int serve() {
    std::string line;
    while (true) {
      std::vector<int> fds;
      if (control_.receive(line, std::nullopt, &fds) != Channel::Got::line) break;
      auto request = parse_request(line);
      Reply reply;
      if (request) {
        reply.sequence = request->sequence;
        reply.nonce = request->nonce;
        answer(*request, fds, reply);
      } else {
        reply.failure = "request";
        reply.detail = request.error().message;
      }
      for (const int fd : fds) close(fd);
      if (!control_.send(to_line(reply))) break;
    }
    while (!sessions_.empty()) {
      Reply ignored;
      reap({*sessions_.begin(), 0}, ignored);
    }
    return 0;
  }

 private:
  void answer(const Request& request, const std::vector<int>& fds, Reply& reply) {
    if (std::holds_alternative<HelloRequest>(request.body)) {
      const Isolation isolation = probe_isolation();
      reply.isolation = isolation.in_force;
      reply.missing = isolation.missing;
    } else if (const auto* open = std::get_if<OpenRequest>(&request.body)) {
      fork_session(request, *open, fds, reply);
    } else if (const auto* reap_request = std::get_if<ReapRequest>(&request.body)) {
      reap(*reap_request, reply);
    } else {
      reply.failure = "request";
      reply.detail = "not for the zygote";
    }
  }

  void fork_session(const Request& request, const OpenRequest& open, const std::vector<int>& fds,
                    Reply& reply) {
    const std::size_t expected = open.launch.empty() ? 2 : 3;
    if (fds.size() != expected) {
      reply.failure = "request";
      reply.detail = fmt::format("{} descriptors, not {}", fds.size(), expected);
      return;
    }
    const pid_t zygote = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      reply.failure = "setup";
      reply.detail = fmt::format("fork: {}", std::strerror(errno));
      return;
    }
    if (pid == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != zygote) _exit(1);  // it died between fork and prctl
      control_.reset();
      _exit(serve_session(request.sequence, request.nonce, open, Channel(fds[0]), fds[1],
                          open.launch.empty() ? -1 : fds[2]));
    }
    setpgid(pid, pid);  // whichever of the two comes first
    sessions_.insert(pid);
    reply.pid = pid;
  }

  void reap(const ReapRequest& request, Reply& reply) {
    const auto pid = static_cast<pid_t>(request.pid);
    if (sessions_.erase(pid) == 0) {
      reply.failure = "request";
      reply.detail = fmt::format("{} is no session", request.pid);
      return;
    }
    int status = 0;
    bool gone = ended(pid, request.grace_ms, status);
    if (!gone) {
      reply.killed = true;
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
    reply.status = status;
    // What it left behind is now ours: kill until nothing is left, since a process may be forking
    // while we look.
    while (true) {
      std::set<pid_t> left = children();
      for (const pid_t session : sessions_) left.erase(session);
      if (left.empty()) break;
      for (const pid_t stray : left) {
        kill(stray, SIGKILL);
        if (waitpid(stray, nullptr, 0) == stray) ++reply.strays;
      }
    }
  }

  Channel control_;
  std::set<pid_t> sessions_;
};

}  // namespace
}  // namespace tilewright::runner

// A leak report at exit would need a thread; the process ends by _exit anyway.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

int main(int argc, char**) {
  if (argc > 1 || fcntl(tilewright::runner::kControlFd, F_GETFD) < 0) {
    std::fputs("tilewright-runner is started by tilewright and takes no arguments.\n", stderr);
    return 2;
  }
  close_range(4, ~0U, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return tilewright::runner::Zygote(tilewright::Channel(tilewright::runner::kControlFd)).serve();
}
