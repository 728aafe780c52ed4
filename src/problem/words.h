// SPDX-License-Identifier: Apache-2.0
// One field of a problem by name: what the problem text (`lda=1040`) and the CSV columns share, so
// that both accept the same values and refuse with the same words.
#pragma once

#include "problem/problem.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

struct FieldError {
  std::string what;        // names the field and the value
  std::string suggestion;  // the nearest right value, or empty
};

// Field names, lower case: m n k dtype layout acc out batch lda ldb ldc alpha beta.
[[nodiscard]] std::span<const std::string_view> problem_fields();

// Sets `field` from text, or says what is wrong with it.
[[nodiscard]] std::optional<FieldError> set_field(Problem& problem, std::string_view field,
                                                  std::string_view value);
// The text that set_field reads back.
[[nodiscard]] std::string field_text(const Problem& problem, std::string_view field);

}  // namespace tilewright
