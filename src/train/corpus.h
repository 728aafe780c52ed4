// SPDX-License-Identifier: Apache-2.0
// The corpus: programs with scores, from three sources, and the texts that the model learns from.
//
//   analytic   random legal programs, scored by the cost model (policy/policy.h)
//   expert     what is known to be good (policy/experts.h), scored alike
//   measured   recorded trials, scored by their time beside the fastest baseline
//
// There is no web code and no instruction by another model, as CUDA-L2 has them: the prompt itself
// is the instruction, and what retrieval finds there is here the nearest shape and score bucket.
// Held-out shapes (split_of) are refused whatever the source. The same options and trials give the
// same corpus, and a text is a pure function of the corpus and a generator.
#pragma once

#include "base/error.h"
#include "base/rng.h"
#include "device/device.h"
#include "learn/text.h"
#include "trial/trial.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

enum class ExampleSource { analytic, expert, measured };

struct Example {
  Program program;
  ExampleSource source = ExampleSource::analytic;
  double score = 0;  // ln of the speed-up; of the first two sources over the best of the shape
  int decile = 0;    // of the shape's examples that were scored alike: 9 is the best tenth
  ProfileBins profile{};
};

struct ShapeExamples {
  Problem problem;
  std::vector<Example> measured, modelled;  // modelled: analytic and expert
};

struct CorpusOptions {
  Device device;
  std::vector<Problem> problems;     // for random programs; those of the trials are added
  std::size_t random_programs = 64;  // of each problem
  std::uint64_t seed = 1;
};

class Corpus {
 public:
  // Trials without a time, of held-out shapes or with a text of another language are left out.
  [[nodiscard]] static Corpus make(const CorpusOptions& options, std::span<const Trial> trials);

  // One example a line; parse(text()) gives the same corpus.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static Result<Corpus> parse(const std::string& text, const Device& device);

  [[nodiscard]] const std::vector<ShapeExamples>& shapes() const { return shapes_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::size_t count(ExampleSource source) const;
  // All but every n-th shape, and these.
  [[nodiscard]] std::pair<Corpus, Corpus> apart(std::size_t every) const;
  // Shapes nearest to a problem that have measured examples, its own first.
  [[nodiscard]] std::vector<const ShapeExamples*> nearest(const Problem& problem) const;
  // Spearman's rank correlation of the cost model with what was measured, the mean over shapes
  // with at least 8 measured programs; nothing if there are none.
  [[nodiscard]] std::optional<double> rank_correlation() const;

 private:
  std::vector<ShapeExamples> shapes_;
  Device device_;
};

struct TextOptions {
  bool best_only = false;  // the measured best decile alone (of all, where nothing was measured)
  double drop = 0.3;       // each exemplar is left out so often, so that zero-shot works
  double hide = 0.5;       // the wanted quality is left out so often
  double analysis = 0.25;  // share of texts that compare first, where there is a measured pair
  std::size_t exemplars = 2;
};
// A text to learn from. Nothing if the corpus has no fitting example.
[[nodiscard]] std::optional<LearningText> draw_learning_text(const Corpus& corpus,
                                                             const TextOptions& options, Rng& rng);

// Shapes to make random programs for: powers of two and sizes between, as large as the kind of
// device deserves, none of them held out.
[[nodiscard]] std::vector<Problem> training_shapes(const Device& device, std::size_t count,
                                                   std::uint64_t seed);
// The same of the operations that are no products, by turns.
[[nodiscard]] std::vector<Problem> training_operations(const Device& device, std::size_t count,
                                                       std::uint64_t seed);

}  // namespace tilewright
