// SPDX-License-Identifier: Apache-2.0
// A real CUDA device as a value, and what NVML reads of it.
#include "device/cuda/detect.h"
#include "device/cuda/telemetry.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) {
      const auto device = detect_cuda(0);
      GTEST_SKIP() << (device ? "no CUDA device" : device.error().message);
    }
  }
};

TEST_F(CudaDevice, DescribesItself) {
  const auto device = detect_cuda(0);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_FALSE(device->name.empty());
  EXPECT_GE(device->cuda.capability, 30);
  EXPECT_GT(device->cuda.multiprocessors, 0);
  EXPECT_GE(device->cuda.shared_per_block, 48 << 10);
  EXPECT_GE(device->cuda.shared_per_multiprocessor, device->cuda.shared_per_block);
  EXPECT_GE(device->cuda.registers_per_multiprocessor, 32768);
  EXPECT_GT(device->cuda.memory_bytes, std::int64_t{1} << 30);
  EXPECT_GT(device->cuda.clock_kilohertz, 100000);
  EXPECT_GT(device->cuda.memory_bandwidth, 1e10);
  EXPECT_GT(device->l2_bytes, 0);
  const auto back = device_from_json(to_json(*device));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->fingerprint(), device->fingerprint());
  RecordProperty("device", to_json(*device));
}

TEST_F(CudaDevice, IsReadByNvml) {
  const auto context = cuda::Context::open(0);
  ASSERT_TRUE(context) << context.error().message;
  const auto telemetry = cuda::Telemetry::open(*context);
  if (!telemetry) GTEST_SKIP() << telemetry.error().message;
  const cuda::Reading reading = telemetry->read();
  EXPECT_GT(reading.sm_megahertz, 0);
  EXPECT_GT(reading.memory_megahertz, 0);
  EXPECT_GT(reading.celsius, 0);
  EXPECT_LT(reading.celsius, 130);
  EXPECT_LT(reading.watts, 2000);
  EXPECT_FALSE(cuda::Telemetry::driver_version().value_or("").empty());
}

}  // namespace
}  // namespace tilewright
