// SPDX-License-Identifier: Apache-2.0
// See folder.h.
#include "compile/folder.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace tilewright {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::optional<FileLock> FileLock::take(const fs::path& path, Mode mode, milliseconds patience) {
  // Network file systems emulate flock by byte-range locks, which need a descriptor that writes.
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  FileLock lock(fd);
  const int operation = (mode == Mode::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (::flock(fd, operation) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= give_up) return std::nullopt;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

bool FileLock::still_at(const fs::path& path) const {
  struct stat ours{}, there{};
  return ::fstat(fd_, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

OwnedFolder::OwnedFolder(fs::path path, std::optional<FileLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

Result<OwnedFolder> OwnedFolder::make(const fs::path& parent, std::string_view prefix,
                                      unsigned mode) {
  int number = EEXIST;
  for (int attempt = 0; attempt < 100000; ++attempt) {
    const fs::path path = parent / fmt::format("{}{}-{}", prefix, ::getpid(), attempt);
    if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0) {
      number = errno;
      if (number == EEXIST) continue;  // another thread's, or a namesake's that is gone
      break;
    }
    // Before the lock holds, remove_dead() may take the folder for a dead one: then make another.
    auto lock = FileLock::take(path, FileLock::Mode::exclusive, milliseconds(10000));
    std::error_code error;
    if (lock ? lock->still_at(path) : fs::is_directory(path, error)) {
      return OwnedFolder(path, std::move(lock));
    }
  }
  return fail(ErrorCode::environment,
              fmt::format("cannot make a folder in '{}': {}", parent.string(),
                          std::generic_category().message(number)));
}

OwnedFolder::OwnedFolder(OwnedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
OwnedFolder& OwnedFolder::operator=(OwnedFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}
OwnedFolder::~OwnedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void OwnedFolder::release() {
  path_.clear();
  lock_.reset();
}

void remove_dead(const fs::path& parent, std::string_view prefix) {
  for (const auto& path : children(parent)) {
    if (!path.filename().string().starts_with(prefix)) continue;
    const auto lock = FileLock::take(path, FileLock::Mode::exclusive, milliseconds(0));
    std::error_code ignored;
    if (lock && lock->still_at(path)) fs::remove_all(path, ignored);
  }
}

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tilewright
