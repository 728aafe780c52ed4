// SPDX-License-Identifier: Apache-2.0
// Between LibTorch's tensors and values on the host. Internal to learn/torch.
#pragma once

#include "learn/safetensors.h"
#include "learn/torch/network.h"

#include <span>
#include <vector>

namespace tilewright {

// A model's file: LanguageModel::to_tensors().
[[nodiscard]] TensorFile file_of(const Network& network);
[[nodiscard]] TensorValue value_of(const at::Tensor& tensor);  // f32 or f64, as it is
// On the network's device, in its precision.
[[nodiscard]] at::Tensor tensor_of(const TensorValue& value, const Network& network);
[[nodiscard]] at::Tensor tensor_of(std::span<const double> values,
                                   const std::vector<std::int64_t>& shape, const Network& network);
[[nodiscard]] at::Tensor indices_of(std::span<const std::int64_t> values,
                                    const std::vector<std::int64_t>& shape, const Network& network);
[[nodiscard]] std::vector<double> doubles_of(const at::Tensor& tensor);

}  // namespace tilewright
