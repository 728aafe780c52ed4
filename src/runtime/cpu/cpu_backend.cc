// SPDX-License-Identifier: Apache-2.0
// The CPU's backend. A call becomes a plan once (choice.h, division.h), which is kept (plans.h); to
// run it the team divides it (team.h), or its caller alone computes it if the team is busy.
//
// All that changes lies in one Live object, which a forked child replaces by one of its own: the
// child has none of the team's threads, and what they had locked stays locked.
#include "device/topology.h"
#include "runtime/backend.h"
#include "runtime/cpu/choice.h"
#include "runtime/cpu/division.h"
#include "runtime/cpu/float_state.h"
#include "runtime/cpu/fork_mark.h"
#include "runtime/cpu/limits.h"
#include "runtime/cpu/plans.h"
#include "runtime/cpu/team.h"
#include "runtime/cpu/workspaces.h"
#include "runtime/wisdom_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace tilewright::runtime::cpu {
namespace {

static_assert(static_cast<int>(TW_NO_ACTIVATION) == TW_CPU_NO_ACTIVATION &&
              static_cast<int>(TW_RELU) == TW_CPU_RELU &&
              static_cast<int>(TW_GELU) == TW_CPU_GELU && static_cast<int>(TW_SILU) == TW_CPU_SILU);

// Workspaces up to this size are on the caller's stack.
constexpr std::size_t kStackBytes = 8192;

struct Live {
  Live(int threads, std::vector<int> cpus) : team(threads, std::move(cpus)) {}
  ForkMark mark;
  Team team;
  Workspaces workspaces;
  Plans plans;
};

// One call as the team's threads see it.
struct Work {
  const Plan* plan;
  const Operands* operands;
  std::byte* workspace;
  Team* team;

  static void take_part(void* context, int thread) {
    const Work& work = *static_cast<const Work*>(context);
    const Plan& plan = *work.plan;
    if (plan.kernel->splits_k) {
      const tw_cpu_team team = {thread, plan.threads, &Work::wait, work.team};
      compute(plan, *work.operands, whole(plan.call), work.workspace, team);
      return;
    }
    const auto offset = static_cast<std::size_t>(thread) * plan.thread_workspace;
    compute(plan, *work.operands, part_of(plan.call, *plan.kernel, plan.grid, thread),
            work.workspace == nullptr ? nullptr : work.workspace + offset, alone());
  }

  static void wait(void* team) { static_cast<Team*>(team)->barrier(); }
  static tw_cpu_team alone() {
    return {0, 1, [](void*) {}, nullptr};
  }
  static Part whole(const Call& call) { return {0, call.batch, 0, call.m, 0, call.n}; }
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Device& device, CpuIsa isa, KnownWisdom wisdom, int threads)
      : cpus_(allowed_cpus()),
        threads_(threads),
        device_(device.name),
        chooser_(isa, std::move(wisdom.entries)),
        live_(new Live(threads, cpus_)) {}
  ~CpuBackend() override {
    Live* live = live_.load();
    if (!live->mark.forked()) delete live;  // else the parent's: see live()
  }
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  tl::expected<void, Failure> prepare(const Call& call, void*) override {
    if (call.empty()) return {};
    Live& live = this->live();
    Plan own;
    const auto plan = plan_of(live, call, own);
    if (!plan) return tl::unexpected(plan.error());
    if ((*plan)->workspace() > kStackBytes && !live.workspaces.prepare((*plan)->workspace())) {
      return no_memory((*plan)->workspace());
    }
    // Without all of its threads a call is computed alone.
    static_cast<void>(live.team.grow((*plan)->threads));
    return {};
  }

  tl::expected<Origin, Failure> run(const Call& call, const Operands& operands, void*) override {
    if (call.empty()) return Origin::empty;
    Live& live = this->live();
    Plan own;
    const auto found = plan_of(live, call, own);
    if (!found) return tl::unexpected(found.error());
    const Plan& plan = **found;
    const PlainFloatState plain;
    if (plan.workspace() <= kStackBytes) {
      alignas(64) std::byte memory[kStackBytes];
      compute_with(live, plan, operands, memory);
    } else {
      const Workspaces::Lease memory(live.workspaces, plan.workspace());
      if (memory.data() == nullptr) return no_memory(plan.workspace());
      compute_with(live, plan, operands, memory.data());
    }
    return call.k == 0 || operands.alpha == 0 ? Origin::empty : plan.origin;
  }

  tl::expected<std::string, Failure> explain(const Call& call) override {
    if (call.empty()) return "nothing to compute: C has no elements\n";
    const Choice choice = chooser_.choose(call, threads_);
    Plan plan;
    if (auto s = make_plan(call, choice, plan); !s) return tl::unexpected(s.error());
    std::string text = fmt::format("kernel: {}\n", plan.kernel->program);
    text += chooser_.reason(call, choice, threads_);
    if (plan.kernel->splits_k) {
      text += fmt::format("threads: {} of {}, each a part of k\n", plan.threads, threads_);
    } else {
      text +=
          fmt::format("threads: {} of {}, batch / rows / columns in {} / {} / {} parts\n",
                      plan.threads, threads_, plan.grid.batch, plan.grid.rows, plan.grid.columns);
    }
    text += fmt::format("workspace: {} bytes\n", plan.workspace());
    if (plan.kernel->isa == CpuIsa::avx512bf16) {
      text += "subnormals: flushed to zero (TILEWRIGHT_CPU_ISA=avx512bf16)\n";
    }
    text += fmt::format("device: {}, instruction set {}\n", device_, name_of(chooser_.isa()));
    return text;
  }

 private:
  static tl::unexpected<Failure> no_memory(std::size_t bytes) {
    return tl::unexpected(
        Failure{TW_OUT_OF_MEMORY, fmt::format("no {} bytes for a workspace", bytes)});
  }

  Live& live() {
    Live* live = live_.load(std::memory_order_acquire);
    if (!live->mark.forked()) return *live;
    // The parent's is left as it is: its threads cannot be joined, its locks may be held for ever.
    auto fresh = std::make_unique<Live>(threads_, cpus_);
    if (live_.compare_exchange_strong(live, fresh.get(), std::memory_order_acq_rel)) {
      return *fresh.release();
    }
    return *live;
  }

  tl::expected<void, Failure> make_plan(const Call& call, const Choice& choice, Plan& plan) const {
    if (choice.kernel == nullptr) {
      return tl::unexpected(Failure{TW_UNSUPPORTED, "no CPU kernel has these types and layouts"});
    }
    plan.call = call;
    plan.kernel = choice.kernel;
    plan.origin = choice.origin;
    plan.threads =
        choice.threads != 0 ? std::min(choice.threads, threads_) : useful_threads(call, threads_);
    return lay_out(plan);
  }

  // The kept plan, or `own` where there is no room for more.
  tl::expected<const Plan*, Failure> plan_of(Live& live, const Call& call, Plan& own) const {
    if (const Plan* plan = live.plans.find(call)) return plan;
    if (auto s = make_plan(call, chooser_.choose(call, threads_), own); !s) {
      return tl::unexpected(s.error());
    }
    const Plan* kept = live.plans.add(own);
    return kept != nullptr ? kept : &own;
  }

  static void compute_with(Live& live, const Plan& plan, const Operands& operands,
                           std::byte* memory) {
    Work work = {&plan, &operands, memory, &live.team};
    if (plan.threads > 1 && live.team.try_run(plan.threads, &Work::take_part, &work)) return;
    compute(plan, operands, Work::whole(plan.call), memory, Work::alone());
  }

  const std::vector<int> cpus_;
  const int threads_;
  const std::string device_;
  const Chooser chooser_;
  std::atomic<Live*> live_;
};

}  // namespace
}  // namespace tilewright::runtime::cpu

namespace tilewright::runtime {

tl::expected<std::unique_ptr<Backend>, Failure> open_cpu(const Options& options) {
  const Device device = detect_cpu();
  const auto isa = cpu::isa_for(device, std::getenv("TILEWRIGHT_CPU_ISA"));
  if (!isa) return tl::unexpected(isa.error());
  KnownWisdom wisdom = known_wisdom(options, device);
  warn(wisdom.warnings);
  return std::make_unique<cpu::CpuBackend>(device, *isa, std::move(wisdom),
                                           cpu::most_threads(options.threads, device));
}

}  // namespace tilewright::runtime
