// SPDX-License-Identifier: Apache-2.0
// Implementation of own_operands.h: one block is drawn here, the device copies it along.
#include "execute/cuda/runner/own_operands.h"

#include "base/rng.h"

#include <algorithm>
#include <vector>

namespace tilewright::runner {
namespace {

constexpr std::size_t kBlockElements = std::size_t{1} << 21;
constexpr std::uint64_t kSeed = 1;

std::vector<std::byte> normal_block(std::size_t elements, ElementType type) {
  std::vector<std::byte> block(elements * size_of(type));
  Rng rng(kSeed);
  for (std::size_t i = 0; i < elements; ++i) {
    store(type, block.data(), static_cast<std::int64_t>(i), rng.normal());
  }
  return block;
}

}  // namespace

Result<cuda::Buffer> random_operands(const cuda::Context& context, cuda::Stream stream,
                                     std::int64_t bytes, ElementType type) {
  const auto wanted = static_cast<std::size_t>(bytes);
  auto buffer = cuda::Buffer::allocate(context, wanted);
  if (!buffer) return buffer;
  const cuda::Driver& d = context.driver();
  const std::size_t elements = std::min(kBlockElements, wanted / size_of(type));
  const std::vector<std::byte> block = normal_block(elements, type);
  const cuda::Pointer base = buffer->address();
  if (Status s = d.check(d.MemcpyHtoD(base, block.data(), block.size()), "filling operands"); !s) {
    return tl::unexpected(s.error());
  }
  for (std::size_t done = block.size(); done > 0 && done < wanted;) {
    const std::size_t next = std::min(done, wanted - done);
    if (Status s = d.check(d.MemcpyDtoDAsync(base + done, base, next, stream), "filling operands");
        !s) {
      return tl::unexpected(s.error());
    }
    done += next;
  }
  if (Status s = d.check(d.StreamSynchronize(stream), "filling operands"); !s) {
    return tl::unexpected(s.error());
  }
  return buffer;
}

}  // namespace tilewright::runner
