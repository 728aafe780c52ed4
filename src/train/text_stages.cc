// SPDX-License-Identifier: Apache-2.0
// See text_stages.h.
#include "train/text_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::size_t kKeptEvery = 16;    // shapes: one of so many is for checking
constexpr std::size_t kCheckTexts = 128;  // loss on others is looked at with so many at most
constexpr std::size_t kCheckSteps = 4;    // and at most as many as so many steps learn
constexpr std::size_t kMostWords = 64;    // of a text without mask that finds no end
constexpr std::int64_t kLooks = 8;        // at the loss on others, during the stage
constexpr double kFlat = 1.02;            // at its end, against its best

class TextStageRun final : public TrainingStage {
 public:
  explicit TextStageRun(const TextStage& what)
      : what_(what), plan_(what.input->plan), parts_(what.corpus->apart(kKeptEvery)) {
    options_.best_only = what.best_only;
  }

  [[nodiscard]] std::string_view name() const override {
    return what_.best_only ? "sft" : "pretrain";
  }
  [[nodiscard]] std::int64_t steps() const override {
    return what_.best_only ? plan_.sft_steps : plan_.pretrain_steps;
  }
  [[nodiscard]] std::int64_t save_every() const override { return plan_.save_every * 4; }

  Status begin() override {
    Rng rng = rng_of(plan_.seed, "check", 0);
    const Corpus& others = parts_.second.shapes().empty() ? parts_.first : parts_.second;
    const std::size_t count = std::min(kCheckTexts, kCheckSteps * plan_.texts_per_step);
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<LearningText> text = draw_learning_text(others, options_, rng);
      if (text) check_.push_back(weighted(*text, 0));
    }
    if (check_.empty()) {
      return fail(ErrorCode::negative, fmt::format("stage {}: the corpus has no text", name()),
                  "--trials names recorded trials; --shapes asks for more random programs");
    }
    Result<StepReport> before = what_.trainer->evaluate(check_);
    if (!before) return tl::unexpected(before.error());
    first_ = best_ = last_ = before->loss;
    return {};
  }

  Result<Numbers> step(std::int64_t number) override {
    Rng rng = rng_of(plan_.seed, name(), number);
    std::vector<WeightedText> texts;
    for (std::size_t i = 0; i < plan_.texts_per_step; ++i) {
      const std::optional<LearningText> text = draw_learning_text(parts_.first, options_, rng);
      if (!text) break;
      texts.push_back(weighted(*text, what_.best_only ? 0 : plan_.prompt_weight));
    }
    const Result<StepReport> report = what_.trainer->learn(texts);
    if (!report) return tl::unexpected(report.error());
    tokens_ += static_cast<double>(report->tokens);
    const std::int64_t every = std::max<std::int64_t>(1, steps() / kLooks);
    if ((number + 1) % every == 0 || number + 1 == steps()) {
      const Result<StepReport> look = what_.trainer->evaluate(check_);
      if (!look) return tl::unexpected(look.error());
      last_ = look->loss;
      best_ = std::min(best_, last_);
    }
    return Numbers{{"loss", report->loss},
                   {"others", last_},
                   {"rate", report->learning_rate},
                   {"gradient", report->gradient_norm},
                   {"tokens", tokens_}};
  }

  [[nodiscard]] std::string notes() const override {
    return fmt::format("{} {} {} {}", first_, best_, last_, tokens_);
  }
  Status restore(const std::string& notes) override {
    if (std::sscanf(notes.c_str(), "%lf %lf %lf %lf", &first_, &best_, &last_, &tokens_) == 4) {
      return {};
    }
    return fail(ErrorCode::refused,
                fmt::format("stage {}: the checkpoint's notes are off", name()));
  }

  Result<Gate> gate() override {
    const Result<double> legal =
        legal_share(*what_.model, parts_.first, plan_.unmasked, plan_.seed);
    if (!legal) return tl::unexpected(legal.error());
    Gate gate;
    gate.numbers = {{"loss_before", first_},
                    {"loss", last_},
                    {"perplexity", std::exp(last_)},
                    {"tokens", tokens_},
                    {"legal_without_mask", *legal}};
    const bool flat = last_ <= best_ * kFlat + 0.01, legal_enough = *legal >= plan_.least_legal;
    gate.passed = flat && legal_enough;
    gate.reason = fmt::format(
        "{:.1f} % legal without the mask (at least {:.1f} %); loss on shapes kept out {:.3f}, its "
        "least {:.3f}",
        100 * *legal, 100 * plan_.least_legal, last_, best_);
    const std::vector<ReplayWorld>& worlds = what_.input->worlds.held_out;
    if (worlds.empty()) return gate;
    std::vector<JudgedWorld> judged;
    for (const ReplayWorld& world : worlds) judged.emplace_back(world, plan_.device, plan_.basis);
    const Result<std::vector<Assessment>> model =
        assess(*what_.model, judged, plan_.device, plan_.judged, plan_.seed);
    if (!model) return tl::unexpected(model.error());
    const std::vector<Assessment> uniform = assess_uniform(judged);
    std::vector<double> gain, reward, random;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      gain.push_back((*model)[i].best16 - uniform[i].best16);
      reward.push_back((*model)[i].reward);
      random.push_back(uniform[i].reward);
    }
    const MeanInterval mean = mean_interval(gain, plan_.seed);
    gate.numbers.insert(gate.numbers.end(),
                        {{"best16_over_random", mean.value},
                         {"best16_low", mean.low},
                         {"best16_high", mean.high},
                         {"held_out_reward", mean_interval(reward, plan_.seed).value},
                         {"held_out_reward_random", mean_interval(random, plan_.seed).value}});
    gate.passed = gate.passed && mean.value > 0;
    gate.reason += fmt::format(
        "; zero-shot best of 16 on {} held-out tables {:+.3f} [{:+.3f}, {:+.3f}] of ln time over "
        "random",
        judged.size(), mean.value, mean.low, mean.high);
    return gate;
  }

 private:
  TextStage what_;
  const TrainPlan& plan_;
  std::pair<Corpus, Corpus> parts_;
  TextOptions options_;
  std::vector<WeightedText> check_;
  double first_ = 0, best_ = 0, last_ = 0, tokens_ = 0;
};

// A word by the softmax over all words.
int draw_word(const std::vector<double>& logits, Rng& rng) {
  const double most = *std::ranges::max_element(logits);
  std::vector<double> sums;
  double sum = 0;
  for (const double logit : logits) sums.push_back(sum += std::exp(logit - most));
  const auto at = std::ranges::upper_bound(sums, rng.uniform() * sum);
  return static_cast<int>(
      std::min<std::ptrdiff_t>(at - sums.begin(), static_cast<std::ptrdiff_t>(sums.size()) - 1));
}

}  // namespace

std::unique_ptr<TrainingStage> make_text_stage(const TextStage& what) {
  return std::make_unique<TextStageRun>(what);
}

Result<double> legal_share(const LanguageModel& model, const Corpus& corpus, std::size_t texts,
                           std::uint64_t seed) {
  if (corpus.shapes().empty() || texts == 0) return 0.0;
  std::size_t legal = 0;
  for (std::size_t i = 0; i < texts; ++i) {
    Rng rng = rng_of(seed, "unmasked", static_cast<std::int64_t>(i));
    const ShapeExamples& shape = corpus.shapes()[rng.below(corpus.shapes().size())];
    const TokenMask mask(shape.problem, corpus.device());
    Prompt prompt{shape.problem, corpus.device()};
    prompt.want_decile = 9;
    std::vector<int> tokens = encode(prompt);
    tokens.push_back(opening(false));
    MaskState state = mask.begin(false);
    for (std::size_t n = 0; n < kMostWords && !state.done(); ++n) {
      const int word = draw_word(model.logits(tokens), rng);
      if (!mask.advance(state, word)) break;
      tokens.push_back(word);
    }
    if (state.done()) ++legal;
  }
  return static_cast<double>(legal) / static_cast<double>(texts);
}

}  // namespace tilewright
