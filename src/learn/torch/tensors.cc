// SPDX-License-Identifier: Apache-2.0
// See tensors.h.
#include "learn/torch/tensors.h"

#include <cstring>

namespace tilewright {
namespace {

at::Tensor on_host(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU).contiguous();
}

at::Tensor from_bytes(const void* bytes, const std::vector<std::int64_t>& shape,
                      at::ScalarType type, std::size_t size) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(type));
  if (size != 0) std::memcpy(tensor.data_ptr(), bytes, size);
  return tensor;
}

}  // namespace

TensorValue value_of(const at::Tensor& tensor) {
  const at::Tensor host = on_host(tensor);
  TensorValue value{.type = host.scalar_type() == at::kDouble ? TensorType::f64 : TensorType::f32,
                    .shape = host.sizes().vec(),
                    .bytes = {}};
  value.bytes.assign(static_cast<const char*>(host.data_ptr()),
                     static_cast<std::size_t>(host.numel()) * host.element_size());
  return value;
}

at::Tensor tensor_of(const TensorValue& value, const Network& network) {
  const at::ScalarType type = value.type == TensorType::f64   ? at::kDouble
                              : value.type == TensorType::i64 ? at::kLong
                                                              : at::kFloat;
  return from_bytes(value.bytes.data(), value.shape, type, value.bytes.size())
      .to(network.options());
}

at::Tensor tensor_of(std::span<const double> values, const std::vector<std::int64_t>& shape,
                     const Network& network) {
  return from_bytes(values.data(), shape, at::kDouble, values.size_bytes()).to(network.options());
}

at::Tensor indices_of(std::span<const std::int64_t> values, const std::vector<std::int64_t>& shape,
                      const Network& network) {
  return from_bytes(values.data(), shape, at::kLong, values.size_bytes()).to(network.device());
}

std::vector<double> doubles_of(const at::Tensor& tensor) {
  const at::Tensor host = on_host(tensor.detach().to(at::kDouble));
  const auto* first = static_cast<const double*>(host.data_ptr());
  return {first, first + host.numel()};
}

}  // namespace tilewright
