// SPDX-License-Identifier: Apache-2.0
// Where the matrices of a device arena lie, and what is said where
// there is no driver.
#include "execute/arena_layout.h"
#include "execute/cuda/cuda_worker.h"
#include "execute/cuda/device_arena.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

struct Range {
  std::int64_t begin, end;  // guards included
};

TEST(DeviceLayoutTest, MatricesAreAlignedAndApart) {
  Problem padded;
  padded.m = 100;
  padded.n = 30;
  padded.k = 50;
  padded.lda = 64;
  padded.ldc = 33;
  padded.batch = 3;
  padded.out = ElementType::f32;
  Problem empty;
  Problem large;
  large.m = large.n = large.k = 16384;
  for (const Problem& problem : {padded, empty, large}) {
    const auto layout = device_layout(problem, 3, 1000);
    ASSERT_TRUE(layout) << layout.error().message;
    std::vector<Range> ranges;
    for (int set = 0; set < 3; ++set) {
      for (const Piece& piece : matrices(problem, *layout)) {
        const std::int64_t start = piece.offset + set * layout->set_stride;
        EXPECT_EQ(start % 256, 0);
        const std::int64_t guard = kDeviceGuardBytes + (piece.bytes() > 0 ? piece.stride_bytes : 0);
        ranges.push_back({start - guard, start + piece.bytes() + guard});
      }
    }
    EXPECT_EQ(layout->workspace % 256, 0);
    ranges.push_back(
        {layout->workspace - kDeviceGuardBytes, layout->workspace + 1000 + kDeviceGuardBytes});
    EXPECT_GE(ranges.front().begin, 0);
    for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].end, ranges[i].begin);
    EXPECT_LE(ranges.back().end, layout->bytes);
  }
}

TEST(DeviceLayoutTest, OperandsOfASet) {
  Problem problem;
  problem.m = problem.n = problem.k = 64;
  const auto layout = device_layout(problem, 2, 64).value();
  const auto at = [](std::int64_t offset) { return 1000 + static_cast<cuda::Pointer>(offset); };
  const DeviceOperands first = device_operands(layout, 1000, 0, Owner::candidate);
  EXPECT_EQ(first.a, at(layout.a));
  EXPECT_EQ(first.c, at(layout.c));
  const DeviceOperands second = device_operands(layout, 1000, 1, Owner::baseline);
  EXPECT_EQ(second.b, at(layout.set_stride + layout.b));
  EXPECT_EQ(second.c, at(layout.set_stride + layout.c_baseline));
  EXPECT_EQ(second.workspace, first.workspace);
}

TEST(DeviceLayoutTest, Refusals) {
  Problem problem;
  problem.m = problem.n = problem.k = 64;
  EXPECT_THAT(device_layout(problem, 0, 0).error().message, HasSubstr("sets = 0"));
  EXPECT_THAT(device_layout(problem, 1, -1).error().message, HasSubstr("workspace_bytes = -1"));
  problem.m = problem.k = std::int64_t{1} << 26;
  EXPECT_EQ(device_layout(problem, 1, 0).error().code, ErrorCode::environment);
  problem.m = -1;
  EXPECT_FALSE(device_layout(problem, 1, 0));
}

TEST(CudaWorkerTest, WithoutADriverTheErrorSaysSo) {
  setenv("TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  Device device;
  EXPECT_EQ(CudaWorker::start({}, device).error().code, ErrorCode::usage);  // a CPU
  device.kind = DeviceKind::cuda;
  const auto worker = CudaWorker::start({}, device);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::environment);
  EXPECT_THAT(worker.error().message, HasSubstr("no CUDA driver"));
  EXPECT_THAT(worker.error().hint, HasSubstr("TILEWRIGHT_LIBCUDA"));
}

}  // namespace
}  // namespace tilewright
