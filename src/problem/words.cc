// SPDX-License-Identifier: Apache-2.0
// The table of a problem's fields. A new field is a new row here and a place in to_text.
#include "problem/words.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;

constexpr std::array<std::string_view, 2> kAccumulatorNames = {"f32", "f16"};
constexpr std::array<std::string_view, 2> kAlphaNames = {"one", "any"};
constexpr std::array<std::string_view, 3> kBetaNames = {"zero", "one", "any"};
constexpr std::array<std::string_view, 4> kLayoutNames = {"nn", "nt", "tn", "tt"};

// A field is a number, or a choice among names whose index is stored.
struct Field {
  std::string_view name;
  std::int64_t Problem::* number;           // null for a choice
  std::span<const std::string_view> names;  // empty for a number
  void (*choose)(Problem&, std::size_t);
  std::size_t (*chosen)(const Problem&);
};

constexpr Field number(std::string_view name, std::int64_t Problem::* field) {
  return {name, field, {}, nullptr, nullptr};
}

template <auto Member>
constexpr Field choice(std::string_view name, std::span<const std::string_view> names) {
  return {name, nullptr, names,
          [](Problem& p, std::size_t i) {
            p.*Member = static_cast<std::remove_cvref_t<decltype(p.*Member)>>(i);
          },
          [](const Problem& p) { return static_cast<std::size_t>(p.*Member); }};
}

constexpr std::array<Field, 13> kFields = {
    {number("m", &Problem::m),
     number("n", &Problem::n),
     number("k", &Problem::k),
     // f32 inputs are no problem of ours: the first two names only.
     choice<&Problem::in>("dtype", std::span(kElementNames).first<2>()),
     {"layout", nullptr, kLayoutNames,
      [](Problem& p, std::size_t i) {
        p.a_transposed = i >= 2;
        p.b_transposed = i % 2 == 1;
      },
      [](const Problem& p) {
        return (p.a_transposed ? std::size_t{2} : 0) + (p.b_transposed ? 1 : 0);
      }},
     choice<&Problem::acc>("acc", kAccumulatorNames),
     choice<&Problem::out>("out", kElementNames),
     number("batch", &Problem::batch),
     number("lda", &Problem::lda),
     number("ldb", &Problem::ldb),
     number("ldc", &Problem::ldc),
     choice<&Problem::alpha>("alpha", kAlphaNames),
     choice<&Problem::beta>("beta", kBetaNames)}};

constexpr auto kFieldNames = [] {
  std::array<std::string_view, kFields.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kFields[i].name;
  return names;
}();

const Field* find_field(std::string_view name) {
  const auto* found = std::find_if(kFields.begin(), kFields.end(),
                                   [&](const Field& field) { return field.name == name; });
  return found == kFields.end() ? nullptr : found;
}

std::optional<FieldError> set_number(std::int64_t& into, std::string_view field,
                                     std::string_view text) {
  const auto value = parse_integer(text);
  if (text.empty()) return FieldError{fmt::format("{} is missing", field), {}};
  if (!value) return FieldError{fmt::format("{}='{}' is not a whole number", field, text), {}};
  if (*value < 0) return FieldError{fmt::format("{}={} is negative", field, *value), {}};
  if (*value >= kSizeLimit) {
    return FieldError{fmt::format("{}={} is not below 2^40", field, *value), {}};
  }
  into = *value;
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> problem_fields() {
  return kFieldNames;
}

std::optional<FieldError> set_field(Problem& problem, std::string_view field,
                                    std::string_view value) {
  const Field* row = find_field(field);
  if (row == nullptr) {
    return FieldError{fmt::format("'{}' is not a field of a problem", field),
                      nearest_word(field, kFieldNames)};
  }
  if (row->number != nullptr) return set_number(problem.*row->number, field, value);
  const auto found = std::find(row->names.begin(), row->names.end(), value);
  if (found == row->names.end()) {
    return FieldError{
        fmt::format("{}='{}' is none of {}", field, value, fmt::join(row->names, ", ")),
        nearest_word(value, row->names)};
  }
  row->choose(problem, static_cast<std::size_t>(found - row->names.begin()));
  return std::nullopt;
}

std::string field_text(const Problem& problem, std::string_view field) {
  const Field* row = find_field(field);
  if (row == nullptr) return {};
  if (row->number != nullptr) return std::to_string(problem.*row->number);
  return std::string(row->names[row->chosen(problem)]);
}

}  // namespace tilewright
