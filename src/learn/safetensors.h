// SPDX-License-Identifier: Apache-2.0
// Tensors in a file: the safetensors format (huggingface.co/docs/safetensors), which other programs
// read and which cannot carry code. 8 bytes of header length, a JSON header, the raw bytes.
//
// A reader of our own because a damaged or hostile file must be an error, not a crash: offsets are
// checked against the file, shapes against offsets, and no byte may belong to two tensors or to
// none.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class TensorType { f32, f64, i64 };

struct TensorValue {
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::string bytes;  // little-endian, row-major
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] static TensorValue of(std::span<const float> values,
                                      std::vector<std::int64_t> shape);
  [[nodiscard]] static TensorValue of(std::span<const double> values,
                                      std::vector<std::int64_t> shape);
  // Converted from whatever it is.
  [[nodiscard]] std::vector<double> as_doubles() const;
  friend bool operator==(const TensorValue&, const TensorValue&) = default;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorValue> tensors;
  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

// One text for one value: tensors stand in the order of their names, data is aligned to 8 bytes.
[[nodiscard]] std::string write_safetensors(const TensorFile& file);
// An error says what is wrong and where. Types other than those above are refused by name.
[[nodiscard]] Result<TensorFile> parse_safetensors(std::string_view bytes);

[[nodiscard]] Result<TensorFile> read_safetensors(const std::filesystem::path& path);
// Atomically: the old file or the new one.
[[nodiscard]] Status save_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace tilewright
