// SPDX-License-Identifier: Apache-2.0
// The random products of a device (gpu/random_products.h) on the driver made of host memory: that
// test and the library must agree on what a description means, before a device is there to ask.
#include "gpu/random_products.h"

#include "runtime/call.h"
#include "runtime_cuda/fake_cuda.h"

#include <cstdlib>

namespace tilewright {
namespace {

class FakeRandomProducts : public RuntimeCudaRandom {
 protected:
  void SetUp() override {
    FakeState& driver = runtime::fake();  // as other tests left it
    driver.compute = true;
    driver.keep = false;
    driver.launch_code = 0;
    const Device device = runtime::described("h200.json");
    ASSERT_TRUE(write_file_atomically(folder_.path() / "core.twk",
                                      runtime::fake_bundle(device, *core_kernels(device))));
    setenv("TILEWRIGHT_KERNELS", folder_.path().c_str(), 1);
    timing_ms_ = -1;  // this device computes, slowly
    RuntimeCudaRandom::SetUp();
    unsetenv("TILEWRIGHT_KERNELS");
  }
  ScratchFolder folder_;
};

TEST_F(FakeRandomProducts, AreRight) {
  expect_all_right(150, 5);
}

TEST_F(FakeRandomProducts, RowsAndEntriesThatRepeat) {
  Rng rng(5);
  for (int which = 0; which < 6; ++which) {
    Product p = product(TW_F16, which == 5 ? 1 : 8, 16, 24);
    p.desc.batch = 3;
    if (which == 0) p.desc.stride_a = 0;
    if (which == 1) p.desc.stride_b = 0;
    if (which == 2) p.desc.lda = 0;
    if (which == 3) p.desc.ldb = 0;
    if (which == 4) p.desc.lda = p.desc.ldb = p.desc.stride_a = p.desc.stride_b = 0;
    if (which == 5) p.desc.lda = 32, p.desc.ldc = 40;  // entries of one row with a gap
    expect_right(p, rng);
  }
}

// A single row is as aligned as its stride says, so it takes the kernel that many rows take.
TEST_F(FakeRandomProducts, ABatchInvariantRowTakesTheKernelOfMany) {
  std::string first;
  for (const std::int64_t m : {300, 2, 1}) {
    Product p = product(TW_F16, m, 61, 33);
    p.desc.lda = 40;
    p.desc.ldb = p.desc.ldc = 64;
    p.desc.mode = TW_BATCH_INVARIANT;
    std::string rungs = explained(p);
    rungs.erase(0, rungs.find("\n  "));  // up to the first program
    rungs.erase(rungs.find("else "));
    if (first.empty()) first = rungs;
    EXPECT_EQ(rungs, first) << m;
  }
}

// What the test takes a description to mean is what the library takes it to mean.
TEST(RandomProducts, StridesAreTheLibrarys) {
  Rng rng(6);
  int zeros = 0, gaps = 0;
  for (int i = 0; i < 3000; ++i) {
    const Product p = random_product(rng);
    const auto call = runtime::checked(&p.desc);
    ASSERT_TRUE(call) << call.error().message << "\n" << text_of(p);
    if (call->empty()) continue;
    zeros += p.lda() == 0 && p.a_rows() > 1 ? 1 : 0;
    gaps += p.desc.batch > 1 && p.desc.stride_c > p.desc.m * p.ldc() ? 1 : 0;
    if (p.a_rows() > 1) {
      ASSERT_EQ(call->lda, p.lda()) << text_of(p);
    }
    if (p.b_rows() > 1) {
      ASSERT_EQ(call->ldb, p.ldb()) << text_of(p);
    }
    if (p.desc.m > 1) {
      ASSERT_EQ(call->ldc, p.ldc()) << text_of(p);
    }
    if (p.desc.batch <= 1) continue;
    ASSERT_EQ(call->stride_c, p.sc()) << text_of(p);
    if (p.desc.k == 0) continue;
    ASSERT_EQ(call->stride_a, p.sa()) << text_of(p);
    ASSERT_EQ(call->stride_b, p.sb()) << text_of(p);
  }
  EXPECT_GT(zeros, 20);
  EXPECT_GT(gaps, 20);
}

TEST(RandomProducts, TheFamilyIsThatOfTheRungThatServes) {
  Product p = product(TW_F16, 8, 8, 8);
  const std::string text =
      "gemm ...\nexact: tuned\n  sm90 schedule=x\n  serves alpha=1 beta=0, no bias, no activation, "
      "alpha not 0; addresses of A, B, C multiples of 16, 16, 16 bytes\nelse built in: expected\n"
      "  sm80 form=tile tile_m=64\n  serves any alpha, beta, bias and activation; addresses of A, "
      "B, C multiples of 2, 2, 2 bytes; 100 bytes of workspace\n";
  EXPECT_EQ(family_of(p, text, {64, 64, 64}), "sm90");
  EXPECT_EQ(family_of(p, text, {64, 66, 64}), "sm80 form=tile");
  p.with_bias = true;
  EXPECT_EQ(family_of(p, text, {64, 64, 64}), "sm80 form=tile");
  EXPECT_EQ(family_of(p, "", {64, 64, 64}), "not told");
}

}  // namespace
}  // namespace tilewright
