// SPDX-License-Identifier: Apache-2.0
// The JSON fields of a CUDA launch. What needs no sizes is checked here, so that a bad description
// is refused before anything is compiled or loaded; call.cc checks the rest.
#include "base/text.h"
#include "launch/json_fields.h"

#include <algorithm>
#include <array>
#include <span>
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
constexpr std::size_t kMostSteps = 4;
constexpr std::array<std::string_view, 6> kMapFields = {"operand", "columns",      "rows",
                                                        "swizzle", "l2_promotion", "copy"};
constexpr std::array<std::string_view, 4> kStepFields = {"symbol", "grid", "threads", "arguments"};
struct CopyField {
  std::string_view name, unit;
  std::string WorkspaceCopy::* member;
};
constexpr std::array<CopyField, 4> kCopyFields = {
    {{"offset", "bytes", &WorkspaceCopy::offset},
     {"row_stride", "elements", &WorkspaceCopy::row_stride},
     {"batch_stride", "elements", &WorkspaceCopy::batch_stride},
     {"entries", "entries", &WorkspaceCopy::entries}}};
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

// An object without fields of other names.
Status known_fields(const json& value, const std::string& name,
                    std::span<const std::string_view> known) {
  if (!value.is_object()) return refuse_launch(fmt::format("{} is not an object", name));
  for (const auto& [key, ignored] : value.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return refuse_launch(
          fmt::format("unknown field '{}' in {}, which has {}", key, name, fmt::join(known, " ")));
    }
  }
  return {};
}

Status read_ctas(const json& value, const std::string& name, std::array<std::string, 3>& grid) {
  if (!value.is_array() || value.size() != 3) {
    return refuse_launch(fmt::format("{}={} is not three expressions", name, value.dump()));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto text = read_checked(value[i], fmt::format("{}[{}]", name, i), "CTAs");
    if (!text) return tl::unexpected(text.error());
    grid[i] = std::move(*text);
  }
  return {};
}

Status read_grid(const json& value, CudaLaunch& launch) {
  return read_ctas(value, "grid", launch.grid);
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

Result<WorkspaceCopy> read_copy(const json& value, const std::string& name) {
  constexpr auto kNames = [] {
    std::array<std::string_view, kCopyFields.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCopyFields[i].name;
    return names;
  }();
  if (Status s = known_fields(value, name, kNames); !s) return tl::unexpected(s.error());
  WorkspaceCopy copy;
  for (const CopyField& field : kCopyFields) {
    if (!value.contains(field.name)) continue;
    auto text = read_checked(value[field.name], fmt::format("{}.{}", name, field.name), field.unit);
    if (!text) return tl::unexpected(text.error());
    copy.*field.member = std::move(*text);
  }
  return copy;
}

Result<TensorMapSpec> read_map(const json& value, const std::string& name) {
  if (Status s = known_fields(value, name, kMapFields); !s) return tl::unexpected(s.error());
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
  if (value.contains("copy")) {
    auto copy = read_copy(value["copy"], name + ".copy");
    if (!copy) return tl::unexpected(copy.error());
    map.copy = std::move(*copy);
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

Status check_argument(const std::string& word, const std::string& name, std::size_t maps) {
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return {};
  for (const std::string_view number : kNumbers) {
    if (!word.starts_with(number)) continue;
    const Status form = check_expression(std::string_view(word).substr(number.size()));
    if (!form) return off(form.error(), name);
    return {};
  }
  if (word.starts_with("map")) {
    const auto map = parse_integer(std::string_view(word).substr(3));
    if (map && *map >= 0 && *map < static_cast<std::int64_t>(maps)) return {};
    return refuse_launch(fmt::format("{}='{}': there are {} maps", name, word, maps));
  }
  return refuse_launch(fmt::format("{}='{}' is none of {}, map0 ..., i32:EXPR, i64:EXPR", name,
                                   word, fmt::join(kWords, ", ")));
}

// `maps`: how many tensor maps they may name.
Status read_words(const json& value, const std::string& name, std::size_t maps,
                  std::vector<std::string>& words) {
  if (!value.is_array() || value.size() > kMostArguments) {
    return refuse_launch(fmt::format("{} is not a list of at most {} words", name, kMostArguments));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string which = fmt::format("{}[{}]", name, i);
    if (!value[i].is_string()) {
      return refuse_launch(fmt::format("{}={} is not a text", which, value[i].dump()));
    }
    words.push_back(value[i].get<std::string>());
    if (Status s = check_argument(words.back(), which, maps); !s) return s;
  }
  return {};
}

Status read_arguments(const json& value, CudaLaunch& launch) {
  return read_words(value, "arguments", launch.maps.size(), launch.arguments);
}

Result<LaunchStep> read_step(const json& value, const std::string& name) {
  if (Status s = known_fields(value, name, kStepFields); !s) return tl::unexpected(s.error());
  LaunchStep step;
  if (value.contains("symbol")) {
    auto symbol = read_symbol(value["symbol"], name + ".symbol");
    if (!symbol) return tl::unexpected(symbol.error());
    step.symbol = std::move(*symbol);
  }
  if (value.contains("threads")) {
    const auto threads = read_int(value["threads"], name + ".threads", 1, kMostThreads);
    if (!threads) return tl::unexpected(threads.error());
    step.threads = *threads;
  }
  if (value.contains("grid")) {
    if (Status s = read_ctas(value["grid"], name + ".grid", step.grid); !s) {
      return tl::unexpected(s.error());
    }
  }
  if (value.contains("arguments")) {
    if (Status s = read_words(value["arguments"], name + ".arguments", 0, step.arguments); !s) {
      return tl::unexpected(s.error());
    }
  }
  return step;
}

Status read_before(const json& value, CudaLaunch& launch) {
  if (!value.is_array() || value.size() > kMostSteps) {
    return refuse_launch(fmt::format("before is not a list of at most {} steps", kMostSteps));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto step = read_step(value[i], fmt::format("before[{}]", i));
    if (!step) return tl::unexpected(step.error());
    launch.before.push_back(std::move(*step));
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
  if (value.contains("chained")) {
    if (!value["chained"].is_boolean()) {
      return refuse_launch(
          fmt::format("chained={} is neither true nor false", value["chained"].dump()));
    }
    launch.chained = value["chained"].get<bool>();
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
        {"arguments", read_arguments},
        {"before", read_before}}) {
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
    if (!map.copy) continue;
    nlohmann::ordered_json copy;
    for (const CopyField& field : kCopyFields) copy[field.name] = *map.copy.*field.member;
    value["maps"].back()["copy"] = std::move(copy);
  }
  value["arguments"] = launch.arguments;
  value["alignment"] = launch.alignment;
  if (launch.chained) value["chained"] = true;
  if (launch.before.empty()) return;
  value["before"] = nlohmann::ordered_json::array();
  for (const LaunchStep& step : launch.before) {
    value["before"].push_back({{"symbol", step.symbol},
                               {"grid", step.grid},
                               {"threads", step.threads},
                               {"arguments", step.arguments}});
  }
}

}  // namespace tilewright
