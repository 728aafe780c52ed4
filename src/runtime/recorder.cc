// SPDX-License-Identifier: Apache-2.0
// See recorder.h.
#include "runtime/recorder.h"

#include "runtime/problem_hash.h"

#include <fmt/format.h>

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::runtime {
namespace {

constexpr std::chrono::seconds kInterval{5};
// How many calls of one problem pass between two looks at the clock.
constexpr std::uint64_t kLooks = 256;

using Clock = std::chrono::steady_clock;

Clock::rep next_save() {
  return (Clock::now() + kInterval).time_since_epoch().count();
}

// The recorder of this process is never destroyed: handles may outlive the end of the process's own
// code, and so may forks. It is saved at the end instead.
std::shared_ptr<Recorder>* made_for_this_process() {
  const char* file = std::getenv("TILEWRIGHT_RECORD");
  if (file == nullptr || *file == '\0') return new std::shared_ptr<Recorder>();
  std::error_code error;
  auto path = std::filesystem::absolute(file, error);
  return new std::shared_ptr<Recorder>(
      std::make_shared<Recorder>(error ? std::filesystem::path(file) : std::move(path)));
}

const std::shared_ptr<Recorder>& this_processes() {
  static const std::shared_ptr<Recorder>* const recorder = [] {
    const auto* made = made_for_this_process();
    if (*made) {
      std::atexit([] { this_processes()->save(); });
      ::pthread_atfork([] { this_processes()->before_fork(); },
                       [] { this_processes()->after_fork_in_parent(); },
                       [] { this_processes()->after_fork_in_child(); });
    }
    return made;
  }();
  return *recorder;
}

}  // namespace

Recorder::Recorder(std::filesystem::path file) : file_(std::move(file)), due_(next_save()) {}

Recorder::~Recorder() {
  for (auto& list : lists_) {
    for (Entry* entry = list.load(); entry != nullptr;) delete std::exchange(entry, entry->next);
  }
}

std::shared_ptr<Recorder> Recorder::of_this_process() {
  return this_processes();
}

Recorder::Entry* Recorder::find_or_add(const Problem& problem) {
  const std::size_t hash = ProblemHash()(problem);
  std::atomic<Entry*>& list = lists_[hash % kLists];
  Entry* const head = list.load(std::memory_order_acquire);
  for (Entry* entry = head; entry != nullptr; entry = entry->next) {
    if (entry->hash == hash && entry->problem == problem) return entry;
  }
  if (!check(problem) || problem.flop() == 0) return nullptr;
  if (entries_.fetch_add(1, std::memory_order_relaxed) >= kMostEntries) return nullptr;
  auto added = std::make_unique<Entry>();
  added->problem = problem;
  added->hash = hash;
  Entry* seen = head;  // nothing from here on is the problem
  Entry* first = head;
  while (true) {
    added->next = first;
    if (list.compare_exchange_weak(first, added.get(), std::memory_order_release,
                                   std::memory_order_acquire)) {
      return added.release();
    }
    for (Entry* entry = first; entry != seen; entry = entry->next) {
      if (entry->hash == hash && entry->problem == problem) return entry;
    }
    seen = first;
  }
}

void Recorder::note(const Problem& problem) noexcept {
  try {
    Entry* entry = find_or_add(problem);
    if (entry == nullptr) return;
    const std::uint64_t before = entry->calls.fetch_add(1, std::memory_order_relaxed);
    if (before % kLooks == 0) save_if_due();
  } catch (const std::exception&) {  // out of memory: the call goes on, unrecorded
  }
}

void Recorder::save_if_due() {
  auto due = due_.load(std::memory_order_relaxed);
  if (Clock::now().time_since_epoch().count() < due) return;
  if (!due_.compare_exchange_strong(due, next_save())) return;  // another thread does it
  save();
}

void Recorder::save() noexcept {
  try {
    const std::lock_guard lock(saving_);
    save_now();
  } catch (const std::exception&) {
  }
}

void Recorder::save_now() {
  AskedProblems fresh;
  std::vector<std::pair<Entry*, std::uint64_t>> taken;
  for (auto& list : lists_) {
    for (Entry* entry = list.load(std::memory_order_acquire); entry != nullptr;
         entry = entry->next) {
      const std::uint64_t calls = entry->calls.load(std::memory_order_relaxed);
      if (calls == entry->saved) continue;
      add(fresh, entry->problem, calls - entry->saved);
      taken.emplace_back(entry, calls);
    }
  }
  if (fresh.empty()) return;
  Status done = add_to_file(file_, fresh);
  std::string said;
  if (!done) {
    // Somebody else's file, or one that stays locked: a file of our own loses nothing.
    const std::filesystem::path own = fmt::format("{}.{}", file_.string(), ::getpid());
    said = fmt::format("TILEWRIGHT_RECORD: {}", done.error().message);
    done = add_to_file(own, fresh);
    said += done ? fmt::format("; writing '{}' instead", own.string()) : "; nothing is recorded";
  }
  if (!said.empty() && !std::exchange(complained_, true)) {
    std::fprintf(stderr, "tilewright: %s\n", said.c_str());
  }
  if (!done) return;
  for (const auto& [entry, calls] : taken) entry->saved = calls;
}

void Recorder::after_fork_in_child() {
  for (auto& list : lists_) {
    for (Entry* entry = list.load(); entry != nullptr; entry = entry->next) {
      entry->saved = entry->calls.load();
    }
  }
  saving_.unlock();
}

}  // namespace tilewright::runtime
