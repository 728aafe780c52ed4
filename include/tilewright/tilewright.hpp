// SPDX-License-Identifier: Apache-2.0
/// @file
/// tilewright.h for C++20: a handle that closes itself, a builder for descriptions, errors as
/// values.
///
/// @code
///   auto device = tw::Handle::create();
///   if (!device) die(device.error().message);
///   tw::Gemm gemm(tw::Type::f16, m, n, k);
///   gemm.b(tw::Layout::t).activation(tw::Activation::relu);       // weights as torch has them
///   if (auto done = device->run(gemm, {.a = x, .b = w, .c = y, .bias = bias}); !done)
///     die(done.error().message);
/// @endcode
///
/// Header only, no exceptions, nothing but the C functions behind it: the library may be newer than
/// this header. All sizes and strides count elements.
#ifndef TILEWRIGHT_TILEWRIGHT_HPP
#define TILEWRIGHT_TILEWRIGHT_HPP

#include <tilewright/tilewright.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tw {

/// The strong enumerations are those of tilewright.h, which says what they mean.
enum class Type : std::int32_t { f16 = TW_F16, bf16 = TW_BF16, f32 = TW_F32 };
/// n: A is m x k, B is k x n. t: A is k x m, B is n x k. Rows one after another.
enum class Layout : std::int32_t { n = TW_N, t = TW_T };
enum class Sums : std::int32_t { f32 = TW_F32_SUMS, f16 = TW_F16_SUMS };
enum class Activation : std::int32_t {
  none = TW_NO_ACTIVATION,
  relu = TW_RELU,
  gelu = TW_GELU,
  silu = TW_SILU
};
enum class Mode : std::int32_t {
  fastest = TW_FASTEST,
  deterministic = TW_DETERMINISTIC,
  batch_invariant = TW_BATCH_INVARIANT
};

/// Why something failed: the C function's status and tw_last_error().
struct Error {
  tw_status status = TW_FAILED;
  std::string message;
};

/// A T, or the Error because of which there is none. As std::expected of C++23, as far as it is
/// needed here. Looking at what is not there is a mistake of the program, which assert finds.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  [[nodiscard]] T& value() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && { return std::move(value()); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(value()); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Done, or the Error because of which nothing was.
template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const {
    assert(!has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

/// What is to be computed; begins packed, row-major, one batch entry, Mode::fastest. Nothing is
/// checked here: the functions that take it do.
class Gemm {
 public:
  static constexpr std::int64_t packed = TW_PACKED;

  /// A and B of `type`, C too unless out() says otherwise.
  Gemm(Type type, std::int64_t m, std::int64_t n, std::int64_t k) {
    tw_gemm_desc_init(&desc_, static_cast<tw_type>(type), m, n, k);
  }

  /// Type of C, D and the bias: that of A and B, or f32.
  Gemm& out(Type type) { return set(desc_.out, type); }
  Gemm& sums(Sums sums) { return set(desc_.sums, sums); }
  Gemm& activation(Activation activation) { return set(desc_.activation, activation); }
  Gemm& mode(Mode mode) { return set(desc_.mode, mode); }
  /// So many products; the strides from entry to entry stand with a(), b() and c().
  Gemm& batch(std::int64_t count) {
    desc_.batch = count;
    return *this;
  }
  /// How A is stored. A stride of 0 repeats the row, or the batch entry.
  Gemm& a(Layout layout, std::int64_t row_stride = packed, std::int64_t batch_stride = packed) {
    desc_.lda = row_stride;
    desc_.stride_a = batch_stride;
    return set(desc_.a_layout, layout);
  }
  /// The same of B.
  Gemm& b(Layout layout, std::int64_t row_stride = packed, std::int64_t batch_stride = packed) {
    desc_.ldb = row_stride;
    desc_.stride_b = batch_stride;
    return set(desc_.b_layout, layout);
  }
  /// The same of C, which has one layout.
  Gemm& c(std::int64_t row_stride, std::int64_t batch_stride = packed) {
    desc_.ldc = row_stride;
    desc_.stride_c = batch_stride;
    return *this;
  }

  [[nodiscard]] const tw_gemm_desc& desc() const { return desc_; }

 private:
  template <class Word>
  Gemm& set(std::int32_t& field, Word word) {
    field = static_cast<std::int32_t>(word);
    return *this;
  }

  tw_gemm_desc desc_{};
};

/// The scalars and operands of one call, in the memory of the handle's device. What alpha, beta and
/// k say is not read may be null; bias has n numbers of C's type, or is null.
struct Operands {
  float alpha = 1;
  const void* a = nullptr;
  const void* b = nullptr;
  float beta = 0;
  void* c = nullptr;
  const void* bias = nullptr;
};

/// tw_options with its strings.
struct Options {
  int device = TW_DEVICE_AUTO;  ///< or TW_DEVICE_CPU, or a CUDA device's number
  int threads = 0;              ///< CPU: most threads of one call; 0: what this process may use
  bool no_vendor = false;       ///< CUDA: never call cublasLt
  std::optional<std::string> wisdom = {};  ///< a file instead of the installed ones; "": none
  std::optional<std::string> kernels =
      {};                             ///< CUDA: a folder of bundles besides the installed ones
  int streams = 0;                    ///< CUDA: streams with a workspace; 0: the default
  std::uint64_t workspace_bytes = 0;  ///< CUDA: bytes of each; 0: the default
  std::int64_t timing_ms = 0;  ///< CUDA: for prepare() to time kernels; 0: 50, negative: never
};

/// An opened device. Moves, does not copy; closes itself. Calls may come from several threads.
class Handle {
 public:
  /// Slow: tens of milliseconds. @see tw_create
  static Expected<Handle> create(const Options& options = {}) {
    tw_options plain;
    tw_options_init(&plain);
    plain.device = options.device;
    plain.threads = options.threads;
    plain.no_vendor = options.no_vendor ? 1 : 0;
    plain.wisdom = options.wisdom ? options.wisdom->c_str() : nullptr;
    plain.kernels = options.kernels ? options.kernels->c_str() : nullptr;
    plain.streams = options.streams;
    plain.workspace_bytes = options.workspace_bytes;
    plain.timing_ms = options.timing_ms;
    tw_handle handle = nullptr;
    if (const tw_status status = tw_create(&handle, &plain); status != TW_OK) return last(status);
    return Handle(handle);
  }

  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { tw_destroy(handle_); }

  /// All that is slow for calls like this one on `stream`. @see tw_prepare
  Expected<void> prepare(const Gemm& gemm, void* stream = nullptr) {
    return done(tw_prepare(handle_, &gemm.desc(), stream));
  }
  /// D = activation(alpha * op(A) * op(B) + beta * C + bias). @see tw_gemm
  Expected<void> run(const Gemm& gemm, const Operands& operands, void* stream = nullptr) {
    return done(tw_gemm(handle_, &gemm.desc(), operands.alpha, operands.a, operands.b,
                        operands.beta, operands.c, operands.bias, stream));
  }
  /// The same, alpha 1 and beta 0, of spans whose sizes are checked as well; bias may be empty. In
  /// is the caller's type of half numbers, any of two bytes; Out that of C.
  template <class In, class Out>
  Expected<void> run(const Gemm& gemm, std::span<const In> a, std::span<const In> b,
                     std::span<Out> c, std::span<const std::type_identity_t<Out>> bias = {},
                     void* stream = nullptr) {
    static_assert(sizeof(In) == 2, "elements of A and B have two bytes");
    const tw_gemm_desc& d = gemm.desc();
    if (sizeof(Out) != (d.out == TW_F32 ? 4 : 2)) {
      return Error{TW_INVALID, "c has elements of " + std::to_string(sizeof(Out)) +
                                   " bytes, the description says out=" + std::to_string(d.out)};
    }
    const bool at = d.a_layout == TW_T, bt = d.b_layout == TW_T;
    const Needed needed[] = {{"a", a.size(),
                              d.k == 0 ? 0
                              : at     ? d.k
                                       : d.m,
                              at ? d.m : d.k, d.lda, d.stride_a},
                             {"b", b.size(),
                              d.k == 0 ? 0
                              : bt     ? d.n
                                       : d.k,
                              bt ? d.k : d.n, d.ldb, d.stride_b},
                             {"c", c.size(), d.m, d.n, d.ldc, d.stride_c}};
    for (const Needed& one : needed) {
      if (const double least = one.elements(d); static_cast<double>(one.size) < least) {
        return Error{TW_INVALID, std::string(one.name) + " has " + std::to_string(one.size) +
                                     " elements, the description needs " + whole(least)};
      }
    }
    if (!bias.empty() && static_cast<double>(bias.size()) < static_cast<double>(d.n)) {
      return Error{TW_INVALID, "bias has " + std::to_string(bias.size()) + " elements, n is " +
                                   std::to_string(d.n)};
    }
    return run(
        gemm,
        {.a = a.data(), .b = b.data(), .c = c.data(), .bias = bias.empty() ? nullptr : bias.data()},
        stream);
  }
  /// Which kernel would run, where it comes from and why. @see tw_explain
  [[nodiscard]] Expected<std::string> explain(const Gemm& gemm) {
    std::string text;
    std::size_t needed = 0;
    tw_status status = tw_explain(handle_, &gemm.desc(), nullptr, 0, &needed);
    while (status == TW_OK && needed > text.size()) {  // another thread may have made it longer
      text.resize(needed);
      status = tw_explain(handle_, &gemm.desc(), text.data(), text.size(), &needed);
    }
    if (status != TW_OK) return last(status);
    text.resize(needed - 1);
    return text;
  }
  /// How many calls were served by what.
  [[nodiscard]] tw_counts counts() const {
    tw_counts counts{};
    tw_get_counts(handle_, &counts);
    return counts;
  }
  /// For the C functions. Stays this object's.
  [[nodiscard]] tw_handle get() const { return handle_; }

 private:
  /// What a span must hold: in double, since sizes that overflow are refused later, by name.
  struct Needed {
    const char* name;
    std::size_t size;
    std::int64_t rows, columns, row_stride, batch_stride;

    [[nodiscard]] double elements(const tw_gemm_desc& d) const {
      if (d.m <= 0 || d.n <= 0 || d.batch <= 0 || rows <= 0 || columns <= 0) return 0;
      const auto wide = [](std::int64_t value) { return static_cast<double>(value); };
      const double row = wide(row_stride == TW_PACKED ? columns : row_stride);
      const double entry = (wide(rows) - 1) * row + wide(columns);
      const double packed = row == 0 ? entry : wide(rows) * row;
      const double stride = batch_stride == TW_PACKED ? packed : wide(batch_stride);
      return (wide(d.batch) - 1) * stride + entry;
    }
  };

  static std::string whole(double number) {
    return number < 9e18 ? std::to_string(static_cast<std::int64_t>(number)) : "more than 2^62";
  }
  explicit Handle(tw_handle handle) : handle_(handle) {}
  static Error last(tw_status status) { return {status, tw_last_error()}; }
  static Expected<void> done(tw_status status) {
    if (status == TW_OK) return {};
    return last(status);
  }

  tw_handle handle_ = nullptr;
};

}  // namespace tw

#endif  // TILEWRIGHT_TILEWRIGHT_HPP
