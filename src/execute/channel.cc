// SPDX-License-Identifier: Apache-2.0
// Implementation of channel.h: poll, recvmsg, sendmsg. Both the parent and the locked-down child
// use it, so lockdown.cc allows exactly these calls.
#include "execute/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// Milliseconds for poll(): rounded up, so that it does not spin through the last one.
int poll_timeout(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

void take_descriptors(const msghdr& message, std::vector<int>* fds) {
  if (fds == nullptr) return;
  for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(header))) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      fds->push_back(fd);
    }
  }
}

}  // namespace

Channel::~Channel() {
  reset();
}
Channel::Channel(Channel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pending_(std::move(other.pending_)) {}
Channel& Channel::operator=(Channel&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    pending_ = std::move(other.pending_);
  }
  return *this;
}

void Channel::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  pending_.clear();
}

bool Channel::send(std::string_view line, std::span<const int> fds) {
  if (!valid() || line.size() >= kMaxLineBytes || fds.size() > kMaxDescriptors) return false;
  std::string text(line);
  text += '\n';
  std::size_t sent = 0;
  while (sent < text.size()) {
    iovec part{text.data() + sent, text.size() - sent};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
    if (sent == 0 && !fds.empty()) {  // descriptors travel with the first byte
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    const ssize_t count = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

Channel::Got Channel::receive(std::string& line, std::optional<std::chrono::nanoseconds> limit,
                              std::vector<int>* fds) {
  std::optional<Clock::time_point> deadline;
  if (limit) deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(*limit);
  std::size_t searched = 0;
  std::vector<char> chunk(std::size_t{64} << 10);
  while (true) {
    const std::size_t newline = pending_.find('\n', searched);
    if (newline != std::string::npos) {
      line = pending_.substr(0, newline);
      pending_.erase(0, newline + 1);
      return Got::line;
    }
    searched = pending_.size();
    if (searched > kMaxLineBytes) return Got::overlong;
    if (!valid()) return Got::closed;
    pollfd entry{fd_, POLLIN, 0};
    const int ready = poll(&entry, 1, poll_timeout(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return Got::closed;
    if (ready == 0) return Got::timeout;
    iovec part{chunk.data(), chunk.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
    if (fds != nullptr) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
    }
    const ssize_t count = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Got::closed;
    take_descriptors(message, fds);
    pending_.append(chunk.data(), static_cast<std::size_t>(count));
    // Endless bytes, none of them a newline's, must not hold off the deadline.
    if (deadline && Clock::now() >= *deadline && pending_.find('\n') == std::string::npos) {
      return Got::timeout;
    }
  }
}

bool Channel::has_more() {
  if (!pending_.empty()) return true;
  char byte = 0;
  return valid() && recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

std::pair<Channel, Channel> channel_pair() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  // A peer that stops reading must not block the sender for ever.
  const timeval patience{10, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return {Channel(ends[0]), Channel(ends[1])};
}

}  // namespace tilewright
