// SPDX-License-Identifier: Apache-2.0
// Workers are woken along a binary tree, so that starting many does not take the caller a system
// call each.
#include "runtime/cpu/team.h"

#include "runtime/cpu/float_state.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tilewright::runtime::cpu {
namespace {

// A new thread has the mask of its creator, who may be pinned to one processor.
void allow(pthread_attr_t& attributes, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto count = static_cast<std::size_t>(*std::ranges::max_element(cpus)) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  static_cast<void>(pthread_attr_setaffinity_np(&attributes, bytes, set));
  CPU_FREE(set);
}

}  // namespace

Team::Team(int most, std::vector<int> cpus)
    : most_(std::max(most, 1)),
      cpus_(std::move(cpus)),
      spin_(static_cast<std::size_t>(most_) <= std::max<std::size_t>(cpus_.size(), 1)) {
  workers_.reserve(static_cast<std::size_t>(most_ - 1));
}

Team::~Team() {
  closing_ = true;
  for (const auto& worker : workers_) worker->go.set(worker->go.load() + 1);
  for (const auto& worker : workers_) pthread_join(worker->handle, nullptr);
}

bool Team::try_run(int threads, Task task, void* context) {
  if (threads > most_ || busy_.exchange(true, std::memory_order_acquire)) return false;
  if (!grow_locked(threads)) {
    busy_.store(false, std::memory_order_release);
    return false;
  }
  task_ = task;
  context_ = context;
  threads_ = threads;
  const std::uint32_t before = done_.load();
  working_.value.store(static_cast<std::uint32_t>(threads - 1), std::memory_order_relaxed);
  wake_children(0);
  task(context, 0);
  if (threads > 1) done_.wait_while(before, spin_);
  busy_.store(false, std::memory_order_release);
  return true;
}

bool Team::grow(int threads) {
  if (threads > most_) return false;
  // Whoever holds it holds it for a call.
  while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
  const bool grown = grow_locked(threads);
  busy_.store(false, std::memory_order_release);
  return grown;
}

bool Team::grow_locked(int threads) {
  while (static_cast<int>(workers_.size()) < threads - 1) {
    if (!make_worker()) return false;
  }
  return true;
}

bool Team::make_worker() {
  auto worker = std::make_unique<Worker>();
  worker->team = this;
  worker->thread = static_cast<int>(workers_.size()) + 1;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  allow(attributes, cpus_);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // which the new thread inherits
  int error = pthread_create(&worker->handle, &attributes, &Team::start, worker.get());
  // A processor may have gone off-line since.
  if (error != 0) error = pthread_create(&worker->handle, nullptr, &Team::start, worker.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  pthread_setname_np(worker->handle, "tilewright");
  workers_.push_back(std::move(worker));
  return true;
}

void* Team::start(void* worker) {
  set_plain_float_state();
  auto* self = static_cast<Worker*>(worker);
  self->team->serve(*self);
  return nullptr;
}

void Team::serve(Worker& worker) {
  for (std::uint32_t seen = 0;; ++seen) {
    worker.go.wait_while(seen, spin_);
    if (closing_) return;
    wake_children(worker.thread);
    task_(context_, worker.thread);
    if (working_.value.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.set(done_.load() + 1);
  }
}

void Team::wake_children(int thread) {
  for (int child = 2 * thread + 1; child <= 2 * thread + 2 && child < threads_; ++child) {
    Signal& go = workers_[static_cast<std::size_t>(child) - 1]->go;
    go.set(go.load() + 1);
  }
}

void Team::barrier() {
  barrier_.wait(threads_, spin_);
}

}  // namespace tilewright::runtime::cpu
