// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of tensors: what is accepted has the bytes its shapes say, and prints to a
// file that means the same.
#include "fuzz/must_hold.h"
#include "learn/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {
namespace {

void check(std::string_view bytes) {
  const auto file = parse_safetensors(bytes);
  if (!file) {
    must_hold(!file.error().message.empty(), "a refusal gives its reason");
    return;
  }
  for (const auto& [name, tensor] : file->tensors) {
    const std::size_t size = tensor.type == TensorType::f32 ? 4 : 8;
    must_hold(tensor.bytes.size() == static_cast<std::size_t>(tensor.elements()) * size,
              "a tensor has the bytes of its shape");
    must_hold(tensor.as_doubles().size() == static_cast<std::size_t>(tensor.elements()),
              "and is as many numbers");
  }
  const auto again = parse_safetensors(write_safetensors(*file));
  must_hold(again.has_value() && *again == *file, "parse(print(file)) == file");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tilewright::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
