// SPDX-License-Identifier: Apache-2.0
// Training: gradients by differences, steps that do what they should, runs that resume.
#include "learn/trainer.h"

#include "learn_torch/tiny.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::vector<WeightedText> texts_of(std::size_t count, float prompt_weight = 0) {
  std::vector<WeightedText> out;
  const Prompt prompt{.problem = tiny::problem(), .device = tiny::processor(), .want_decile = 9};
  for (const Program& program : tiny::programs(count)) {
    out.push_back(weighted(learning_text(prompt, std::nullopt, program), prompt_weight));
  }
  return out;
}

// A group that the model wrote; rewards 1, 0, 0, ... in turn from `first`.
TextGroup group_of(const LanguageModel& model, const TokenMask& mask, std::size_t count,
                   std::uint64_t seed, double temperature) {
  const std::vector<TextRequest> requests = {{tiny::prompt(), &mask, false, count}};
  TextGroup group{.prompt = tiny::prompt(), .texts = {}};
  double reward = 1;
  auto texts = model.sample(requests, {.temperature = temperature, .seed = seed}).value();
  for (SampledText& text : texts) {
    group.texts.push_back({.continuation = std::move(text.continuation), .reward = reward});
    reward = reward > 0 ? -0.5 : reward + 0.1;
  }
  return group;
}

double log_probability(const LanguageModel& model, const TextGroup& group, std::size_t text,
                       double temperature) {
  const std::vector<ScoreRequest> request = {{&group.prompt, &group.texts[text].continuation}};
  double sum = 0;
  const TextScore score = model.score(request, temperature).value().front();
  for (const double value : score.log_probabilities) {
    sum += value;
  }
  return sum;
}

void add_to(TensorFile& file, std::size_t index, double step) {
  for (auto& [name, tensor] : file.tensors) {
    const auto count = static_cast<std::size_t>(tensor.elements());
    if (index >= count) {
      index -= count;
      continue;
    }
    double value = 0;
    std::memcpy(&value, tensor.bytes.data() + 8 * index, 8);
    value += step;
    std::memcpy(tensor.bytes.data() + 8 * index, &value, 8);
    return;
  }
}

TEST(Trainer, GradientsOfTheObjectiveAgreeWithDifferences) {
  constexpr double kTemperature = 1.2, kStep = 1e-5;
  LanguageModel model = tiny::model(1);
  const TokenMask mask(tiny::problem(), tiny::processor());
  Trainer trainer(model, {.learning_rate = 3e-3, .warmup_steps = 0});
  std::vector<TextGroup> groups = {group_of(model, mask, 5, 1, kTemperature),
                                   group_of(model, mask, 3, 2, kTemperature)};
  // Old probabilities of the model as it was, and a reference: then the weights move, so that
  // ratios, clips and the KL are away from where they begin.
  for (TextGroup& group : groups) {
    for (ScoredText& text : group.texts) {
      const std::vector<ScoreRequest> request = {{&group.prompt, &text.continuation}};
      text.old_log_probabilities = model.score(request, kTemperature).value()[0].log_probabilities;
    }
  }
  const std::vector<WeightedText> archive = texts_of(3);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(trainer.learn(texts_of(6)));

  EntropyControl entropy{.weight = 0.05};
  ReinforceOptions options{.kl_weight = 0.3, .temperature = kTemperature, .entropy = &entropy};
  std::vector<double> gradient;
  const double loss = trainer.reinforce_loss(groups, archive, options, &gradient).value();
  ASSERT_EQ(gradient.size(), model.parameters());
  const TensorFile weights = model.to_tensors();
  Rng rng(4);
  double largest = 0;
  for (const double value : gradient) largest = std::max(largest, std::fabs(value));
  int checked = 0;
  while (checked < 60) {
    const std::size_t index = rng.below(gradient.size());
    // Most words are in no text: their gradient is that of the softmax alone, or 0.
    if (std::fabs(gradient[index]) < 1e-5 && rng.below(20) != 0) continue;
    ++checked;
    double at[2];
    for (const int side : {0, 1}) {
      TensorFile moved = weights;
      add_to(moved, index, side == 0 ? -kStep : kStep);
      ASSERT_TRUE(model.assign(moved));
      at[side] = trainer.reinforce_loss(groups, archive, options, nullptr).value();
    }
    EXPECT_NEAR((at[1] - at[0]) / (2 * kStep), gradient[index], 1e-6 + 1e-4 * largest) << index;
  }
  ASSERT_TRUE(model.assign(weights));
  EXPECT_DOUBLE_EQ(trainer.reinforce_loss(groups, archive, options, nullptr).value(), loss);
}

TEST(Trainer, TheTensorObjectiveIsThePlainOne) {
  LanguageModel model = tiny::model(2);
  const TokenMask mask(tiny::problem(), tiny::processor());
  Trainer trainer(model, {.learning_rate = 1e-2, .warmup_steps = 0});
  const std::vector<TextGroup> groups = {group_of(model, mask, 6, 3, 1)};
  ReinforceOptions options{.kl_weight = 0.1, .epochs = 3, .archive_weight = 0};
  std::vector<double> plain_kl;
  // Before each update the report's J is that of the loss with the same old probabilities.
  const auto report = trainer.reinforce(groups, {}, options).value();
  ASSERT_EQ(report.epochs.size(), 3u);
  // The first pass: ratio exactly 1, no KL, and the gain is the mean advantage over places.
  EXPECT_EQ(report.epochs[0].ratio_low, 1);
  EXPECT_EQ(report.epochs[0].ratio_high, 1);
  EXPECT_EQ(report.epochs[0].kl, 0);
  EXPECT_GT(report.epochs[1].kl, 0);
  EXPECT_GT(report.epochs[1].objective, report.epochs[0].objective);
  EXPECT_GT(report.epochs[2].ratio_high, 1.001);
  EXPECT_TRUE(report.updated);
  EXPECT_EQ(trainer.steps(), 3);
}

TEST(Trainer, AStepRaisesTheRewardedTextAndLowersTheOthers) {
  for (const auto kind : {AdvantageKind::leave_one_out, AdvantageKind::group}) {
    LanguageModel model = tiny::model(3);
    const TokenMask mask(tiny::problem(), tiny::processor());
    Trainer trainer(model, {.learning_rate = 1e-3, .warmup_steps = 0});
    const TextGroup group = group_of(model, mask, 4, 7, 1);
    std::vector<double> before;
    for (std::size_t i = 0; i < 4; ++i) before.push_back(log_probability(model, group, i, 1));
    const std::vector<TextGroup> groups = {group};
    const auto report = trainer.reinforce(groups, {}, {.advantage = kind, .epochs = 4}).value();
    // Another text may rise with words that it shares with the rewarded one, but less.
    const double gain = log_probability(model, group, 0, 1) - before[0];
    double others = 0;
    for (std::size_t i = 1; i < 4; ++i) {
      const double change = log_probability(model, group, i, 1) - before[i];
      EXPECT_LT(change, gain) << i;
      others += change;
    }
    EXPECT_GT(gain, 0);
    EXPECT_LT(others, 0);
    EXPECT_EQ(report.flat_groups, 0u);
  }
}

TEST(Trainer, RemarksMayHaveARewardOfTheirOwn) {
  LanguageModel model = tiny::model(9);
  const TokenMask mask(tiny::problem(), tiny::processor());
  Trainer trainer(model, {.learning_rate = 1e-3, .warmup_steps = 0});
  const std::vector<TextRequest> requests = {{tiny::prompt(), &mask, true, 2}};
  TextGroup group{.prompt = tiny::prompt(), .texts = {}};
  const auto texts = model.sample(requests, {.seed = 4}).value();
  // The first has the better program, the second the better remarks.
  for (const SampledText& text : texts) {
    const bool first = group.texts.empty();
    group.texts.push_back({.continuation = text.continuation,
                           .reward = first ? 1.0 : 0.0,
                           .analysis_reward = first ? 0.0 : 1.0});
  }
  // ln probabilities of each text's remarks and program.
  const auto parts = [&] {
    std::vector<double> sums;
    for (const ScoredText& text : group.texts) {
      const std::vector<ScoreRequest> request = {{&group.prompt, &text.continuation}};
      const TextScore score = model.score(request, 1).value().front();
      double sum[2] = {0, 0};
      bool program = false;
      for (std::size_t t = 0; t < score.log_probabilities.size(); ++t) {
        program = program || text.continuation.tokens[t] == marks().program;
        sum[program ? 1 : 0] += score.log_probabilities[t];
      }
      sums.insert(sums.end(), {sum[0], sum[1]});
    }
    return sums;
  };
  const std::vector<double> before = parts();
  ReinforceOptions options{.epochs = 4};
  ASSERT_TRUE(trainer.reinforce(std::vector<TextGroup>{group}, {}, options).value().updated);
  const std::vector<double> after = parts();
  EXPECT_LT(after[0], before[0]);
  EXPECT_GT(after[1], before[1]);
  EXPECT_GT(after[2], before[2]);
  EXPECT_LT(after[3], before[3]);
}

TEST(Trainer, FlatGroupsTeachNothing) {
  LanguageModel model = tiny::model(4);
  const TokenMask mask(tiny::problem(), tiny::processor());
  Trainer trainer(model, {});
  TextGroup group = group_of(model, mask, 4, 7, 1);
  for (ScoredText& text : group.texts) text.reward = 0.25;
  const TensorFile before = model.to_tensors();
  const auto report = trainer.reinforce(std::vector<TextGroup>{group}, {}, {}).value();
  EXPECT_FALSE(report.updated);
  EXPECT_EQ(report.flat_groups, 1u);
  EXPECT_EQ(model.to_tensors(), before);
  EXPECT_TRUE(trainer.reinforce(std::vector<TextGroup>{group}, texts_of(2), {}).value().updated);
}

TEST(Trainer, LearnsTextsAndTheirMistakesAreErrors) {
  LanguageModel model = tiny::model(5, false);
  Trainer trainer(model, {.learning_rate = 1e-2, .warmup_steps = 2, .total_steps = 40});
  const auto texts = texts_of(6, 0.5F);
  const double before = trainer.evaluate(texts).value().loss;
  EXPECT_NEAR(before, std::log(static_cast<double>(text_words().size())), 0.3);
  StepReport last;
  for (int i = 0; i < 40; ++i) last = trainer.learn(texts).value();
  EXPECT_LT(trainer.evaluate(texts).value().loss, 0.6 * before);
  EXPECT_LT(last.learning_rate, 2e-3);
  EXPECT_EQ(last.step, 40);

  std::vector<WeightedText> wrong = texts_of(1);
  wrong[0].weights.pop_back();
  EXPECT_FALSE(trainer.learn(wrong));
  wrong = texts_of(1);
  wrong[0].tokens[0] = 1 << 20;
  EXPECT_FALSE(trainer.learn(wrong));
  wrong[0].tokens.assign(500, 1);
  wrong[0].weights.assign(500, 1);
  EXPECT_THAT(trainer.learn(wrong).error().message, HasSubstr("500 tokens"));
}

TEST(Trainer, PartsOfABatchAddUp) {
  std::vector<double> losses;
  for (const std::size_t at_once : {std::size_t{100}, std::size_t{100000}}) {
    LanguageModel model = tiny::model(6);
    Trainer trainer(model, {.warmup_steps = 0, .tokens_at_once = at_once});
    const TokenMask mask(tiny::problem(), tiny::processor());
    const std::vector<TextGroup> groups = {group_of(model, mask, 6, 3, 1)};
    EXPECT_TRUE(trainer.learn(texts_of(7)));
    EXPECT_TRUE(trainer.reinforce(groups, texts_of(2), {}));
    losses.push_back(trainer.evaluate(texts_of(5)).value().loss);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-9);
}

TEST(Trainer, SeveralThreadsComputeTheSame) {
  const TokenMask mask(tiny::problem(), tiny::processor());
  const std::vector<TextRequest> requests = {{tiny::prompt(), &mask, true, 30}};
  std::vector<TensorFile> weights;
  std::vector<std::vector<std::vector<int>>> written;
  for (int run = 0; run < 3; ++run) {
    if (run == 1) set_learning_threads(3);  // of the process, from here on
    LanguageModel model = tiny::model(8);
    Trainer trainer(model, {.warmup_steps = 0});
    const std::vector<TextGroup> groups = {group_of(model, mask, 6, 3, 1)};
    EXPECT_TRUE(trainer.learn(texts_of(9)));
    EXPECT_TRUE(trainer.reinforce(groups, texts_of(2), {}));
    weights.push_back(model.to_tensors());
    const auto texts = model.sample(requests, {.batch = 4}).value();
    auto& tokens = written.emplace_back();
    for (const SampledText& text : texts) tokens.push_back(text.continuation.tokens);
  }
  EXPECT_EQ(weights[1], weights[2]);
  EXPECT_EQ(written[1], written[2]);
  EXPECT_EQ(written[0], written[1]);
  for (const auto& [name, tensor] : weights[0].tensors) {
    const std::vector<double> one = tensor.as_doubles();
    const std::vector<double> three = weights[1].tensors.at(name).as_doubles();
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], three[i], 1e-6) << name;
  }
}

TEST(Trainer, ACheckpointResumesToTheSameWeights) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "tilewright_checkpoint";
  std::filesystem::remove_all(folder);
  const TokenMask mask(tiny::problem(), tiny::processor());
  const TrainOptions options{.learning_rate = 1e-3, .warmup_steps = 5, .total_steps = 30};
  const auto go_on = [&](LanguageModel& model, Trainer& trainer) {
    EXPECT_TRUE(trainer.learn(texts_of(4)));
    const std::vector<TextGroup> groups = {group_of(model, mask, 5, 9, 1)};
    EXPECT_TRUE(trainer.reinforce(groups, texts_of(1), {}));
    EXPECT_TRUE(trainer.learn(texts_of(2)));
  };
  LanguageModel model = tiny::model(7, false);
  Trainer trainer(model, options);
  go_on(model, trainer);
  ASSERT_TRUE(trainer.save(folder, "stage 1"));
  EXPECT_TRUE(trainer.learn(texts_of(3)));
  ASSERT_TRUE(trainer.save(folder, "stage 2"));
  go_on(model, trainer);

  LanguageModel again = tiny::model(99, false);
  Trainer resumed(again, options);
  const auto notes = resumed.load(folder);
  ASSERT_TRUE(notes) << notes.error().message;
  EXPECT_EQ(*notes, "stage 2");
  EXPECT_EQ(resumed.steps(), 5);
  go_on(again, resumed);
  EXPECT_EQ(again.to_tensors(), model.to_tensors());
  EXPECT_EQ(resumed.steps(), trainer.steps());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 2u) << "weights of the first checkpoint are gone";

  // Damage is refused and changes nothing.
  const TensorFile before = again.to_tensors();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "trainer.safetensors") continue;
    std::ofstream(entry.path(), std::ios::app) << "x";
  }
  EXPECT_THAT(resumed.load(folder).error().message, HasSubstr("not the file"));
  EXPECT_EQ(again.to_tensors(), before);
  LanguageModel wide = LanguageModel::create({.width = 32, .heads = 2}, 1).value();
  Trainer misfit(wide, options);
  EXPECT_FALSE(misfit.load(folder));
  EXPECT_FALSE(misfit.load(folder / "none"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewright
