// SPDX-License-Identifier: Apache-2.0
// See request.h.
#include "train/request.h"

#include "learn/model.h"
#include "record/database.h"
#include "train/train.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLeastPrograms = 16;  // of a table to learn on

struct PlanNumber {
  std::string_view name;
  double least, most;
  void (*set)(TrainPlan& plan, double value);
};

template <auto member>
void assign(TrainPlan& plan, double value) {
  auto& field = plan.*member;
  field = static_cast<std::decay_t<decltype(field)>>(value);
}

constexpr PlanNumber kNumbers[] = {
    {"shapes", 0, 1e6, assign<&TrainPlan::shapes>},
    {"random_programs", 0, 1e6, assign<&TrainPlan::random_programs>},
    {"operations", 0, 1e6, assign<&TrainPlan::operations>},
    {"pretrain_steps", 1, 1e7, assign<&TrainPlan::pretrain_steps>},
    {"sft_steps", 1, 1e7, assign<&TrainPlan::sft_steps>},
    {"texts_per_step", 1, 1e5, assign<&TrainPlan::texts_per_step>},
    {"pretrain_rate", 1e-7, 1, assign<&TrainPlan::pretrain_rate>},
    {"sft_rate", 1e-7, 1, assign<&TrainPlan::sft_rate>},
    {"prompt_weight", 0, 1, assign<&TrainPlan::prompt_weight>},
    {"iterations", 1, 1e6, assign<&TrainPlan::iterations>},
    {"prompts", 1, 1e4, assign<&TrainPlan::prompts>},
    {"samples", 2, 1e4, assign<&TrainPlan::samples>},
    {"off_policy", 0, 1e4, assign<&TrainPlan::off_policy>},
    {"exemplar_share", 0, 1, assign<&TrainPlan::exemplar_share>},
    {"temperature", 0.05, 5, assign<&TrainPlan::temperature>},
    {"rl_rate", 1e-7, 1, assign<&TrainPlan::rl_rate>},
    {"epochs", 1, 100, assign<&TrainPlan::epochs>},
    {"kl_weight", 0, 10, assign<&TrainPlan::kl_weight>},
    {"archive_weight", 0, 10, assign<&TrainPlan::archive_weight>},
    {"renew_every", 1, 1e6, assign<&TrainPlan::renew_every>},
    {"expert_steps", 1, 1e4, assign<&TrainPlan::expert_steps>},
    {"least_legal", 0, 1, assign<&TrainPlan::least_legal>},
    {"save_every", 1, 1e6, assign<&TrainPlan::save_every>},
    {"judged", 2, 1e5, assign<&TrainPlan::judged>},
    {"unmasked", 0, 1e5, assign<&TrainPlan::unmasked>},
    {"grpo", 0, 1,
     [](TrainPlan& plan, double value) {
       plan.advantage = value > 0.5 ? AdvantageKind::group : AdvantageKind::leave_one_out;
     }},
    {"eq3", 0, 1, [](TrainPlan& plan, double value) { plan.basis.eq3 = value > 0.5; }},
};

Result<std::vector<Trial>> trials_in(const std::string& path, const std::string& mode) {
  if (path.ends_with(".jsonl") || path.ends_with(".gz")) return read_trials(path);
  Result<Database> database = Database::open(path, Database::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  TrialQuery query;
  query.mode = mode;
  return database->select(query);
}

// A reward is a ratio to a baseline. Where nothing was timed beside a program, the table's median
// stands in for one.
void give_reference(std::vector<Trial>& trials) {
  std::map<std::string, std::vector<double>> times;
  for (const Trial& trial : trials) {
    if (trial.outcome == Outcome::ok && trial.time_us > 0) {
      times[trial.problem].push_back(trial.time_us);
    }
  }
  for (auto& [problem, list] : times) std::ranges::sort(list);
  for (Trial& trial : trials) {
    if (trial.outcome != Outcome::ok || trial.reference_us() > 0) continue;
    const std::vector<double>& list = times[trial.problem];
    if (list.empty()) continue;
    trial.baselines["table_median"].time_us = list[list.size() / 2];
  }
}

}  // namespace

std::string default_compute() {
  return learning_library().find("CUDA device") != std::string::npos ? "cuda" : "cpu";
}

std::string plan_numbers() {
  std::string out;
  for (const PlanNumber& number : kNumbers) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", number.name);
  }
  return out;
}

Status set_number(TrainPlan& plan, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  const auto known = std::ranges::find(kNumbers, std::string_view(name), &PlanNumber::name);
  if (known == std::end(kNumbers)) {
    return fail(ErrorCode::usage, fmt::format("--set: unknown number '{}'", name),
                fmt::format("known: {}", plan_numbers()));
  }
  const std::string digits = equals == std::string::npos ? "" : assignment.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) ||
      value < known->least || value > known->most) {
    return fail(ErrorCode::usage, fmt::format("--set {}: '{}' is not allowed", name, digits),
                fmt::format("a number from {} to {}", known->least, known->most));
  }
  known->set(plan, value);
  return {};
}

Result<int> train_by_request(const std::string& request, const std::function<bool()>& stop) {
  TrainInput input;
  std::vector<std::string> words;
  std::string mode;
  bool quiet = false;
  std::vector<Trial> trials;
  try {
    const Json all = Json::parse(request);
    Result<TrainPlan> plan = plan_for(all.at("size").get<std::string>());
    if (!plan) return tl::unexpected(plan.error());
    input.plan = *std::move(plan);
    Result<Device> device = device_from_json(all.at("device").dump());
    if (!device) return tl::unexpected(device.error());
    input.plan.device = *std::move(device);
    input.plan.seed = all.value("seed", std::uint64_t{1});
    input.plan.compute = all.value("compute", "auto");
    if (input.plan.compute == "auto") input.plan.compute = default_compute();
    input.plan.force = all.value("force", false);
    quiet = all.value("quiet", false);
    for (const Json& assignment : all.value("set", Json::array())) {
      if (Status s = set_number(input.plan, assignment.get<std::string>()); !s) {
        return tl::unexpected(s.error());
      }
    }
    input.folder = all.at("out").get<std::string>();
    words = all.at("stages").get<std::vector<std::string>>();
    mode = all.value("mode", "offline");
    for (const Json& path : all.value("trials", Json::array())) {
      Result<std::vector<Trial>> some = trials_in(path.get<std::string>(), mode);
      if (!some) return tl::unexpected(some.error());
      std::ranges::move(*some, std::back_inserter(trials));
    }
  } catch (const Json::exception& error) {
    return fail(ErrorCode::usage, fmt::format("a request that cannot be read: {}", error.what()),
                "`tilewright train` writes it");
  }
  const Result<std::vector<std::string>> stages = stages_of(words);
  if (!stages) return tl::unexpected(stages.error());
  if (!trials.empty()) {
    Result<std::vector<Trial>> selected =
        select_trials(std::move(trials), input.plan.device.fingerprint(), mode);
    if (!selected) return tl::unexpected(selected.error());
    input.trials = *std::move(selected);
  }
  give_reference(input.trials);
  std::vector<std::string> left_out;
  std::vector<ReplayWorld> worlds =
      make_worlds(input.trials, input.plan.device, kLeastPrograms, &left_out);
  const auto others = std::ranges::stable_partition(
      worlds, [](const ReplayWorld& world) { return world.problem.is_gemm(); });
  input.operations =
      divide({std::make_move_iterator(others.begin()), std::make_move_iterator(others.end())});
  worlds.erase(others.begin(), worlds.end());
  input.worlds = divide(std::move(worlds));
  input.stop = stop;
  if (!quiet) {
    input.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    input.log(fmt::format(
        "{}; {} trials; tables of products: {} to learn on, {} to choose by, {} held "
        "out; of other operations: {}, {}, {}; {} too small",
        learning_library(), input.trials.size(), input.worlds.train.size(),
        input.worlds.choice.size(), input.worlds.held_out.size(), input.operations.train.size(),
        input.operations.choice.size(), input.operations.held_out.size(), left_out.size()));
  }
  const Result<TrainResult> result = train(*stages, input);
  if (!result) return tl::unexpected(result.error());
  for (const StageOutcome& stage : result->stages) {
    fmt::print("{:<9} {:<7} {:>7.1f} s  {}\n          {}\n", stage.stage,
               stage.gate.passed ? "passed" : "FAILED", stage.seconds, stage.gate.reason,
               line_of(stage.gate.numbers));
  }
  if (!result->best.empty()) {
    fmt::print("{} holds the weights of {}\n", (input.folder / "weights.safetensors").string(),
               result->best);
  }
  return result->stages.back().gate.passed ? 0 : static_cast<int>(ErrorCode::negative);
}

}  // namespace tilewright
