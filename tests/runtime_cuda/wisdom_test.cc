// SPDX-License-Identifier: Apache-2.0
// Tuned kernels: which call takes which winner, in which form, and when none counts.
#include "runtime_cuda/fake_cuda.h"

#include <gmock/gmock.h>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLarge =
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 split_k=1 "
    "cluster=1x1 grid=persistent in_flight=1 epilogue=tma raster=m group=8 sizes=runtime";
constexpr const char* kStatic =
    "sm80 form=direct tile_m=16 tile_n=16 warps_k=2 ahead=2 split_k=1 raster=m group=1 "
    "sizes=static";

class CudaWisdomTest : public CudaBackendTest {
 protected:
  // Two winners, their kernels in a bundle of `silicon`.
  void install(const std::string& silicon, double ratio = 1.2) {
    Device device = described("h200.json");
    Wisdom wisdom{device, {}};
    for (const auto& [problem, program] :
         {std::pair{"4096x4096x2048", kLarge}, {"64x64x64", kStatic}}) {
      WisdomEntry entry;
      entry.problem = to_text(*parse_problem(problem));
      entry.program = parse_program(program)->text();
      entry.mode = "offline";
      entry.time_us = 100;
      entry.reference = "cublaslt_autotune";
      entry.ratio = ratio;
      entry.date = "2026-11-30";
      ASSERT_TRUE(check(entry)) << check(entry).error().message;
      wisdom.entries.push_back(entry);
    }
    const auto file = folder_.path() / "wisdom.txt";
    ASSERT_TRUE(write_file_atomically(file, to_text(wisdom)));
    options_.wisdom = file.string();
    std::vector<std::string> notes;
    auto kernels = winners(wisdom, device, notes);
    EXPECT_TRUE(notes.empty()) << notes.front();
    EXPECT_EQ(kernels.size(), 4U);
    device.silicon = silicon;
    write("winners.twk", fake_bundle(device, std::move(kernels)));
  }
  static std::string best(Backend& backend, const Call& call) {
    const std::string text = backend.explain(call).value();
    return text.substr(0, text.find("else "));
  }
};

TEST_F(CudaWisdomTest, ExactNearestAndServed) {
  install("nvidia-h200-sm_90");
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  const std::string exact = best(*backend, packed(4096, 4096, 2048));
  EXPECT_THAT(exact, HasSubstr("exact: tuned for this problem"));
  EXPECT_THAT(exact, HasSubstr("epilogue=tma"));
  const std::string near = best(*backend, packed(4096, 4096, 4096));
  EXPECT_THAT(near, HasSubstr("nearest: "));
  EXPECT_THAT(near, HasSubstr("epilogue=tma"));
  EXPECT_THAT(best(*backend, packed(4095, 4095, 4095)), HasSubstr("built in"));

  Rng rng(9);
  Case c;
  c.call = packed(64, 64, 64);
  c.fill(rng);
  const auto served_by = [&] {
    const auto origin = backend->run(c.call, c.operands, nullptr);
    EXPECT_TRUE(origin) << origin.error().message;
    EXPECT_EQ(c.wrong(), "");
    c.c = c.before;
    return *origin;
  };
  EXPECT_EQ(served_by(), Origin::exact);
  c.operands.beta = 0.5F;  // the same program in its served form
  EXPECT_NE(served_by(), Origin::built_in);
  c.operands.beta = 0;
  c.operands.bias = c.bias.data();
  EXPECT_NE(served_by(), Origin::built_in);
  c.operands.alpha = 0;
  c.operands.a = c.operands.b = nullptr;
  EXPECT_EQ(served_by(), Origin::empty);
  c.call.k = 63;  // the static kernel serves one size
  c.call.lda = 64;
  c.operands.alpha = 1;
  c.fill(rng);
  EXPECT_EQ(served_by(), Origin::built_in);
}

TEST_F(CudaWisdomTest, AnAddressOffItsAlignmentTakesAnotherKernel) {
  install("nvidia-h200-sm_90");
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  Rng rng(10);
  for (int shift = 1; shift < 8; ++shift) {
    for (const std::array<int, 3>& shifts :
         {std::array{shift, 0, 0}, {0, shift, 0}, {0, 0, shift}}) {
      Case c;
      c.call = packed(64, 64, 64);
      c.fill(rng, shifts);
      const auto origin = backend->run(c.call, c.operands, nullptr);
      ASSERT_TRUE(origin) << origin.error().message;
      EXPECT_EQ(*origin, Origin::built_in);
      EXPECT_EQ(c.wrong(), "");
    }
  }
}

TEST_F(CudaWisdomTest, WinnersOfAnotherSiliconDoNotCount) {
  install("nvidia-h100-pcie-sm_90");
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  EXPECT_THAT(best(*backend, packed(4096, 4096, 2048)), HasSubstr("built in"));
}

// driver/fake_cublaslt.cc: its one algorithm wants a workspace.
TEST_F(CudaWisdomTest, TheVendorServesWhereItIsAheadAndMay) {
  install("nvidia-h200-sm_90", 0.9);
  options_.no_vendor = false;
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  Rng rng(12);
  const auto served_by = [&](Case& c, std::uintptr_t stream) {
    const auto origin = backend->run(c.call, c.operands, reinterpret_cast<void*>(stream));
    EXPECT_TRUE(origin) << origin.error().message;
    EXPECT_EQ(c.wrong(), "");
    c.c = c.before;
    return *origin;
  };
  Case c;
  c.call = packed(64, 64, 64);
  c.fill(rng);
  EXPECT_EQ(served_by(c, 3), Origin::vendor);
  c.operands.beta = 0.5F;  // C is of 16 bits, and the sum would be rounded twice
  EXPECT_NE(served_by(c, 3), Origin::vendor);
  c.operands.beta = 0;
  c.operands.alpha = 0.5F;
  EXPECT_EQ(served_by(c, 3), Origin::vendor);
  EXPECT_THAT(backend->explain(c.call).value(), HasSubstr("vendor: cublaslt_autotune is ahead"));
  EXPECT_EQ(served_by(c, 4), Origin::vendor);
  EXPECT_NE(served_by(c, 5), Origin::vendor);  // two streams have a workspace
  c.operands.bias = c.bias.data();
  EXPECT_NE(served_by(c, 3), Origin::vendor);
  c.operands.bias = nullptr;
  c.operands.alpha = 0;
  EXPECT_EQ(served_by(c, 3), Origin::empty);
  c.operands.alpha = 1;
  for (const tw_mode mode : {TW_DETERMINISTIC, TW_BATCH_INVARIANT}) {
    c.call.mode = mode;
    EXPECT_NE(served_by(c, 3), Origin::vendor);
    EXPECT_THAT(backend->explain(c.call).value(), Not(HasSubstr("vendor")));
  }
  // Every form that it has a word for.
  for (int form = 0; form < 24; ++form) {
    Case other;
    other.call = packed(64, 64, 64, form % 3 + 1);
    other.call.a_transposed = form % 2 == 1;
    other.call.b_transposed = form / 2 % 2 == 1;
    other.call.in = other.call.out = form % 3 == 0 ? ElementType::bf16 : ElementType::f16;
    other.call.lda = 72;
    other.call.stride_a = 64 * 72;
    other.call.ldc = 80;
    other.call.stride_c = 64 * 80;
    other.operands.alpha = 0.5F;
    other.fill(rng);
    served_by(other, 3);
  }
  const cuda::Driver& driver = **cuda::driver();
  driver.StreamBeginCapture(reinterpret_cast<cuda::Stream>(std::uintptr_t{3}), 0);
  c.call.mode = TW_FASTEST;
  const auto captured =
      backend->run(c.call, c.operands, reinterpret_cast<void*>(std::uintptr_t{3}));
  driver.StreamEndCapture(reinterpret_cast<cuda::Stream>(std::uintptr_t{3}), nullptr);
  ASSERT_TRUE(captured);
  EXPECT_NE(*captured, Origin::vendor);
}

TEST_F(CudaWisdomTest, TheVendorIsLeftOutWhereItIsSwitchedOff) {
  install("nvidia-h200-sm_90", 0.9);
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  const std::string text = backend->explain(packed(4096, 4096, 2048)).value();
  EXPECT_THAT(text, Not(HasSubstr("vendor")));
  EXPECT_THAT(text, HasSubstr("exact: "));
}

// Where nothing was tuned, estimates of both decide: large and aligned products are the vendor's,
// and those with a vector.
TEST_F(CudaWisdomTest, TheRuleLeavesToTheVendorWhatItIsAheadIn) {
  options_.no_vendor = false;
  options_.workspace_bytes = 64 << 20;
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  EXPECT_THAT(best(*backend, packed(4096, 4096, 4096)), HasSubstr("vendor: nothing was tuned"));
  EXPECT_THAT(best(*backend, packed(4095, 4095, 4095)), HasSubstr("built in"));
  EXPECT_THAT(best(*backend, packed(64, 64, 64)), HasSubstr("built in"));
  EXPECT_THAT(best(*backend, packed(5225, 1, 12324)), HasSubstr("vendor: nothing was tuned"));
}

}  // namespace
}  // namespace tilewright::runtime
