// SPDX-License-Identifier: Apache-2.0
// The JSON fields of a CUDA launch. What needs no sizes is checked here, so that a bad description
// is refused before anything is compiled or loaded; call.cc checks the rest.
#include "base/text.h"
#include "launch/json_fields.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright {
namespace {

using nlohmann::json;

constexpr int kMostThreads = 1024;    // per CTA, on every device so far
constexpr int kMostCluster = 16;      // CTAs, with the non-portable size
constexpr int kMostBox = 256;         // elements: cuTensorMapEncodeTiled, boxDim
constexpr int kMostAlignment = 1024;  // elements
constexpr std::size_t kMostMaps = 16;
constexpr std::size_t kMostArguments = 64;
constexpr std::array<std::string_view, 5> kMapFields = {"operand", "columns", "rows", "swizzle",
                                                        "l2_promotion"};
constexpr std::array<std::string_view, 8> kWords = {"a",     "b",    "c",    "workspace",
                                                    "alpha", "beta", "bias", "activation"};
constexpr std::array<std::string_view, 2> kNumbers = {"i32:", "i64:"};

tl::unexpected<Error> off(const Error& error, std::string_view name) {
  return refuse_launch(fmt::format("{}: {}", name, error.message));
}

Result<int> read_int(const json& value, std::string_view name, int least, int most) {
  const auto number = read_number(value, name, least, most);
  if (!number) return tl::unexpected(number.error());
  return static_cast<int>(*number);
}

Result<std::string> read_checked(const json& value, std::string_view name, std::string_view unit) {
  auto text = read_expression(value, name, unit);
  if (!text) return text;
  if (Status form = check_expression(*text); !form) return off(form.error(), name);
  return text;
}

Status read_grid(const json& value, CudaLaunch& launch) {
  if (!value.is_array() || value.size() != 3) {
    return refuse_launch(fmt::format("grid={} is not three expressions", value.dump()));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto text = read_checked(value[i], fmt::format("grid[{}]", i), "CTAs");
    if (!text) return tl::unexpected(text.error());
    launch.grid[i] = std::move(*text);
  }
  return {};
}

Status read_cluster(const json& value, CudaLaunch& launch) {
  if (!value.is_array() || value.size() != 3) {
    return refuse_launch(fmt::format("cluster={} is not three numbers", value.dump()));
  }
  int ctas = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto size = read_int(value[i], fmt::format("cluster[{}]", i), 1, kMostCluster);
    if (!size) return tl::unexpected(size.error());
    launch.cluster[i] = *size;
    ctas *= *size;
  }
  if (ctas > kMostCluster) {
    return refuse_launch(
        fmt::format("cluster={} has {} CTAs, {} at most", value.dump(), ctas, kMostCluster));
  }
  return {};
}

Status one_of(int value, std::initializer_list<int> allowed, std::string_view name) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return {};
  return refuse_launch(fmt::format("{}={} is none of {}", name, value, fmt::join(allowed, ", ")));
}

Result<TensorMapSpec> read_map(const json& value, const std::string& name) {
  if (!value.is_object()) return refuse_launch(fmt::format("{} is not an object", name));
  for (const auto& [key, ignored] : value.items()) {
    if (std::find(kMapFields.begin(), kMapFields.end(), key) == kMapFields.end()) {
      return refuse_launch(fmt::format("unknown field '{}' in {}, which has {}", key, name,
                                       fmt::join(kMapFields, " ")));
    }
  }
  TensorMapSpec map;
  const json operand = value.value("operand", json());
  if (operand != "a" && operand != "b" && operand != "c") {
    return refuse_launch(
        fmt::format("{}.operand={} is none of \"a\", \"b\", \"c\"", name, operand.dump()));
  }
  map.operand = operand.get<std::string>()[0];
  for (const auto& [field, member, most] :
       {std::tuple{"columns", &TensorMapSpec::columns, kMostBox},
        {"rows", &TensorMapSpec::rows, kMostBox},
        {"swizzle", &TensorMapSpec::swizzle, kMostBox},
        {"l2_promotion", &TensorMapSpec::l2_promotion, kMostBox}}) {
    if (!value.contains(field)) continue;
    const auto number = read_int(value[field], fmt::format("{}.{}", name, field), 0, most);
    if (!number) return tl::unexpected(number.error());
    map.*member = *number;
  }
  if (map.columns < 1 || map.columns % 8 != 0) {
    // The innermost row of a box is a multiple of 16 bytes: cuTensorMapEncodeTiled, boxDim.
    return refuse_launch(fmt::format("{}.columns={} is not a multiple of 8", name, map.columns));
  }
  if (map.rows < 1)
    return refuse_launch(fmt::format("{}.rows={} is not at least 1", name, map.rows));
  if (Status s = one_of(map.swizzle, {0, 32, 64, 128}, name + ".swizzle"); !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = one_of(map.l2_promotion, {0, 64, 128, 256}, name + ".l2_promotion"); !s) {
    return tl::unexpected(s.error());
  }
  if (map.swizzle != 0 && map.columns * 2 > map.swizzle) {
    return refuse_launch(fmt::format("{}.columns={} is {} bytes a row, more than swizzle={}", name,
                                     map.columns, map.columns * 2, map.swizzle));
  }
  return map;
}

Status read_maps(const json& value, CudaLaunch& launch) {
  if (!value.is_array() || value.size() > kMostMaps) {
    return refuse_launch(fmt::format("maps is not a list of at most {} tensor maps", kMostMaps));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto map = read_map(value[i], fmt::format("maps[{}]", i));
    if (!map) return tl::unexpected(map.error());
    launch.maps.push_back(*map);
  }
  return {};
}

Status check_argument(const std::string& word, std::size_t index, std::size_t maps) {
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return {};
  for (const std::string_view number : kNumbers) {
    if (!word.starts_with(number)) continue;
    const Status form = check_expression(std::string_view(word).substr(number.size()));
    if (!form) return off(form.error(), fmt::format("arguments[{}]", index));
    return {};
  }
  if (word.starts_with("map")) {
    const auto map = parse_integer(std::string_view(word).substr(3));
    if (map && *map >= 0 && *map < static_cast<std::int64_t>(maps)) return {};
    return refuse_launch(fmt::format("arguments[{}]='{}': there are {} maps", index, word, maps));
  }
  return refuse_launch(fmt::format("arguments[{}]='{}' is none of {}, map0 ..., i32:EXPR, i64:EXPR",
                                   index, word, fmt::join(kWords, ", ")));
}

Status read_arguments(const json& value, CudaLaunch& launch) {
  if (!value.is_array() || value.size() > kMostArguments) {
    return refuse_launch(
        fmt::format("arguments is not a list of at most {} words", kMostArguments));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_string()) {
      return refuse_launch(fmt::format("arguments[{}]={} is not a text", i, value[i].dump()));
    }
    launch.arguments.push_back(value[i].get<std::string>());
    if (Status s = check_argument(launch.arguments.back(), i, launch.maps.size()); !s) return s;
  }
  return {};
}

// An expression in which `name` occurs as a name.
bool mentions(std::string_view expression, std::string_view name) {
  return expression.find(name) != std::string_view::npos;
}

}  // namespace

Status read_cuda_fields(const json& value, CudaLaunch& launch) {
  if (value.contains("threads")) {
    const auto threads = read_int(value["threads"], "threads", 1, kMostThreads);
    if (!threads) return tl::unexpected(threads.error());
    launch.threads = *threads;
  }
  if (value.contains("alignment")) {
    const auto alignment = read_int(value["alignment"], "alignment", 1, kMostAlignment);
    if (!alignment) return tl::unexpected(alignment.error());
    launch.alignment = *alignment;
  }
  for (const auto& [field, member] : {std::pair{"shared_bytes", &CudaLaunch::shared_bytes},
                                      std::pair{"zeroed", &CudaLaunch::zeroed}}) {
    if (!value.contains(field)) continue;
    auto text = read_checked(value[field], field, "bytes");
    if (!text) return tl::unexpected(text.error());
    launch.*member = std::move(*text);
  }
  if (mentions(launch.shared_bytes, "slots")) {
    return refuse_launch(
        fmt::format("shared_bytes='{}' names slots, which depend on it", launch.shared_bytes));
  }
  using Read = Status (*)(const json&, CudaLaunch&);
  for (const auto& [field, read] :  // maps before the arguments that name them
       {std::pair<const char*, Read>{"grid", read_grid},
        {"cluster", read_cluster},
        {"maps", read_maps},
        {"arguments", read_arguments}}) {
    if (!value.contains(field)) continue;
    if (Status s = read(value[field], launch); !s) return s;
  }
  return {};
}

void write_cuda_fields(nlohmann::ordered_json& value, const CudaLaunch& launch) {
  value["grid"] = launch.grid;
  value["cluster"] = launch.cluster;
  value["shared_bytes"] = launch.shared_bytes;
  value["zeroed"] = launch.zeroed;
  value["maps"] = nlohmann::ordered_json::array();
  for (const TensorMapSpec& map : launch.maps) {
    value["maps"].push_back({{"operand", std::string(1, map.operand)},
                             {"columns", map.columns},
                             {"rows", map.rows},
                             {"swizzle", map.swizzle},
                             {"l2_promotion", map.l2_promotion}});
  }
  value["arguments"] = launch.arguments;
  value["alignment"] = launch.alignment;
}

}  // namespace tilewright
