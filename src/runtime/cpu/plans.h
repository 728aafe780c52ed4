// SPDX-License-Identifier: Apache-2.0
// Plans by call, for many readers at once: finding takes no lock and writes nothing.
//
// An open table of pointers that only ever gains plans. When it is full a larger one is published
// and the old one kept for readers who are still in it, so tables take at most twice the memory of
// the last. Beyond kMostPlans nothing is added: such a program computes its plans each time.
#pragma once

#include "runtime/cpu/division.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::runtime::cpu {

inline constexpr std::size_t kMostPlans = std::size_t{1} << 16;

class Plans {
 public:
  Plans();
  // nullptr: there is none yet.
  [[nodiscard]] const Plan* find(const Call& call) const;
  // The plan that is kept for this call, if another thread was first then its; nullptr: no room.
  const Plan* add(const Plan& plan);

 private:
  struct Table {
    explicit Table(std::size_t slots) : mask(slots - 1), plans(slots) {}
    std::size_t mask;
    std::vector<std::atomic<const Plan*>> plans;
  };
  [[nodiscard]] static std::size_t hash(const Call& call);
  [[nodiscard]] static const Plan* find_in(const Table& table, const Call& call, std::size_t hash);
  static void put(Table& table, const Plan* plan);

  std::atomic<Table*> table_;
  std::mutex adding_;  // guards what follows
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::unique_ptr<const Plan>> kept_;
};

}  // namespace tilewright::runtime::cpu
