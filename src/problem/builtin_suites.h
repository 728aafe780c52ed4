// SPDX-License-Identifier: Apache-2.0
// The suites that are compiled in: the files of shapes/, embedded by cmake/TilewrightSuites.cmake.
#pragma once

#include <span>
#include <string_view>

namespace tilewright {

struct BuiltinSuite {
  std::string_view name;  // without the '@'
  std::string_view csv;
};

[[nodiscard]] std::span<const BuiltinSuite> builtin_suite_texts();  // sorted by name

}  // namespace tilewright
