// SPDX-License-Identifier: Apache-2.0
// The handler that reports a forbidden system call, the resource limits, and the trial of all of it
// in a child. filters.cc has the tables of system calls.
#include "execute/runner/lockdown.h"

#include "execute/protocol.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace tilewright::runner {
namespace {

// Where the handler writes. A signal handler can reach nothing but globals; set once, before the
// candidate is loaded.
volatile int g_report_socket = -1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Async-signal-safe: formats by hand, writes once, ends.
extern "C" void report_forbidden_call(int, siginfo_t* info, void*) {
  std::array<char, 32> line{};
  std::size_t length = kTrapWord.copy(line.data(), kTrapWord.size());
  std::array<char, 12> digits{};
  std::size_t count = 0;
  auto number = static_cast<unsigned>(info->si_syscall);
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0 && count < digits.size());
  while (count > 0) line[length++] = digits[--count];
  line[length++] = '\n';
  const ssize_t written = ::write(g_report_socket, line.data(), length);
  _exit(written < 0 ? 1 : 0);
}

// exit() from a candidate: skip destructors and handlers of libraries, which may wait for threads.
extern "C" void leave_at_once(int code, void*) {
  _exit(code);
}

// Address space in use, from /proc/self/statm's first field.
std::uint64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Status set_limit(__rlimit_resource resource, const char* name, std::uint64_t value) {
  rlimit limit{};
  getrlimit(resource, &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(resource, &limit) == 0) return {};
  return fail(ErrorCode::environment, fmt::format("setrlimit {}: {}", name, std::strerror(errno)));
}

// The sanitizers reserve terabytes of address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitAddressSpace = false;
#else
constexpr bool kLimitAddressSpace = true;
#endif

// In a child that then ends: the text of the first error of each step, one line a step.
std::string try_everything() {
  const auto text = [](const Status& status) {
    return status ? std::string() : status.error().message;
  };
  std::string report = text(limit_resources(std::uint64_t{1} << 30)) + "\n";
  report += (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? "" : std::strerror(errno));
  report += "\n";
  Status stages = first_stage();
  if (stages) stages = second_stage();
  return report + text(stages) + "\n";
}

}  // namespace

bool Isolation::has(const std::string& what) const {
  return std::find(in_force.begin(), in_force.end(), what) != in_force.end();
}

Isolation probe_isolation() {
  constexpr std::array<const char*, 3> kSteps = {"rlimits", "no-new-privs", "seccomp"};
  Isolation result;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    result.missing = fmt::format("pipe: {}", std::strerror(errno));
    return result;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string report = try_everything();
    const ssize_t written = ::write(ends[1], report.data(), report.size());
    _exit(written == static_cast<ssize_t>(report.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string report;
  std::array<char, 4096> chunk{};
  for (ssize_t count = 0; (count = ::read(ends[0], chunk.data(), chunk.size())) > 0;) {
    report.append(chunk.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  std::size_t start = 0;
  for (const char* step : kSteps) {
    const std::size_t end = report.find('\n', start);
    const bool reported = end != std::string::npos;
    const std::string why = reported ? report.substr(start, end - start) : "the attempt died";
    if (why.empty()) {
      result.in_force.emplace_back(step);
    } else {
      result.missing += fmt::format("{}{}: {}", result.missing.empty() ? "" : "; ", step, why);
    }
    start = reported ? end + 1 : report.size();
  }
  return result;
}

Status prepare_ending(int socket) {
  g_report_socket = socket;
  on_exit(leave_at_once, nullptr);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPIPE, SIGXFSZ}) {
    signal(number, SIG_DFL);  // a sanitizer's handler would turn a signal into an exit
  }
  struct sigaction action{};
  action.sa_sigaction = report_forbidden_call;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  if (sigaction(SIGSYS, &action, nullptr) != 0) {
    return fail(ErrorCode::environment, fmt::format("sigaction: {}", std::strerror(errno)));
  }
  return {};
}

void use_signal_stack() {
  constexpr std::size_t kBytes = std::size_t{64} << 10;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;  // then the handler uses the thread's own stack
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

Status limit_resources(std::uint64_t memory_limit) {
  constexpr std::uint64_t kCpuSeconds = 3600;  // a backstop: the parent's wall limits come first
  constexpr std::uint64_t kDescriptors = 64;
  Status status = set_limit(RLIMIT_CORE, "core", 0);
  if (status) status = set_limit(RLIMIT_FSIZE, "fsize", 0);
  if (status) status = set_limit(RLIMIT_NOFILE, "nofile", kDescriptors);
  if (status) status = set_limit(RLIMIT_CPU, "cpu", kCpuSeconds);
  if (status && kLimitAddressSpace) {
    status = set_limit(RLIMIT_AS, "as", address_space() + memory_limit);
  }
  return status;
}

}  // namespace tilewright::runner
