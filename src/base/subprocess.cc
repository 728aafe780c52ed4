// SPDX-License-Identifier: Apache-2.0
// fork and exec rather than posix_spawn, because a child must set its death signal, its limits and
// its directory first. Between fork and exec the child calls async-signal-safe functions only and
// allocates nothing: another thread may have held the heap's lock at the fork.
//
// The leader is left unreaped until its whole group has been killed, so that the group's number
// cannot have passed to strangers. See subprocess.h for the promises.
#include "base/subprocess.h"

#include "base/text.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{20};

// What the child could not do; sent through a pipe that a successful exec closes.
enum class Step : int { directory, memory_limit, file_limit, streams, exec };
constexpr std::array<std::string_view, 5> kStepNames = {"enter its directory", "limit its memory",
                                                        "limit its files", "redirect its streams",
                                                        "execute it"};
struct SpawnFailure {
  Step step = Step::exec;
  int number = 0;
};

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

// Everything the child needs, prepared before the fork.
struct Image {
  std::string program;
  std::vector<char*> argv, envp;
  const char* directory = nullptr;
  std::optional<rlim_t> memory, file;
  pid_t parent = 0;
  int output = -1, report = -1;
};

[[noreturn]] void report_and_exit(const Image& image, Step step) {
  const SpawnFailure failure{step, errno};
  [[maybe_unused]] const ssize_t count = ::write(image.report, &failure, sizeof failure);
  ::_exit(127);
}

[[noreturn]] void become(const Image& image) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != image.parent) ::_exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGXFSZ}) {
    ::signal(number, SIG_DFL);  // an ignored signal would stay ignored through exec
  }
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(image.output, STDOUT_FILENO) < 0 ||
      ::dup2(image.output, STDERR_FILENO) < 0) {
    report_and_exit(image, Step::streams);
  }
  // Descriptors opened by other code without O_CLOEXEC stay out of the child. Old kernels lack the
  // call; ours all carry the flag anyway.
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  ::syscall(SYS_close_range, 3U, ~0U, kCloseOnExec);
  if (image.directory != nullptr && ::chdir(image.directory) != 0) {
    report_and_exit(image, Step::directory);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (image.memory) {
    const rlimit limit{*image.memory, *image.memory};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) report_and_exit(image, Step::memory_limit);
  }
  if (image.file) {
    const rlimit limit{*image.file, *image.file};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) report_and_exit(image, Step::file_limit);
  }
  ::execve(image.program.c_str(), image.argv.data(), image.envp.data());
  report_and_exit(image, Step::exec);
}

// Ours, with the command's additions in place of variables of the same name.
std::vector<char*> environment_of(const Command& command) {
  std::vector<char*> envp;
  const auto key = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const bool replaced =
        std::any_of(command.environment.begin(), command.environment.end(),
                    [&](const std::string& added) { return key(added) == key(*entry); });
    if (!replaced) envp.push_back(*entry);
  }
  for (const auto& added : command.environment) envp.push_back(const_cast<char*>(added.c_str()));
  envp.push_back(nullptr);
  return envp;
}

// A started child and its group. The destructor leaves neither running nor unreaped.
class Child {
 public:
  Child(pid_t pid, std::size_t output_cap) : pid_(pid), cap_(output_cap) {
    ::setpgid(pid, pid);  // also done by the child: whichever comes first
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!reaped_) reap();
    if (pidfd_ >= 0) ::close(pidfd_);
  }

  void signal_group(int number) const { ::kill(-pid_, number); }

  [[nodiscard]] bool exited() const {
    siginfo_t info{};
    const int result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return result == 0 && info.si_pid == pid_;
  }

  // Sleeps until there is output, the leader has ended or `most` has passed.
  void wait(std::chrono::milliseconds most) {
    // Without pidfd nothing wakes us after the child has closed its streams: look more often.
    if (pidfd_ < 0 && closed_) most = std::min(most, std::chrono::milliseconds(1));
    std::array<pollfd, 2> sources = {pollfd{closed_ ? -1 : output.read_end, POLLIN, 0},
                                     pollfd{pidfd_, POLLIN, 0}};
    ::poll(sources.data(), sources.size(), static_cast<int>(most.count()));
    drain(16);
  }

  // Reads what is there, at most `parts` buffers, so that a flood cannot keep us from the clock.
  void drain(int parts) {
    std::array<char, 1 << 16> buffer;
    for (int i = 0; i < parts && !closed_; ++i) {
      const ssize_t count = ::read(output.read_end, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        closed_ = true;
        return;
      }
      const auto size = static_cast<std::size_t>(count);
      const std::size_t kept = std::min(size, cap_ - text.size());
      text.append(buffer.data(), kept);
      dropped += size - kept;
    }
  }

  // Kills whatever is left of the group and collects the leader's status.
  int reap() {
    signal_group(SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

  Pipe output;
  std::string text;
  std::size_t dropped = 0;

 private:
  pid_t pid_;
  int pidfd_ = -1;
  std::size_t cap_;
  bool closed_ = false, reaped_ = false;
};

// Time that counts against the limit: wall clock without the pauses.
class RunningTime {
 public:
  [[nodiscard]] Clock::duration elapsed() const {
    return spent_ + (paused_ ? Clock::duration{0} : Clock::now() - since_);
  }
  [[nodiscard]] bool paused() const { return paused_; }
  void set_paused(bool paused) {
    spent_ = elapsed();
    since_ = Clock::now();
    paused_ = paused;
  }

 private:
  Clock::time_point since_ = Clock::now();
  Clock::duration spent_{0};
  bool paused_ = false;
};

void supervise(Child& child, const Command& command, const Supervision& supervision,
               RunningTime& time, Completion& completion) {
  using std::chrono::milliseconds;
  while (!child.exited()) {
    if (supervision.cancel && supervision.cancel()) {
      completion.cancelled = true;
      return;
    }
    if (supervision.pause && supervision.pause() != time.paused()) {
      time.set_paused(!time.paused());
      child.signal_group(time.paused() ? SIGSTOP : SIGCONT);
    }
    const auto left = std::chrono::ceil<milliseconds>(command.limit - time.elapsed());
    if (left <= milliseconds(0)) {
      completion.timed_out = true;
      return;
    }
    child.wait(time.paused() ? kTick : std::min(kTick, left));
  }
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  const auto usable = [](const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    return usable(name) ? std::optional<fs::path>(name) : std::nullopt;
  }
  const char* variable = std::getenv("PATH");
  for (const auto entry : split(variable != nullptr ? variable : "/usr/bin:/bin", ':')) {
    fs::path path = fs::path(entry.empty() ? "." : entry) / name;
    if (usable(path)) return path;
  }
  return std::nullopt;
}

Result<Completion> run(const Command& command, const Supervision& supervision) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return fail(ErrorCode::internal, "a command without a program");
  }
  const std::string& name = command.argv.front();
  const auto failed = [&](std::string_view step, int number) {
    return fail(ErrorCode::environment, fmt::format("cannot run '{}': cannot {}: {}", name, step,
                                                    std::generic_category().message(number)));
  };
  const auto program = find_program(name);
  if (!program) {
    const bool is_path = name.find('/') != std::string::npos;
    return fail(ErrorCode::environment,
                fmt::format("cannot run '{}': no such program{}", name, is_path ? "" : " in PATH"));
  }

  Pipe output, report;
  if (!output.open() || !report.open()) return failed("make a pipe", errno);
  ::fcntl(output.read_end, F_SETFL, O_NONBLOCK);
  Image image;
  std::error_code error;
  image.program =
      fs::absolute(*program, error).string();  // a directory must not change its meaning
  for (const auto& argument : command.argv) {
    image.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  image.argv.push_back(nullptr);
  image.envp = environment_of(command);
  if (!command.directory.empty()) image.directory = command.directory.c_str();
  if (command.memory_limit) image.memory = static_cast<rlim_t>(*command.memory_limit);
  if (command.file_limit) image.file = static_cast<rlim_t>(*command.file_limit);
  image.parent = ::getpid();
  image.output = output.write_end;
  image.report = report.write_end;

  const pid_t pid = ::fork();
  if (pid == 0) become(image);
  if (pid < 0) return failed("fork", errno);
  Child child(pid, command.output_cap);
  RunningTime time;
  std::swap(child.output.read_end, output.read_end);
  output.close_write();
  report.close_write();
  SpawnFailure failure;
  ssize_t count = 0;
  do {
    count = ::read(report.read_end, &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof failure)) {
    return failed(kStepNames[static_cast<std::size_t>(failure.step)], failure.number);
  }

  Completion completion;
  supervise(child, command, supervision, time, completion);
  const int status = child.reap();
  completion.wall = std::chrono::duration_cast<std::chrono::milliseconds>(time.elapsed());
  child.drain(1 << 10);
  completion.output = std::move(child.text);
  completion.output_dropped = child.dropped;
  if (WIFSIGNALED(status)) {
    completion.signal = WTERMSIG(status);
  } else {
    completion.exit_code = WEXITSTATUS(status);
  }
  return completion;
}

}  // namespace tilewright
