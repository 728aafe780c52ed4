// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "device/fma_peak.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Device invented() {
  Device device;
  device.name = "Some Processor";
  device.silicon = "genuineintel-6-143-8";
  device.isa = {"avx2", "avx512bf16", "avx512f", "f16c", "fma"};
  device.cores = 2;
  device.cpus = {0, 2};
  device.l1d_bytes = 48 << 10;
  device.l2_bytes = 2 << 20;
  device.l3_bytes = 105 << 20;
  return device;
}

// CASES C11: the key is the silicon, not its marketing name; other cores or features are others.
TEST(Fingerprint, IsOfTheSiliconItsFeaturesAndItsCores) {
  const auto device = invented();
  const auto key = device.fingerprint();
  // The database is keyed by this: a change here orphans everything measured before.
  EXPECT_EQ(key, "cpu-genuineintel-6-143-8-avx512bf16-ac31878f-2c");
  auto other = device;
  other.name = "The Same Processor, Boxed";
  other.cpus = {1, 3};
  other.l3_bytes = 0;
  std::reverse(other.isa.begin(), other.isa.end());
  EXPECT_EQ(other.fingerprint(), key);
  other = device;
  other.cores = 3;
  EXPECT_NE(other.fingerprint(), key);
  other = device;
  other.silicon = "genuineintel-6-143-9";
  EXPECT_NE(other.fingerprint(), key);
  for (std::size_t i = 0; i < device.isa.size(); ++i) {
    other = device;
    other.isa.erase(other.isa.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(other.fingerprint(), key) << device.isa[i];
  }
  other.isa = {};
  EXPECT_THAT(other.fingerprint(), StartsWith("cpu-genuineintel-6-143-8-base-"));
}

TEST(DeviceJson, RoundTrip) {
  for (const auto& device : {invented(), detect_cpu()}) {
    const auto text = to_json(device);
    const auto back = device_from_json(text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(to_json(*back), text);
    EXPECT_EQ(back->fingerprint(), device.fingerprint());
    EXPECT_EQ(back->cpus, device.cpus);
    EXPECT_EQ(back->l3_bytes, device.l3_bytes);
  }
}

TEST(DeviceJson, OddBytesInAName) {
  auto device = invented();
  device.name = "\xff\xfe \" \n";
  EXPECT_TRUE(device_from_json(to_json(device)));
}

// CASES C01: cut at every byte, and one field off at a time.
TEST(DeviceJson, DamageIsRefusedAndNeverFatal) {
  const auto text = to_json(invented());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto result = device_from_json(std::string_view(text).substr(0, i));
    ASSERT_FALSE(result) << i;
    EXPECT_EQ(result.error().code, ErrorCode::refused);
  }
  for (const char* field :
       {"kind", "name", "silicon", "isa", "cores", "cpus", "l1d_bytes", "l2_bytes", "l3_bytes"}) {
    auto renamed = text;
    renamed.replace(renamed.find(fmt::format("\"{}\"", field)) + 1, 1, "X");
    const auto missing = device_from_json(renamed);
    ASSERT_FALSE(missing) << field;
    EXPECT_THAT(missing.error().message, HasSubstr(field));
  }
  const auto with = [&](std::string_view field, std::string_view value) {
    auto changed = text;
    const auto start = changed.find(fmt::format("\"{}\":", field)) + field.size() + 3;
    const auto end = changed.find_first_of(changed[start] == '[' ? "]" : ",}", start);
    return changed.replace(start, end - start + (changed[start] == '[' ? 1 : 0), value);
  };
  ASSERT_TRUE(device_from_json(with("cores", "5")));
  ASSERT_TRUE(device_from_json(with("cpus", "[7,8]")));
  for (const auto& [field, value] : {std::pair{"cores", "0"},
                                     {"cores", "-1"},
                                     {"cores", "1.5"},
                                     {"cores", "1099511627776"},
                                     {"cores", "18446744073709551615"},
                                     {"cores", "\"2\""},
                                     {"cores", "null"},
                                     {"cpus", "[0,-1]"},
                                     {"cpus", "[0,\"1\"]"},
                                     {"cpus", "[18446744073709551615]"},
                                     {"isa", "[1]"},
                                     {"isa", "\"avx2\""},
                                     {"kind", "\"gpu\""},
                                     {"kind", "1"},
                                     {"l1d_bytes", "-1"},
                                     {"l2_bytes", "1e3"},
                                     {"l3_bytes", "true"},
                                     {"silicon", "[]"}}) {
    EXPECT_FALSE(device_from_json(with(field, value))) << field << '=' << value;
  }
  EXPECT_FALSE(device_from_json("[]"));
  EXPECT_FALSE(device_from_json("\0\0\0"));
}

TEST(DetectCpu, DescribesThisMachine) {
  const auto device = detect_cpu();
  EXPECT_GE(device.cores, 1);
  EXPECT_EQ(device.cpus.size(), static_cast<std::size_t>(device.cores));
  EXPECT_GT(device.l1d_bytes, 0);
  EXPECT_GE(device.l2_bytes, device.l1d_bytes);
  EXPECT_TRUE(std::is_sorted(device.isa.begin(), device.isa.end()));
  EXPECT_EQ(detect_cpu().fingerprint(), device.fingerprint());
}

TEST(DetectCpu, TheMaskMakesItAnOlderMachine) {  // CASES I09
  ::setenv("TILEWRIGHT_ISA_MASK", "avx512f,avx2,fma,f16c", 1);
  const auto older = detect_cpu();
  ::unsetenv("TILEWRIGHT_ISA_MASK");
  for (const char* feature : {"avx512f", "avx512bw", "avx512bf16", "avx2", "fma", "f16c"}) {
    EXPECT_FALSE(older.has(feature)) << feature;
  }
}

TEST(FmaPeak, WiderVectorsDoMore) {
  const auto device = detect_cpu();
  Device narrow = device;
  narrow.isa.clear();
  const double base = measure_fma_peak(narrow, 1);
  EXPECT_TRUE(std::isfinite(base));
  EXPECT_GT(base, 0.0);
  if (!device.has("avx2") || !device.has("fma")) GTEST_SKIP() << "this machine has no FMA";
  // Twice the lanes, and one instruction where the baseline has two. Fourfold in theory; a busy
  // machine may take half of that away, but not all.
  EXPECT_GT(measure_fma_peak(device, 1), 1.3 * base);
}

TEST(FmaPeak, AcceptsAnyTeam) {
  auto device = detect_cpu();
  device.cpus = {100000, -1};  // not here: no pinning, but an answer
  for (const int threads : {-1, 0, 1, 3}) {
    EXPECT_GT(measure_fma_peak(device, threads, 0.005), 0.0) << threads;
  }
  device.cpus.clear();
  EXPECT_GT(measure_fma_peak(device, 2, 0.0), 0.0);
}

}  // namespace
}  // namespace tilewright
