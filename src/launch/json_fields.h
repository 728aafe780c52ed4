// SPDX-License-Identifier: Apache-2.0
// How fields of a launch description are read, private to this folder: launch.cc has the fields of
// every target, cuda/launch_fields.cc those that CUDA adds.
#pragma once

#include "base/error.h"
#include "launch/launch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

[[nodiscard]] inline tl::unexpected<Error> refuse_launch(std::string_view what) {
  return fail(
      ErrorCode::refused, fmt::format("not a launch description: {}", what),
      R"(a correct one is {"target":"cpu","symbol":"tw_kernel","threads":1,"workspace":"0"})");
}

[[nodiscard]] inline bool in_range(const nlohmann::json& value, std::int64_t least,
                                   std::int64_t most) {
  return value.is_number_integer() && value >= least && value <= most;
}

// A whole number in [least, most]; `name` is the field, for the report.
[[nodiscard]] inline Result<std::int64_t> read_number(const nlohmann::json& value,
                                                      std::string_view name, std::int64_t least,
                                                      std::int64_t most) {
  if (!in_range(value, least, most)) {
    return refuse_launch(
        fmt::format("{}={} is not a whole number in [{}, {}]", name, value.dump(), least, most));
  }
  return value.get<std::int64_t>();
}

// An expression, or a plain number, which is one too.
[[nodiscard]] inline Result<std::string> read_expression(const nlohmann::json& value,
                                                         std::string_view name,
                                                         std::string_view unit) {
  if (in_range(value, 0, INT64_MAX)) return value.dump();
  if (value.is_string()) return value.get<std::string>();
  return refuse_launch(
      fmt::format("{}={} is neither an expression nor a number of {}", name, value.dump(), unit));
}

// The name of an extern "C" function.
[[nodiscard]] inline Result<std::string> read_symbol(const nlohmann::json& value,
                                                     std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const bool named =
      value.is_string() && !text.empty() && text.size() < 256 && letter(text[0]) &&
      std::all_of(
          text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  if (named) return text;
  return refuse_launch(fmt::format("{}='{}' is not a C identifier", name, text));
}

// The fields that target "cuda" has beside those of every target; `threads` is per CTA.
[[nodiscard]] Status read_cuda_fields(const nlohmann::json& value, CudaLaunch& launch);
void write_cuda_fields(nlohmann::ordered_json& value, const CudaLaunch& launch);

}  // namespace tilewright
