// SPDX-License-Identifier: Apache-2.0
// The tables of system calls, and the handler that reports a forbidden one. lockdown.h says why
// there are two stages.
#include "execute/runner/lockdown.h"

#include "execute/protocol.h"

#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
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
#include <span>
#include <string_view>

namespace tilewright::runner {
namespace {

// Stage 1 forbids: processes and threads, networks, signals to others, other processes' memory,
// files for writing, handlers and limits, and doors to all of these (io_uring, bpf, keyctl).
constexpr std::array<const char*, 95> kNeverNeeded = {"clone",
                                                      "clone3",
                                                      "fork",
                                                      "vfork",
                                                      "execve",
                                                      "execveat",
                                                      "unshare",
                                                      "setns",
                                                      "setsid",
                                                      "setpgid",
                                                      "socket",
                                                      "socketpair",
                                                      "connect",
                                                      "bind",
                                                      "listen",
                                                      "accept",
                                                      "accept4",
                                                      "kill",
                                                      "tkill",
                                                      "rt_sigqueueinfo",
                                                      "rt_tgsigqueueinfo",
                                                      "pidfd_open",
                                                      "pidfd_getfd",
                                                      "pidfd_send_signal",
                                                      "ptrace",
                                                      "process_vm_readv",
                                                      "process_vm_writev",
                                                      "process_madvise",
                                                      "kcmp",
                                                      "creat",
                                                      "unlink",
                                                      "unlinkat",
                                                      "rename",
                                                      "renameat",
                                                      "renameat2",
                                                      "mkdir",
                                                      "mkdirat",
                                                      "rmdir",
                                                      "chmod",
                                                      "fchmod",
                                                      "fchmodat",
                                                      "chown",
                                                      "fchown",
                                                      "lchown",
                                                      "fchownat",
                                                      "link",
                                                      "linkat",
                                                      "symlink",
                                                      "symlinkat",
                                                      "mknod",
                                                      "mknodat",
                                                      "truncate",
                                                      "ftruncate",
                                                      "fallocate",
                                                      "setxattr",
                                                      "lsetxattr",
                                                      "fsetxattr",
                                                      "utimensat",
                                                      "mount",
                                                      "umount2",
                                                      "pivot_root",
                                                      "chroot",
                                                      "chdir",
                                                      "fchdir",
                                                      "openat2",
                                                      "open_by_handle_at",
                                                      "memfd_create",
                                                      "bpf",
                                                      "userfaultfd",
                                                      "perf_event_open",
                                                      "io_uring_setup",
                                                      "io_uring_enter",
                                                      "io_uring_register",
                                                      "keyctl",
                                                      "add_key",
                                                      "request_key",
                                                      "init_module",
                                                      "finit_module",
                                                      "kexec_load",
                                                      "reboot",
                                                      "swapon",

                                                      "setrlimit",
                                                      "setpriority",
                                                      "sched_setscheduler",
                                                      "sched_setattr",
                                                      "setuid",
                                                      "setgid",
                                                      "setreuid",
                                                      "setresuid",
                                                      "setitimer",
                                                      "timer_create",
                                                      "alarm",
                                                      "ioperm",
                                                      "iopl",
                                                      "personality"};

// Stage 2 allows: memory that is not code, waiting, clocks, the socket, and how a thread ends.
constexpr std::array<const char*, 51> kStillNeeded = {"read",
                                                      "write",
                                                      "writev",
                                                      "sendmsg",
                                                      "sendto",
                                                      "recvmsg",
                                                      "recvfrom",
                                                      "poll",
                                                      "ppoll",
                                                      "brk",
                                                      "munmap",
                                                      "mremap",
                                                      "madvise",
                                                      "mincore",
                                                      "mlock",
                                                      "munlock",
                                                      "futex",
                                                      "futex_waitv",
                                                      "sched_yield",
                                                      "sched_getaffinity",
                                                      "getcpu",
                                                      "nanosleep",
                                                      "clock_nanosleep",
                                                      "clock_gettime",
                                                      "clock_getres",
                                                      "gettimeofday",
                                                      "time",
                                                      "times",
                                                      "getrusage",
                                                      "getpid",
                                                      "gettid",
                                                      "getppid",
                                                      "getuid",
                                                      "geteuid",
                                                      "getgid",
                                                      "getegid",
                                                      "uname",
                                                      "sysinfo",
                                                      "getrandom",
                                                      "exit",
                                                      "exit_group",
                                                      "rt_sigprocmask",
                                                      "rt_sigreturn",
                                                      "sigaltstack",
                                                      "restart_syscall",
                                                      "membarrier",
                                                      "rseq",
                                                      "set_robust_list",
                                                      "fstat",
                                                      "newfstatat",
                                                      "lseek"};

// SIGCANCEL and SIGSETXID of glibc (nptl internal-signals.h): the two below SIGRTMIN.
constexpr std::array<std::uint64_t, 2> kLibrarySignals = {32, 33};

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

class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise)) {
    // All threads at once, not the caller alone: the team and the libraries' pools exist already.
    if (context_ != nullptr) note(seccomp_attr_set(context_, SCMP_FLTATR_CTL_TSYNC, 1));
  }
  ~Filter() {
    if (context_ != nullptr) seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // A name that this architecture does not have needs no rule.
  void rule(std::uint32_t action, const char* name) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number >= 0) note(seccomp_rule_add(context_, action, number, 0));
  }
  void rule(std::uint32_t action, const char* name, const scmp_arg_cmp& condition) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number >= 0) note(seccomp_rule_add(context_, action, number, 1, condition));
  }
  [[nodiscard]] Status load() {
    if (context_ == nullptr) return fail(ErrorCode::environment, "seccomp: no memory");
    if (error_ == 0) error_ = seccomp_load(context_);
    if (error_ == 0) return {};
    return fail(ErrorCode::environment, fmt::format("seccomp: {}", std::strerror(-error_)),
                "the kernel needs CONFIG_SECCOMP_FILTER");
  }

 private:
  void note(int result) {
    if (result < 0 && error_ == 0) error_ = result;
  }
  scmp_filter_ctx context_;
  int error_ = 0;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}
scmp_arg_cmp compare(unsigned argument, scmp_compare how, std::uint64_t value) {
  return {argument, how, value, 0};
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

Status first_stage() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const char* name : kNeverNeeded) filter.rule(SCMP_ACT_TRAP, name);
  // Files open for reading only; the flags are open's second argument and openat's third.
  constexpr std::uint64_t kWriting[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND};
  for (const std::uint64_t flag : kWriting) {
    filter.rule(SCMP_ACT_TRAP, "open", masked(1, flag, flag));
    filter.rule(SCMP_ACT_TRAP, "openat", masked(2, flag, flag));
  }
  // abort() signals its own process; nobody else's may be signalled.
  const auto self = static_cast<std::uint64_t>(getpid());
  filter.rule(SCMP_ACT_TRAP, "tgkill", compare(0, SCMP_CMP_NE, self));
  // Handlers stay as they are. Two signals belong to the C library, which sets one of them up just
  // before its first clone: let it, so that a candidate that starts a thread is called by that
  // name.
  filter.rule(SCMP_ACT_TRAP, "rt_sigaction", compare(0, SCMP_CMP_LT, kLibrarySignals[0]));
  filter.rule(SCMP_ACT_TRAP, "rt_sigaction", compare(0, SCMP_CMP_GT, kLibrarySignals[1]));
  // prlimit64 is how the C library reads limits, too: with no new value (third argument) it may.
  filter.rule(SCMP_ACT_TRAP, "prlimit64", compare(2, SCMP_CMP_NE, 0));
  // Installing stage 2 needs prctl, so only options with an effect on us are forbidden: those below
  // PR_SET_NAME (among them the parent-death signal) and some above it.
  filter.rule(SCMP_ACT_TRAP, "prctl", compare(0, SCMP_CMP_LT, PR_SET_NAME));
  for (const int option : {PR_SET_PTRACER, PR_SET_CHILD_SUBREAPER, PR_SET_MM, PR_SET_TSC,
                           PR_SET_TIMERSLACK, PR_SET_SECUREBITS, PR_CAPBSET_DROP, PR_CAP_AMBIENT}) {
    filter.rule(SCMP_ACT_TRAP, "prctl",
                compare(0, SCMP_CMP_EQ, static_cast<std::uint64_t>(option)));
  }
  return filter.load();
}

Status second_stage() {
  Filter filter(SCMP_ACT_TRAP);
  for (const char* name : kStillNeeded) filter.rule(SCMP_ACT_ALLOW, name);
  // New memory is data. (A `mmap` without PROT_EXEC of a descriptor is harmless: none is open.)
  filter.rule(SCMP_ACT_ALLOW, "mmap", masked(2, PROT_EXEC, 0));
  filter.rule(SCMP_ACT_ALLOW, "mprotect", masked(2, PROT_EXEC, 0));
  filter.rule(SCMP_ACT_ALLOW, "pkey_mprotect", masked(2, PROT_EXEC, 0));
  filter.rule(SCMP_ACT_ALLOW, "tgkill",
              compare(0, SCMP_CMP_EQ, static_cast<std::uint64_t>(getpid())));
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", compare(2, SCMP_CMP_EQ, 0));
  for (const std::uint64_t number : kLibrarySignals) {
    filter.rule(SCMP_ACT_ALLOW, "rt_sigaction", compare(0, SCMP_CMP_EQ, number));
  }
  filter.rule(SCMP_ACT_ALLOW, "ioctl", compare(1, SCMP_CMP_EQ, TCGETS));  // stdio: a terminal?
  return filter.load();
}

}  // namespace tilewright::runner
