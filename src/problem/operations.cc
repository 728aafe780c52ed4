// SPDX-License-Identifier: Apache-2.0
// The table of operations. A new one is a row here, a reference (verify/operation.cc), a baseline
// (baseline/reference_operation.cc) and a family with its generator.
#include "problem/operations.h"

#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tilewright {
namespace {

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 40;

constexpr std::array<std::string_view, 6> kFunctionNames = {"none", "sum",  "max",
                                                            "relu", "gelu", "silu"};
constexpr std::array kReductions = {Function::sum, Function::max};
constexpr std::array kMaps = {Function::relu, Function::gelu, Function::silu};

constexpr std::array<Operation, 7> kOperations = {{
    {Op::gemm, "gemm", {}, 0, "gemm 4096x4096x4096 f16 acc=f32 nn"},
    {Op::transpose, "transpose", {}, 1, "transpose 1024x512 f16"},
    {Op::softmax, "softmax", {}, 5, "softmax 1024x512 f16"},
    {Op::layernorm, "layernorm", {}, 8, "layernorm 1024x512 f16"},
    {Op::reduce, "reduce", kReductions, 1, "reduce 1024x512 f16 fn=sum"},
    {Op::map, "map", kMaps, 1, "map 1024x512 f16 fn=gelu"},
    {Op::conv2d, "conv2d", {}, 0, "conv2d 8x56x56x64 3x3x128 f16 pad=1"},
}};

constexpr std::array<std::string_view, 3> kPlainKeys = {"out", "lda", "ldc"};
constexpr std::array<std::string_view, 4> kLayernormKeys = {"out", "lda", "ldb", "ldc"};
constexpr std::array<std::string_view, 4> kFunctionKeys = {"fn", "out", "lda", "ldc"};
constexpr std::array<std::string_view, 6> kConvolutionKeys = {"stride", "pad", "out",
                                                              "lda",    "ldb", "ldc"};

std::optional<OperationError> read_number(std::int64_t& into, std::string_view name,
                                          std::string_view text) {
  const auto value = parse_integer(text);
  if (!value || *value < 0 || *value >= kSizeLimit) {
    return OperationError{
        fmt::format("{}='{}' is not a whole number from 0 to below 2^40", name, text), {}};
  }
  into = *value;
  return std::nullopt;
}

struct Size {
  std::string_view name;
  std::int64_t* into;
};
std::vector<Size> sizes_of(Problem& p, std::size_t index) {
  if (p.op != Op::conv2d) return {{"rows", &p.m}, {"columns", &p.n}};
  Convolution& c = p.conv;
  if (index == 0) {
    return {{"images", &c.images},
            {"height", &c.height},
            {"width", &c.width},
            {"channels", &c.channels}};
  }
  return {
      {"filter height", &c.filter_height}, {"filter width", &c.filter_width}, {"filters", &p.n}};
}

// So that no product of three sizes overflows.
bool too_large(const Problem& p) {
  constexpr std::int64_t kSide = std::int64_t{1} << 20;
  const Convolution& c = p.conv;
  return std::max({c.images, c.height, c.width, c.channels, c.filter_height, c.filter_width,
                   c.stride, c.pad, p.n}) > kSide;
}

std::string convolution_fault(const Problem& p) {
  const Convolution& c = p.conv;
  if (too_large(p)) return "a size of a conv2d is above 2^20";
  if (c.stride < 1) return fmt::format("stride={}: at least 1", c.stride);
  if (c.pad >= c.filter_height || c.pad >= c.filter_width) {
    return fmt::format("pad={} is not less than the filter, {}x{}", c.pad, c.filter_height,
                       c.filter_width);
  }
  if (c.filter_height > c.height + 2 * c.pad || c.filter_width > c.width + 2 * c.pad) {
    return fmt::format("the filter, {}x{}, is larger than the padded image, {}x{}", c.filter_height,
                       c.filter_width, c.height + 2 * c.pad, c.width + 2 * c.pad);
  }
  Problem derived = p;
  set_product_sizes(derived);
  if (derived.m != p.m || derived.k != p.k) return "m and k are not those of the convolution";
  return {};
}

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

const Operation& operation_of(Op op) {
  return kOperations[static_cast<std::size_t>(op)];
}

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(kOperations, name, &Operation::name);
  return found == kOperations.end() ? nullptr : found;
}

std::string_view name_of(Function function) {
  return kFunctionNames[static_cast<std::size_t>(function)];
}

bool only_moves(const Problem& p) {
  return p.op == Op::transpose || p.function == Function::max || p.function == Function::relu;
}

std::size_t size_words(Op op) {
  return op == Op::conv2d ? 2 : 1;
}

std::string operation_sizes(const Problem& p) {
  if (p.op != Op::conv2d) return fmt::format("{}x{}", p.m, p.n);
  const Convolution& c = p.conv;
  return fmt::format("{}x{}x{}x{} {}x{}x{}", c.images, c.height, c.width, c.channels,
                     c.filter_height, c.filter_width, p.n);
}

std::string operation_words(const Problem& p) {
  std::string text;
  if (p.function != Function::none) text += fmt::format(" fn={}", name_of(p.function));
  if (p.conv.stride != 1) text += fmt::format(" stride={}", p.conv.stride);
  if (p.conv.pad != 0) text += fmt::format(" pad={}", p.conv.pad);
  return text;
}

std::optional<OperationError> read_operation_sizes(Problem& p, std::size_t index,
                                                   std::string_view word) {
  const std::vector<Size> wanted = sizes_of(p, index);
  const auto parts = split(word, 'x');
  if (parts.size() != wanted.size()) {
    std::vector<std::string_view> names;
    for (const Size& size : wanted) names.push_back(size.name);
    return OperationError{
        fmt::format("'{}' is not {} sizes: {}", word, wanted.size(), fmt::join(names, " x ")), {}};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (auto wrong = read_number(*wanted[i].into, wanted[i].name, parts[i])) return wrong;
  }
  return std::nullopt;
}

std::span<const std::string_view> operation_keys(Op op) {
  if (op == Op::conv2d) return kConvolutionKeys;
  if (op == Op::layernorm) return kLayernormKeys;
  if (!operation_of(op).functions.empty()) return kFunctionKeys;
  return kPlainKeys;
}

std::optional<OperationError> read_operation_word(Problem& p, std::string_view key,
                                                  std::string_view value) {
  if (key == "stride") return read_number(p.conv.stride, key, value);
  if (key == "pad") return read_number(p.conv.pad, key, value);
  std::vector<std::string_view> names;
  for (const Function function : operation_of(p.op).functions) {
    if (name_of(function) == value) {
      p.function = function;
      return std::nullopt;
    }
    names.push_back(name_of(function));
  }
  return OperationError{fmt::format("{}='{}' is none of {}", key, value, fmt::join(names, ", ")),
                        nearest_word(value, names)};
}

void set_product_sizes(Problem& p) {
  if (p.op != Op::conv2d) {
    p.k = 1;
    return;
  }
  const Convolution& c = p.conv;
  if (c.stride < 1 || too_large(p)) return;  // check() says so
  p.m = c.images * c.out_height() * c.out_width();
  p.k = c.filter_height * c.filter_width * c.channels;
}

std::string operation_fault(const Problem& p) {
  const Operation& operation = operation_of(p.op);
  if (p.acc != Accumulator::f32 || p.a_transposed || p.b_transposed || p.batch != 1 ||
      p.alpha != AlphaClass::one || p.beta != BetaClass::zero) {
    return fmt::format("acc=f16, layouts, batch, alpha and beta are of a gemm, not of a {}",
                       operation.name);
  }
  const bool known =
      operation.functions.empty()
          ? p.function == Function::none
          : std::ranges::find(operation.functions, p.function) != operation.functions.end();
  if (!known) return fmt::format("fn={} is not of a {}", name_of(p.function), operation.name);
  if (p.op == Op::conv2d) {
    if (auto fault = convolution_fault(p); !fault.empty()) return fault;
  } else if (p.conv != Convolution{}) {
    return fmt::format("stride and pad are of a conv2d, not of a {}", operation.name);
  } else if (p.k != 1) {
    return fmt::format("k={}: a {} has k = 1", p.k, operation.name);
  }
  if (p.op == Op::transpose && p.out != p.in) {
    return fmt::format("out={}: a transpose keeps its type, {}", name_of(p.out), name_of(p.in));
  }
  if (p.ldb != 0 && p.b_rows() == 0) return fmt::format("ldb={}: there is no B", p.ldb);
  for (const std::int64_t size : {p.m, p.n, p.k}) {
    if (size < 1)
      return fmt::format("a size is 0: there is nothing for a {} to do", operation.name);
  }
  return {};
}

}  // namespace tilewright
