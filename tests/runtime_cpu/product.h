// SPDX-License-Identifier: Apache-2.0
// One product on a CPU backend and its f64 reference: operands that end (or begin) at a page that
// no one may touch, a pattern around C and in the gaps of its rows, and the bound of CASES N:
//
//   |C - ref| <= u_out |ref| + 2 (k + 4) 2^-24 (|alpha| |A| |B| + |beta C| + |bias|) + half a
//   subnormal
//
// An activation stretches what stands before the rounding by at most kSteepest and adds 16 * 2^-24.
#pragma once

#include "base/element.h"
#include "base/rng.h"
#include "runtime/backend.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

// Opens the CPU with an instruction set (TILEWRIGHT_CPU_ISA; "": the widest) and without wisdom,
// unless a file is given. Fails the test if it cannot.
[[nodiscard]] std::unique_ptr<Backend> open_with(const std::string& isa, int threads,
                                                 const std::string& wisdom = {});
// Those that this machine can run, narrowest first, without avx512bf16.
[[nodiscard]] std::vector<std::string> isas_here();

// Memory between two pages without access. What is placed in it touches one of them.
class Fenced {
 public:
  explicit Fenced(std::size_t most);
  ~Fenced();
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  [[nodiscard]] std::byte* place(std::size_t bytes, bool at_end) const;

 private:
  std::size_t most_, length_, page_;
  std::byte* base_;
};

// How operands are filled.
enum class Data { normal, integers, tiny, special };

struct Case {
  Call call;
  float alpha = 1, beta = 0;
  bool bias = false, at_end = true;
  Data data = Data::normal;
  std::uint64_t seed = 1;
};

// `call` with packed strides wherever they are 0 (a stride of 0 is set afterwards).
[[nodiscard]] Call packed(Call call);
[[nodiscard]] std::string text_of(const Case& what);

class Bed {
 public:
  explicit Bed(std::size_t most_bytes);
  // Fills the operands, C with `before` (NaN if beta is 0), its gaps with a pattern.
  void fill(const Case& what);
  // Empty, or what is wrong with C: the first element that is off, or a byte between rows.
  [[nodiscard]] std::string run_and_check(Backend& backend);
  [[nodiscard]] std::string check() const;
  [[nodiscard]] tl::expected<Origin, Failure> run(Backend& backend);

  [[nodiscard]] const Operands& operands() const { return operands_; }
  [[nodiscard]] Operands& operands() { return operands_; }
  [[nodiscard]] const Case& what() const { return what_; }
  // The bytes of C as they are.
  [[nodiscard]] std::vector<std::byte> result() const;
  void restore();  // C as it was after fill()

  void set_a(std::int64_t batch, std::int64_t i, std::int64_t x, double value);
  void set_b(std::int64_t batch, std::int64_t x, std::int64_t j, double value);
  void set_c(std::int64_t batch, std::int64_t i, std::int64_t j, double value);
  void set_bias(std::int64_t j, double value);
  [[nodiscard]] double a(std::int64_t batch, std::int64_t i, std::int64_t x) const;
  [[nodiscard]] double b(std::int64_t batch, std::int64_t x, std::int64_t j) const;
  [[nodiscard]] double c(std::int64_t batch, std::int64_t i, std::int64_t j) const;

 private:
  [[nodiscard]] std::int64_t a_at(std::int64_t batch, std::int64_t i, std::int64_t x) const;
  [[nodiscard]] std::int64_t b_at(std::int64_t batch, std::int64_t x, std::int64_t j) const;
  [[nodiscard]] std::int64_t c_at(std::int64_t batch, std::int64_t i, std::int64_t j) const;
  [[nodiscard]] std::string wrong(std::int64_t batch, std::int64_t i, std::int64_t j) const;

  Fenced a_memory_, b_memory_, c_memory_, bias_memory_;
  Case what_;
  Operands operands_;
  std::size_t c_bytes_ = 0, guard_bytes_ = 0;
  std::vector<std::byte> before_;  // C with its guard
};

}  // namespace tilewright::runtime
