// SPDX-License-Identifier: Apache-2.0
// The JSON of a launch. It may come from a stranger, so every field is checked on the way in and an
// unknown field is an error: a misspelt `workspace` must not silently mean none.
#include "launch/launch.h"

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>

namespace tilewright {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 7> kFields = {"target", "symbol", "threads", "workspace",
                                                     "m",      "n",      "k"};
constexpr int kMostThreads = 4096;
constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;

struct StaticSize {
  const char* field;
  std::string_view name;
  std::optional<std::int64_t> Launch::* fixed;
  std::int64_t Problem::* asked;
};
constexpr std::array<StaticSize, 3> kStaticSizes = {{{"m", "M", &Launch::m, &Problem::m},
                                                     {"n", "N", &Launch::n, &Problem::n},
                                                     {"k", "K", &Launch::k, &Problem::k}}};

tl::unexpected<Error> refuse(std::string_view what) {
  return fail(
      ErrorCode::refused, fmt::format("not a launch description: {}", what),
      R"(a correct one is {"target":"cpu","symbol":"tw_kernel","threads":1,"workspace":"0"})");
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() < 256 && letter(text[0]) &&
         std::all_of(
             text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool in_range(const json& value, std::int64_t least, std::int64_t most) {
  return value.is_number_integer() && value >= least && value <= most;
}

Result<Launch> read(const json& value) {
  if (!value.is_object()) return refuse("it is not a JSON object");
  for (const auto& [key, ignored] : value.items()) {
    if (std::find(kFields.begin(), kFields.end(), key) == kFields.end()) {
      const auto meant = nearest_word(key, kFields);
      return refuse(fmt::format("unknown field '{}'{}", key,
                                meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant)));
    }
  }
  Launch launch;
  launch.target = value.value("target", launch.target);
  if (launch.target != "cpu") {
    return refuse(
        fmt::format("target='{}' is not 'cpu', the one target of this build", launch.target));
  }
  launch.symbol = value.value("symbol", launch.symbol);
  if (!is_identifier(launch.symbol)) {
    return refuse(fmt::format("symbol='{}' is not a C identifier", launch.symbol));
  }
  if (value.contains("threads")) {
    if (!in_range(value["threads"], 1, kMostThreads)) {
      return refuse(fmt::format("threads={} is not a whole number in [1, {}]",
                                value["threads"].dump(), kMostThreads));
    }
    launch.threads = value["threads"].get<int>();
  }
  if (value.contains("workspace")) {
    const json& workspace = value["workspace"];
    if (in_range(workspace, 0, INT64_MAX)) {
      launch.workspace = workspace.dump();  // a plain number of bytes is an expression, too
    } else if (workspace.is_string()) {
      launch.workspace = workspace.get<std::string>();
    } else {
      return refuse(fmt::format("workspace={} is neither an expression nor a number of bytes",
                                workspace.dump()));
    }
  }
  for (const auto& size : kStaticSizes) {
    if (!value.contains(size.field)) continue;
    const json& number = value[size.field];
    if (!in_range(number, 0, kSizeLimit - 1)) {
      return refuse(
          fmt::format("{}={} is not a whole number in [0, 2^40)", size.field, number.dump()));
    }
    launch.*size.fixed = number.get<std::int64_t>();
  }
  return launch;
}

}  // namespace

std::string to_json(const Launch& launch) {
  nlohmann::ordered_json value{{"target", launch.target},
                               {"symbol", launch.symbol},
                               {"threads", launch.threads},
                               {"workspace", launch.workspace}};
  for (const auto& size : kStaticSizes) {
    if (const auto& fixed = launch.*size.fixed) value[size.field] = *fixed;
  }
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<Launch> launch_from_json(std::string_view text) {
  try {
    return read(json::parse(text));
  } catch (const std::exception& error) {  // json::exception, which says where
    return refuse(error.what());
  }
}

Result<std::int64_t> workspace_bytes(const Launch& launch, const Problem& problem) {
  for (const auto& size : kStaticSizes) {
    const auto& fixed = launch.*size.fixed;
    const std::int64_t asked = problem.*size.asked;
    if (fixed && *fixed != asked) {
      return fail(ErrorCode::usage,
                  fmt::format("the kernel '{}' serves {}={} only, the problem has {}={}",
                              launch.symbol, size.name, *fixed, size.name, asked));
    }
  }
  return evaluate(launch.workspace, {.m = problem.m,
                                     .n = problem.n,
                                     .k = problem.k,
                                     .batch = problem.batch,
                                     .threads = launch.threads});
}

}  // namespace tilewright
