// SPDX-License-Identifier: Apache-2.0
// The life of a session's process: prime, answer, lock down, load, then one answer a request.
//
// Every answer goes through one place, so a candidate can be called from nowhere that might answer
// twice. The process ends by _exit: libraries' destructors have no business after a candidate ran.
#include "execute/runner/bursts.h"
#include "execute/runner/contest.h"
#include "execute/runner/lockdown.h"
#include "execute/silence.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tilewright::runner {
namespace {

Failure from(const Error& error) {
  return {"lockdown", error.message};
}

class Server {
 public:
  Server(Channel channel, std::unique_ptr<Contest> contest, int binary_fd,
         std::uint64_t memory_limit)
      : channel_(std::move(channel)),
        contest_(std::move(contest)),
        binary_fd_(binary_fd),
        memory_limit_(memory_limit) {}

  int serve() {
    std::string line;
    while (channel_.receive(line) == Channel::Got::line) {
      auto request = parse_request(line);
      if (!request) return 1;  // the parent does not send such a line
      Reply reply;
      reply.sequence = request->sequence;
      reply.nonce = request->nonce;
      const Done done =
          std::visit([&](const auto& body) { return handle(body, reply); }, request->body);
      if (!done) {
        reply.failure = done.error().word;
        reply.detail = done.error().detail;
        reply.samples.clear();
      }
      if (!channel_.send(to_line(reply))) return 1;
    }
    return 0;
  }

 private:
  Done handle(const LoadRequest&, Reply&) {
    if (loaded_) return tl::unexpected<Failure>(Failure{"request", "loaded already"});
    loaded_ = true;
    if (binary_fd_ < 0) return {};  // libraries alone are trusted, and some make code as they go
    const Status locked = lock_first();
    if (!locked) return tl::unexpected<Failure>(from(locked.error()));
    if (Done candidate = contest_->load_candidate(binary_fd_); !candidate) return candidate;
    if (seccomp_) {
      if (const Status second = second_stage(); !second) {
        return tl::unexpected<Failure>(from(second.error()));
      }
    }
    return {};
  }
  Done handle(const CallRequest& request, Reply&) {
    const auto contestant = contest_->find(request.contestant);
    if (!contestant) return tl::unexpected<Failure>(contestant.error());
    if (request.set < 0 || request.set >= contest_->sets()) {
      return tl::unexpected<Failure>(
          Failure{"request", fmt::format("set = {}: 0 to {}", request.set, contest_->sets() - 1)});
    }
    return contest_->invoke(*contestant, contest_->arguments_for(*contestant, request.set,
                                                                 request.alpha, request.beta));
  }
  Done handle(const SizesRequest& request, Reply&) {
    const auto contestant = contest_->find("candidate");
    if (!contestant) return tl::unexpected<Failure>(contestant.error());
    const Problem& p = contest_->problem();
    const auto fits = [](std::int64_t size, std::int64_t most) {
      return size >= 0 && size <= most;
    };
    if (!fits(request.m, p.m) || !fits(request.n, p.n) || !fits(request.k, p.k)) {
      return tl::unexpected<Failure>(
          Failure{"request", fmt::format("sizes = {}x{}x{}: at most {}x{}x{}", request.m, request.n,
                                         request.k, p.m, p.n, p.k)});
    }
    tw_cpu_gemm_args args = contest_->arguments_for(*contestant, 0, 1, timed_beta(p));
    args.m = request.m;
    args.n = request.n;
    args.k = request.k;
    return contest_->invoke(*contestant, args);
  }
  Done handle(const TimeRequest& request, Reply& reply) {
    return run_bursts(*contest_, request.plan, reply);
  }
  Done handle(const ReprepareRequest&, Reply&) { return contest_->prepare_baselines(); }
  Done handle(const SyncRequest&, Reply&) { return {}; }
  template <class Other>
  Done handle(const Other&, Reply&) {
    return tl::unexpected<Failure>(Failure{"request", "not for a session"});
  }

  // Everything up to the loader. A kernel without seccomp is no reason to refuse: the worker's
  // facts say that it is missing.
  Status lock_first() {
    if (Status status = prepare_ending(channel_.fd()); !status) return status;
    use_signal_stack();
    if (Status status = limit_resources(memory_limit_); !status) return status;
    static_cast<void>(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    seccomp_ = first_stage().has_value();
    return {};
  }

  Channel channel_;
  std::unique_ptr<Contest> contest_;
  int binary_fd_;
  std::uint64_t memory_limit_;
  bool loaded_ = false;
  bool seccomp_ = false;
};

}  // namespace

int serve_session(std::uint64_t sequence, const std::string& nonce, const OpenRequest& request,
                  Channel channel, int arena_fd, int binary_fd) {
  // One heap: more would reserve address space for each thread, which the limit counts.
  mallopt(M_ARENA_MAX, 1);
  prctl(PR_SET_TIMERSLACK, 1UL);  // gaps as asked for, not 50 us more
  silence();
  Reply reply;
  reply.sequence = sequence;
  reply.nonce = nonce;
  auto contest = Contest::create(request, arena_fd, reply.prime_seconds);
  close(arena_fd);
  if (!contest) {
    reply.failure = contest.error().word;
    reply.detail = contest.error().detail;
  }
  if (!channel.send(to_line(reply)) || !contest) return 1;
  Server server(std::move(channel), std::move(*contest), binary_fd, request.memory_limit);
  _exit(server.serve());
}

}  // namespace tilewright::runner
