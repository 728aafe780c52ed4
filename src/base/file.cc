// SPDX-License-Identifier: Apache-2.0
// Plain POSIX calls instead of <fstream>: only they can fsync, and only they say what went wrong.
#include "base/file.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::string reason(int number) {
  return std::generic_category().message(number);
}

// Closes on every path out of a function.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  int close() {
    const int result = fd_ >= 0 ? ::close(fd_) : 0;
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

tl::unexpected<Error> cannot_read(std::string_view name, int number) {
  return fail(ErrorCode::usage, fmt::format("cannot read '{}': {}", name, reason(number)));
}

Result<std::string> read_all(int fd, std::string_view name) {
  struct stat info{};
  std::string bytes;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    bytes.reserve(static_cast<std::size_t>(info.st_size));
  }
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_read(name, errno);
    if (count == 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
}

// 0 or the errno of the first failure.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Some file systems cannot fsync a directory (EINVAL); then the rename is as durable as it gets.
int sync_directory(const fs::path& directory) {
  const Descriptor fd(open_retrying(directory, O_RDONLY | O_DIRECTORY));
  if (!fd.ok()) return errno;
  return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno;
}

// Where the variable, or else HOME, says; nothing is looked at.
struct Place {
  fs::path folder;
  std::string origin;
};
Result<Place> named_place(const char* variable, const char* below_home) {
  // The XDG specification: a relative path in these variables is invalid and ignored.
  const char* base = std::getenv(variable);
  if (base != nullptr && base[0] == '/') return Place{fs::path(base) / "tilewright", variable};
  const char* home = std::getenv("HOME");
  const std::string hint = fmt::format("set HOME or {} to a directory you can write", variable);
  if (home == nullptr || home[0] == '\0') {
    return fail(ErrorCode::environment, "HOME is not set", hint);
  }
  if (home[0] != '/' || fs::path(home).lexically_normal() == "/") {
    return fail(ErrorCode::environment, fmt::format("HOME='{}' is not a home directory", home),
                hint);
  }
  return Place{fs::path(home) / below_home / "tilewright", "HOME"};
}

Result<fs::path> home_for(const char* variable, const char* below_home) {
  auto place = named_place(variable, below_home);
  if (!place) return tl::unexpected(place.error());
  // Usable means that the nearest directory that exists can be written; nothing is created here.
  fs::path existing = place->folder;
  std::error_code error;
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (!fs::is_directory(existing, error) || ::access(existing.c_str(), W_OK | X_OK) != 0) {
    return fail(ErrorCode::environment,
                fmt::format("'{}' (from {}) cannot be written", existing.string(), place->origin),
                fmt::format("set {} to a directory you can write", variable));
  }
  return std::move(place->folder);
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  const Descriptor fd(open_retrying(path, O_RDONLY));
  if (!fd.ok()) return cannot_read(path.string(), errno);
  return read_all(fd.get(), path.string());
}

Result<std::string> read_standard_input() {
  return read_all(STDIN_FILENO, "standard input");
}

Status write_file_atomically(const fs::path& path, std::string_view bytes) {
  const auto failed = [&](std::string_view step, int number) {
    return fail(ErrorCode::environment,
                fmt::format("cannot write '{}': {}: {}", path.string(), step, reason(number)));
  };
  if (!path.has_filename()) return failed("it names no file", EINVAL);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failed("create the directory", error.value());

  // O_EXCL makes the scratch name ours alone among threads, processes and containers; a name that a
  // killed process left behind is stepped over.
  fs::path scratch;
  int fd_or_error = -1;
  for (int attempt = 0; attempt < 10000; ++attempt) {
    scratch =
        directory / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), attempt);
    fd_or_error = open_retrying(scratch, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd_or_error >= 0 || errno != EEXIST) break;
  }
  Descriptor fd(fd_or_error);
  if (!fd.ok()) return failed("create a scratch file", errno);
  const auto abandon = [&](std::string_view step, int number) {
    ::unlink(scratch.c_str());
    return failed(step, number);
  };
  if (const int number = write_all(fd.get(), bytes)) return abandon("write", number);
  if (::fsync(fd.get()) != 0) return abandon("fsync", errno);
  if (fd.close() != 0) return abandon("close", errno);
  if (::rename(scratch.c_str(), path.c_str()) != 0) return abandon("rename", errno);
  if (const int number = sync_directory(directory)) return failed("fsync the directory", number);
  return {};
}

Result<fs::path> cache_home() {
  return home_for("XDG_CACHE_HOME", ".cache");
}
Result<fs::path> data_home() {
  return home_for("XDG_DATA_HOME", ".local/share");
}
Result<fs::path> data_home_to_read() {
  auto place = named_place("XDG_DATA_HOME", ".local/share");
  if (!place) return tl::unexpected(place.error());
  return std::move(place->folder);
}
Result<fs::path> state_home() {
  return home_for("XDG_STATE_HOME", ".local/state");
}

}  // namespace tilewright
