// SPDX-License-Identifier: Apache-2.0
// tilewright-cuda-runner: one device, one answer a request, until its socket closes.
//
// Candidates are device code, so nothing of them runs in this process's own threads and there is
// nothing to lock down. What a candidate can do is hang the device or ruin the context: the parent
// then kills this process, or it says so itself and ends. The process ends by _exit, because a
// driver's or library's destructors may wait for work that never ends. Next: device_contest.h.
//
//   tilewright-cuda-runner --script REQUESTS REPLIES [CUBIN]
//
// answers the lines of one file into another instead, and owns its operands: so a profiler can
// start it, which passes on no socket.
#include "execute/channel.h"
#include "execute/conversation.h"
#include "execute/cuda/runner/device_bursts.h"
#include "execute/silence.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace tilewright::runner {
namespace {

constexpr int kControlFd = 3;
constexpr std::int64_t kMostCubinBytes = std::int64_t{1} << 30;

tl::unexpected<Failure> failure(std::string word, std::string detail) {
  return tl::unexpected<Failure>(Failure{std::move(word), std::move(detail)});
}

tl::expected<std::vector<std::byte>, Failure> read_all(int fd) {
  struct stat facts{};
  if (fstat(fd, &facts) != 0 || facts.st_size < 0 || facts.st_size > kMostCubinBytes) {
    return failure("cubin", "its size cannot be told or is more than 1 GiB");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("cubin", fmt::format("reading it: {}", std::strerror(errno)));
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

class Server {
 public:
  // `fds` are the descriptors that came with the request.
  Reply answer(const Request& request, const std::vector<int>& fds) {
    fds_ = &fds;
    Reply reply;
    reply.sequence = request.sequence;
    reply.nonce = request.nonce;
    const Done done =
        std::visit([&](const auto& body) { return handle(body, reply); }, request.body);
    if (!done) {
      reply.failure = done.error().word;
      reply.detail = done.error().detail;
      reply.samples.clear();
    }
    return reply;
  }

 private:
  Done handle(const OpenRequest& request, Reply& reply) {
    cubins_.clear();
    const std::size_t expected = 1 + (request.launch.empty() ? 0 : 1) + request.rivals.size();
    if (fds_->size() != expected) {
      return failure("request", fmt::format("{} descriptors, not {}", fds_->size(), expected));
    }
    for (std::size_t i = 1; i < expected; ++i) {
      auto cubin = read_all((*fds_)[i]);
      if (!cubin) return tl::unexpected<Failure>(cubin.error());
      cubins_.push_back(std::move(*cubin));
    }
    if (contest_ == nullptr) {
      const auto device = device_from_json(request.device);
      if (!device) return failure("driver", device.error().message);
      auto made = DeviceContest::create(device->cuda.ordinal);
      if (!made) return tl::unexpected<Failure>(made.error());
      contest_ = std::move(*made);
    }
    open_ = false;
    Done opened = contest_->open(request, (*fds_)[0], reply);
    open_ = opened.has_value();
    return opened;
  }
  Done handle(const LoadRequest&, Reply&) {
    if (!open_) return closed();
    return contest_->load(cubins_);
  }
  Done handle(const CallRequest& request, Reply&) {
    if (!open_) return closed();
    const auto contestant = contest_->find(request.contestant);
    if (!contestant) return tl::unexpected<Failure>(contestant.error());
    if (request.set < 0 || request.set >= contest_->sets()) {
      return failure("request",
                     fmt::format("set = {}: 0 to {}", request.set, contest_->sets() - 1));
    }
    const auto call = contest_->call_for(*contestant, request.set, request.alpha, request.beta);
    if (!call) return tl::unexpected<Failure>(call.error());
    return contest_->run(*contestant, *call);
  }
  Done handle(const ProfileRequest& request, Reply&) {
    if (!open_) return closed();
    const auto contestant = contest_->find(request.contestant);
    if (!contestant) return tl::unexpected<Failure>(contestant.error());
    return contest_->profile(*contestant, request.warm);
  }
  Done handle(const SizesRequest& request, Reply&) {
    if (!open_) return closed();
    return contest_->run_sizes({request.m, request.n, request.k});
  }
  Done handle(const TimeRequest& request, Reply& reply) {
    if (!open_) return closed();
    return run_bursts(*contest_, request.plan, reply);
  }
  // The libraries keep what they chose for this problem; none prepares anything of B.
  Done handle(const ReprepareRequest&, Reply&) { return {}; }
  Done handle(const SyncRequest&, Reply&) { return {}; }
  template <class Other>
  Done handle(const Other&, Reply&) {
    return failure("request", "not for a CUDA runner");
  }
  static Done closed() { return failure("request", "no session is open"); }

  const std::vector<int>* fds_ = nullptr;       // that came with the request
  std::vector<std::vector<std::byte>> cubins_;  // of the candidates
  std::unique_ptr<DeviceContest> contest_;
  bool open_ = false;
};

int serve(Channel channel) {
  Server server;
  std::string line;
  while (true) {
    std::vector<int> fds;
    if (channel.receive(line, std::nullopt, &fds) != Channel::Got::line) return 0;
    const auto request = parse_request(line);
    if (!request) return 1;  // the parent does not send such a line
    const Reply reply = server.answer(*request, fds);
    for (const int fd : fds) close(fd);
    if (!channel.send(to_line(reply)) || is_last(reply)) return 1;
  }
}

// Ends at the first failure: what follows builds on what went before.
int play(const char* requests, const char* replies, const char* cubin) {
  std::ifstream in(requests);
  std::ofstream out(replies);
  std::vector<int> fds = {-1};  // no arena
  if (cubin != nullptr) fds.push_back(open(cubin, O_RDONLY | O_CLOEXEC));
  Server server;
  for (std::string line; std::getline(in, line);) {
    const auto request = parse_request(line);
    if (!request) return 2;
    const Reply reply = server.answer(*request, fds);
    out << to_line(reply) << std::endl;
    if (!reply.failure.empty()) return 1;
  }
  return out ? 0 : 2;
}

}  // namespace
}  // namespace tilewright::runner

int main(int argc, char** argv) {
  namespace runner = tilewright::runner;
  if ((argc == 4 || argc == 5) && std::string_view(argv[1]) == "--script") {
    return runner::play(argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
  }
  if (argc > 1 || fcntl(runner::kControlFd, F_GETFD) < 0) {
    std::fputs("tilewright-cuda-runner is started by tilewright and takes no arguments.\n", stderr);
    return 2;
  }
  close_range(4, ~0U, 0);
  prctl(PR_SET_TIMERSLACK, 1UL);  // gaps as asked for, not 50 us more
  runner::silence();
  _exit(runner::serve(tilewright::Channel(runner::kControlFd)));
}
