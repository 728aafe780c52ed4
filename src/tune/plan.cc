// SPDX-License-Identifier: Apache-2.0
// See plan.h.
#include "tune/plan.h"

#include "tune/torch_column.h"

namespace tilewright {
namespace {

constexpr double kSettleSeconds = 0.15;  // until clocks have fallen

// Calls of mode server come alone and meet a cool card.
bool is_warm(const Problem& problem, const Device& device, Mode mode) {
  return meets_power_cap(problem, device) && mode != Mode::server;
}

}  // namespace

std::optional<Effort> effort_from(std::string_view name) {
  if (name == "normal") return Effort::normal;
  if (name == "sweep") return Effort::sweep;
  if (name == "scout") return Effort::scout;
  return std::nullopt;
}

EvaluationPlan screening_plan(const Device& device, Mode mode, const std::string& reference,
                              Effort effort) {
  EvaluationPlan plan;
  plan.stage = "screen";
  plan.quick_proof = true;
  plan.measure = options_for(device, mode);
  plan.measure.rounds = 3;
  plan.measure.burst_seconds = device.kind == DeviceKind::cuda ? 0.003 : 0.006;
  if (is_hasty(effort)) plan.measure.burst_seconds /= 2;
  plan.measure.self_pair = false;
  plan.measure.min_calls = 1;
  if (!reference.empty()) plan.baselines = {reference};
  return plan;
}

bool meets_power_cap(const Problem& problem, const Device& device) {
  constexpr double kLeastFlop = 1e10;
  return device.kind == DeviceKind::cuda && problem.flop() >= kLeastFlop;
}

std::size_t contestants(const Problem& problem, const Device& device, Mode mode) {
  return is_warm(problem, device, mode) ? 8 : 0;
}

std::size_t finalists(Effort effort) {
  return is_hasty(effort) ? 1 : 3;
}

EvaluationPlan contest_plan(const Device& device, Mode mode, const std::string& reference) {
  EvaluationPlan plan;
  plan.stage = "contest";
  plan.measure = options_for(device, mode);
  plan.measure.rounds = 4;
  plan.measure.burst_seconds = 0.005;
  plan.measure.warm_seconds = kSettleSeconds;
  plan.measure.mirrored = true;
  plan.measure.self_pair = false;
  if (!reference.empty()) plan.baselines = {reference};
  return plan;
}

EvaluationPlan final_plan(const Problem& problem, const Device& device, Mode mode,
                          const std::vector<std::string>& baselines, Effort effort) {
  const bool warm = is_warm(problem, device, mode);
  EvaluationPlan plan;
  plan.measure = options_for(device, mode);
  if (device.kind == DeviceKind::cpu) {
    plan.measure.rounds = 9;
    plan.measure.burst_seconds = 0.008;
  }
  if (warm) plan.measure.warm_seconds = kSettleSeconds;
  if (warm && mode != Mode::sustained) {
    // While a round's checks run the card rests, and the bursts behind them are faster.
    plan.measure.mirrored = true;
    if (!is_hasty(effort)) plan.measure.burst_seconds /= 2;
  }
  if (is_hasty(effort)) {
    plan.measure.rounds = 5;
    plan.measure.burst_seconds /= 4;
  }
  if (effort == Effort::scout) {
    plan.measure.rounds = 3;  // too few for a verdict, so noise need not be known
    if (!warm) plan.measure.burst_seconds /= 2;
    plan.measure.self_pair = false;
  }
  plan.baselines = baselines;
  // Its process and its operands cost seconds, which a sweep has not; and its bursts are short.
  if (device.kind == DeviceKind::cuda && effort == Effort::normal && mode != Mode::sustained) {
    plan.unpaired = {kTorchColumn};
  }
  return plan;
}

}  // namespace tilewright
