// SPDX-License-Identifier: Apache-2.0
// The JSON of a launch. It may come from a stranger, so every field is checked on the way in and an
// unknown field is an error: a misspelt `workspace` must not silently mean none.
#include "launch/launch.h"

#include "base/text.h"
#include "launch/json_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <utility>

namespace tilewright {
namespace {

using nlohmann::json;

// What each target knows; m, n and k only where a kernel serves one size.
constexpr std::array<std::string_view, 7> kCpuFields = {"target", "symbol", "threads", "workspace",
                                                        "m",      "n",      "k"};
constexpr std::array<std::string_view, 16> kCudaFields = {
    "target",    "symbol",    "threads", "workspace",    "m",      "n",
    "k",         "grid",      "cluster", "shared_bytes", "zeroed", "maps",
    "arguments", "alignment", "before",  "chained"};
constexpr int kMostThreads = 4096;
constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;

struct StaticSize {
  const char* field;
  std::string_view name;
  std::optional<std::int64_t> Launch::* fixed;
};
constexpr std::array<StaticSize, 3> kStaticSizes = {
    {{"m", "M", &Launch::m}, {"n", "N", &Launch::n}, {"k", "K", &Launch::k}}};

Status known_fields_only(const json& value, std::span<const std::string_view> known) {
  for (const auto& [key, ignored] : value.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const auto meant = nearest_word(key, known);
      return refuse_launch(
          fmt::format("unknown field '{}'{}", key,
                      meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant)));
    }
  }
  return {};
}

Result<Launch> read(const json& value) {
  if (!value.is_object()) return refuse_launch("it is not a JSON object");
  Launch launch;
  launch.target = value.value("target", launch.target);
  const bool cuda = launch.target == "cuda";
  if (!cuda && launch.target != "cpu") {
    return refuse_launch(fmt::format("target='{}' is neither 'cpu' nor 'cuda'", launch.target));
  }
  const Status known =
      cuda ? known_fields_only(value, kCudaFields) : known_fields_only(value, kCpuFields);
  if (!known) return tl::unexpected(known.error());
  if (value.contains("symbol")) {
    auto symbol = read_symbol(value["symbol"], "symbol");
    if (!symbol) return tl::unexpected(symbol.error());
    launch.symbol = std::move(*symbol);
  }
  if (cuda) {
    if (Status read = read_cuda_fields(value, launch.cuda); !read) {
      return tl::unexpected(read.error());
    }
  } else if (value.contains("threads")) {
    const auto threads = read_number(value["threads"], "threads", 1, kMostThreads);
    if (!threads) return tl::unexpected(threads.error());
    launch.threads = static_cast<int>(*threads);
  }
  if (value.contains("workspace")) {
    auto workspace = read_expression(value["workspace"], "workspace", "bytes");
    if (!workspace) return tl::unexpected(workspace.error());
    launch.workspace = std::move(*workspace);
  }
  for (const auto& size : kStaticSizes) {
    if (!value.contains(size.field)) continue;
    const json& number = value[size.field];
    if (!in_range(number, 0, kSizeLimit - 1)) {
      return refuse_launch(
          fmt::format("{}={} is not a whole number in [0, 2^40)", size.field, number.dump()));
    }
    launch.*size.fixed = number.get<std::int64_t>();
  }
  return launch;
}

}  // namespace

std::string to_json(const Launch& launch) {
  const bool cuda = launch.target == "cuda";
  nlohmann::ordered_json value{{"target", launch.target},
                               {"symbol", launch.symbol},
                               {"threads", cuda ? launch.cuda.threads : launch.threads},
                               {"workspace", launch.workspace}};
  if (cuda) write_cuda_fields(value, launch.cuda);
  for (const auto& size : kStaticSizes) {
    if (const auto& fixed = launch.*size.fixed) value[size.field] = *fixed;
  }
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<Launch> launch_from_json(std::string_view text) {
  try {
    return read(json::parse(text));
  } catch (const std::exception& error) {  // json::exception, which says where
    return refuse_launch(error.what());
  }
}

Status serves(const Launch& launch, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::array<std::int64_t, 3> sizes = {m, n, k};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& size = kStaticSizes[i];
    const auto& fixed = launch.*size.fixed;
    if (fixed && *fixed != sizes[i]) {
      return fail(ErrorCode::usage,
                  fmt::format("the kernel '{}' serves {}={} only, the problem has {}={}",
                              launch.symbol, size.name, *fixed, size.name, sizes[i]));
    }
  }
  return {};
}

ExprNames names_for(const Launch& launch, const Problem& problem) {
  ExprNames names{.m = problem.m, .n = problem.n, .k = problem.k, .batch = problem.batch};
  names.threads = launch.target == "cuda" ? launch.cuda.threads : launch.threads;
  names.lda = problem.a_stride();
  names.ldb = problem.b_stride();
  names.ldc = problem.c_stride();
  names.sa = problem.a_rows() * names.lda;
  names.sb = problem.b_rows() * names.ldb;
  names.sc = problem.c_rows() * names.ldc;
  return names;
}

Result<std::int64_t> workspace_bytes(const Launch& launch, const Problem& problem, int sms,
                                     std::int64_t slots) {
  if (Status fits = serves(launch, problem.m, problem.n, problem.k); !fits) {
    return tl::unexpected(fits.error());
  }
  ExprNames names = names_for(launch, problem);
  names.sms = sms;
  names.slots = slots;
  return evaluate(launch.workspace, names);
}

}  // namespace tilewright
