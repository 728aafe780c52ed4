// SPDX-License-Identifier: Apache-2.0
// See safetensors.h.
#include "learn/safetensors.h"

#include "base/file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace tilewright {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "bytes are taken as they lie");

constexpr std::size_t kLengthBytes = 8, kAlignment = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr const char* kMetadata = "__metadata__";

struct TypeRow {
  TensorType type;
  std::string_view name;
  std::int64_t size;
};
constexpr std::array<TypeRow, 3> kTypes = {
    {{TensorType::f32, "F32", 4}, {TensorType::f64, "F64", 8}, {TensorType::i64, "I64", 8}}};

const TypeRow& row_of(TensorType type) {
  return *std::ranges::find(kTypes, type, &TypeRow::type);
}

tl::unexpected<Error> refused(std::string why) {
  return fail(ErrorCode::refused, "safetensors: " + std::move(why));
}

template <class T>
TensorValue made(TensorType type, std::span<const T> values, std::vector<std::int64_t> shape) {
  TensorValue value{.type = type, .shape = std::move(shape), .bytes = {}};
  value.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return value;
}

template <class T>
std::vector<double> converted(const std::string& bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
  return out;
}

// Elements of a shape, or nothing if they are negative or do not fit.
std::optional<std::int64_t> product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size != 0 && count > std::numeric_limits<std::int64_t>::max() / 16 / size) {
      return std::nullopt;
    }
    count *= size;
  }
  return count;
}

struct Extent {
  std::uint64_t first, last;
  std::string name;
};

Result<std::vector<std::int64_t>> integers(const json& list, const std::string& what) {
  std::vector<std::int64_t> out;
  if (!list.is_array()) return refused(what + " is no list");
  for (const json& item : list) {
    if (!item.is_number_integer() ||
        (item.is_number_unsigned() && item.get<std::uint64_t>() > (std::uint64_t{1} << 62))) {
      return refused(what + " holds no integer");
    }
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

Result<TensorValue> parse_tensor(const std::string& name, const json& entry, std::string_view data,
                                 std::vector<Extent>& extents) {
  const auto wrong = [&](std::string_view what) {
    return refused(fmt::format("tensor '{}': {}", name, what));
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets") || !entry["dtype"].is_string()) {
    return wrong("dtype, shape or data_offsets is missing");
  }
  const auto& word = entry["dtype"].get_ref<const std::string&>();
  const auto type = std::ranges::find(kTypes, word, &TypeRow::name);
  if (type == kTypes.end()) return wrong(fmt::format("type '{}' is none of F32, F64, I64", word));
  auto shape = integers(entry["shape"], fmt::format("tensor '{}': shape", name));
  if (!shape) return tl::unexpected(shape.error());
  const auto count = product(*shape);
  if (!count) return wrong("its shape is negative or too large");
  const auto offsets = integers(entry["data_offsets"], fmt::format("tensor '{}': offsets", name));
  if (!offsets) return tl::unexpected(offsets.error());
  if (offsets->size() != 2 || (*offsets)[0] < 0 || (*offsets)[1] < (*offsets)[0] ||
      static_cast<std::uint64_t>((*offsets)[1]) > data.size()) {
    return wrong(fmt::format("its bytes are not within the {} of the file", data.size()));
  }
  const std::int64_t size = (*offsets)[1] - (*offsets)[0];
  if (size != *count * type->size) {
    return wrong(fmt::format("{} bytes for {} elements of {}", size, *count, word));
  }
  const auto first = static_cast<std::uint64_t>((*offsets)[0]);
  extents.push_back({first, first + static_cast<std::uint64_t>(size), name});
  return TensorValue{.type = type->type,
                     .shape = *std::move(shape),
                     .bytes = std::string(data.substr(first, static_cast<std::size_t>(size)))};
}

// Every byte belongs to one tensor.
Status check_extents(std::vector<Extent> extents, std::uint64_t size) {
  std::ranges::sort(extents, {}, [](const Extent& e) { return std::pair(e.first, e.last); });
  std::uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.first != end) {
      return refused(fmt::format("tensor '{}' begins at byte {}, not at {}: a gap or an overlap",
                                 extent.name, extent.first, end));
    }
    end = extent.last;
  }
  if (end != size) return refused(fmt::format("{} bytes belong to no tensor", size - end));
  return {};
}

}  // namespace

std::int64_t TensorValue::elements() const {
  return product(shape).value_or(0);
}

TensorValue TensorValue::of(std::span<const float> values, std::vector<std::int64_t> shape) {
  return made(TensorType::f32, values, std::move(shape));
}

TensorValue TensorValue::of(std::span<const double> values, std::vector<std::int64_t> shape) {
  return made(TensorType::f64, values, std::move(shape));
}

std::vector<double> TensorValue::as_doubles() const {
  if (type == TensorType::f64) return converted<double>(bytes);
  return type == TensorType::i64 ? converted<std::int64_t>(bytes) : converted<float>(bytes);
}

std::string write_safetensors(const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    header[name] = {{"dtype", row_of(tensor.type).name},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes.reserve(bytes.size() + text.size() + offset);
  bytes += text;
  for (const auto& [name, tensor] : file.tensors) bytes += tensor.bytes;
  return bytes;
}

Result<TensorFile> parse_safetensors(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return refused("the file is too short for a header");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestHeader || length > bytes.size() - kLengthBytes) {
    return refused(fmt::format("a header of {} bytes in a file of {}", length, bytes.size()));
  }
  const std::string_view text = bytes.substr(kLengthBytes, static_cast<std::size_t>(length));
  const std::string_view data = bytes.substr(kLengthBytes + static_cast<std::size_t>(length));
  const json header = json::parse(text, nullptr, false);
  if (!header.is_object()) return refused("the header is no JSON object");

  TensorFile file;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      if (!entry.is_object()) return refused("the metadata are no object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return refused(fmt::format("metadata '{}' is no text", key));
        file.metadata.emplace(key, value.get<std::string>());
      }
      continue;
    }
    auto tensor = parse_tensor(name, entry, data, extents);
    if (!tensor) return tl::unexpected(tensor.error());
    file.tensors.emplace(name, *std::move(tensor));
  }
  if (const Status ok = check_extents(std::move(extents), data.size()); !ok) {
    return tl::unexpected(ok.error());
  }
  return file;
}

Result<TensorFile> read_safetensors(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) return tl::unexpected(bytes.error());
  auto file = parse_safetensors(*bytes);
  if (!file) {
    Error error = file.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  return file;
}

Status save_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  return write_file_atomically(path, write_safetensors(file));
}

}  // namespace tilewright
