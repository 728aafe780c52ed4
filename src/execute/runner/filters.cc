// SPDX-License-Identifier: Apache-2.0
// The two seccomp filters, as tables of system calls. Stage 1 lists what is forbidden, since the
// loader and the libraries need much that we need not know; stage 2 lists what is allowed, so that
// a call that a future kernel invents is forbidden too. lockdown.h says when each comes.
#include "base/text.h"
#include "execute/runner/lockdown.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

namespace tilewright::runner {
namespace {

constexpr std::string_view kNeverNeeded =
    // Processes and threads.
    "clone clone3 fork vfork execve execveat unshare setns setsid setpgid personality "
    // Networks.
    "socket socketpair connect bind listen accept accept4 "
    // Other processes.
    "kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_getfd pidfd_send_signal ptrace "
    "process_vm_readv process_vm_writev process_madvise kcmp "
    // Files.
    "creat unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir chmod fchmod fchmodat "
    "chown fchown lchown fchownat link linkat symlink symlinkat mknod mknodat truncate ftruncate "
    "fallocate setxattr lsetxattr fsetxattr utimensat mount umount2 pivot_root chroot chdir "
    "fchdir openat2 open_by_handle_at memfd_create "
    // Rights, limits, timers.
    "setrlimit setpriority sched_setscheduler sched_setattr setuid setgid setreuid setresuid "
    "setitimer timer_create alarm ioperm iopl "
    // Doors to the above.
    "bpf userfaultfd perf_event_open io_uring_setup io_uring_enter io_uring_register keyctl "
    "add_key request_key init_module finit_module kexec_load reboot swapon ";

constexpr std::string_view kStillNeeded =
    // The socket.
    "read write writev sendmsg sendto recvmsg recvfrom poll ppoll "
    // Memory that is not code (mmap and mprotect have conditions).
    "brk munmap mremap madvise mincore mlock munlock "
    // Waiting and clocks.
    "futex futex_waitv sched_yield nanosleep clock_nanosleep clock_gettime clock_getres "
    "gettimeofday time times "
    // Facts.
    "sched_getaffinity getcpu getrusage getpid gettid getppid getuid geteuid getgid getegid uname "
    "sysinfo getrandom fstat newfstatat lseek "
    // How signals and threads end.
    "exit exit_group rt_sigprocmask rt_sigreturn sigaltstack restart_syscall membarrier rseq "
    "set_robust_list ";

// The sanitizers ask whether memory can be read by writing it to a pipe.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::string_view kSanitizersNeed = "pipe pipe2 close";
#else
constexpr std::string_view kSanitizersNeed;
#endif

// SIGCANCEL and SIGSETXID of glibc (nptl internal-signals.h): the two below SIGRTMIN.
constexpr std::array<std::uint64_t, 2> kLibrarySignals = {32, 33};

class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise)) {
    // All threads at once, not the caller alone: the team and the libraries' pools exist already.
    if (context_ == nullptr) return;
    note(seccomp_attr_set(context_, SCMP_FLTATR_CTL_TSYNC, 1));
    // Another ABI's numbers (int 0x80, x32) mean other calls: end the process, not one thread.
    note(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }
  ~Filter() {
    if (context_ != nullptr) seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // A name that this architecture does not have needs no rule.
  void rule(std::uint32_t action, std::string_view name) {
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number >= 0) note(seccomp_rule_add(context_, action, number, 0));
  }
  void rule(std::uint32_t action, std::string_view name, const scmp_arg_cmp& condition) {
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
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

}  // namespace

Status first_stage() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const auto name : words(kNeverNeeded)) filter.rule(SCMP_ACT_TRAP, name);
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
  for (const auto name : words(kStillNeeded)) filter.rule(SCMP_ACT_ALLOW, name);
  for (const auto name : words(kSanitizersNeed)) filter.rule(SCMP_ACT_ALLOW, name);
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
