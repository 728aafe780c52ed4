// SPDX-License-Identifier: Apache-2.0
// Random products through the library, each compared with sums of this machine: shapes, layouts,
// types, strides (0 and gaps among them), addresses, scalars, epilogues, modes. A wrong one does
// not end the run: the first few are told whole, the rest is counted. What served is counted as
// well.
#pragma once

#include "gpu/runtime_cuda.h"

#include <cstdio>
#include <map>
#include <sstream>

namespace tilewright {

inline Product random_product(Rng& rng) {
  const auto log_uniform = [&rng](double most) {
    return static_cast<std::int64_t>(std::exp(rng.uniform() * std::log(most + 1)));
  };
  Product p = product(rng.below(2) == 0 ? TW_F16 : TW_BF16, 1, 1, 1);
  tw_gemm_desc& d = p.desc;
  const bool tidy = rng.below(2) == 0;  // sizes and strides that are multiples of 8
  const auto size = [&](double most) {
    const std::int64_t v = rng.below(40) == 0 ? 0 : log_uniform(most);
    return tidy ? (v + 7) / 8 * 8 : v;
  };
  // Some are so large that wide tiles serve them.
  const double most_terms = rng.below(16) == 0 ? 2e8 : 4e6;
  do {
    d.m = size(1500);
    d.n = size(1500);
    d.k = size(3000);
    d.batch = rng.below(4) == 0 ? log_uniform(9) : 1;
  } while (static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
               static_cast<double>(d.batch) >
           most_terms);
  if (rng.below(3) == 0) d.out = TW_F32;
  d.a_layout = rng.below(2) == 0 ? TW_N : TW_T;
  d.b_layout = rng.below(2) == 0 ? TW_N : TW_T;
  d.activation = static_cast<std::int32_t>(rng.below(4));
  d.mode = static_cast<std::int32_t>(rng.below(3));
  const auto gap = [&] {
    const auto more = static_cast<std::int64_t>(rng.below(20));
    return tidy ? more / 8 * 8 : more;
  };
  const auto stride = [&](std::int64_t packed, bool may_stand) -> std::int64_t {
    if (may_stand && rng.below(20) == 0) return 0;
    return rng.below(2) == 0 ? TW_PACKED : packed + gap();
  };
  d.lda = stride(p.a_columns(), true);
  d.ldb = stride(p.b_columns(), true);
  d.ldc = stride(d.n, false);
  // Read before they are changed: what is packed follows from the rows.
  const std::int64_t sa = p.sa(), sb = p.sb(), sc = p.sc();
  if (d.batch > 1) {
    d.stride_a = rng.below(4) == 0 ? 0 : stride(sa, true);
    d.stride_b = rng.below(4) == 0 ? 0 : stride(sb, true);
    d.stride_c = stride(sc, false);
  }
  if (!tidy || rng.below(4) == 0) {
    p.shift_a = static_cast<int>(rng.below(9));
    p.shift_b = static_cast<int>(rng.below(9));
    p.shift_c = static_cast<int>(rng.below(9));
  }
  constexpr float kScales[] = {1, 1, -0.5F, 2};
  p.alpha = rng.below(10) == 0 ? 0 : kScales[rng.below(4)];
  p.beta = rng.below(2) == 0 ? 0 : kScales[rng.below(4)];
  p.with_bias = rng.below(2) == 0;
  return p;
}

// The program that a call takes, by the lines of tw_explain: the first rung that gives what the
// call asks for. In the words of a tally: "sm90", "sm80 form=tile", "cublasLt".
inline std::string family_of(const Product& p, const std::string& explained,
                             std::array<std::uint64_t, 3> addresses) {
  const bool nothing = p.alpha == 0 || p.desc.k == 0;
  const bool scales = p.alpha != 1, adds = p.beta != 0;
  const bool finishes = p.with_bias || p.desc.activation != TW_NO_ACTIVATION;
  if (nothing) addresses[0] = addresses[1] = 0;
  std::istringstream lines(explained);
  std::string program;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ") && !line.starts_with("  serves")) program = line.substr(2);
    if (!line.starts_with("  serves")) continue;
    const auto says = [&line](const char* words) { return line.find(words) != std::string::npos; };
    std::array<unsigned, 3> multiples = {1, 1, 1};
    const std::size_t at = line.find("multiples of ");
    const bool read =
        at != std::string::npos && std::sscanf(line.c_str() + at, "multiples of %u, %u, %u",
                                               &multiples[0], &multiples[1], &multiples[2]) == 3;
    if (!read || (scales && !says("any alpha")) || (adds && says("beta=0")) ||
        (finishes && !says("bias and activation")) || (nothing && says("alpha not 0"))) {
      continue;
    }
    bool reached = true;
    for (std::size_t i = 0; i < 3; ++i) {
      reached = reached && multiples[i] > 0 && addresses[i] % multiples[i] == 0;
    }
    if (!reached) continue;
    const std::size_t first = program.find(' ');
    if (!program.starts_with("sm80")) return program.substr(0, first);
    return program.substr(0, program.find(' ', first + 1));
  }
  return p.desc.m == 0 || p.desc.n == 0 || p.desc.batch == 0 ? "nothing" : "not told";
}

class RuntimeCudaRandom : public RuntimeCuda {
 protected:
  static constexpr int kTold = 10;

  RuntimeCudaRandom() { timing_ms_ = 1; }  // two contestants each, thousands of times

  void expect_all_right(int count, std::uint64_t seed) {
    Rng rng(seed);
    std::map<std::string, int> families;
    int wrong_ones = 0, done = 0;
    for (; done < count; ++done) {
      const Product p = random_product(rng);
      Compared compared;
      if (rng.below(3) == 0 && tw_prepare(handle_, &p.desc, nullptr) != TW_OK) {
        compared.wrong = std::string("preparing: ") + tw_last_error();
      } else {
        compared = compare(p, rng);
      }
      ++families[family_of(p, explained(p), {a_.address(), b_.address(), c_.address()})];
      if (compared.wrong.empty()) continue;
      if (++wrong_ones <= kTold) {
        ADD_FAILURE() << "product " << done << ": " << compared.wrong << "\n"
                      << text_of(p) << "\n"
                      << explained(p);
      }
      if (compared.device_lost) break;  // nothing that follows could be right
    }
    EXPECT_EQ(wrong_ones, 0) << "of " << done << " products";
    tw_counts counts{};
    ASSERT_EQ(tw_get_counts(handle_, &counts), TW_OK);
    std::printf(
        "%d of %d products, %d wrong; served by exact %llu, nearest %llu, built in %llu, "
        "vendor %llu, empty %llu\n",
        done, count, wrong_ones, static_cast<unsigned long long>(counts.exact),
        static_cast<unsigned long long>(counts.nearest),
        static_cast<unsigned long long>(counts.built_in),
        static_cast<unsigned long long>(counts.vendor),
        static_cast<unsigned long long>(counts.empty));
    for (const auto& [family, times] : families) std::printf("  %s: %d\n", family.c_str(), times);
  }
};

}  // namespace tilewright
