// SPDX-License-Identifier: Apache-2.0
// Reading an algorithm's knobs back from their text: what one process found, another can run.
#include "vendor/algo_config.h"

#include "base/text.h"
#include "vendor/tiles.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace tilewright::vendor {
namespace {

// Ids are numbered up from 0, with gaps nowhere near this.
constexpr std::uint16_t kMostIds = 1024;

template <class Text>
std::optional<std::int64_t> id_of(std::string_view word, Text text) {
  for (std::uint16_t id = 0; id < kMostIds; ++id) {
    if (text(id) == word) return id;
  }
  return std::nullopt;
}
std::optional<std::int64_t> tile_id(std::string_view word) {
  return id_of(word, tile_text);
}
std::optional<std::int64_t> cluster_id(std::string_view word) {
  return id_of(word, cluster_text);
}

template <auto kMember>
bool set(AlgoConfig& config, std::int64_t value) {
  using Value = std::remove_reference_t<decltype(config.*kMember)>;
  if (!std::in_range<Value>(value)) return false;
  config.*kMember = static_cast<Value>(value);
  return true;
}

struct Key {
  std::string_view name;
  std::optional<std::int64_t> (*read)(std::string_view word);
  bool (*set)(AlgoConfig& config, std::int64_t value);
};
constexpr std::array<Key, 9> kKeys = {{
    {"algo", parse_integer, set<&AlgoConfig::id>},
    {"tile", tile_id, set<&AlgoConfig::tile>},
    {"stages", parse_integer, set<&AlgoConfig::stages>},
    {"cluster", cluster_id, set<&AlgoConfig::cluster>},
    {"splitk", parse_integer, set<&AlgoConfig::split_k>},
    {"reduction", parse_integer, set<&AlgoConfig::reduction>},
    {"swizzle", parse_integer, set<&AlgoConfig::swizzling>},
    {"inner", parse_integer, set<&AlgoConfig::inner>},
    {"custom", parse_integer, set<&AlgoConfig::custom>},
}};

}  // namespace

Result<AlgoConfig> parse_algo_config(std::string_view text) {
  AlgoConfig config;
  const std::vector<std::string_view> given = words(text.substr(0, text.find('(')));
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const Key& key = kKeys[i];
    const std::string_view word = i < given.size() ? given[i] : std::string_view();
    const bool named = word.starts_with(key.name) && word.substr(key.name.size()).starts_with('=');
    const auto value = named ? key.read(word.substr(key.name.size() + 1)) : std::nullopt;
    if (!value || !key.set(config, *value)) {
      return fail(ErrorCode::usage,
                  fmt::format("algorithm of cublasLt: '{}' is no {}=", word, key.name));
    }
  }
  if (given.size() > kKeys.size()) {
    return fail(ErrorCode::usage, fmt::format("algorithm of cublasLt: '{}' is one word too many",
                                              given[kKeys.size()]));
  }
  return config;
}

}  // namespace tilewright::vendor
