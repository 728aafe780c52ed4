// SPDX-License-Identifier: Apache-2.0
// See plans.h.
#include "runtime/cpu/plans.h"

#include <cstdint>

namespace tilewright::runtime::cpu {

Plans::Plans() {
  constexpr std::size_t kFirstSlots = 256;
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

std::size_t Plans::hash(const Call& call) {
  const auto bit = [](bool b, int at) { return std::uint64_t{b} << at; };
  std::uint64_t hash = static_cast<std::uint64_t>(call.in) |
                       static_cast<std::uint64_t>(call.out) << 2 | bit(call.a_transposed, 4) |
                       bit(call.b_transposed, 5) | bit(call.f16_sums, 6) |
                       static_cast<std::uint64_t>(call.mode) << 8 |
                       static_cast<std::uint64_t>(call.activation) << 16;
  for (const std::int64_t part : {call.m, call.n, call.k, call.batch, call.lda, call.ldb, call.ldc,
                                  call.stride_a, call.stride_b, call.stride_c}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

const Plan* Plans::find_in(const Table& table, const Call& call, std::size_t hash) {
  for (std::size_t at = hash & table.mask;; at = (at + 1) & table.mask) {
    const Plan* plan = table.plans[at].load(std::memory_order_acquire);
    if (plan == nullptr || plan->call == call) return plan;
  }
}

void Plans::put(Table& table, const Plan* plan) {
  std::size_t at = hash(plan->call) & table.mask;
  while (table.plans[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & table.mask;
  table.plans[at].store(plan, std::memory_order_release);
}

const Plan* Plans::find(const Call& call) const {
  return find_in(*table_.load(std::memory_order_acquire), call, hash(call));
}

const Plan* Plans::add(const Plan& plan) {
  const std::lock_guard lock(adding_);
  Table* table = tables_.back().get();
  if (const Plan* known = find_in(*table, plan.call, hash(plan.call))) return known;
  if (kept_.size() >= kMostPlans) return nullptr;
  kept_.push_back(std::make_unique<const Plan>(plan));
  if (2 * kept_.size() <= table->mask) {
    put(*table, kept_.back().get());
    return kept_.back().get();
  }
  auto larger = std::make_unique<Table>(2 * (table->mask + 1));
  for (const auto& each : kept_) put(*larger, each.get());
  tables_.push_back(std::move(larger));
  table_.store(tables_.back().get(), std::memory_order_release);
  return kept_.back().get();
}

}  // namespace tilewright::runtime::cpu
