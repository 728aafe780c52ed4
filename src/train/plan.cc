// SPDX-License-Identifier: Apache-2.0
// See plan.h.
#include "train/plan.h"

#include "learn/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace tilewright {
namespace {

struct OfSize {
  std::string_view size;
  std::int64_t pretrain_steps, sft_steps;
  std::size_t texts_per_step, shapes;
  double rate;
};
// About 5M, 80M, 300M and 300M tokens of pretraining.
constexpr std::array<OfSize, 4> kSizes = {{{"xs", 1500, 300, 32, 200, 1e-3},
                                           {"s", 12000, 1000, 64, 600, 6e-4},
                                           {"m", 24000, 2000, 128, 1500, 4e-4},
                                           {"l", 24000, 2000, 128, 1500, 3e-4}}};

constexpr std::size_t kChoiceOf = 5;  // every fifth world of the train split is for choosing
constexpr std::size_t kEnough = 10;   // where there are so many

}  // namespace

Result<TrainPlan> plan_for(std::string_view size) {
  const Result<ModelShape> shape = model_shape(size);
  if (!shape) return tl::unexpected(shape.error());
  TrainPlan plan;
  plan.size = size;
  for (const OfSize& of : kSizes) {
    if (of.size != size) continue;
    plan.pretrain_steps = of.pretrain_steps;
    plan.sft_steps = of.sft_steps;
    plan.texts_per_step = of.texts_per_step;
    plan.shapes = of.shapes;
    plan.pretrain_rate = of.rate;
    plan.sft_rate = of.rate / 3;
    plan.rl_rate = of.rate / 5;
  }
  return plan;
}

std::string to_text(const TrainPlan& p) {
  return fmt::format(
      "size={} seed={} device={}\nshapes={} random_programs={} operations={}\n"
      "pretrain_steps={} sft_steps={} texts_per_step={} pretrain_rate={} sft_rate={} "
      "prompt_weight={}\n"
      "iterations={} prompts={} samples={} off_policy={} exemplar_share={} temperature={} "
      "rl_rate={} epochs={} advantage={} kl_weight={} archive_weight={} renew_every={} eq3={} "
      "expert_steps={}\n",
      p.size, p.seed, p.device.fingerprint(), p.shapes, p.random_programs, p.operations,
      p.pretrain_steps, p.sft_steps, p.texts_per_step, p.pretrain_rate, p.sft_rate, p.prompt_weight,
      p.iterations, p.prompts, p.samples, p.off_policy, p.exemplar_share, p.temperature, p.rl_rate,
      p.epochs, p.advantage == AdvantageKind::group ? "grpo" : "loo", p.kl_weight, p.archive_weight,
      p.renew_every, p.basis.eq3, p.expert_steps);
}

Worlds divide(std::vector<ReplayWorld> worlds) {
  Worlds out;
  std::vector<ReplayWorld> train;
  for (ReplayWorld& world : worlds) {
    (world.held_out ? out.held_out : train).push_back(std::move(world));
  }
  // By M, N and K, so that no type or layout of a shape is on the other side.
  std::map<std::array<std::int64_t, 3>, bool> choice;
  for (const ReplayWorld& world : train) {
    choice[{world.problem.m, world.problem.n, world.problem.k}] = false;
  }
  if (choice.size() >= kEnough) {
    std::size_t i = 0;
    for (auto& [shape, chosen] : choice) chosen = i++ % kChoiceOf == kChoiceOf - 1;
  }
  for (ReplayWorld& world : train) {
    const bool chosen = choice[{world.problem.m, world.problem.n, world.problem.k}];
    (chosen ? out.choice : out.train).push_back(std::move(world));
  }
  return out;
}

Measure measure_in(const std::vector<ReplayWorld>& worlds) {
  auto tables = std::make_shared<std::map<std::string, const ReplayWorld*>>();
  for (const ReplayWorld& world : worlds) tables->emplace(to_text(world.problem), &world);
  return [tables](const Problem& problem,
                  std::span<const Program> programs) -> Result<std::vector<Trial>> {
    std::vector<Trial> out;
    const auto table = tables->find(to_text(problem));
    for (const Program& program : programs) {
      const Trial* trial =
          table == tables->end() ? nullptr : table->second->table.seen(program.text());
      if (trial == nullptr) {
        return fail(ErrorCode::internal,
                    fmt::format("no table knows {} of {}", program.text(), to_text(problem)));
      }
      out.push_back(*trial);
    }
    return out;
  };
}

}  // namespace tilewright
