// SPDX-License-Identifier: Apache-2.0
// TILEWRIGHT_RECORD=<file>: which problems this process asks for, and how often, added to a CSV
// file that `tilewright tune` reads (record_csv.h).
//
// It never fails a call. A known problem costs a hash, a short list and a relaxed addition, without
// a lock. The file is brought up to date every few seconds, by tw_destroy and at the process's end;
// a process that is killed loses what it did since. What a graph replays asks for nothing.
#pragma once

#include "problem/problem.h"
#include "runtime/record_csv.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>

namespace tilewright::runtime {

class Recorder {
 public:
  explicit Recorder(std::filesystem::path file);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // The one that TILEWRIGHT_RECORD names; null without it. It is saved when the process ends.
  [[nodiscard]] static std::shared_ptr<Recorder> of_this_process();

  // Problems without work, which cannot be tuned, are left out.
  void note(const Problem& problem) noexcept;
  // Adds what is new since the last time. A file that cannot be written is said once on stderr.
  void save() noexcept;
  // Around fork(): no lock is left held in the child, and what the parent counted is the parent's.
  void before_fork() { saving_.lock(); }
  void after_fork_in_parent() { saving_.unlock(); }
  void after_fork_in_child();

 private:
  struct Entry {
    Problem problem;
    std::size_t hash = 0;
    std::atomic<std::uint64_t> calls{0};
    std::uint64_t saved = 0;  // of those; guarded by saving_
    Entry* next = nullptr;
  };
  static constexpr std::size_t kLists = 4096;
  static constexpr std::size_t kMostEntries = 1 << 20;

  Entry* find_or_add(const Problem& problem);
  void save_now();
  void save_if_due();

  std::filesystem::path file_;
  // Lists only grow, at their front.
  std::array<std::atomic<Entry*>, kLists> lists_{};
  std::atomic<std::size_t> entries_{0};
  std::atomic<std::chrono::steady_clock::rep> due_;
  std::mutex saving_;
  bool complained_ = false;  // guarded by saving_
};

}  // namespace tilewright::runtime
