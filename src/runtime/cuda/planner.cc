// SPDX-License-Identifier: Apache-2.0
// See planner.h.
#include "runtime/cuda/planner.h"

#include "runtime/cuda/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace tilewright::runtime {
namespace {

constexpr double kVendorWins = 0.98;        // a ratio below this is a loss beyond noise
constexpr std::int64_t kTypicalRows = 256;  // where m must not decide
// To be timed: so many by the estimate, and the first of each kind unless it is far behind.
constexpr std::size_t kCandidates = 10;
constexpr double kFar = 3;

// Without m and batch, where they must not decide.
Call as_chosen_by(const Call& call) {
  if (call.mode != TW_BATCH_INVARIANT) return call;
  Call typical = call;
  typical.m = kTypicalRows;
  typical.batch = 1;
  return typical;
}

// Whether no call gets past it: what would follow need not be made.
bool serves_all(const Rung& rung, const Call& call) {
  const std::array<std::uint64_t, 3> elements = {size_of(call.in), size_of(call.in),
                                                 size_of(call.out)};
  return rung.scales && rung.adds && rung.finishes && rung.sums_nothing && rung.workspace == 0 &&
         std::ranges::equal(rung.alignment, elements, std::less_equal<>());
}

}  // namespace

bool Planner::allowed(const ShelfKernel& kernel, const Call& call) const {
  // A workspace is there for some streams only, so another kernel would add up for the others.
  if (kernel.workspace && call.mode != TW_FASTEST) return false;
  // A packed transposed A has rows m apart: whether a tensor map can step by that is up to m.
  if (call.mode == TW_BATCH_INVARIANT && kernel.maps_input && call.a_transposed) return false;
  if (call.mode == TW_BATCH_INVARIANT && (kernel.from->launch.m || kernel.from->launch.n)) {
    return false;
  }
  return kernel.why_not(call).empty();
}

ShelfKernel* Planner::kernel_for(const WisdomEntry& entry, const Call& call, bool served) {
  for (ShelfKernel* kernel : shelf_.called_up(entry.program)) {
    if (kernel->from->served == served && allowed(*kernel, call)) return kernel;
  }
  return nullptr;
}

std::optional<Planner::Tuned> Planner::tuned(const Call& call, bool served) {
  const bool invariant = call.mode == TW_BATCH_INVARIANT;
  if (invariant && call.a_transposed) return std::nullopt;  // its rows are apart by what m says
  const auto serves = [&](std::size_t index) {
    return kernel_for(lookup_.entries()[index], call, served) != nullptr;
  };
  Problem problem = served ? problem_of(call, 2, 2) : problem_of(call, 1, 0);
  auto hit = lookup_.find(problem, serves, invariant ? Sizes::columns : Sizes::all);
  if (!hit && call.f16_sums) {  // which are allowed, not wanted
    problem.acc = Accumulator::f32;
    hit = lookup_.find(problem, serves, invariant ? Sizes::columns : Sizes::all);
  }
  if (!hit) return std::nullopt;
  return Tuned{kernel_for(lookup_.entries()[hit->index], call, served), *hit};
}

std::vector<ShelfKernel*> Planner::built_in(const Call& call) {
  std::vector<std::pair<double, ShelfKernel*>> found;
  const Call by = as_chosen_by(call);
  for (ShelfKernel* kernel : shelf_.core(call)) {
    if (allowed(*kernel, call))
      found.emplace_back(expected_seconds(*kernel, by, device_, workspaces_.bytes()), kernel);
  }
  std::ranges::stable_sort(found, {}, [](const auto& pair) { return pair.first; });
  std::vector<ShelfKernel*> kernels;
  for (const auto& [seconds, kernel] : found) kernels.push_back(kernel);
  return kernels;
}

bool Planner::add(Ladder& ladder, ShelfKernel& kernel, const Call& call, Origin origin,
                  const std::string& why, bool may_load) {
  if (!kernel.loaded && !may_load) {
    ladder.complete = false;
    return false;
  }
  if (!shelf_.load(kernel, context_)) {
    ladder.notes.push_back(fmt::format("{}: {}", kernel.from->program, kernel.refused));
    return true;
  }
  auto rung = rung_of(kernel, call, device_, workspaces_);
  if (!rung) {
    ladder.notes.push_back(fmt::format("{}: {}", kernel.from->program, rung.error().message));
    return true;
  }
  rung->origin = origin;
  rung->expected = expected_seconds(kernel, call, device_, workspaces_.bytes());
  rung->why = why;
  ladder.rungs.push_back(*std::move(rung));
  return true;
}

Vendor* Planner::vendor(Ladder& ladder) {
  if (!vendor_) vendor_.emplace(Vendor::open());
  if (*vendor_) return (*vendor_)->get();
  ladder.notes.push_back("the vendor's library: " + vendor_->error().message);
  return nullptr;
}

void Planner::add_vendor(Ladder& ladder, const Call& call, const std::string& why) {
  Vendor* const library = vendor(ladder);
  if (library == nullptr) return;
  const auto chosen = library->choose(call, workspaces_.bytes());
  if (!chosen) {
    ladder.notes.push_back("the vendor's library: " + chosen.error().message);
    return;
  }
  Rung rung;
  rung.origin = Origin::vendor;
  rung.vendor = *chosen;
  rung.scales = true;
  rung.adds = VendorCall::rounds_once(call);
  rung.alignment.fill(VendorCall::kAddressAlignment);
  rung.workspace = (*chosen)->workspace_bytes();
  rung.why = why;
  ladder.rungs.push_back(std::move(rung));
}

Ladder Planner::build(const Call& call, bool may_load) {
  Ladder ladder = collect(call, may_load, Width::serving);
  prune(ladder);
  return ladder;
}

Ladder Planner::candidates(const Call& call) {
  return collect(call, true, Width::candidates);
}

Ladder Planner::collect(const Call& call, bool may_load, Width width) {
  Ladder ladder;
  const auto plain = tuned(call, false), served = tuned(call, true);
  std::string vendor_because;
  const std::vector<ShelfKernel*> kernels = built_in(call);
  const double best = kernels.empty()
                          ? HUGE_VAL
                          : expected_seconds(*kernels.front(), call, device_, workspaces_.bytes());
  const auto& first = plain ? plain : served;
  if (first) {
    const WisdomEntry& entry = lookup_.entries()[first->hit.index];
    if (entry.reference.starts_with("cublas") && entry.ratio < kVendorWins) {
      vendor_because = fmt::format("{} is ahead where it was measured: ratio {:.3f} for {}",
                                   entry.reference, entry.ratio, entry.problem);
    }
  } else if (vendor_is_faster(call, device_, best)) {
    vendor_because = kernels.empty()
                         ? "nothing was tuned near this, and no kernel can serve it"
                         : fmt::format(
                               "nothing was tuned near this, and the vendor's is expected "
                               "to take less than the best kernel's {:.1f} us",
                               1e6 * best);
  }
  const bool may_ask = vendor_allowed_ && call.mode == TW_FASTEST &&
                       call.activation == TW_NO_ACTIVATION && call.k > 0;
  ladder.settled = first && first->hit.origin == Origin::exact && vendor_because.empty();
  if (may_ask && (width == Width::candidates || !vendor_because.empty())) {
    if (may_load) {
      add_vendor(ladder, call, vendor_because);
    } else {
      ladder.complete = false;
    }
  }
  for (const auto& found : {plain, served}) {
    if (!found) continue;
    const WisdomEntry& entry = lookup_.entries()[found->hit.index];
    const std::string why =
        found->hit.origin == Origin::exact
            ? fmt::format("tuned for this problem, {:.2f} us", entry.time_us)
            : fmt::format("tuned for {}, {:.2f} octaves away", entry.problem, found->hit.distance);
    add(ladder, *found->kernel, call, found->hit.origin, why, may_load);
  }
  add_built_in(ladder, call, kernels, may_load, width);
  return ladder;
}

void Planner::add_built_in(Ladder& ladder, const Call& call,
                           const std::vector<ShelfKernel*>& kernels, bool may_load, Width width) {
  std::set<std::array<bool, 4>> kinds;
  std::size_t added = 0;
  double best = 0;
  bool closed = false;
  for (ShelfKernel* kernel : kernels) {
    if (closed && width == Width::serving) return;
    const double seconds = expected_seconds(*kernel, call, device_, workspaces_.bytes());
    if (best == 0) best = seconds;
    const bool new_kind =
        kinds.insert({kernel->hopper, kernel->direct, kernel->split > 1, kernel->copies.any()})
            .second;
    const bool wanted = !closed || added < kCandidates || (new_kind && seconds < kFar * best);
    if (!wanted) continue;
    const std::size_t before = ladder.rungs.size();
    add(ladder, *kernel, call, Origin::built_in, fmt::format("expected {:.1f} us", 1e6 * seconds),
        may_load);
    added += ladder.rungs.size() - before;
    closed = closed || (!ladder.rungs.empty() && serves_all(ladder.rungs.back(), call));
  }
}

}  // namespace tilewright::runtime
