// SPDX-License-Identifier: Apache-2.0
// The language model: a decoder-only transformer in GPT-2's layout (pre-LN, tanh GELU, learned
// positions, tied embedding), small enough to be trained in minutes on a CPU.
//
// LibTorch is behind this header, in learn/torch/, and built only where it was found
// (TARGET tw_learn_torch). Files that include this one need no LibTorch to compile, only to link.
//
// Randomness is drawn on the host from base/rng.h: text r of a call is drawn from stream
// `stream + r` of the seed, so it does not depend on how texts are batched, and a CPU and a GPU
// draw from the same numbers.
//
// Weights are a safetensors file with Hugging Face's names for GPT-2 (Conv1D weights [in, out]), so
// that Python can read them; its metadata name the shape and all words of the vocabulary.
#pragma once

#include "base/error.h"
#include "learn/mask.h"
#include "learn/safetensors.h"
#include "learn/sampling.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct ModelShape {
  std::string size = "xs";  // its name, for people
  int width = 128, layers = 4, heads = 4;
  int context = 256;  // longest text, in tokens
  bool f64 = false;   // double precision: for tests of gradients
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};
// xs 128x4 (1M parameters), s 256x6 (5M), m 384x8 (15M), l 512x9 (29M).
[[nodiscard]] std::span<const ModelShape> model_shapes();
// An unknown name lists the known ones.
[[nodiscard]] Result<ModelShape> model_shape(std::string_view size);

// A text of which the probability is asked.
struct ScoreRequest {
  const std::vector<int>* prompt = nullptr;
  const Continuation* continuation = nullptr;
};
struct TextScore {
  std::vector<double> log_probabilities, entropies;  // as in SampledText
};

class LanguageModel {
 public:
  // Fresh weights: normal(0, 0.02) as GPT-2's, those that end a residual branch divided by
  // sqrt(2 * layers). `device`: "cpu", "cuda" or "cuda:N"; an error where there is none.
  [[nodiscard]] static Result<LanguageModel> create(const ModelShape& shape, std::uint64_t seed,
                                                    const std::string& device = "cpu");
  // Words of the file that this program does not know are dropped; words that the file does not
  // know begin as fresh ones. `notes` (may be null) is told how many.
  [[nodiscard]] static Result<LanguageModel> load(const std::filesystem::path& path,
                                                  const std::string& device = "cpu",
                                                  std::string* notes = nullptr);
  [[nodiscard]] Status save(const std::filesystem::path& path) const;
  // The same as values: what a checkpoint holds.
  [[nodiscard]] static Result<LanguageModel> from_tensors(const TensorFile& file,
                                                          const std::string& device = "cpu",
                                                          std::string* notes = nullptr);
  [[nodiscard]] TensorFile to_tensors() const;
  // Takes the weights of a file of the same shape; trainers of this model go on with them.
  [[nodiscard]] Status assign(const TensorFile& file);
  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  [[nodiscard]] const ModelShape& shape() const;
  [[nodiscard]] std::string device() const;
  [[nodiscard]] std::size_t parameters() const;
  [[nodiscard]] LanguageModel clone() const;

  // In the order of the requests. A request whose mask allows nothing has no texts. An error if a
  // prompt leaves no room for what is to be written.
  [[nodiscard]] Result<std::vector<SampledText>> sample(std::span<const TextRequest> requests,
                                                        const SampleOptions& options) const;
  // Probabilities of given texts under the masks that they carry, in the order of the requests.
  [[nodiscard]] Result<std::vector<TextScore>> score(std::span<const ScoreRequest> requests,
                                                     double temperature) const;
  // Logits of all words after the last token of a text, without mask.
  [[nodiscard]] std::vector<double> logits(std::span<const int> tokens) const;

  struct Impl;  // learn/torch/
  [[nodiscard]] Impl& impl() { return *impl_; }
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// How many threads compute on a CPU, each a part of a batch. A setting of the process, of which the
// first call counts: call it at the start. Results are the same for the same number.
void set_learning_threads(int threads);
// On a GPU: products of f32 in TF32, which keeps 10 bits of a factor and is several times faster.
// Off unless called. Probabilities of sampling and of training then agree to about 1e-3, so leave
// old_log_probabilities of fresh texts empty (trainer.h).
void allow_tf32(bool on);
// "LibTorch 1.13.1, CPU" or with its CUDA devices: for logs and `doctor`.
[[nodiscard]] std::string learning_library();

}  // namespace tilewright
