// SPDX-License-Identifier: Apache-2.0
// The file of a bundle: what is written is read back, and a damaged one is refused, wherever.
#include "runtime/cuda/bundle.h"

#include "runtime_cuda/fake_cuda.h"

#include <gmock/gmock.h>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;

Bundle small() {
  Bundle bundle{"nvidia-h200-sm_90", 90, {}};
  for (int i = 0; i < 3; ++i) {
    BundleKernel kernel;
    kernel.program = "sm80 form=direct tile_m=16";
    kernel.stands_for = i == 0 ? "" : kernel.program;
    kernel.problem = "gemm 64x64x64 f16 acc=f32 nn";
    kernel.served = i == 1;
    kernel.core = i == 0;
    kernel.alignment = {8, 1, 2};
    kernel.launch.target = "cuda";
    kernel.launch.cuda.arguments = {"a", "b", "c", "bias", "activation"};
    kernel.cubin = std::string_view("a cubin of some bytes").substr(static_cast<std::size_t>(i));
    bundle.kernels.push_back(kernel);
  }
  return bundle;
}

TEST(Bundle, IsReadBack) {
  const std::string bytes = to_bytes(small());
  const auto read = parse_bundle(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->silicon, "nvidia-h200-sm_90");
  EXPECT_EQ(read->capability, 90);
  ASSERT_EQ(read->kernels.size(), 3U);
  const Bundle wrote = small();
  for (std::size_t i = 0; i < 3; ++i) {
    const BundleKernel &a = read->kernels[i], &b = wrote.kernels[i];
    EXPECT_EQ(std::tie(a.program, a.stands_for, a.problem, a.served, a.core, a.alignment),
              std::tie(b.program, b.stands_for, b.problem, b.served, b.core, b.alignment));
    EXPECT_EQ(a.launch, b.launch);
    EXPECT_EQ(a.cubin, b.cubin);
    EXPECT_EQ(static_cast<std::size_t>(a.cubin.data() - bytes.data()) % 64, 0U);
  }
  EXPECT_EQ(to_bytes(*read), bytes);
}

TEST(Bundle, DamageAnywhereIsRefused) {
  const std::string bytes = to_bytes(small());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 0x10);
    EXPECT_FALSE(parse_bundle(other)) << "byte " << i;
    EXPECT_FALSE(parse_bundle(std::string_view(bytes).substr(0, i))) << "cut at " << i;
  }
  EXPECT_FALSE(parse_bundle(bytes + "x"));
  EXPECT_FALSE(parse_bundle("{}"));
}

// Bytes that pass the hash and lie: what a hostile or a future writer may leave.
TEST(Bundle, LiesBehindAGoodHashAreRefused) {
  const std::string bytes = to_bytes(small());
  Rng rng(5);
  for (int i = 0; i < 3000; ++i) {
    std::string other = bytes;
    const std::size_t at = 40 + rng.below(other.size() - 40);
    other[at] = static_cast<char>(rng.below(256));
    if (rng.below(4) == 0) other.resize(at);
    if (other.size() <= 40) continue;
    other.replace(8, 32, hash128(std::string_view(other).substr(40)));
    std::ignore = parse_bundle(other);  // whatever it says, it reads no byte that is not there
  }
}

TEST(Bundle, RunsOnItsCapability) {
  const Device h200 = described("h200.json"), a100 = described("a100.json");
  Device later = a100;
  later.cuda.capability = 86;
  Bundle bundle = small();
  EXPECT_EQ(why_not(bundle, h200), "");
  EXPECT_THAT(why_not(bundle, a100), HasSubstr("9.0, this device has 8.0"));
  bundle.capability = 80;
  EXPECT_EQ(why_not(bundle, a100), "");
  EXPECT_EQ(why_not(bundle, later), "");
  EXPECT_NE(why_not(bundle, h200), "");
  bundle.capability = 86;
  EXPECT_NE(why_not(bundle, a100), "");
}

}  // namespace
}  // namespace tilewright::runtime
