// SPDX-License-Identifier: Apache-2.0
// The transformer as tensors and functions on them. Internal to learn/torch: it includes LibTorch
// (ATen alone, which has autograd and compiles four times faster than torch/torch.h).
//
// Weights are named and laid out as Hugging Face's GPT-2: matrices [in, out], the output layer is
// the word embedding. Only calls that 1.13 and 2.x share are used.
#pragma once

#include "learn/model.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <string>
#include <utility>
#include <vector>

namespace tilewright {

// Keys and values of prompts and of the texts that go on from them. What texts of one prompt have
// in common is there once and read once for all of them: it is most of what attention reads.
struct AttentionCache {
  struct Layer {
    at::Tensor prompt_key, prompt_value;  // [prompts, heads, longest prompt, width / heads]
    at::Tensor key, value;                // [texts, heads, places written, width / heads]
  };
  std::vector<Layer> layers;
  at::Tensor hidden;  // [prompts, 1, 1, longest prompt]: never the padding
  // Texts stand in a grid of a row for each prompt: text i at slots[i], row after row.
  std::int64_t columns = 1;
  at::Tensor slots;
  bool full = false;  // no slot is empty, and texts are in the order of slots
};

class Network {
 public:
  Network(const ModelShape& shape, std::int64_t words, at::Device device);

  [[nodiscard]] const ModelShape& shape() const { return shape_; }
  [[nodiscard]] at::Device device() const { return device_; }
  [[nodiscard]] at::TensorOptions options() const;
  [[nodiscard]] std::int64_t words() const { return words_; }
  // By name, in the order of names: the same tensors that the network computes with.
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> parameters() const;
  void require_gradients(bool on);
  // The same weights with gradients of its own.
  [[nodiscard]] Network alias() const;
  [[nodiscard]] Network copy() const;  // without gradients
  void assign(const Network& other);   // the values

  // tokens [rows, places], texts padded on the right; the states before the output layer,
  // [rows, places, width]. Of `cache` (may be null) the prompts' keys and values are filled.
  [[nodiscard]] at::Tensor states(const at::Tensor& tokens, AttentionCache* cache) const;
  // One token more for each text: tokens and positions [texts]. States [texts, width].
  [[nodiscard]] at::Tensor next_state(const at::Tensor& tokens, const at::Tensor& positions,
                                      AttentionCache& cache) const;
  // states [any, width] -> [any, words].
  [[nodiscard]] at::Tensor logits(const at::Tensor& states) const;

 private:
  struct Block {
    at::Tensor norm1_weight, norm1_bias, attention_weight, attention_bias, project_weight,
        project_bias, norm2_weight, norm2_bias, widen_weight, widen_bias, narrow_weight,
        narrow_bias;
  };
  template <class Visit>
  static void visit_block(Block& block, const std::string& prefix, const Visit& visit);
  // Query, key and value of x [..., width]: [3, ..., heads, width / heads].
  [[nodiscard]] at::Tensor split(const Block& block, const at::Tensor& x) const;
  // x [rows, places, width]; `bias` is added to the scores.
  [[nodiscard]] at::Tensor attend(const Block& block, const at::Tensor& x, const at::Tensor& bias,
                                  AttentionCache::Layer* cache) const;
  // x [texts, width], the next place of each.
  [[nodiscard]] at::Tensor attend_next(const Block& block, const at::Tensor& x,
                                       const AttentionCache& cache,
                                       AttentionCache::Layer& layer) const;
  // attention(block, index, normed x).
  template <class Attention>
  [[nodiscard]] at::Tensor run(at::Tensor x, const Attention& attention) const;

  ModelShape shape_;
  std::int64_t words_;
  at::Device device_;
  at::Tensor word_embedding_, place_embedding_, last_weight_, last_bias_;
  std::vector<Block> blocks_;
};

struct LanguageModel::Impl {
  Network network;
  std::string device_name;
};

}  // namespace tilewright
