// SPDX-License-Identifier: Apache-2.0
// See rollout.h.
#include "train/rollout.h"

#include "policy/pool.h"
#include "train/archive.h"
#include "train/assess.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kStepsOfIteration = 10;  // an iteration costs as much: for checkpoints
constexpr std::size_t kEnoughScores = 8;        // known of a shape, before they smooth its rewards
constexpr int kBest = 9, kNearlyBest = 8;       // deciles that are asked for
constexpr double kAskNearly = 0.25;             // asking only for the best costs correctness
constexpr std::size_t kExemplars = 2;
constexpr std::size_t kArchiveTexts = 16;  // best programs that an update also learns

// A shape to learn on: what it may propose, as mask and as pool.
struct Field {
  const ReplayWorld* world;
  std::string text;
  TokenMask mask;
  std::unique_ptr<PolicyContext> context;  // the pool refers to it
  std::unique_ptr<Pool> pool;
};

struct Round {
  std::vector<std::size_t> fields;  // of each prompt
  std::vector<Prompt> prompts;
  std::vector<std::vector<SampledText>> texts;  // of each prompt
  std::vector<std::vector<Trial>> trials;
};

class RolloutRun final : public TrainingStage {
 public:
  explicit RolloutRun(const RolloutStage& what)
      : what_(what),
        plan_(what.input->plan),
        archive_(plan_.basis),
        measure_(what.input->measure ? what.input->measure : measure_in(what.worlds->train)) {}

  [[nodiscard]] std::string_view name() const override { return what_.name; }
  [[nodiscard]] std::int64_t steps() const override { return plan_.iterations; }
  [[nodiscard]] std::int64_t save_every() const override {
    return std::max<std::int64_t>(1, plan_.save_every / kStepsOfIteration);
  }

  Status begin() override {
    if (what_.worlds->train.empty()) {
      return fail(
          ErrorCode::negative, fmt::format("stage {}: there is no table to learn on", name()),
          "--trials with some dozens of programs for each shape; tilewright table makes one");
    }
    for (const ReplayWorld& world : what_.worlds->train) {
      auto context = std::make_unique<PolicyContext>();
      context->problem = world.problem;
      context->device = plan_.device;
      context->only = world.programs;
      auto pool = std::make_unique<Pool>(*context);
      TokenMask mask = world.programs
                           ? TokenMask(world.problem, plan_.device, world.programs->programs())
                           : TokenMask(world.problem, plan_.device);
      fields_.push_back(
          {&world, to_text(world.problem), std::move(mask), std::move(context), std::move(pool)});
    }
    return {};
  }

  Result<Numbers> step(std::int64_t number) override {
    Result<Round> round = play(number);
    if (!round) return tl::unexpected(round.error());
    Numbers numbers = describe(*round);
    Result<Numbers> learned = what_.reinforce ? reinforce(*round, number) : imitate(number);
    if (!learned) return tl::unexpected(learned.error());
    numbers.insert(numbers.end(), learned->begin(), learned->end());
    return numbers;
  }

  [[nodiscard]] std::string notes() const override {
    Json trials = Json::array();
    for (const std::string& line : lines_) trials.push_back(line);
    return Json{{"trials", trials}, {"entropy_weight", entropy_.weight}, {"measured", measured_}}
        .dump();
  }

  Status restore(const std::string& notes) override {
    const Json all = Json::parse(notes, nullptr, false);
    const auto off = [&] {
      return fail(ErrorCode::refused,
                  fmt::format("stage {}: the checkpoint's notes are off", name()));
    };
    if (!all.is_object() || !all.contains("trials") || !all["trials"].is_array()) return off();
    for (const Json& line : all["trials"]) {
      const Result<Trial> trial = trial_from_json(line.get<std::string>());
      if (!trial) return off();
      record(*trial);
    }
    entropy_.weight = all.value("entropy_weight", entropy_.weight);
    measured_ = all.value("measured", std::size_t{0});
    return {};
  }

  Result<Gate> gate() override {
    const Worlds& worlds = *what_.worlds;
    const bool held_out = !worlds.held_out.empty();
    std::vector<JudgedWorld> judged, choice;
    for (const ReplayWorld& world : held_out ? worlds.held_out : worlds.choice) {
      judged.emplace_back(world, plan_.device, plan_.basis);
    }
    for (const ReplayWorld& world : worlds.choice.empty() ? worlds.train : worlds.choice) {
      choice.emplace_back(world, plan_.device, plan_.basis);
    }
    Gate gate;
    gate.numbers = {{"measured", static_cast<double>(measured_)}};
    const auto compare = [&](const std::vector<JudgedWorld>& on,
                             const std::string& label) -> Result<MeanInterval> {
      const auto after = assess(*what_.model, on, plan_.device, plan_.judged, plan_.seed);
      if (!after) return tl::unexpected(after.error());
      const auto before = assess(*what_.before, on, plan_.device, plan_.judged, plan_.seed);
      if (!before) return tl::unexpected(before.error());
      std::vector<double> gain, reward, best, best_gain, entropy;
      for (std::size_t i = 0; i < on.size(); ++i) {
        gain.push_back((*after)[i].reward - (*before)[i].reward);
        best_gain.push_back((*after)[i].best16 - (*before)[i].best16);
        reward.push_back((*after)[i].reward);
        best.push_back((*after)[i].best16);
        entropy.push_back((*after)[i].entropy);
      }
      const MeanInterval mean = mean_interval(gain, plan_.seed);
      gate.numbers.insert(gate.numbers.end(),
                          {{label + "_gain", mean.value},
                           {label + "_gain_low", mean.low},
                           {label + "_gain_high", mean.high},
                           {label + "_reward", mean_interval(reward, plan_.seed).value},
                           {label + "_best16", mean_interval(best, plan_.seed).value},
                           {label + "_best16_gain", mean_interval(best_gain, plan_.seed).value},
                           {label + "_entropy", mean_interval(entropy, plan_.seed).value}});
      return mean;
    };
    const Result<MeanInterval> chosen = compare(choice, "choice");
    if (!chosen) return tl::unexpected(chosen.error());
    if (judged.empty()) {
      gate.passed = chosen->value > 0;
      gate.reason = "no held-out table to judge by: the gain is of shapes that were learned on";
      return gate;
    }
    const Result<MeanInterval> mean = compare(judged, held_out ? "held_out" : "judged");
    if (!mean) return tl::unexpected(mean.error());
    gate.passed = mean->low > 0;
    gate.reason =
        fmt::format("expected reward on {} {} tables {:+.3f} [{:+.3f}, {:+.3f}]", judged.size(),
                    held_out ? "held-out" : "other", mean->value, mean->low, mean->high);
    return gate;
  }

 private:
  void record(const Trial& trial) {
    if (!archive_.add(trial)) return;
    lines_.push_back(to_json(trial));
    const auto field = std::ranges::find(fields_, trial.problem, &Field::text);
    if (field != fields_.end()) field->pool->take_text(trial.program);
  }

  // Measures what is not known yet, each once; a trial for each program, in order.
  Result<std::vector<Trial>> measured(const Field& field, const std::vector<Program>& programs) {
    std::vector<Program> fresh;
    std::set<std::string> had;
    for (const Program& program : programs) {
      const std::string text = program.text();
      if (archive_.find(field.text, text) == nullptr && had.insert(text).second) {
        fresh.push_back(program);
      }
    }
    Result<std::vector<Trial>> trials = measure_(field.world->problem, fresh);
    if (!trials) return tl::unexpected(trials.error());
    measured_ += trials->size();
    for (const Trial& trial : *trials) record(trial);
    std::vector<Trial> out;
    for (const Program& program : programs) {
      const Trial* trial = archive_.find(field.text, program.text());
      if (trial == nullptr) {
        return fail(ErrorCode::internal, fmt::format("no trial of {}", program.text()));
      }
      out.push_back(*trial);
    }
    return out;
  }

  Prompt prompt_for(const Field& field, Rng& rng) const {
    Prompt prompt{field.world->problem, plan_.device};
    prompt.want_decile = rng.uniform() < kAskNearly ? kNearlyBest : kBest;
    if (rng.uniform() < plan_.exemplar_share) prompt.exemplars = exemplars(field, rng);
    return prompt;
  }

  std::vector<Exemplar> exemplars(const Field& field, Rng& rng, const std::string& but = {}) const {
    std::vector<const Archive::Entry*> known;
    std::vector<double> scores;
    double best = 0;
    for (const Archive::Entry* entry : archive_.of(field.text)) {
      if (!entry->ok || entry->trial.program == but) continue;
      best = best == 0 ? entry->trial.time_us : std::min(best, entry->trial.time_us);
      known.push_back(entry);
    }
    for (const Archive::Entry* entry : known) scores.push_back(score_of(entry->trial, best).value);
    std::vector<Exemplar> out;
    for (const std::size_t i : contrastive(scores, kExemplars, rng)) {
      out.push_back({known[i]->program, scores[i], profile_bins(known[i]->trial.profile)});
    }
    return out;
  }

  Result<Round> play(std::int64_t number) {
    Rng rng = rng_of(plan_.seed, name(), number);
    Round round;
    std::vector<std::size_t> order(fields_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (std::size_t i = 0; i < plan_.prompts; ++i) {
      round.fields.push_back(order[i % order.size()]);
      round.prompts.push_back(prompt_for(fields_[round.fields.back()], rng));
    }
    std::vector<TextRequest> requests;
    for (std::size_t i = 0; i < round.prompts.size(); ++i) {
      requests.push_back(
          {encode(round.prompts[i]), &fields_[round.fields[i]].mask, false, plan_.samples});
    }
    SampleOptions options;
    options.temperature = plan_.temperature;
    options.seed = plan_.seed;
    options.stream = rng.next64();
    Result<std::vector<SampledText>> texts = what_.model->sample(requests, options);
    if (!texts) return tl::unexpected(texts.error());
    round.texts.resize(round.prompts.size());
    for (SampledText& text : *texts) round.texts[text.request].push_back(std::move(text));
    // Smoothing is frozen before anything of this iteration is known.
    known_scores_.clear();
    for (const std::size_t at : round.fields) {
      known_scores_[at] = archive_.ok_scores(fields_[at].text);
    }
    for (std::size_t i = 0; i < round.prompts.size(); ++i) {
      const Field& field = fields_[round.fields[i]];
      std::vector<Program> programs;
      for (const SampledText& text : round.texts[i]) programs.push_back(text.program);
      Result<std::vector<Trial>> trials = measured(field, programs);
      if (!trials) return tl::unexpected(trials.error());
      round.trials.push_back(*std::move(trials));
      if (Status s = wander(field, rng); !s) return tl::unexpected(s.error());
    }
    return round;
  }

  // Programs that the model did not write: mutations of elites, uniform draws. They feed the
  // archive and nothing else.
  Status wander(const Field& field, Rng& rng) {
    std::vector<Program> programs;
    const std::vector<const Archive::Entry*> elites = archive_.elites(field.text);
    for (std::size_t i = 0; i < plan_.off_policy; ++i) {
      std::optional<Program> program;
      if (i % 2 == 0 && !elites.empty()) {
        program = field.pool->mutate(elites[rng.below(elites.size())]->program, rng);
      }
      if (!program) program = field.pool->sample(rng);
      if (program) programs.push_back(*std::move(program));
    }
    const Result<std::vector<Trial>> trials = measured(field, programs);
    if (!trials) return tl::unexpected(trials.error());
    return {};
  }

  std::vector<double> rewards_of(const Round& round, std::size_t i) const {
    std::vector<double> known = known_scores_.at(round.fields[i]);
    if (known.size() < kEnoughScores) known.clear();
    return group_rewards(round.trials[i], known, plan_.basis);
  }

  Numbers describe(const Round& round) {
    double reward = 0, failed = 0, quality = 0, right = 0, samples = 0;
    std::set<std::string> distinct;
    for (std::size_t i = 0; i < round.trials.size(); ++i) {
      const std::vector<double> rewards = rewards_of(round, i);
      for (std::size_t j = 0; j < rewards.size(); ++j) {
        const Trial& trial = round.trials[i][j];
        reward += rewards[j];
        samples += 1;
        distinct.insert(fmt::format("{}|{}", round.fields[i], trial.program));
        const Score score = score_of(trial, fields_[round.fields[i]].world->oracle_us);
        failed += score.ok ? 0 : 1;
        if (!score.ok) continue;
        quality += score.value;
        right += 1;
      }
    }
    samples = std::max(samples, 1.0);
    return {{"reward", reward / samples},
            {"log_speed", quality / std::max(right, 1.0)},
            {"failed", failed / samples},
            {"distinct", static_cast<double>(distinct.size()) / samples},
            {"measured", static_cast<double>(measured_)}};
  }

  // The best programs known, as texts: with exemplars as often as a prompt has them.
  std::vector<WeightedText> best_texts(std::size_t count, Rng& rng) const {
    std::vector<WeightedText> out;
    for (std::size_t tries = 0; out.size() < count && tries < 4 * count; ++tries) {
      const Field& field = fields_[rng.below(fields_.size())];
      const std::vector<const Archive::Entry*> best = archive_.best_decile(field.text);
      if (best.empty()) continue;
      const Archive::Entry& entry = *best[rng.below(best.size())];
      Prompt prompt{entry.problem, plan_.device};
      prompt.want_decile = kBest;
      if (rng.uniform() < plan_.exemplar_share) {
        prompt.exemplars = exemplars(field, rng, entry.trial.program);
      }
      out.push_back(weighted(learning_text(prompt, std::nullopt, entry.program), 0));
    }
    return out;
  }

  Result<Numbers> reinforce(const Round& round, std::int64_t number) {
    Rng rng = rng_of(plan_.seed, name(), number, 1);
    std::vector<TextGroup> groups;
    for (std::size_t i = 0; i < round.prompts.size(); ++i) {
      TextGroup group{encode(round.prompts[i]), {}};
      const std::vector<double> rewards = rewards_of(round, i);
      for (std::size_t j = 0; j < round.texts[i].size(); ++j) {
        const SampledText& text = round.texts[i][j];
        group.texts.push_back({text.continuation, rewards[j], {}});
      }
      groups.push_back(std::move(group));
    }
    if (number > 0 && number % plan_.renew_every == 0) what_.trainer->renew_reference();
    ReinforceOptions options;
    options.advantage = plan_.advantage;
    options.kl_weight = plan_.kl_weight;
    options.temperature = plan_.temperature;
    options.epochs = plan_.epochs;
    options.archive_weight = plan_.archive_weight;
    options.entropy = &entropy_;
    const std::vector<WeightedText> best =
        plan_.archive_weight > 0 ? best_texts(kArchiveTexts, rng) : std::vector<WeightedText>();
    const Result<ReinforceReport> report = what_.trainer->reinforce(groups, best, options);
    if (!report) return tl::unexpected(report.error());
    Numbers out = {{"flat", static_cast<double>(report->flat_groups)},
                   {"gradient", report->gradient_norm},
                   {"entropy_weight", report->entropy_weight}};
    if (!report->epochs.empty()) {
      const ObjectiveValue& first = report->epochs.front();
      const ObjectiveValue& last = report->epochs.back();
      out.insert(out.end(), {{"entropy", first.entropy},
                             {"kl", last.kl},
                             {"clipped", last.clipped},
                             {"ratio_low", last.ratio_low},
                             {"ratio_high", last.ratio_high}});
    }
    return out;
  }

  Result<Numbers> imitate(std::int64_t number) {
    double loss = 0;
    for (std::int64_t i = 0; i < plan_.expert_steps; ++i) {
      Rng rng = rng_of(plan_.seed, name(), number, 2 + static_cast<std::uint64_t>(i));
      const std::vector<WeightedText> texts = best_texts(plan_.prompts * plan_.samples, rng);
      if (texts.empty()) break;
      const Result<StepReport> report = what_.trainer->learn(texts);
      if (!report) return tl::unexpected(report.error());
      loss = report->loss;
    }
    return Numbers{{"loss", loss}};
  }

  RolloutStage what_;
  const TrainPlan& plan_;
  Archive archive_;
  Measure measure_;
  std::vector<Field> fields_;
  std::map<std::size_t, std::vector<double>> known_scores_;
  std::vector<std::string> lines_;  // all trials, as a checkpoint keeps them
  EntropyControl entropy_;
  std::size_t measured_ = 0;
};

}  // namespace

std::unique_ptr<TrainingStage> make_rollout_stage(const RolloutStage& what) {
  return std::make_unique<RolloutRun>(what);
}

}  // namespace tilewright
