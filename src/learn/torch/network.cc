// SPDX-License-Identifier: Apache-2.0
// See network.h. Pre-LN blocks: x + attention(norm(x)), x + mlp(norm(x)).
#include "learn/torch/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kNormEpsilon = 1e-5;  // GPT-2's
constexpr double kNever = -1e9;        // added to a score that must not count

// x [..., in] * weight [in, out] + bias.
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  const at::Tensor flat = x.reshape({-1, sizes.back()});
  sizes.back() = weight.size(1);
  return at::addmm(bias, flat, weight).view(sizes);
}

at::Tensor norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kNormEpsilon);
}

}  // namespace

template <class Visit>
void Network::visit_block(Block& block, const std::string& prefix, const Visit& visit) {
  visit(prefix + "ln_1.weight", block.norm1_weight);
  visit(prefix + "ln_1.bias", block.norm1_bias);
  visit(prefix + "attn.c_attn.weight", block.attention_weight);
  visit(prefix + "attn.c_attn.bias", block.attention_bias);
  visit(prefix + "attn.c_proj.weight", block.project_weight);
  visit(prefix + "attn.c_proj.bias", block.project_bias);
  visit(prefix + "ln_2.weight", block.norm2_weight);
  visit(prefix + "ln_2.bias", block.norm2_bias);
  visit(prefix + "mlp.c_fc.weight", block.widen_weight);
  visit(prefix + "mlp.c_fc.bias", block.widen_bias);
  visit(prefix + "mlp.c_proj.weight", block.narrow_weight);
  visit(prefix + "mlp.c_proj.bias", block.narrow_bias);
}

Network::Network(const ModelShape& shape, std::int64_t words, at::Device device)
    : shape_(shape), words_(words), device_(device) {
  const std::int64_t d = shape.width;
  const auto matrix = [&](std::int64_t in, std::int64_t out) {
    return at::zeros({in, out}, options());
  };
  const auto vector = [&](std::int64_t size) { return at::zeros({size}, options()); };
  word_embedding_ = matrix(words, d);
  place_embedding_ = matrix(shape.context, d);
  last_weight_ = at::ones({d}, options());
  last_bias_ = vector(d);
  for (int i = 0; i < shape.layers; ++i) {
    blocks_.push_back({.norm1_weight = at::ones({d}, options()),
                       .norm1_bias = vector(d),
                       .attention_weight = matrix(d, 3 * d),
                       .attention_bias = vector(3 * d),
                       .project_weight = matrix(d, d),
                       .project_bias = vector(d),
                       .norm2_weight = at::ones({d}, options()),
                       .norm2_bias = vector(d),
                       .widen_weight = matrix(d, 4 * d),
                       .widen_bias = vector(4 * d),
                       .narrow_weight = matrix(4 * d, d),
                       .narrow_bias = vector(d)});
  }
}

at::TensorOptions Network::options() const {
  return at::TensorOptions().device(device_).dtype(shape_.f64 ? at::kDouble : at::kFloat);
}

std::vector<std::pair<std::string, at::Tensor>> Network::parameters() const {
  std::vector<std::pair<std::string, at::Tensor>> all = {
      {"transformer.wte.weight", word_embedding_},
      {"transformer.wpe.weight", place_embedding_},
      {"transformer.ln_f.weight", last_weight_},
      {"transformer.ln_f.bias", last_bias_}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Block block = blocks_[i];  // handles of the same tensors
    visit_block(
        block, fmt::format("transformer.h.{}.", i),
        [&](std::string name, at::Tensor& tensor) { all.emplace_back(std::move(name), tensor); });
  }
  std::ranges::sort(all, {}, [](const auto& entry) { return entry.first; });
  return all;
}

void Network::require_gradients(bool on) {
  for (auto& [name, tensor] : parameters()) {
    at::Tensor handle = tensor;
    handle.set_requires_grad(on);
  }
}

Network Network::alias() const {
  Network other = *this;
  const auto detach = [](const std::string&, at::Tensor& tensor) { tensor = tensor.detach(); };
  for (at::Tensor* tensor :
       {&other.word_embedding_, &other.place_embedding_, &other.last_weight_, &other.last_bias_}) {
    *tensor = tensor->detach();
  }
  for (Block& block : other.blocks_) visit_block(block, "", detach);
  return other;
}

Network Network::copy() const {
  Network other(shape_, words_, device_);
  other.assign(*this);
  return other;
}

void Network::assign(const Network& other) {
  const c10::NoGradGuard no_grad;
  auto mine = parameters();
  const auto theirs = other.parameters();
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i].second.copy_(theirs[i].second);
}

at::Tensor Network::split(const Block& block, const at::Tensor& x) const {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  const std::int64_t each = sizes.back() / shape_.heads;
  sizes.back() = 3;
  sizes.insert(sizes.end(), {shape_.heads, each});
  const at::Tensor all = affine(x, block.attention_weight, block.attention_bias).view(sizes);
  return x.dim() == 3 ? all.permute({2, 0, 3, 1, 4}) : all.permute({1, 0, 2, 3});
}

at::Tensor Network::attend(const Block& block, const at::Tensor& x, const at::Tensor& bias,
                           AttentionCache::Layer* cache) const {
  const at::Tensor all = split(block, x);  // [3, rows, heads, places, each]
  if (cache != nullptr) {
    cache->prompt_key = all[1].contiguous();
    cache->prompt_value = all[2].contiguous();
  }
  const double scale = 1 / std::sqrt(static_cast<double>(all.size(4)));
  const at::Tensor scores = at::matmul(all[0] * scale, all[1].transpose(2, 3)) + bias;
  const at::Tensor mixed =
      at::matmul(at::softmax(scores, -1), all[2]).permute({0, 2, 1, 3}).reshape(x.sizes());
  return affine(mixed, block.project_weight, block.project_bias);
}

at::Tensor Network::attend_next(const Block& block, const at::Tensor& x,
                                const AttentionCache& cache, AttentionCache::Layer& layer) const {
  const std::int64_t prompts = cache.hidden.size(0), before = cache.hidden.size(3);
  const std::int64_t columns = cache.columns;
  // [texts, heads, any] <-> [prompts, heads, columns, any]
  const auto to_grid = [&](const at::Tensor& texts) {
    at::Tensor grid = texts;
    if (!cache.full) {
      grid = at::zeros({prompts * columns, texts.size(1), texts.size(2)}, texts.options());
      grid.index_copy_(0, cache.slots, texts);
    }
    return grid.reshape({prompts, columns, texts.size(1), texts.size(2)}).transpose(1, 2);
  };
  const auto from_grid = [&](const at::Tensor& grid) {
    const at::Tensor texts =
        grid.transpose(1, 2).reshape({prompts * columns, grid.size(1), grid.size(3)});
    return cache.full ? texts : texts.index_select(0, cache.slots);
  };
  const at::Tensor all = split(block, x);  // [3, texts, heads, each]
  const at::Tensor key = all[1].unsqueeze(2), value = all[2].unsqueeze(2);
  layer.key = layer.key.defined() ? at::cat({layer.key, key}, 2) : key;
  layer.value = layer.value.defined() ? at::cat({layer.value, value}, 2) : value;

  const at::Tensor query = all[0] * (1 / std::sqrt(static_cast<double>(all.size(3))));
  const at::Tensor to_prompt =
      from_grid(at::matmul(to_grid(query), layer.prompt_key.transpose(2, 3)) + cache.hidden);
  const at::Tensor to_own = at::matmul(layer.key, query.unsqueeze(3)).squeeze(3);
  const at::Tensor weights = at::softmax(at::cat({to_prompt, to_own}, 2), -1);
  const at::Tensor of_prompt =
      from_grid(at::matmul(to_grid(weights.slice(2, 0, before)), layer.prompt_value));
  const at::Tensor of_own =
      at::matmul(weights.slice(2, before).unsqueeze(2), layer.value).squeeze(2);
  return affine((of_prompt + of_own).reshape(x.sizes()), block.project_weight, block.project_bias);
}

template <class Attention>
at::Tensor Network::run(at::Tensor x, const Attention& attention) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    x = x + attention(block, i, norm(x, block.norm1_weight, block.norm1_bias));
    const at::Tensor wide = at::gelu(
        affine(norm(x, block.norm2_weight, block.norm2_bias), block.widen_weight, block.widen_bias),
        "tanh");
    x = x + affine(wide, block.narrow_weight, block.narrow_bias);
  }
  return norm(x, last_weight_, last_bias_);
}

at::Tensor Network::states(const at::Tensor& tokens, AttentionCache* cache) const {
  const std::int64_t places = tokens.size(1);
  const at::Tensor x =
      at::embedding(word_embedding_, tokens) + place_embedding_.slice(0, 0, places).unsqueeze(0);
  const at::Tensor bias = at::full({places, places}, kNever, options()).triu(1);
  if (cache != nullptr) cache->layers.resize(blocks_.size());
  return run(x, [&](const Block& block, std::size_t i, const at::Tensor& normed) {
    return attend(block, normed, bias, cache != nullptr ? &cache->layers[i] : nullptr);
  });
}

at::Tensor Network::next_state(const at::Tensor& tokens, const at::Tensor& positions,
                               AttentionCache& cache) const {
  const at::Tensor x =
      at::embedding(word_embedding_, tokens) + at::embedding(place_embedding_, positions);
  return run(x, [&](const Block& block, std::size_t i, const at::Tensor& normed) {
    return attend_next(block, normed, cache, cache.layers[i]);
  });
}

at::Tensor Network::logits(const at::Tensor& states) const {
  return at::matmul(states, word_embedding_.t());
}

}  // namespace tilewright
