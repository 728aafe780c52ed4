// SPDX-License-Identifier: Apache-2.0
// Implementation of perf_counters.h. The kernel's own time is not counted, which an ordinary user
// may ask for up to perf_event_paranoid = 2.
#include "profile/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace tilewright {
namespace {

struct Kind {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Kind kKinds[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"task_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code ignored;
  const auto folder = fmt::format("/proc/{}/task", process);
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    threads.push_back(static_cast<pid_t>(std::atol(entry.path().filename().c_str())));
  }
  return threads;
}

std::string reason(int error, const std::vector<std::string>& names) {
  const char* hint = "";
  if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP) {
    hint = ": this processor or virtual machine does not offer them";
  } else if (error == EACCES || error == EPERM) {
    hint = ": sysctl kernel.perf_event_paranoid=2 or the container's seccomp profile decides";
  }
  return fmt::format("no counters of {} ({}){}", fmt::join(names, ", "), std::strerror(error),
                     hint);
}

struct Reading {
  std::uint64_t count = 0, enabled = 0, running = 0;
};

}  // namespace

PerfCounters::Open PerfCounters::system_open() {
  return [](perf_event_attr* attributes, pid_t thread) {
    return static_cast<int>(
        syscall(SYS_perf_event_open, attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  };
}

PerfCounters PerfCounters::open(pid_t process, const Open& open) {
  PerfCounters made;
  const std::vector<pid_t> threads = threads_of(process);
  std::vector<std::string> refused;
  int error = threads.empty() ? ESRCH : 0;
  for (const Kind& kind : kKinds) {
    Counter counter{kind.name, {}};
    for (const pid_t thread : threads) {
      perf_event_attr attributes{};
      attributes.size = sizeof attributes;
      attributes.type = kind.type;
      attributes.config = kind.config;
      attributes.disabled = 1;
      attributes.exclude_kernel = 1;
      attributes.exclude_hv = 1;
      attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      const int fd = open(&attributes, thread);
      if (fd < 0) {
        error = errno;
        break;
      }
      counter.fds.push_back(fd);
    }
    if (!threads.empty() && counter.fds.size() == threads.size()) {
      made.counters_.push_back(std::move(counter));
      continue;
    }
    for (const int fd : counter.fds) close(fd);  // some threads' counts alone mean nothing
    refused.emplace_back(kind.name);
  }
  if (!refused.empty()) made.missing_ = reason(error, refused);
  return made;
}

PerfCounters::~PerfCounters() {
  for (const Counter& counter : counters_) {
    for (const int fd : counter.fds) close(fd);
  }
}

void PerfCounters::start() {
  for (const Counter& counter : counters_) {
    for (const int fd : counter.fds) {
      ioctl(fd, PERF_EVENT_IOC_RESET, 0);
      ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    }
  }
}
void PerfCounters::stop() {
  for (const Counter& counter : counters_) {
    for (const int fd : counter.fds) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  }
}

std::map<std::string, double> PerfCounters::values() const {
  std::map<std::string, double> values;
  for (const Counter& counter : counters_) {
    double sum = 0;
    bool whole = true;
    for (const int fd : counter.fds) {
      Reading reading;
      if (read(fd, &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading)) {
        whole = false;
        break;
      }
      // A thread that slept all the time counted nothing, and rightly.
      if (reading.running == 0) continue;
      sum += static_cast<double>(reading.count) * static_cast<double>(reading.enabled) /
             static_cast<double>(reading.running);
    }
    if (whole) values[counter.name] = sum;
  }
  return values;
}

}  // namespace tilewright
