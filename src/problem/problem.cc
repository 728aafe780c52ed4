// SPDX-License-Identifier: Apache-2.0
// The text of a problem and what makes one valid. The fields themselves stand in words.cc.
#include "problem/problem.h"

#include "base/text.h"
#include "problem/operations.h"
#include "problem/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;
constexpr std::int64_t kProductLimit = std::int64_t{1} << 62;

// `key=value` words that print only when they differ from the default, in this order.
constexpr std::array<std::string_view, 6> kOptional = {"batch", "lda",   "ldb",
                                                       "ldc",   "alpha", "beta"};

// For "did you mean": everything that may stand after the sizes.
constexpr std::array<std::string_view, 14> kWords = {"f16",  "bf16", "nn",     "nt",     "tn",
                                                     "tt",   "acc=", "out=",   "batch=", "lda=",
                                                     "ldb=", "ldc=", "alpha=", "beta="};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Problem> read() {
    const auto list = words(text_);
    std::size_t next = 0;
    if (next < list.size()) {
      if (const Operation* named = find_operation(list[next])) {
        problem_.op = named->op;
        ++next;
      }
    }
    if (!problem_.is_gemm()) return read_operation(list, next);
    if (next == list.size()) {
      return error(text_.substr(text_.size()), "the sizes MxNxK are missing");
    }
    if (auto status = read_sizes(list[next++]); !status) return tl::unexpected(status.error());
    for (; next < list.size(); ++next) {
      if (auto status = read_word(list[next]); !status) return tl::unexpected(status.error());
    }
    return checked();
  }

 private:
  Result<Problem> checked() {
    if (!seen_.contains("out")) problem_.out = problem_.in;
    if (auto status = check(problem_); !status) {
      auto refused = status.error();
      refused.message = fmt::format("problem '{}': {}", text_, refused.message);
      return tl::unexpected(refused);
    }
    return problem_;
  }

  // The text of an operation other than gemm, from its sizes on.
  Result<Problem> read_operation(const std::vector<std::string_view>& list, std::size_t next) {
    const Operation& operation = operation_of(problem_.op);
    if (!operation.functions.empty()) problem_.function = operation.functions.front();
    for (std::size_t i = 0; i < size_words(problem_.op); ++i, ++next) {
      if (next == list.size()) return error(text_.substr(text_.size()), "sizes are missing");
      if (const auto wrong = read_operation_sizes(problem_, i, list[next])) {
        return error(list[next], wrong->what, wrong->suggestion);
      }
    }
    const auto keys = operation_keys(problem_.op);
    for (; next < list.size(); ++next) {
      const std::string_view word = list[next];
      const auto equals = word.find('=');
      const std::string_view key = word.substr(0, equals);
      if (element_from(word)) {
        if (auto status = set(word, "dtype", word); !status) return tl::unexpected(status.error());
      } else if (equals == std::string_view::npos || std::ranges::find(keys, key) == keys.end()) {
        return error(word, fmt::format("'{}' is not a word of a {}", word, operation.name),
                     nearest_word(key, keys));
      } else if (key == "fn" || key == "stride" || key == "pad") {
        if (!seen_.insert(std::string(key)).second) {
          return error(word, fmt::format("'{}' gives {} a second time", word, key));
        }
        if (const auto wrong = read_operation_word(problem_, key, word.substr(equals + 1))) {
          return error(word, wrong->what, wrong->suggestion);
        }
      } else if (auto status = set(word, key, word.substr(equals + 1)); !status) {
        return tl::unexpected(status.error());
      }
    }
    set_product_sizes(problem_);
    return checked();
  }

  // `at` is a part of the text; its place gives the column, counted from 1.
  [[nodiscard]] tl::unexpected<Error> error(std::string_view at, const std::string& what,
                                            std::string_view suggestion = {}) const {
    const auto column = at.data() - text_.data() + 1;
    const std::string meant =
        suggestion.empty() ? "" : fmt::format("did you mean '{}'? ", suggestion);
    return fail(
        ErrorCode::usage, fmt::format("problem '{}', column {}: {}", text_, column, what),
        fmt::format("{}a correct problem is '{}'", meant, operation_of(problem_.op).example));
  }

  // `word` is what stands in the text, `value` the part of it that goes into the field.
  Status set(std::string_view word, std::string_view field, std::string_view value) {
    if (!seen_.insert(std::string(field)).second) {
      return error(word, fmt::format("'{}' gives {} a second time", word, field));
    }
    if (const auto wrong = set_field(problem_, field, value)) {
      return error(value, wrong->what, wrong->suggestion);
    }
    return {};
  }

  Status read_sizes(std::string_view word) {
    const auto parts = split(word, word.find('x') != std::string_view::npos ? 'x' : '_');
    if (parts.size() != 3) {
      return error(word, fmt::format("'{}' is not three sizes MxNxK", word));
    }
    constexpr std::array<std::string_view, 3> kSizes = {"m", "n", "k"};
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      if (auto status = set(word, kSizes[i], parts[i]); !status) return status;
    }
    return {};
  }

  Status read_word(std::string_view word) {
    if (element_from(word)) return set(word, "dtype", word);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
      // The layouts are the words of two letters.
      if (word.size() == 2 && word.find_first_not_of("nt") == std::string_view::npos) {
        return set(word, "layout", word);
      }
    } else if (std::find(kWords.begin(), kWords.end(), word.substr(0, equals + 1)) !=
               kWords.end()) {
      return set(word, word.substr(0, equals), word.substr(equals + 1));
    }
    return error(
        word, fmt::format("'{}' is not a word of a problem", word),
        nearest_word(equals == std::string_view::npos ? word : word.substr(0, equals + 1), kWords));
  }

  std::string_view text_;
  Problem problem_;
  std::set<std::string> seen_;
};

bool product_fits(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const auto factor : factors) {
    if (factor == 0) return true;
  }
  for (const auto factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product >= kProductLimit) return false;
  }
  return true;
}

}  // namespace

Problem swapped(const Problem& p) {
  Problem other = p;
  std::swap(other.m, other.n);
  std::swap(other.lda, other.ldb);
  other.a_transposed = !p.b_transposed;
  other.b_transposed = !p.a_transposed;
  other.ldc = p.c_stride();
  return other;
}

double Problem::flop() const {
  if (!is_gemm() && op != Op::conv2d) {
    return operation_of(op).flop * static_cast<double>(m) * static_cast<double>(n);
  }
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch);
}

double Problem::bytes() const {
  const auto area = [](std::int64_t rows, std::int64_t columns, ElementType type) {
    return static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(size_of(type));
  };
  return static_cast<double>(batch) * (area(a_rows(), a_cols(), in) + area(b_rows(), b_cols(), in) +
                                       area(c_rows(), c_cols(), out));
}

std::string Problem::layout() const {
  return {a_transposed ? 't' : 'n', b_transposed ? 't' : 'n'};
}

std::string to_text(const Problem& problem) {
  std::string text =
      problem.is_gemm()
          ? fmt::format("gemm {}x{}x{} {} acc={} {}", problem.m, problem.n, problem.k,
                        name_of(problem.in), field_text(problem, "acc"), problem.layout())
          : fmt::format("{} {} {}{}", operation_of(problem.op).name, operation_sizes(problem),
                        name_of(problem.in), operation_words(problem));
  if (problem.out != problem.in) text += fmt::format(" out={}", name_of(problem.out));
  const Problem defaults;
  for (const auto field : kOptional) {
    const std::string value = field_text(problem, field);
    if (value != field_text(defaults, field)) text += fmt::format(" {}={}", field, value);
  }
  return text;
}

Result<Problem> parse_problem(std::string_view text) {
  return Reader(text).read();
}

Status check(const Problem& p) {
  const auto refuse = [&p](std::string message) {
    return fail(ErrorCode::usage, std::move(message),
                fmt::format("a correct problem is '{}'", operation_of(p.op).example));
  };
  if (!p.is_gemm()) {
    if (std::string fault = operation_fault(p); !fault.empty()) return refuse(std::move(fault));
  }
  struct Bounded {
    std::string_view name;
    std::int64_t value;
  };
  for (const auto& [name, value] :
       {Bounded{"M", p.m}, Bounded{"N", p.n}, Bounded{"K", p.k}, Bounded{"batch", p.batch},
        Bounded{"lda", p.lda}, Bounded{"ldb", p.ldb}, Bounded{"ldc", p.ldc}}) {
    if (value < 0) return refuse(fmt::format("{}={} is negative", name, value));
    if (value >= kSizeLimit) return refuse(fmt::format("{}={} is not below 2^40", name, value));
  }
  struct Stride {
    std::string_view name, matrix;
    std::int64_t value, columns;
  };
  for (const auto& [name, matrix, value, columns] :
       {Stride{"lda", "A", p.lda, p.a_cols()}, Stride{"ldb", "B", p.ldb, p.b_cols()},
        Stride{"ldc", "C", p.ldc, p.c_cols()}}) {
    if (value != 0 && value < columns) {
      return refuse(fmt::format("{}={} is less than the {} columns of {}{}", name, value, columns,
                                matrix,
                                p.is_gemm() ? fmt::format(" (layout {})", p.layout()) : ""));
    }
  }
  if (p.in == ElementType::f32) return refuse("the element type f32 is not one of f16, bf16");
  if (p.acc == Accumulator::f16 && p.in != ElementType::f16) {
    return refuse(fmt::format("acc=f16 needs f16 inputs, these are {}", name_of(p.in)));
  }
  struct Product {
    std::string_view name;
    bool fits;
  };
  // Four bytes an element at most, so byte counts fit as well.
  for (const auto& [name, fits] :
       {Product{"batch * rows * lda * 4", product_fits({p.batch, p.a_rows(), p.a_stride(), 4})},
        Product{"batch * rows * ldb * 4", product_fits({p.batch, p.b_rows(), p.b_stride(), 4})},
        Product{"batch * M * ldc * 4", product_fits({p.batch, p.c_rows(), p.c_stride(), 4})},
        Product{"batch * M * N * K", product_fits({p.batch, p.m, p.n, p.k})}}) {
    if (!fits) {
      return refuse(
          fmt::format("{} is not below 2^62 (M={} N={} K={} batch={} lda={} ldb={} ldc={})", name,
                      p.m, p.n, p.k, p.batch, p.a_stride(), p.b_stride(), p.c_stride()));
    }
  }
  return {};
}

}  // namespace tilewright
