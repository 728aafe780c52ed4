// SPDX-License-Identifier: Apache-2.0
// The text of a problem. One table of words drives reading, printing and the hints of errors.
#include "problem/problem.h"

#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {
namespace {

constexpr std::string_view kExample = "gemm 4096x4096x4096 f16 acc=f32 nn";
constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;
constexpr std::int64_t kProductLimit = std::int64_t{1} << 62;

constexpr std::array<std::string_view, 2> kAccumulatorNames = {"f32", "f16"};
constexpr std::array<std::string_view, 2> kAlphaNames = {"one", "any"};
constexpr std::array<std::string_view, 3> kBetaNames = {"zero", "one", "any"};
constexpr std::array<std::string_view, 4> kLayoutNames = {"nn", "nt", "tn", "tt"};

// The integer words `batch=`, `lda=`, ... in the order in which they print.
struct NumberWord {
  std::string_view key;
  std::int64_t Problem::* field;
  std::int64_t absent;  // the value that does not print
};
constexpr std::array<NumberWord, 4> kNumberWords = {{{"batch", &Problem::batch, 1},
                                                     {"lda", &Problem::lda, 0},
                                                     {"ldb", &Problem::ldb, 0},
                                                     {"ldc", &Problem::ldc, 0}}};

// For "did you mean": everything that may stand after the sizes.
constexpr std::array<std::string_view, 14> kWords = {"f16",  "bf16", "nn",     "nt",     "tn",
                                                     "tt",   "acc=", "out=",   "batch=", "lda=",
                                                     "ldb=", "ldc=", "alpha=", "beta="};

template <std::size_t N>
std::optional<std::size_t> index_of(std::string_view word,
                                    const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == word) return i;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string alternatives(const std::array<std::string_view, N>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Problem> read() {
    auto list = words(text_);
    std::size_t next = 0;
    if (next < list.size() && list[next] == "gemm") ++next;
    if (next == list.size())
      return error(text_.substr(text_.size()), "the sizes MxNxK are missing");
    if (auto status = read_sizes(list[next++]); !status) return tl::unexpected(status.error());
    for (; next < list.size(); ++next) {
      if (auto status = read_word(list[next]); !status) return tl::unexpected(status.error());
    }
    if (!out_) out_ = problem_.in;
    problem_.out = *out_;
    if (auto status = check(problem_); !status) {
      auto refused = status.error();
      refused.message = fmt::format("problem '{}': {}", text_, refused.message);
      return tl::unexpected(refused);
    }
    return problem_;
  }

 private:
  // `at` is a part of the text; its place gives the column, counted from 1.
  [[nodiscard]] tl::unexpected<Error> error(std::string_view at, const std::string& what,
                                            std::string_view suggestion = {}) const {
    const auto column = at.data() - text_.data() + 1;
    const std::string meant =
        suggestion.empty() ? "" : fmt::format("did you mean '{}'? ", suggestion);
    return fail(ErrorCode::usage, fmt::format("problem '{}', column {}: {}", text_, column, what),
                fmt::format("{}a correct problem is '{}'", meant, kExample));
  }

  Status read_number(std::string_view text, std::string_view name, std::int64_t& into) {
    if (text.empty()) return error(text, fmt::format("{} is missing", name));
    const auto value = parse_integer(text);
    if (!value) return error(text, fmt::format("{}='{}' is not a whole number", name, text));
    if (*value < 0) return error(text, fmt::format("{}={} is negative", name, *value));
    if (*value >= kSizeLimit) {
      return error(text, fmt::format("{}={} is not below 2^40", name, *value));
    }
    into = *value;
    return {};
  }

  Status read_sizes(std::string_view word) {
    const char separator = word.find('x') != std::string_view::npos ? 'x' : '_';
    const auto parts = split(word, separator);
    if (parts.size() != 3) {
      return error(word, fmt::format("'{}' is not three sizes MxNxK", word));
    }
    if (auto status = read_number(parts[0], "M", problem_.m); !status) return status;
    if (auto status = read_number(parts[1], "N", problem_.n); !status) return status;
    return read_number(parts[2], "K", problem_.k);
  }

  Status once(std::string_view word, std::string_view what) {
    if (!seen_.insert(std::string(what)).second) {
      return error(word, fmt::format("'{}' gives {} a second time", word, what));
    }
    return {};
  }

  // Reads one of `names` into an enum whose values stand in the same order.
  template <class Enum, std::size_t N>
  Status read_name(std::string_view value, std::string_view key,
                   const std::array<std::string_view, N>& names, Enum& into) {
    const auto index = index_of(value, names);
    if (!index) {
      return error(value, fmt::format("{}='{}' is none of {}", key, value, alternatives(names)),
                   nearest_word(value, names));
    }
    into = static_cast<Enum>(*index);
    return {};
  }

  Status read_word(std::string_view word) {
    if (const auto type = element_from(word)) {
      if (*type == ElementType::f32) {
        return error(word, "inputs are f16 or bf16; f32 is for acc= and out=");
      }
      problem_.in = *type;
      return once(word, "the element type");
    }
    if (index_of(word, kLayoutNames)) {
      problem_.a_transposed = word[0] == 't';
      problem_.b_transposed = word[1] == 't';
      return once(word, "the layout");
    }
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) return read_pair(word, equals);
    return error(word, fmt::format("'{}' is not a word of a problem", word),
                 nearest_word(word, kWords));
  }

  Status read_pair(std::string_view word, std::size_t equals) {
    const auto key = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    if (auto status = once(word, key); !status) return status;
    for (const auto& number : kNumberWords) {
      if (key == number.key) return read_number(value, key, problem_.*number.field);
    }
    if (key == "acc") return read_name(value, key, kAccumulatorNames, problem_.acc);
    if (key == "alpha") return read_name(value, key, kAlphaNames, problem_.alpha);
    if (key == "beta") return read_name(value, key, kBetaNames, problem_.beta);
    if (key == "out") {
      ElementType type = ElementType::f16;
      if (auto status = read_name(value, key, kElementNames, type); !status) return status;
      out_ = type;
      return {};
    }
    return error(word, fmt::format("'{}' is not a word of a problem", word),
                 nearest_word(word.substr(0, equals + 1), kWords));
  }

  std::string_view text_;
  Problem problem_;
  std::optional<ElementType> out_;
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

double Problem::flop() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch);
}

double Problem::bytes() const {
  const auto area = [](std::int64_t rows, std::int64_t columns, ElementType type) {
    return static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(size_of(type));
  };
  return static_cast<double>(batch) * (area(m, k, in) + area(k, n, in) + area(m, n, out));
}

std::string Problem::layout() const {
  return {a_transposed ? 't' : 'n', b_transposed ? 't' : 'n'};
}

std::string to_text(const Problem& problem) {
  std::string text = fmt::format(
      "gemm {}x{}x{} {} acc={} {}", problem.m, problem.n, problem.k, name_of(problem.in),
      kAccumulatorNames[static_cast<std::size_t>(problem.acc)], problem.layout());
  if (problem.out != problem.in) text += fmt::format(" out={}", name_of(problem.out));
  for (const auto& number : kNumberWords) {
    const std::int64_t value = problem.*number.field;
    if (value != number.absent) text += fmt::format(" {}={}", number.key, value);
  }
  if (problem.alpha != AlphaClass::one) {
    text += fmt::format(" alpha={}", kAlphaNames[static_cast<std::size_t>(problem.alpha)]);
  }
  if (problem.beta != BetaClass::zero) {
    text += fmt::format(" beta={}", kBetaNames[static_cast<std::size_t>(problem.beta)]);
  }
  return text;
}

Result<Problem> parse_problem(std::string_view text) {
  return Reader(text).read();
}

Status check(const Problem& p) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::usage, std::move(message),
                fmt::format("a correct problem is '{}'", kExample));
  };
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
        Stride{"ldc", "C", p.ldc, p.n}}) {
    if (value != 0 && value < columns) {
      return refuse(fmt::format("{}={} is less than the {} columns of {} (layout {})", name, value,
                                columns, matrix, p.layout()));
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
        Product{"batch * M * ldc * 4", product_fits({p.batch, p.m, p.c_stride(), 4})},
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
