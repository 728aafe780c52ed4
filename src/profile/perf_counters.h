// SPDX-License-Identifier: Apache-2.0
// Counters of a CPU for all threads of a process, by perf_event_open. Virtual machines often have
// no hardware counters, and containers often forbid them all: then a counter is not there, which is
// said and is no zero.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct perf_event_attr;

namespace tilewright {

class PerfCounters {
 public:
  // As the system call of this name: a descriptor, or -1 and errno.
  using Open = std::function<int(perf_event_attr* attributes, pid_t thread)>;
  // Counters of the threads that `process` has now; they stand still.
  [[nodiscard]] static PerfCounters open(pid_t process, const Open& open = system_open());
  [[nodiscard]] static Open system_open();
  ~PerfCounters();
  PerfCounters(PerfCounters&&) noexcept = default;
  PerfCounters& operator=(PerfCounters&&) = delete;

  void start();
  void stop();
  // Counts between start() and stop(), by name, threads added up; of a counter that had to share
  // the hardware, what it would have counted alone.
  [[nodiscard]] std::map<std::string, double> values() const;
  // Why some counters are not there, with what might help; empty if all are.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  struct Counter {
    std::string name;
    std::vector<int> fds;  // by thread
  };
  PerfCounters() = default;
  std::vector<Counter> counters_;
  std::string missing_;
};

}  // namespace tilewright
