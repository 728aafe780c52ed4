// SPDX-License-Identifier: Apache-2.0
// Lines over a local stream socket, with file descriptors beside them. The other end may be a
// process that a candidate controls, so a line has a largest length and a read has a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

inline constexpr std::size_t kMaxDescriptors = 32;  // with one line
inline constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

// Owns one end of a socket.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;

  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  void reset();

  // Sends `line` and a newline. False if the other end is gone or does not read.
  [[nodiscard]] bool send(std::string_view line, std::span<const int> fds = {});

  enum class Got { line, closed, timeout, overlong };
  // One line, without its newline. Descriptors that came with it are appended to `fds`, or refused
  // if that is null. No limit: waits for ever.
  [[nodiscard]] Got receive(std::string& line, std::optional<std::chrono::nanoseconds> limit = {},
                            std::vector<int>* fds = nullptr);
  // Bytes beyond the last line received: nobody asked for them.
  [[nodiscard]] bool has_more();

 private:
  int fd_ = -1;
  std::string pending_;
};

// Two connected ends, both closed on exec; invalid ones if the system has no more.
[[nodiscard]] std::pair<Channel, Channel> channel_pair();

}  // namespace tilewright
