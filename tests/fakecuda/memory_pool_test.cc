// SPDX-License-Identifier: Apache-2.0
// Memory that goes back to its pool, on the driver made of host memory.
#include "verify/cuda/memory_pool.h"

#include "fakecuda/fake_cuda.h"

namespace tilewright {
namespace {

TEST(MemoryPool, GivesAPieceAgainAndNeverTwiceAtATime) {
  auto context = cuda::Context::open(0);
  ASSERT_TRUE(context) << context.error().message;
  const auto pool = std::make_shared<MemoryPool>(*context);
  PooledMemory first = *pool->take(5000);
  EXPECT_GE(first.bytes(), 5000U);
  const cuda::Pointer place = first.address();
  const PooledMemory second = *pool->take(5000);
  EXPECT_NE(second.address(), place);
  EXPECT_EQ(pool->kept_bytes(), 0U);
  first = PooledMemory();
  EXPECT_EQ(pool->kept_bytes(), 8192U);
  EXPECT_NE(pool->take(100)->address(), place) << "far too large for it";
  const PooledMemory third = *pool->take(8000);
  EXPECT_EQ(third.address(), place);
  EXPECT_EQ(pool->take(0)->address(), 0U);
  const std::size_t kept = pool->kept_bytes();
  static_cast<void>(pool->take(std::size_t{300} << 20));
  EXPECT_EQ(pool->kept_bytes(), kept) << "too much to keep";
}

TEST(MemoryPool, LivesAsLongAsItsMemory) {
  auto context = cuda::Context::open(0);
  ASSERT_TRUE(context) << context.error().message;
  auto pool = std::make_shared<MemoryPool>(*context);
  PooledMemory memory = *pool->take(64);
  pool.reset();
  PooledMemory moved = std::move(memory);
  EXPECT_NE(moved.address(), 0U);
}

}  // namespace
}  // namespace tilewright
