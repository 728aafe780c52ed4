// SPDX-License-Identifier: Apache-2.0
// See serve.h.
#include "train/serve.h"

#include "learn/trainer.h"
#include "policy/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <vector>

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostSamples = 4096;
constexpr std::int64_t kMostSteps = 100;
constexpr int kWanted = 9;            // decile
constexpr double kOnlineRate = 1e-4;  // of updates during a search
constexpr std::size_t kArchiveTexts = 8;
constexpr double kArchiveWeight = 0.1;
constexpr std::size_t kEnoughScores = 8;

Json refusal(const Error& error) {
  return {{"ok", false}, {"error", error.message}, {"hint", error.hint}};
}

}  // namespace

struct LearnerServer::State {
  explicit State(std::string where) : compute(std::move(where)) {}

  // What was written for one prompt, by the program's text.
  struct Written {
    std::size_t prompt = 0;
    SampledText text;
  };

  std::string compute;
  std::optional<LanguageModel> model;
  std::optional<Trainer> trainer;
  std::optional<Problem> problem;
  Device device;
  std::optional<TokenMask> mask;
  std::vector<std::vector<int>> prompts;
  std::map<std::string, Written> written;  // the latest time that the program was written
  std::size_t learned = 0;                 // trials that an update has seen
  EntropyControl entropy;
  bool done = false;

  Result<Json> hello(const Json&) {
    return Json{{"protocol", kLearnerProtocol},
                {"language", kProgramLanguageVersion},
                {"vocabulary", vocabulary_hash()},
                {"library", learning_library()}};
  }

  Result<Json> load(const Json& request) {
    std::string notes;
    Result<LanguageModel> loaded =
        LanguageModel::load(request.at("path").get<std::string>(), compute, &notes);
    if (!loaded) return tl::unexpected(loaded.error());
    trainer.reset();
    model.reset();
    model.emplace(*std::move(loaded));
    TrainOptions options;
    options.learning_rate = kOnlineRate;
    options.warmup_steps = 0;
    trainer.emplace(*model, options);
    forget();
    return Json{{"parameters", model->parameters()}, {"notes", notes}};
  }

  void forget() {
    prompts.clear();
    written.clear();
    learned = 0;
  }

  Result<Json> begin(const Json& request) {
    Result<Problem> asked = parse_problem(request.at("problem").get<std::string>());
    if (!asked) return tl::unexpected(asked.error());
    Result<Device> described = device_from_json(request.at("device").dump());
    if (!described) return tl::unexpected(described.error());
    std::optional<TokenMask> allowed;
    if (request.contains("only")) {
      std::vector<Program> programs;
      for (const Json& text : request.at("only")) {
        Result<Program> program = parse_program(text.get<std::string>());
        if (!program) return tl::unexpected(program.error());
        programs.push_back(*std::move(program));
      }
      allowed.emplace(*asked, *described, programs);
    } else {
      allowed.emplace(*asked, *described);
    }
    if (!allowed->any()) {
      return fail(ErrorCode::negative, fmt::format("{}: no legal program", to_text(*asked)));
    }
    problem = *asked;
    device = *std::move(described);
    mask = std::move(allowed);
    forget();
    return Json::object();
  }

  Result<Json> sample(const Json& request) {
    if (!model) return fail(ErrorCode::usage, "sample: nothing was loaded");
    if (!problem) return fail(ErrorCode::usage, "sample: no problem was begun");
    const std::size_t n = request.at("n").get<std::size_t>();
    const double temperature = request.value("temperature", 1.0);
    if (n < 1 || n > kMostSamples || !(temperature > 0.01) || !(temperature < 100)) {
      return fail(ErrorCode::usage, "sample: n is 1 to 4096, the temperature 0.01 to 100");
    }
    Prompt prompt{*problem, device};
    prompt.want_decile = kWanted;
    const Json shown = request.value("exemplars", Json::array());
    for (const Json& example : shown) {
      if (prompt.exemplars.size() == kMostExemplars) break;
      Result<Program> program = parse_program(example.at("program").get<std::string>());
      if (!program) return tl::unexpected(program.error());
      std::optional<Profile> profile;
      if (example.contains("profile")) {
        Result<Profile> read = profile_from_json(example["profile"].dump());
        if (!read) return tl::unexpected(read.error());
        profile = *std::move(read);
      }
      prompt.exemplars.push_back(
          {*std::move(program), example.at("score").get<double>(), profile_bins(profile)});
    }
    prompts.push_back(encode(prompt));
    const TextRequest text{prompts.back(), &*mask, false, n};
    SampleOptions options;
    options.temperature = temperature;
    options.seed = request.value("seed", std::uint64_t{1});
    Result<std::vector<SampledText>> texts = model->sample(std::span(&text, 1), options);
    if (!texts) return tl::unexpected(texts.error());
    Json programs = Json::array(), logprobs = Json::array();
    for (SampledText& one : *texts) {
      std::string line = one.program.text();
      programs.push_back(line);
      logprobs.push_back(one.log_probability());
      // An update takes its ratio from probabilities at temperature 1; others are off-policy.
      if (temperature == 1) {
        written.insert_or_assign(std::move(line), Written{prompts.size() - 1, std::move(one)});
      }
    }
    return Json{{"programs", programs}, {"logprobs", logprobs}};
  }

  // Trials of the problem, all so far, in the order of their ends. New ones that the model wrote
  // make one group for each prompt.
  Result<Json> learn(const Json& request) {
    if (!model || !problem) return fail(ErrorCode::usage, "learn: nothing was loaded and begun");
    const std::int64_t steps =
        std::clamp<std::int64_t>(request.value("steps", std::int64_t{1}), 1, kMostSteps);
    std::vector<Trial> trials;
    for (const Json& one : request.at("trials")) {
      Result<Trial> trial = trial_from_json(one.dump());
      if (!trial) return tl::unexpected(trial.error());
      trials.push_back(*std::move(trial));
    }
    const RewardBasis basis;
    std::vector<double> known;
    for (const Trial& trial : trials) {
      if (trial.outcome == Outcome::ok && trial.time_us > 0) {
        known.push_back(raw_score(trial, basis));
      }
    }
    if (known.size() < kEnoughScores) known.clear();
    std::map<std::size_t, TextGroup> groups;
    std::map<std::size_t, std::vector<Trial>> of_group;
    std::size_t skipped = 0;
    for (std::size_t i = std::min(learned, trials.size()); i < trials.size(); ++i) {
      const auto at = written.find(trials[i].program);
      if (at == written.end()) {
        ++skipped;
        continue;
      }
      const Written& w = at->second;
      TextGroup& group = groups[w.prompt];
      group.prompt = prompts[w.prompt];
      group.texts.push_back({w.text.continuation, 0, w.text.log_probabilities});
      of_group[w.prompt].push_back(trials[i]);
    }
    learned = trials.size();
    std::vector<TextGroup> list;
    for (auto& [prompt, group] : groups) {
      const std::vector<double> rewards = group_rewards(of_group[prompt], known, basis);
      for (std::size_t i = 0; i < rewards.size(); ++i) group.texts[i].reward = rewards[i];
      list.push_back(std::move(group));
    }
    ReinforceOptions options;
    options.epochs = static_cast<int>(steps);
    options.archive_weight = kArchiveWeight;
    options.entropy = &entropy;
    const Result<ReinforceReport> report = trainer->reinforce(list, best_texts(trials), options);
    if (!report) return tl::unexpected(report.error());
    return Json{{"steps", trainer->steps()}, {"skipped", skipped}};
  }

  [[nodiscard]] std::vector<WeightedText> best_texts(std::vector<Trial> trials) const {
    std::erase_if(trials, [](const Trial& trial) {
      return trial.outcome != Outcome::ok || !(trial.time_us > 0);
    });
    std::ranges::stable_sort(trials, {}, &Trial::time_us);
    trials.resize(std::min(kArchiveTexts, (trials.size() + 9) / 10));
    std::vector<WeightedText> out;
    for (const Trial& trial : trials) {
      const Result<Program> program = parse_program(trial.program);
      if (!program) continue;
      Prompt prompt{*problem, device};
      prompt.want_decile = kWanted;
      out.push_back(weighted(learning_text(prompt, std::nullopt, *program), 0));
    }
    return out;
  }

  Result<Json> save(const Json& request) {
    if (!model) return fail(ErrorCode::usage, "save: nothing was loaded");
    if (Status s = model->save(request.at("path").get<std::string>()); !s) {
      return tl::unexpected(s.error());
    }
    return Json::object();
  }

  Result<Json> quit(const Json&) {
    done = true;
    return Json::object();
  }
};

LearnerServer::LearnerServer(std::string compute)
    : state_(std::make_unique<State>(std::move(compute))) {}
LearnerServer::~LearnerServer() = default;

bool LearnerServer::done() const {
  return state_->done;
}

std::string LearnerServer::answer(std::string_view line) {
  using Handler = Result<Json> (State::*)(const Json&);
  constexpr std::array<std::pair<std::string_view, Handler>, 7> kAsks = {{
      {"hello", &State::hello},
      {"load", &State::load},
      {"begin", &State::begin},
      {"sample", &State::sample},
      {"learn", &State::learn},
      {"save", &State::save},
      {"quit", &State::quit},
  }};
  Json out;
  try {
    const Json request = Json::parse(line);
    const std::string ask = request.at("ask").get<std::string>();
    const auto known = std::ranges::find(kAsks, ask, [](const auto& a) { return a.first; });
    if (known == kAsks.end()) {
      out = refusal({ErrorCode::usage, fmt::format("unknown ask '{}'", ask),
                     "hello, load, begin, sample, learn, save, quit"});
    } else if (Result<Json> result = ((*state_).*(known->second))(request); result) {
      out = *std::move(result);
      out["ok"] = true;
    } else {
      out = refusal(result.error());
    }
  } catch (const Json::exception& error) {
    out = refusal({ErrorCode::usage, fmt::format("a request that cannot be read: {}", error.what()),
                   "one JSON object a line"});
  } catch (const std::exception& error) {
    out = refusal({ErrorCode::internal, fmt::format("it failed: {}", error.what()), {}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tilewright
