// SPDX-License-Identifier: Apache-2.0
// A recursive-descent evaluator; one function per level of precedence. It evaluates while it reads,
// so there is no tree. Depth and length are bounded, since the text may come from anyone.
#include "launch/expr.h"

#include "base/text.h"

#include <fmt/format.h>

#include <array>

namespace tilewright {
namespace {

constexpr int kMostDepth = 64;
constexpr std::size_t kMostLength = 4096;

struct Name {
  std::string_view name;
  std::int64_t ExprNames::* field;
};
constexpr std::array<Name, 13> kNames = {{{"M", &ExprNames::m},
                                          {"N", &ExprNames::n},
                                          {"K", &ExprNames::k},
                                          {"batch", &ExprNames::batch},
                                          {"threads", &ExprNames::threads},
                                          {"lda", &ExprNames::lda},
                                          {"ldb", &ExprNames::ldb},
                                          {"ldc", &ExprNames::ldc},
                                          {"sa", &ExprNames::sa},
                                          {"sb", &ExprNames::sb},
                                          {"sc", &ExprNames::sc},
                                          {"sms", &ExprNames::sms},
                                          {"slots", &ExprNames::slots}}};

constexpr std::array<std::string_view, 17> kKnown = {
    "M",   "N",   "K",   "batch", "threads", "cdiv", "roundup", "min",  "max",
    "lda", "ldb", "ldc", "sa",    "sb",      "sc",   "sms",     "slots"};

using Value = Result<std::int64_t>;

class Evaluator {
 public:
  // `form_only`: values do not count, so arithmetic does not fail.
  Evaluator(std::string_view text, const ExprNames& names, bool form_only = false)
      : text_(text), names_(names), form_only_(form_only) {}

  Value all() {
    if (text_.size() > kMostLength) {
      return fail(ErrorCode::usage, fmt::format("the expression is {} characters long, {} at most",
                                                text_.size(), kMostLength));
    }
    const auto value = sum();
    if (!value) return value;
    skip_blanks();
    if (at_ != text_.size()) {
      return error(at_, fmt::format("'{}' is not expected here", text_[at_]));
    }
    if (*value < 0 && !form_only_)
      return error(0, fmt::format("the result {} is negative", *value));
    return value;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> error(std::size_t at, const std::string& what,
                                            std::string_view suggestion = {}) const {
    return fail(ErrorCode::usage,
                fmt::format("expression '{}', column {}: {}", text_, at + 1, what),
                suggestion.empty() ? "a correct expression is 'threads*roundup(M,64)*4'"
                                   : fmt::format("did you mean '{}'?", suggestion));
  }
  [[nodiscard]] tl::unexpected<Error> overflow(std::size_t at) const {
    return error(at, "the value does not fit 64 bits");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view take_while(bool (*wanted)(char)) {
    const std::size_t start = at_;
    while (at_ < text_.size() && wanted(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  }

  Value sum() {
    auto left = product();
    while (left) {
      skip_blanks();
      const std::size_t here = at_;
      const bool plus = take('+');
      if (!plus && !take('-')) return left;
      const auto right = product();
      if (!right) return right;
      const bool bad = plus ? __builtin_add_overflow(*left, *right, &*left)
                            : __builtin_sub_overflow(*left, *right, &*left);
      if (bad && !form_only_) return overflow(here);
    }
    return left;
  }

  Value product() {
    auto left = atom();
    while (left) {
      skip_blanks();
      const std::size_t here = at_;
      if (!take('*')) return left;
      const auto right = atom();
      if (!right) return right;
      if (__builtin_mul_overflow(*left, *right, &*left) && !form_only_) return overflow(here);
    }
    return left;
  }

  Value atom() {
    skip_blanks();
    const std::size_t here = at_;
    if (at_ == text_.size()) return error(here, "a value is missing");
    if (take('(')) {
      if (++depth_ > kMostDepth) return error(here, "the parentheses are nested too deeply");
      const auto value = sum();
      if (!value) return value;
      if (!take(')')) return error(at_, "')' is missing");
      --depth_;
      return value;
    }
    if (is_digit(text_[at_])) {
      // Letters are taken along so that 12e3 is one bad number and not 12 followed by a surprise.
      const auto word = take_while(is_letter);
      const auto value = parse_integer(word);
      if (!value) return error(here, fmt::format("'{}' is not a whole 64-bit number", word));
      return *value;
    }
    const auto word = take_while(is_letter);
    if (word.empty()) return error(here, fmt::format("'{}' is not expected here", text_[at_]));
    if (take('(')) return call(word, here);
    for (const auto& name : kNames) {
      if (name.name == word) return names_.*name.field;
    }
    return error(here, fmt::format("'{}' is not a known name", word), nearest_word(word, kKnown));
  }

  Value call(std::string_view function, std::size_t here) {
    if (++depth_ > kMostDepth) return error(here, "the calls are nested too deeply");
    const auto a = sum();
    if (!a) return a;
    if (!take(','))
      return error(at_, fmt::format("{} takes two arguments: ',' is missing", function));
    const auto b = sum();
    if (!b) return b;
    if (!take(')')) return error(at_, "')' is missing");
    --depth_;
    if (function == "min") return *a < *b ? *a : *b;
    if (function == "max") return *a > *b ? *a : *b;
    if (function != "cdiv" && function != "roundup") {
      return error(here, fmt::format("'{}' is not a known function", function),
                   nearest_word(function, kKnown));
    }
    if (form_only_) return *a;
    if (*b == 0) return error(here, fmt::format("{}({}, 0) divides by zero", function, *a));
    if (*a < 0 || *b < 0) {
      return error(here, fmt::format("{}({}, {}) has a negative argument", function, *a, *b));
    }
    const std::int64_t quotient = *a / *b + (*a % *b != 0 ? 1 : 0);
    if (function == "cdiv") return quotient;
    std::int64_t rounded = 0;
    if (__builtin_mul_overflow(quotient, *b, &rounded)) return overflow(here);
    return rounded;
  }

  std::string_view text_;
  const ExprNames& names_;
  bool form_only_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::int64_t> evaluate(std::string_view expression, const ExprNames& names) {
  return Evaluator(expression, names).all();
}

Status check_expression(std::string_view expression) {
  const ExprNames nothing;
  const auto value = Evaluator(expression, nothing, true).all();
  if (!value) return tl::unexpected(value.error());
  return {};
}

}  // namespace tilewright
