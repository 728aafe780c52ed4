// SPDX-License-Identifier: Apache-2.0
// What the tests of reported cases share: a backend for each instruction set of this machine.
#pragma once

#include "product.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace tilewright::runtime {

inline constexpr ElementType kHalves[] = {ElementType::f16, ElementType::bf16};

inline Call made(ElementType type, std::int64_t m, std::int64_t n, std::int64_t k, int layout = 0) {
  Call call;
  call.in = call.out = type;
  call.m = m, call.n = n, call.k = k;
  call.a_transposed = layout >= 2;
  call.b_transposed = layout % 2 == 1;
  return packed(call);
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { backend_ = open_with(GetParam(), 2); }
  void expect_right(const Case& what) {
    bed_.fill(what);
    EXPECT_EQ(bed_.run_and_check(*backend_), "") << text_of(what);
  }
  // Every type and layout.
  void for_each(std::int64_t m, std::int64_t n, std::int64_t k,
                const std::function<void(Case)>& body) {
    for (const ElementType type : kHalves) {
      for (int layout = 0; layout < 4; ++layout) {
        Case what;
        what.call = made(type, m, n, k, layout);
        body(what);
      }
    }
  }
  std::unique_ptr<Backend> backend_;
  Bed bed_{std::size_t{8} << 20};
};

}  // namespace tilewright::runtime
