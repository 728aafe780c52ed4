// SPDX-License-Identifier: Apache-2.0
// The corpus: nothing of a held-out shape, everything from the seed; the archive beside it.
#include "train/corpus.h"

#include "device/invented_gpu.h"
#include "train/archive.h"
#include "train/landscape.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright {
namespace {

// Trials of four train and four held-out shapes.
std::vector<Trial> mixed_trials() {
  std::vector<Problem> shapes = landscape_shapes("train", 4);
  for (const Problem& p : landscape_shapes("held-out", 4)) shapes.push_back(p);
  return landscape_table(shapes, 40);
}

CorpusOptions options_for(std::uint64_t seed = 1) {
  CorpusOptions options;
  options.device = avx512_device(2);
  options.problems = training_shapes(options.device, 6, seed);
  for (const Problem& p : landscape_shapes("held-out", 3)) options.problems.push_back(p);
  options.random_programs = 10;
  options.seed = seed;
  return options;
}

TEST(Corpus, HoldsNothingOfHeldOutShapes) {
  const Corpus corpus = Corpus::make(options_for(), mixed_trials());
  ASSERT_EQ(corpus.shapes().size(), 10u) << "four of trials, six asked for";
  for (const ShapeExamples& shape : corpus.shapes()) {
    EXPECT_EQ(split_of(shape.problem), "train") << to_text(shape.problem);
  }
  EXPECT_GT(corpus.count(ExampleSource::measured), 80u);
  EXPECT_GT(corpus.count(ExampleSource::analytic), 60u);
  EXPECT_GT(corpus.count(ExampleSource::expert), 0u);
  // Nor can one be smuggled in by the file.
  const Problem held_out = landscape_shapes("held-out", 1).front();
  std::string text = corpus.text();
  const std::size_t line = text.find('\n') + 1, tab = text.find('\t', line);
  text.replace(line, tab - line, to_text(held_out));
  const auto parsed = Corpus::parse(text, avx512_device(2));
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("held-out"), std::string::npos);
}

TEST(Corpus, ProfilesSurviveItsFile) {
  std::vector<Trial> trials = mixed_trials();
  for (Trial& trial : trials) {
    trial.profile = Profile{"ncu", {{"tensor_pct", 50}, {"dram_pct", 3}}, "gmma", "latency", {}};
  }
  const Corpus corpus = Corpus::make(options_for(), trials);
  EXPECT_NE(corpus.text().find("\t8 0 ? ? 4 5\n"), std::string::npos);
  const auto parsed = Corpus::parse(corpus.text(), avx512_device(2));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->text(), corpus.text());
  std::string damaged = corpus.text();
  damaged.replace(damaged.find("\t8 0 ?"), 4, "\t16 0");
  EXPECT_FALSE(Corpus::parse(damaged, avx512_device(2)));
}

TEST(Corpus, FollowsFromItsSeedAndSurvivesItsFile) {
  const std::vector<Trial> trials = mixed_trials();
  const Corpus corpus = Corpus::make(options_for(), trials);
  EXPECT_EQ(Corpus::make(options_for(), trials).text(), corpus.text());
  EXPECT_NE(Corpus::make(options_for(2), trials).text(), corpus.text());
  const auto parsed = Corpus::parse(corpus.text(), avx512_device(2));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->text(), corpus.text());
  for (const bool best : {false, true}) {
    TextOptions options;
    options.best_only = best;
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      Rng a(seed), b(seed);
      const auto one = draw_learning_text(corpus, options, a);
      const auto two = draw_learning_text(*parsed, options, b);
      ASSERT_TRUE(one && two);
      EXPECT_EQ(one->tokens, two->tokens);
    }
  }
  EXPECT_FALSE(Corpus::parse("", avx512_device(2)));
  EXPECT_FALSE(Corpus::parse(corpus.text(), avx512_device(4))) << "of another device";
}

TEST(Corpus, HasTheOperationsThatAreNoProducts) {
  for (const Device& device : {avx512_device(2), invented_h200()}) {
    CorpusOptions options;
    options.device = device;
    options.problems = training_operations(device, 24, 1);
    options.random_programs = 4;
    ASSERT_EQ(options.problems.size(), 24u);
    EXPECT_EQ(training_operations(device, 24, 1), options.problems);
    EXPECT_NE(training_operations(device, 24, 2), options.problems);
    std::set<Op> seen;
    for (const Problem& problem : options.problems) {
      EXPECT_TRUE(check(problem)) << to_text(problem);
      EXPECT_EQ(parse_problem(to_text(problem)).value(), problem);
      EXPECT_EQ(split_of(problem), "train");
      seen.insert(problem.op);
    }
    EXPECT_EQ(seen.size(), 6u);
    const Corpus corpus = Corpus::make(options, {});
    EXPECT_EQ(corpus.shapes().size(), 24u);
    for (const ShapeExamples& shape : corpus.shapes()) {
      for (const Example& example : shape.modelled) {
        EXPECT_TRUE(is_legal(example.program, shape.problem, device)) << example.program.text();
      }
    }
    Rng rng(1);
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(draw_learning_text(corpus, {}, rng));
  }
}

TEST(Corpus, FineTuningSeesTheBestTenthOfWhatWasMeasured) {
  const Corpus corpus = Corpus::make(options_for(), mixed_trials());
  std::set<std::string> best;
  for (const ShapeExamples& shape : corpus.shapes()) {
    for (const Example& example : shape.measured) {
      if (example.decile == 9) best.insert(example.program.text());
    }
  }
  TextOptions options;
  options.best_only = true;
  Rng rng(3);
  bool analysed = false;
  for (int i = 0; i < 60; ++i) {
    const auto text = draw_learning_text(corpus, options, rng);
    ASSERT_TRUE(text);
    const auto begin = std::find(text->tokens.begin(), text->tokens.end(), marks().program);
    ASSERT_NE(begin, text->tokens.end());
    analysed = analysed || std::find(text->tokens.begin(), text->tokens.end(), marks().analysis) !=
                               text->tokens.end();
    const auto program = decode_program(std::vector<int>(begin + 1, text->tokens.end()));
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_TRUE(best.contains(program->text()));
  }
  EXPECT_TRUE(analysed) << "measured pairs are compared in some texts";
}

TEST(Corpus, NearestShapesAreSortedByTheirDistance) {
  const Corpus corpus = Corpus::make(options_for(), mixed_trials());
  const Problem problem = corpus.shapes().front().problem;
  const auto nearest = corpus.nearest(problem);
  ASSERT_EQ(nearest.size(), 4u) << "those with measured programs";
  EXPECT_EQ(nearest.front()->problem, problem);
}

TEST(Archive, KeepsTheBestOfEachCellAndEachTrialOnce) {
  const Problem problem = landscape_shapes("train", 1).front();
  const std::vector<Trial> trials = landscape_table({problem}, 120);
  Archive archive(RewardBasis{});
  for (const Trial& trial : trials) EXPECT_TRUE(archive.add(trial));
  for (const Trial& trial : trials) EXPECT_FALSE(archive.add(trial));
  EXPECT_EQ(archive.size(), trials.size());
  std::map<std::string, std::size_t> cells;
  double last = 1e9;
  for (const Archive::Entry* entry : archive.elites(to_text(problem))) {
    EXPECT_LE(++cells[cell_of(problem, entry->program)], kElitesOfACell);
    EXPECT_LE(entry->score, last);
    last = entry->score;
  }
  EXPECT_GT(cells.size(), 3u);
  EXPECT_EQ(archive.best_decile(to_text(problem)).size(), (trials.size() + 9) / 10);
}

TEST(Archive, TwoProgramsOfOneBinaryAreOneElite) {
  const Problem problem = landscape_shapes("train", 1).front();
  std::vector<Trial> trials = landscape_table({problem}, 10);
  Archive archive(RewardBasis{});
  for (Trial& trial : trials) {
    trial.binary_hash = "same";
    archive.add(trial);
  }
  EXPECT_EQ(archive.elites(to_text(problem)).size(), 1u);
}

}  // namespace
}  // namespace tilewright
