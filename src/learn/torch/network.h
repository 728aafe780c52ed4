// SPDX-License-Identifier: Apache-2.0
// The transformer as tensors and functions on them. Internal to learn/torch: it includes LibTorch
// (ATen alone, which has autograd and compiles four times faster than torch/torch.h).
//
// Weights are named and laid out as Hugging Face's GPT-2: matrices [in, out], the output layer is
// the word embedding. Only calls that 1.13 and 2.x share are used.
#pragma once

#include "learn/model.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

namespace tilewright {

// Keys and values of a text so far, one pair a layer: [rows, heads, places, width / heads].
struct AttentionCache {
  std::vector<std::pair<at::Tensor, at::Tensor>> layers;
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
  // [rows, places, width]. `cache` (may be null) is filled.
  [[nodiscard]] at::Tensor states(const at::Tensor& tokens, AttentionCache* cache) const;
  // One token more for each row: tokens and positions [rows]; `hidden` [rows, 1, 1, places so far +
  // 1] is added to the attention's scores. States [rows, width].
  [[nodiscard]] at::Tensor next_state(const at::Tensor& tokens, const at::Tensor& positions,
                                      const at::Tensor& hidden, AttentionCache& cache) const;
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
  // x [rows, places, width]; `bias` is added to the scores.
  [[nodiscard]] at::Tensor attend(const Block& block, const at::Tensor& x, const at::Tensor& bias,
                                  std::pair<at::Tensor, at::Tensor>* cache) const;
  [[nodiscard]] at::Tensor run(at::Tensor x, const at::Tensor& bias, AttentionCache* cache) const;

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
