// SPDX-License-Identifier: Apache-2.0
// The checks of a call, in the order in which a reader of the header meets the fields. Sizes come
// from a caller, so every product is formed in 128 bits before it is believed.
#include "runtime/call.h"

#include "runtime/known_part.h"
#include "runtime/overlap.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tilewright::runtime {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

template <class... Values>
[[gnu::cold, gnu::noinline]] tl::unexpected<Failure> invalid(fmt::format_string<Values...> text,
                                                             Values&&... values) {
  return tl::unexpected(Failure{TW_INVALID, fmt::format(text, std::forward<Values>(values)...)});
}

// What an enumeration's field may hold: 0 .. last.
struct Word {
  std::string_view name;
  std::int32_t tw_gemm_desc::* field;
  std::int32_t last;
  std::string_view names;
};
constexpr std::array kWords = {
    Word{"in", &tw_gemm_desc::in, TW_BF16, "TW_F16, TW_BF16"},
    Word{"out", &tw_gemm_desc::out, TW_F32, "TW_F16, TW_BF16, TW_F32"},
    Word{"a_layout", &tw_gemm_desc::a_layout, TW_T, "TW_N, TW_T"},
    Word{"b_layout", &tw_gemm_desc::b_layout, TW_T, "TW_N, TW_T"},
    Word{"sums", &tw_gemm_desc::sums, TW_F16_SUMS, "TW_F32_SUMS, TW_F16_SUMS"},
    Word{"activation", &tw_gemm_desc::activation, TW_SILU,
         "TW_NO_ACTIVATION, TW_RELU, TW_GELU, TW_SILU"},
    Word{"mode", &tw_gemm_desc::mode, TW_BATCH_INVARIANT,
         "TW_FASTEST, TW_DETERMINISTIC, TW_BATCH_INVARIANT"},
};

struct Size {
  std::string_view name;
  std::int64_t tw_gemm_desc::* field;
};
constexpr std::array kSizes = {Size{"m", &tw_gemm_desc::m}, Size{"n", &tw_gemm_desc::n},
                               Size{"k", &tw_gemm_desc::k}, Size{"batch", &tw_gemm_desc::batch}};

// How messages call a stored matrix, and whether its strides may be 0.
struct Named {
  std::string_view matrix, row_stride, batch_stride;
  bool repeats;
};
constexpr Named kA = {"A", "lda", "stride_a", true};
constexpr Named kB = {"B", "ldb", "stride_b", true};
constexpr Named kC = {"C", "ldc", "stride_c", false};

struct Matrix {
  std::int64_t rows, columns;
  std::size_t element;
  std::int64_t row_stride, batch_stride;  // what the caller said, then what it means
};

// Spells out the strides, or says what is wrong with them. `keeps_single`: what the caller said of
// a single row stays, since how rows are aligned must not depend on how many there are.
tl::expected<void, Failure> resolve(Matrix& x, const Named& name, std::int64_t batch,
                                    bool keeps_single) {
  if (x.row_stride == TW_PACKED) x.row_stride = x.columns;
  const bool repeated = name.repeats && x.row_stride == 0;
  if (!repeated && x.row_stride < x.columns) {
    return invalid("{}={} is less than the {} columns of {}{}", name.row_stride, x.row_stride,
                   x.columns, name.matrix,
                   name.repeats ? " and neither 0 nor TW_PACKED" : " and not TW_PACKED");
  }
  const Wide rows = x.rows, columns = x.columns, said = x.row_stride;
  const Wide most = kMostBytes / static_cast<std::int64_t>(x.element);
  if (rows == 0 || (rows == 1 && (!keeps_single || said > most))) x.row_stride = x.columns;
  const Wide entry = rows == 0 || columns == 0 ? 0 : (rows - 1) * said + columns;
  // Rows that repeat take the room of one; else the last row's gap counts as well, of a single row
  // too: entries of one row and of several are as far apart as their rows are.
  const Wide packed = said == 0 ? entry : rows * said;
  const Wide stride = batch <= 1 ? entry : x.batch_stride == TW_PACKED ? packed : x.batch_stride;
  if (stride < 0 || (stride == 0 && !name.repeats && entry > 0)) {
    return invalid(
        "{}={} is {} and not TW_PACKED", name.batch_stride, x.batch_stride,
        x.batch_stride == 0 ? "0: every batch entry would be written to one place" : "negative");
  }
  const Wide all = entry == 0 || batch == 0 ? 0 : (batch - 1) * stride + entry;
  if (all > most || stride > most) {
    return invalid("{} takes more than 2^62 bytes: {} rows of {} columns, {}={}, batch={}, {}={}",
                   name.matrix, x.rows, x.columns, name.row_stride, x.row_stride, batch,
                   name.batch_stride, x.batch_stride);
  }
  x.batch_stride = batch <= 1 ? 0 : static_cast<std::int64_t>(stride);
  return {};
}

tl::expected<void, Failure> check_words(const tw_gemm_desc& d) {
  for (const Word& word : kWords) {
    if (const std::int32_t value = d.*word.field; value < 0 || value > word.last) {
      return invalid("{}={} is none of {}", word.name, value, word.names);
    }
  }
  for (const Size& size : kSizes) {
    if (d.*size.field < 0) return invalid("{}={} is negative", size.name, d.*size.field);
  }
  constexpr std::array<std::string_view, 3> kTypes = {"TW_F16", "TW_BF16", "TW_F32"};
  if (d.out != d.in && d.out != TW_F32) {
    return invalid("out={} goes with neither in={} nor TW_F32",
                   kTypes[static_cast<std::size_t>(d.out)], kTypes[static_cast<std::size_t>(d.in)]);
  }
  if (d.sums == TW_F16_SUMS && d.in != TW_F16) {
    return invalid("sums=TW_F16_SUMS needs in=TW_F16, this is in=TW_BF16");
  }
  return {};
}

constexpr std::array<ElementType, 3> kElements = {ElementType::f16, ElementType::bf16,
                                                  ElementType::f32};

Footprint footprint(const void* address, std::size_t element, std::int64_t rows,
                    std::int64_t columns, std::int64_t row_stride, std::int64_t batch,
                    std::int64_t batch_stride) {
  const auto bytes = static_cast<std::int64_t>(element);
  return {reinterpret_cast<std::uintptr_t>(address),
          columns * bytes,
          rows,
          row_stride * bytes,
          batch,
          batch_stride * bytes};
}

struct Operand {
  std::string_view name, why;  // why it is needed
  const void* address;
  std::size_t element;
  bool is_used;
};

tl::unexpected<Failure> aliased(std::string_view name, const Footprint& c, const Footprint& other) {
  return tl::unexpected(Failure{
      TW_ALIASED,
      fmt::format("c overlaps {}: C spans the {} bytes from {:#x}, {} the {} bytes from {:#x}",
                  name, c.span(), c.address, name, other.span(), other.address)});
}

}  // namespace

tl::expected<Call, Failure> checked(const tw_gemm_desc* desc) {
  const auto known = known_part<tw_gemm_desc>(desc, "desc", "tw_gemm_desc");
  if (!known) return tl::unexpected(known.error());
  const tw_gemm_desc& d = *known;
  if (auto fine = check_words(d); !fine) return tl::unexpected(std::move(fine.error()));
  Call call{.in = kElements[static_cast<std::size_t>(d.in)],
            .out = kElements[static_cast<std::size_t>(d.out)],
            .a_transposed = d.a_layout == TW_T,
            .b_transposed = d.b_layout == TW_T,
            .f16_sums = d.sums == TW_F16_SUMS,
            .activation = static_cast<tw_activation>(d.activation),
            .mode = static_cast<tw_mode>(d.mode),
            .m = d.m,
            .n = d.n,
            .k = d.k,
            .batch = d.batch};
  Matrix a{call.a_rows(), call.a_columns(), size_of(call.in), d.lda, d.stride_a};
  Matrix b{call.b_rows(), call.b_columns(), size_of(call.in), d.ldb, d.stride_b};
  Matrix c{call.m, call.n, size_of(call.out), d.ldc, d.stride_c};
  for (const auto& [matrix, name] : {std::pair{&a, &kA}, {&b, &kB}, {&c, &kC}}) {
    if (auto fine = resolve(*matrix, *name, call.batch, call.mode == TW_BATCH_INVARIANT); !fine) {
      return tl::unexpected(std::move(fine.error()));
    }
  }
  call.lda = a.row_stride;
  call.ldb = b.row_stride;
  call.ldc = c.row_stride;
  call.stride_a = a.batch_stride;
  call.stride_b = b.batch_stride;
  call.stride_c = c.batch_stride;
  if (entries_overlap(footprint(nullptr, size_of(call.out), call.m, call.n, call.ldc, call.batch,
                                call.stride_c))) {
    return tl::unexpected(Failure{
        TW_ALIASED, fmt::format("stride_c={} makes the {} batch entries of C overlap: each has {} "
                                "rows of {} columns, ldc={}",
                                call.stride_c, call.batch, call.m, call.n, call.ldc)});
  }
  return call;
}

tl::expected<void, Failure> check_operands(const Call& call, const Operands& operands) {
  if (call.empty()) return {};
  const bool reads_inputs = call.reads_inputs(operands.alpha);
  const std::size_t in = size_of(call.in), out = size_of(call.out);
  for (const auto& [name, why, address, element, is_used] :
       {Operand{"c", "it is written", operands.c, out, true},
        Operand{"a", "alpha and k are not 0", operands.a, in, reads_inputs},
        Operand{"b", "alpha and k are not 0", operands.b, in, reads_inputs},
        Operand{"bias", "", operands.bias, out, operands.bias != nullptr}}) {
    if (!is_used) continue;
    if (address == nullptr) {
      return invalid("{}=NULL, but {} (m={} n={} k={} batch={} alpha={} beta={})", name, why,
                     call.m, call.n, call.k, call.batch, operands.alpha, operands.beta);
    }
    if (const auto bits = reinterpret_cast<std::uintptr_t>(address); bits % element != 0) {
      return invalid("{}={:#x} is not aligned to its elements of {} bytes", name, bits, element);
    }
  }

  const Footprint c =
      footprint(operands.c, out, call.m, call.n, call.ldc, call.batch, call.stride_c);
  if (reads_inputs) {
    const Footprint a = footprint(operands.a, in, call.a_rows(), call.a_columns(), call.lda,
                                  call.batch, call.stride_a);
    if (overlap(c, a)) return aliased("a", c, a);
    const Footprint b = footprint(operands.b, in, call.b_rows(), call.b_columns(), call.ldb,
                                  call.batch, call.stride_b);
    if (overlap(c, b)) return aliased("b", c, b);
  }
  if (operands.bias != nullptr) {
    const Footprint bias = footprint(operands.bias, out, 1, call.n, 0, 1, 0);
    if (overlap(c, bias)) return aliased("bias", c, bias);
  }
  return {};
}

Problem problem_of(const Call& call, float alpha, float beta) {
  const auto named = [](std::int64_t stride, std::int64_t columns) {
    return stride == columns ? 0 : stride;
  };
  return {.m = call.m,
          .n = call.n,
          .k = call.k,
          .in = call.in,
          .out = call.out,
          .acc = call.f16_sums ? Accumulator::f16 : Accumulator::f32,
          .a_transposed = call.a_transposed,
          .b_transposed = call.b_transposed,
          .batch = call.batch,
          .lda = named(call.lda, call.a_columns()),
          .ldb = named(call.ldb, call.b_columns()),
          .ldc = named(call.ldc, call.n),
          .alpha = alpha == 1 ? AlphaClass::one : AlphaClass::any,
          .beta = beta == 0   ? BetaClass::zero
                  : beta == 1 ? BetaClass::one
                              : BetaClass::any};
}

}  // namespace tilewright::runtime
