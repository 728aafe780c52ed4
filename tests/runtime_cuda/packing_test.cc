// SPDX-License-Identifier: Apache-2.0
// Kernels that copy unaligned operands first: any strides and addresses, and who may not be served
// by one for want of a workspace.
#include "runtime_cuda/fake_cuda.h"

#include <gmock/gmock.h>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

cuda::Stream stream(std::uintptr_t number) {
  return reinterpret_cast<cuda::Stream>(number);
}

// A product that reads A and B, and nothing of it aligned but by chance.
Case loose_case(Rng& rng) {
  Case c;
  Call& call = c.call;
  const auto size = [&rng] { return static_cast<std::int64_t>(1 + rng.below(40)); };
  call = packed(size(), size(), size(), rng.below(2) == 0 ? 1 : size() % 4 + 1);
  call.a_transposed = rng.below(2) == 0;
  call.b_transposed = rng.below(2) == 0;
  call.lda = rng.below(8) == 0 ? 0 : call.a_columns() + static_cast<std::int64_t>(rng.below(4));
  call.ldb = rng.below(8) == 0 ? 0 : call.b_columns() + static_cast<std::int64_t>(rng.below(4));
  call.ldc = call.n + static_cast<std::int64_t>(rng.below(4));
  call.stride_a = rng.below(4) == 0 ? 0 : call.a_rows() * call.lda;
  call.stride_b = rng.below(4) == 0 ? 0 : call.b_rows() * call.ldb + 1;
  call.stride_c = call.m * call.ldc;
  const auto shift = [&rng] { return static_cast<int>(rng.below(9)); };
  c.fill(rng, {shift(), shift(), shift()}, rng.below(2) == 0);
  c.operands.alpha = 0.5F;
  c.operands.beta = rng.below(2) == 0 ? 0 : 1;
  return c;
}

class PackingTest : public CudaBackendTest {
 protected:
  // The core kernels that copy, alone.
  std::unique_ptr<Backend> open_packing() {
    const Device device = described("h200.json");
    std::vector<PlannedKernel> kernels = *core_kernels(device);
    std::erase_if(kernels,
                  [](const PlannedKernel& k) { return k.kernel.launch.cuda.before.empty(); });
    EXPECT_FALSE(kernels.empty());
    write("packing.twk", fake_bundle(device, std::move(kernels)));
    auto backend = open_cuda(options_, 0);
    EXPECT_TRUE(backend) << backend.error().message;
    return backend ? *std::move(backend) : nullptr;
  }
};

TEST_F(PackingTest, ServesAnyStridesAndAddresses) {
  const auto backend = open_packing();
  ASSERT_NE(backend, nullptr);
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    Case c = loose_case(rng);
    expect_right(*backend, c, stream(7 + rng.below(2)), std::to_string(i) + ": ");
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST_F(PackingTest, TwoLaunchesOnTheCallersStreamAndNothingElse) {
  const auto backend = open_packing();
  ASSERT_NE(backend, nullptr);
  Rng rng(5);
  Case c;
  c.call = packed(33, 17, 65);
  c.fill(rng, {1, 3, 5});
  FakeState& s = fake();
  ASSERT_TRUE(backend->prepare(c.call, stream(7)));
  const int allocations = s.allocations, loads = s.loads, waits = s.waits;
  s.keep = true;
  expect_right(*backend, c, stream(7));
  EXPECT_EQ(allocations, s.allocations);
  EXPECT_EQ(loads, s.loads);
  EXPECT_EQ(waits, s.waits);
  ASSERT_EQ(s.kept.size(), 2U);
  EXPECT_EQ(s.kept[0].symbol, "tw_repack");
  EXPECT_EQ(s.kept[1].symbol, "tw_kernel");
  EXPECT_EQ(s.kept[0].stream, stream(7));
  EXPECT_EQ(s.kept[1].stream, stream(7));
}

TEST_F(PackingTest, TakesAWorkspaceOrLeavesTheCallToOthers) {
  const auto alone = open_packing();
  ASSERT_NE(alone, nullptr);
  Rng rng(6);
  Case c;
  c.call = packed(33, 17, 65);
  c.call.mode = TW_DETERMINISTIC;  // whose kernels take none
  c.fill(rng);
  EXPECT_FALSE(alone->run(c.call, c.operands, stream(7)));
  c.call.mode = TW_FASTEST;
  c.operands.alpha = 0;  // nothing to copy, so nothing may be read
  EXPECT_FALSE(alone->run(c.call, c.operands, stream(7)));
  const auto whole = open();
  ASSERT_NE(whole, nullptr);
  expect_right(*whole, c, stream(7));
  // 8 MiB hold the copies of the first. 1 MiB would cut the second into too many parts.
  const std::string small = whole->explain(packed(1023, 1023, 1023)).value();
  options_.workspace_bytes = 1 << 20;
  const std::string large = open()->explain(packed(4095, 4095, 4095)).value();
  EXPECT_THAT(small, HasSubstr("  sm90 schedule=cooperative"));
  EXPECT_THAT(small, HasSubstr("copies A and B first; 4190208 bytes of workspace"));
  EXPECT_LT(small.find("  sm90 "), small.find("  sm80 "));
  EXPECT_LT(large.find("  sm80 "), large.find("  sm90 "));
  // With 32 MiB that one is cut in four.
  options_.workspace_bytes = 32 << 20;
  const std::string cut = open()->explain(packed(4095, 4095, 4095)).value();
  EXPECT_LT(cut.find("  sm90 "), cut.find("  sm80 "));
  EXPECT_THAT(cut, HasSubstr("; 4 launches"));
}

// Copies that do not fit the workspace are made in parts, of which each is right.
TEST_F(PackingTest, IsCutWhereCopiesDoNotFit) {
  options_.workspace_bytes = 20 << 10;
  const auto backend = open_packing();
  ASSERT_NE(backend, nullptr);
  Rng rng(8);
  std::size_t launches = 0;
  for (Call call : {packed(200, 300, 33), packed(30, 20, 100, 5), packed(300, 60, 41)}) {
    for (const bool transposed : {false, true}) {
      call.a_transposed = call.b_transposed = transposed;
      if (transposed) {
        call.lda = call.m;
        call.ldb = call.k;
      }
      Case c;
      c.call = call;
      c.fill(rng, {1, 3, 5}, true);
      fake().kept.clear();
      fake().keep = true;
      expect_right(*backend, c, stream(7));
      EXPECT_GE(fake().kept.size(), 4U);
      launches += fake().kept.size();
    }
  }
  EXPECT_EQ(launches % 2, 0U);
  // One tile of such depth alone is more.
  Case deep;
  deep.call = packed(64, 64, 1001);
  deep.fill(rng);
  EXPECT_FALSE(backend->run(deep.call, deep.operands, stream(7)));
}

}  // namespace
}  // namespace tilewright::runtime
