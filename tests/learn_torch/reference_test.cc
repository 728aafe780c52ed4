// SPDX-License-Identifier: Apache-2.0
// A model's file, computed with plain loops as Hugging Face describes GPT-2: then its names, its
// layout and our network mean the same.
#include "learn_torch/tiny.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tilewright {
namespace {

using Vector = std::vector<double>;

class PlainGpt2 {
 public:
  PlainGpt2(const TensorFile& file, std::size_t layers, std::size_t heads)
      : file_(file), layers_(layers), heads_(heads) {}

  // Logits after the last token.
  [[nodiscard]] Vector logits(const std::vector<int>& tokens) const {
    const Vector words = get("wte.weight"), places = get("wpe.weight");
    const std::size_t d =
        static_cast<std::size_t>(file_.tensors.at("transformer.ln_f.bias").shape[0]);
    std::vector<Vector> x(tokens.size(), Vector(d));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      for (std::size_t i = 0; i < d; ++i) {
        x[t][i] = words[static_cast<std::size_t>(tokens[t]) * d + i] + places[t * d + i];
      }
    }
    for (std::size_t l = 0; l < layers_; ++l) {
      const std::string h = "h." + std::to_string(l) + ".";
      std::vector<Vector> normed, mixed;
      for (const Vector& v : x) normed.push_back(norm(v, h + "ln_1"));
      mixed = attention(normed, h + "attn.");
      for (std::size_t t = 0; t < x.size(); ++t) {
        add(x[t], mixed[t]);
        Vector wide = conv1d(norm(x[t], h + "ln_2"), h + "mlp.c_fc");
        for (double& v : wide) {
          v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
        }
        add(x[t], conv1d(wide, h + "mlp.c_proj"));
      }
    }
    const Vector last = norm(x.back(), "ln_f");
    Vector out(words.size() / d, 0);
    for (std::size_t w = 0; w < out.size(); ++w) {
      for (std::size_t i = 0; i < d; ++i) out[w] += words[w * d + i] * last[i];
    }
    return out;
  }

 private:
  [[nodiscard]] Vector get(const std::string& name) const {
    return file_.tensors.at("transformer." + name).as_doubles();
  }
  static void add(Vector& to, const Vector& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
  }
  [[nodiscard]] Vector norm(const Vector& x, const std::string& name) const {
    const Vector weight = get(name + ".weight"), bias = get(name + ".bias");
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    Vector out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
    }
    return out;
  }
  // Weights [in, out].
  [[nodiscard]] Vector conv1d(const Vector& x, const std::string& name) const {
    const Vector weight = get(name + ".weight");
    Vector out = get(name + ".bias");
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t o = 0; o < out.size(); ++o) out[o] += x[i] * weight[i * out.size() + o];
    }
    return out;
  }
  [[nodiscard]] std::vector<Vector> attention(const std::vector<Vector>& x,
                                              const std::string& prefix) const {
    const std::size_t d = x[0].size(), each = d / heads_;
    std::vector<Vector> all, out;
    for (const Vector& v : x) all.push_back(conv1d(v, prefix + "c_attn"));  // query, key, value
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector mixed(d, 0);
      for (std::size_t h = 0; h < heads_; ++h) {
        Vector weights(t + 1, 0);
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = h * each; i < (h + 1) * each; ++i) {
            weights[s] += all[t][i] * all[s][d + i];
          }
          weights[s] = std::exp(weights[s] / std::sqrt(static_cast<double>(each)));
          sum += weights[s];
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = h * each; i < (h + 1) * each; ++i) {
            mixed[i] += weights[s] / sum * all[s][2 * d + i];
          }
        }
      }
      out.push_back(conv1d(mixed, prefix + "c_proj"));
    }
    return out;
  }

  const TensorFile& file_;
  std::size_t layers_, heads_;
};

TEST(Network, IsGpt2AsItsFileSays) {
  TensorFile file = tiny::model(11).to_tensors();
  // Fresh norms and biases are ones and zeros, which would hide their places; larger weights make
  // attention and the GELU bend.
  Rng rng(12);
  for (auto& [name, tensor] : file.tensors) {
    Vector values = tensor.as_doubles();
    for (double& v : values) v = 4 * v + 0.3 * rng.normal();
    tensor = TensorValue::of(values, tensor.shape);
  }
  LanguageModel model = tiny::model(1);
  ASSERT_TRUE(model.assign(file));
  std::vector<int> tokens;
  for (int t = 0; t < 12; ++t) tokens.push_back(static_cast<int>(rng.below(text_words().size())));
  const Vector wanted = PlainGpt2(file, 2, 2).logits(tokens), got = model.logits(tokens);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t w = 0; w < got.size(); ++w) ASSERT_NEAR(got[w], wanted[w], 1e-8) << w;
}

}  // namespace
}  // namespace tilewright
