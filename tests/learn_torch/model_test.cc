// SPDX-License-Identifier: Apache-2.0
// The model's probabilities are those of the masked grammar, and its files come back.
#include "learn/model.h"

#include "learn/objective.h"
#include "learn_torch/tiny.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::vector<ScoreRequest> requests_of(const std::vector<SampledText>& texts,
                                      const std::vector<std::vector<int>>& prompts) {
  std::vector<ScoreRequest> out;
  for (const SampledText& text : texts) out.push_back({&prompts[text.request], &text.continuation});
  return out;
}

TEST(Model, ShapesHaveTheSizesTheyAreNamedFor) {
  EXPECT_NEAR(
      static_cast<double>(LanguageModel::create(model_shape("xs").value(), 1).value().parameters()),
      1e6, 2e5);
  EXPECT_THAT(model_shape("xxl").error().message, HasSubstr("xs, s, m, l"));
  EXPECT_FALSE(LanguageModel::create({.width = 10, .heads = 3}, 1));
  EXPECT_FALSE(LanguageModel::create(tiny::shape(), 1, "cuda:99"));
  EXPECT_FALSE(LanguageModel::create(tiny::shape(), 1, "gpu"));
}

TEST(Model, SampledProgramsAreLegalAndProbabilitiesAreAskedAgainAlike) {
  const Problem wide = tiny::problem("gemm 512x512x512 bf16 acc=f32 nt");
  const std::vector<std::vector<int>> prompts = {tiny::prompt(),
                                                 tiny::prompt("gemm 512x512x512 bf16 acc=f32 nt")};
  const TokenMask mask(tiny::problem(), tiny::processor()), other(wide, tiny::processor());
  for (const bool f64 : {true, false}) {
    const LanguageModel model = tiny::model(1, f64);
    const std::vector<TextRequest> requests = {{prompts[0], &mask, false, 20},
                                               {prompts[1], &other, true, 20}};
    for (const double temperature : {1.0, 1.3}) {
      const auto texts = model.sample(requests, {.temperature = temperature, .batch = 16});
      ASSERT_TRUE(texts) << texts.error().message;
      ASSERT_EQ(texts->size(), 40u);
      const auto scores = model.score(requests_of(*texts, prompts), temperature).value();
      for (std::size_t i = 0; i < texts->size(); ++i) {
        const SampledText& text = (*texts)[i];
        const bool first = text.request == 0;
        EXPECT_TRUE(is_legal(text.program, first ? tiny::problem() : wide, tiny::processor()));
        EXPECT_EQ(masked(first ? mask : other, !first, text.continuation.tokens).value(),
                  text.continuation);
        for (std::size_t t = 0; t < text.continuation.tokens.size(); ++t) {
          const double ratio = std::exp(text.log_probabilities[t] - scores[i].log_probabilities[t]);
          ASSERT_NEAR(ratio, 1, f64 ? 1e-12 : 1e-5);
          ASSERT_NEAR(text.entropies[t], scores[i].entropies[t], f64 ? 1e-12 : 1e-5);
          if (text.continuation.forced(t)) {
            ASSERT_EQ(text.log_probabilities[t], 0);
            ASSERT_EQ(scores[i].log_probabilities[t], 0);
          }
        }
      }
    }
  }
}

TEST(Model, SamplesDependOnTheSeedAndNotOnTheBatch) {
  const LanguageModel model = tiny::model();
  const TokenMask mask(tiny::problem(), tiny::processor());
  const std::vector<TextRequest> requests = {{tiny::prompt(), &mask, false, 12}};
  const auto tokens = [&](const SampleOptions& options) {
    std::vector<std::vector<int>> out;
    const auto texts = model.sample(requests, options).value();
    for (const SampledText& text : texts) out.push_back(text.continuation.tokens);
    return out;
  };
  const auto all = tokens({.seed = 5});
  EXPECT_EQ(tokens({.seed = 5, .batch = 5}), all);
  EXPECT_NE(tokens({.seed = 6}), all);
  const auto later = tokens({.seed = 5, .stream = 4});
  EXPECT_EQ(later[0], all[4]);
}

// The grammar of eight programs, worked out from raw logits token by token.
TEST(Model, MaskedProbabilitiesAgreeWithBruteForce) {
  const LanguageModel model = tiny::model(3);
  const std::vector<Program> list = tiny::programs(8);
  const TokenMask mask(tiny::problem(), tiny::processor(), list);
  const std::vector<int> prompt = tiny::prompt();
  constexpr double kTemperature = 0.7;
  std::vector<std::vector<int>> texts;
  for (const Program& program : list) texts.push_back(encode(program));

  double total = 0;
  std::map<std::string, double> probabilities;
  for (const std::vector<int>& text : texts) {
    const Continuation continuation = masked(mask, false, text).value();
    const std::vector<ScoreRequest> request = {{&prompt, &continuation}};
    const TextScore score = model.score(request, kTemperature).value().front();
    double log_p = 0;
    std::vector<int> so_far = prompt;
    so_far.push_back(opening(false));
    for (std::size_t t = 0; t < text.size(); ++t) {
      std::map<int, double> weights;  // of what some program of the list continues with
      const std::vector<double> logits = model.logits(so_far);
      for (const std::vector<int>& each : texts) {
        if (each.size() > t &&
            std::equal(text.begin(), text.begin() + std::ptrdiff_t(t), each.begin())) {
          weights[each[t]] = std::exp(logits[static_cast<std::size_t>(each[t])] / kTemperature);
        }
      }
      double sum = 0;
      for (const auto& [token, weight] : weights) sum += weight;
      const double place = std::log(weights[text[t]] / sum);
      EXPECT_NEAR(score.log_probabilities[t], place, 1e-10) << t;
      log_p += place;
      so_far.push_back(text[t]);
    }
    total += std::exp(log_p);
    probabilities[text_of(text)] = std::exp(log_p);
  }
  EXPECT_NEAR(total, 1, 1e-9);

  // And what is sampled has these frequencies.
  const std::vector<TextRequest> requests = {{prompt, &mask, false, 4000}};
  const auto drawn = model.sample(requests, {.temperature = kTemperature, .batch = 1000}).value();
  std::map<std::string, double> counts;
  for (const SampledText& text : drawn) counts[text_of(text.continuation.tokens)] += 1;
  double chi2 = 0;
  for (const auto& [text, p] : probabilities) {
    chi2 += std::pow(counts[text] - 4000 * p, 2) / (4000 * p);
  }
  EXPECT_LT(chi2, 24.3);  // 7 degrees of freedom, 0.1 %; the seed is fixed
}

TEST(Model, FilesComeBackAndOthersAreRefused) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "tilewright_model";
  const LanguageModel model = tiny::model(4, false);
  ASSERT_TRUE(model.save(folder / "a.safetensors"));
  const auto back = LanguageModel::load(folder / "a.safetensors");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->shape(), model.shape());
  const std::vector<int> prompt = tiny::prompt();
  EXPECT_EQ(back->logits(prompt), model.logits(prompt));
  EXPECT_EQ(back->clone().logits(prompt), model.logits(prompt));
  EXPECT_FALSE(LanguageModel::load(folder / "none.safetensors"));

  const TensorFile file = model.to_tensors();
  // Names and layout of GPT-2 in Hugging Face's library.
  EXPECT_EQ(file.metadata.at("format"), "pt");
  EXPECT_EQ(file.tensors.at("transformer.h.1.attn.c_attn.weight").shape,
            (std::vector<std::int64_t>{16, 48}));
  EXPECT_EQ(file.tensors.at("transformer.h.0.mlp.c_fc.weight").shape,
            (std::vector<std::int64_t>{16, 64}));
  TensorFile broken = file;
  broken.tensors.erase("transformer.ln_f.bias");
  EXPECT_THAT(LanguageModel::from_tensors(broken).error().message,
              HasSubstr("transformer.ln_f.bias"));
  broken = file;
  broken.metadata["text_version"] = "0";
  EXPECT_THAT(LanguageModel::from_tensors(broken).error().message, HasSubstr("version 0"));
  broken = file;
  broken.metadata["width"] = "17";
  EXPECT_FALSE(LanguageModel::from_tensors(broken));
  broken = file;
  broken.metadata.erase("words");
  EXPECT_FALSE(LanguageModel::from_tensors(broken));
  LanguageModel other = tiny::model(5, false);
  ASSERT_TRUE(other.assign(file));
  EXPECT_EQ(other.logits(prompt), model.logits(prompt));
  std::filesystem::remove_all(folder);
}

TEST(Model, WeightsOfAnOlderVocabularyKeepTheirWords) {
  const LanguageModel model = tiny::model(6);
  TensorFile old = model.to_tensors();
  // The old program did not know today's first word, and knew one that is gone, at its end.
  const auto words = text_words();
  std::string listed;
  for (std::size_t i = 1; i < words.size(); ++i) listed += words[i] + " ";
  old.metadata["words"] = listed + "gone=1";
  TensorValue& rows = old.tensors.at("transformer.wte.weight");
  const std::size_t row = rows.bytes.size() / words.size();
  const std::string first = rows.bytes.substr(0, row);
  rows.bytes = rows.bytes.substr(row) + first;
  std::string notes;
  const auto back = LanguageModel::from_tensors(old, "cpu", &notes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_THAT(notes, HasSubstr("are new, 1 are gone"));
  const std::vector<int> prompt = tiny::prompt();  // without <pad>, the first word
  const std::vector<double> now = back->logits(prompt), then = model.logits(prompt);
  for (std::size_t i = 1; i < now.size(); ++i) ASSERT_NEAR(now[i], then[i], 1e-12) << words[i];
}

TEST(Model, TextsThatDoNotFitAreErrors) {
  const LanguageModel model = tiny::model();
  const TokenMask mask(tiny::problem(), tiny::processor());
  std::vector<int> prompt = tiny::prompt();
  prompt.resize(120, marks().want);
  EXPECT_THAT(model.sample(std::vector<TextRequest>{{prompt, &mask, false, 1}}, {}).error().message,
              HasSubstr("context is 128"));
  const std::vector<int> unknown = {1 << 20};
  EXPECT_FALSE(model.sample(std::vector<TextRequest>{{unknown, &mask, false, 1}}, {}));
  Rng rng(1);
  const Continuation text = *draw_text(mask, false, rng);
  EXPECT_FALSE(model.score(std::vector<ScoreRequest>{{&unknown, &text}}, 1));
  const Device none;  // without a program for f32
  Problem wide = tiny::problem();
  wide.in = ElementType::f32;
  const TokenMask nothing(wide, none);
  const auto texts =
      model.sample(std::vector<TextRequest>{{tiny::prompt(), &nothing, false, 5}}, {});
  EXPECT_TRUE(texts.value().empty());
}

}  // namespace
}  // namespace tilewright
