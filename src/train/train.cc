// SPDX-License-Identifier: Apache-2.0
// See train.h.
#include "train/train.h"

#include "base/file.h"
#include "base/text.h"
#include "train/rollout.h"
#include "train/text_stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>

namespace tilewright {
namespace {

using Json = nlohmann::json;
using Fault = std::function<bool(std::string_view, std::int64_t)>;

constexpr std::array<StageInfo, 6> kStages = {{
    {"corpus", "", "random legal and expert programs with the cost model's score, recorded trials"},
    {"pretrain", "corpus", "next words of the whole corpus"},
    {"sft", "pretrain", "next words of the best tenth of what was measured"},
    {"general", "sft",
     "reinforcement on tables of operations that are no products, if there are any"},
    {"rl", "general", "reinforcement on tables of shapes that are not held out"},
    {"ei", "general", "the control: expert iteration with as many measurements"},
}};

const StageInfo* find_stage(std::string_view name) {
  const auto at = std::ranges::find(kStages, name, &StageInfo::name);
  return at == kStages.end() ? nullptr : &*at;
}

Json to_json(const Numbers& numbers) {
  Json out = Json::object();
  for (const auto& [name, value] : numbers) out[name] = value;
  return out;
}

class Run {
 public:
  Run(const TrainInput& input, const Fault& fault) : input_(input), fault_(fault) {}

  Status open() {
    const std::filesystem::path path = input_.folder / "run.json";
    std::error_code error;
    const std::string plan = to_text(input_.plan);
    if (std::filesystem::exists(path, error)) {
      const Result<std::string> text = read_file(path);
      if (!text) return tl::unexpected(text.error());
      run_ = Json::parse(*text, nullptr, false);
      if (!run_.is_object() || !run_.contains("stages") || !run_["stages"].is_object()) {
        return fail(ErrorCode::refused, fmt::format("{} is no record of a run", path.string()));
      }
      if (run_.value("plan", "") != plan) {
        return fail(ErrorCode::usage,
                    fmt::format("{} holds a run with other numbers", input_.folder.string()),
                    "name another folder with --out, or the same numbers (run.json lists them)");
      }
      return {};
    }
    run_ = {{"schema_version", 1}, {"plan", plan}, {"stages", Json::object()}};
    return write();
  }

  Result<StageOutcome> stage(const std::string& name) {
    const StageInfo& info = *find_stage(name);
    StageOutcome outcome{name, {}, 0, false};
    if (const auto done = run_["stages"].find(name); done != run_["stages"].end()) {
      outcome.earlier = true;
      outcome.gate.passed = done->value("passed", false);
      outcome.gate.reason = done->value("reason", "");
      outcome.seconds = done->value("seconds", 0.0);
      const Json numbers = done->value("numbers", Json::object());
      for (const auto& [key, value] : numbers.items()) {
        if (value.is_number()) outcome.gate.numbers.emplace_back(key, value.get<double>());
      }
      return outcome;
    }
    if (!info.after.empty() && !run_["stages"].contains(std::string(info.after))) {
      return fail(
          ErrorCode::usage,
          fmt::format("stage {} begins with the weights of {}, which was not run in {}", name,
                      info.after, input_.folder.string()),
          fmt::format("tilewright train {} {} --out {}", info.after, name, input_.folder.string()));
    }
    const auto begun = std::chrono::steady_clock::now();
    Result<Gate> gate = name == "corpus" ? make_corpus() : learn(name, info);
    if (!gate) return tl::unexpected(gate.error());
    outcome.gate = *std::move(gate);
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    run_["stages"][name] = {{"passed", outcome.gate.passed},
                            {"reason", outcome.gate.reason},
                            {"seconds", outcome.seconds},
                            {"numbers", to_json(outcome.gate.numbers)}};
    if (Status s = choose(); !s) return tl::unexpected(s.error());
    if (Status s = write(); !s) return tl::unexpected(s.error());
    return outcome;
  }

  [[nodiscard]] std::string best() const { return run_.value("best", ""); }

 private:
  Status write() const {
    return write_file_atomically(input_.folder / "run.json", run_.dump(1) + "\n");
  }
  [[nodiscard]] std::filesystem::path weights_of(std::string_view stage) const {
    return input_.folder / fmt::format("{}.safetensors", stage);
  }
  void say(const std::string& line) const {
    if (input_.log) input_.log(line);
  }

  Result<Gate> make_corpus() {
    CorpusOptions options;
    options.device = input_.plan.device;
    options.problems = training_shapes(options.device, input_.plan.shapes, input_.plan.seed);
    std::ranges::copy(training_operations(options.device, input_.plan.operations, input_.plan.seed),
                      std::back_inserter(options.problems));
    options.random_programs = input_.plan.random_programs;
    options.seed = input_.plan.seed;
    const Corpus corpus = Corpus::make(options, trials_to_learn_from());
    if (Status s = write_file_atomically(input_.folder / "corpus.txt", corpus.text()); !s) {
      return tl::unexpected(s.error());
    }
    Gate gate;
    const std::optional<double> ranks = corpus.rank_correlation();
    const auto count = [&](ExampleSource source) {
      return static_cast<double>(corpus.count(source));
    };
    gate.numbers = {{"shapes", static_cast<double>(corpus.shapes().size())},
                    {"analytic", count(ExampleSource::analytic)},
                    {"expert", count(ExampleSource::expert)},
                    {"measured", count(ExampleSource::measured)}};
    if (ranks) gate.numbers.emplace_back("rank_correlation", *ranks);
    gate.passed = !corpus.shapes().empty() && (!ranks || *ranks > 0);
    gate.reason = ranks ? fmt::format(
                              "no held-out shape inside; the cost model's ranks correlate "
                              "with the measured ones by {:.2f}",
                              *ranks)
                        : "no held-out shape inside; too few trials to compare with the cost model";
    return gate;
  }

  // Tables for choosing between stages are of no use once they were learned by heart: no trial of
  // their shapes, in any type or layout, is in the corpus.
  [[nodiscard]] std::vector<Trial> trials_to_learn_from() const {
    std::set<std::array<std::int64_t, 3>> left_out;
    for (const Worlds* worlds : {&input_.worlds, &input_.operations}) {
      for (const ReplayWorld& world : worlds->choice) {
        left_out.insert({world.problem.m, world.problem.n, world.problem.k});
      }
    }
    std::vector<Trial> out;
    for (const Trial& trial : input_.trials) {
      const Result<Problem> problem = parse_problem(trial.problem);
      if (!problem || left_out.contains({problem->m, problem->n, problem->k})) continue;
      out.push_back(trial);
    }
    return out;
  }

  Result<Corpus> corpus() const {
    const Result<std::string> text = read_file(input_.folder / "corpus.txt");
    if (!text) return tl::unexpected(text.error());
    return Corpus::parse(*text, input_.plan.device);
  }

  Result<LanguageModel> weights_before(const StageInfo& info) const {
    const TrainPlan& plan = input_.plan;
    if (info.after != "corpus") return LanguageModel::load(weights_of(info.after), plan.compute);
    const Result<ModelShape> shape = model_shape(plan.size);
    if (!shape) return tl::unexpected(shape.error());
    return LanguageModel::create(*shape, plan.seed, plan.compute);
  }

  [[nodiscard]] TrainOptions options_of(const std::string& name) const {
    const TrainPlan& plan = input_.plan;
    TrainOptions options;
    if (name == "pretrain" || name == "sft") {
      options.learning_rate = name == "sft" ? plan.sft_rate : plan.pretrain_rate;
      options.total_steps = name == "sft" ? plan.sft_steps : plan.pretrain_steps;
      options.warmup_steps = std::min<std::int64_t>(50, options.total_steps / 10);
    } else {
      options.learning_rate = plan.rl_rate;
      options.warmup_steps = 5;
    }
    return options;
  }

  Result<Gate> learn(const std::string& name, const StageInfo& info) {
    Result<LanguageModel> model = weights_before(info);
    if (!model) return tl::unexpected(model.error());
    const Worlds& worlds = name == "general" ? input_.operations : input_.worlds;
    if (name == "general" && worlds.train.empty()) {
      if (Status s = model->save(weights_of(name)); !s) return tl::unexpected(s.error());
      return Gate{true, "nothing was learned: no table of an operation besides gemm", {}};
    }
    say(fmt::format("{}: {} parameters on {}", name, model->parameters(), model->device()));
    const LanguageModel before = model->clone();
    Trainer trainer(*model, options_of(name));
    std::unique_ptr<TrainingStage> stage;
    Corpus texts;
    if (name == "pretrain" || name == "sft") {
      Result<Corpus> read = corpus();
      if (!read) return tl::unexpected(read.error());
      texts = *std::move(read);
      stage = make_text_stage({name == "sft", &*model, &trainer, &input_, &texts});
    } else {
      stage = make_rollout_stage(
          {info.name, name != "ei", &worlds, &*model, &before, &trainer, &input_});
    }
    const Result<Gate> gate =
        run_stage(*stage, trainer, {input_.folder / name, input_.log, input_.stop, fault_});
    if (!gate) return tl::unexpected(gate.error());
    if (Status s = model->save(weights_of(name)); !s) return tl::unexpected(s.error());
    return *gate;
  }

  // The stage whose best of 16 is best on the tables for choosing; a stage that made it worse than
  // it began is not taken.
  Status choose() {
    std::string best;
    double quality = 0;
    const auto offer = [&](std::string_view name, double value) {
      if (!best.empty() && value <= quality) return;
      best = name;
      quality = value;
    };
    const Json& stages = run_["stages"];
    for (const std::string_view name : {"rl", "ei"}) {
      const auto at = stages.find(std::string(name));
      if (at == stages.end()) continue;
      const Json numbers = at->value("numbers", Json::object());
      const double after = numbers.value("choice_best16", 0.0);
      offer("general", after - numbers.value("choice_best16_gain", 0.0));
      offer(name, after);
    }
    // What other operations taught is judged with rl, on products.
    for (const std::string_view name : {"sft", "pretrain"}) {
      if (best.empty() && stages.contains(std::string(name))) best = name;
    }
    if (best.empty()) return {};
    const Result<std::string> bytes = read_file(weights_of(best));
    if (!bytes) return tl::unexpected(bytes.error());
    run_["best"] = best;
    return write_file_atomically(input_.folder / "weights.safetensors", *bytes);
  }

  const TrainInput& input_;
  const Fault& fault_;
  Json run_;
};

}  // namespace

std::span<const StageInfo> training_stages() {
  return kStages;
}

Result<std::vector<std::string>> stages_of(std::span<const std::string> words) {
  std::vector<std::string> out;
  const bool all = std::ranges::find(words, "all") != words.end();
  for (const StageInfo& info : kStages) {
    if (all || std::ranges::find(words, info.name) != words.end()) out.emplace_back(info.name);
  }
  for (const std::string& word : words) {
    if (word == "all" || find_stage(word) != nullptr) continue;
    std::vector<std::string_view> known = {"all"};
    for (const StageInfo& info : kStages) known.push_back(info.name);
    return fail(ErrorCode::usage, fmt::format("there is no stage '{}'", word),
                fmt::format("stages: {}", fmt::join(known, ", ")));
  }
  if (out.empty()) return fail(ErrorCode::usage, "no stage was named", "such as: all");
  return out;
}

Result<TrainResult> train(std::span<const std::string> stages, const TrainInput& input,
                          const Fault& fault) {
  Run run(input, fault);
  if (Status s = run.open(); !s) return tl::unexpected(s.error());
  TrainResult result;
  for (const std::string& name : stages) {
    Result<StageOutcome> outcome = run.stage(name);
    if (!outcome) return tl::unexpected(outcome.error());
    if (input.log) {
      input.log(fmt::format("{}: gate {}: {}{}", name, outcome->gate.passed ? "passed" : "FAILED",
                            outcome->gate.reason, outcome->earlier ? " (earlier)" : ""));
    }
    result.stages.push_back(*std::move(outcome));
    result.best = run.best();
    const bool last = name == stages.back() || name == "rl";  // ei does not build on rl
    if (!result.stages.back().gate.passed && !input.plan.force && !last) {
      return fail(
          ErrorCode::negative,
          fmt::format("the gate of stage {} failed: {}", name, result.stages.back().gate.reason),
          fmt::format("{}/run.json has its numbers; --force goes on anyway",
                      input.folder.string()));
    }
  }
  return result;
}

}  // namespace tilewright
