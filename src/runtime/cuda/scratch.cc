// SPDX-License-Identifier: Apache-2.0
// See scratch.h. In memory: the workspace with its head, then A and B of each set, then each C.
#include "runtime/cuda/scratch.h"

#include "base/rng.h"
#include "runtime/cuda/workspaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::runtime {
namespace {

constexpr double kSetBytes = 256 << 20;  // that the sets reach together, as in `bench`
constexpr int kMostSets = 32;
constexpr double kShareOfFree = 0.25;
// Numbers that are drawn; the rest repeats them. No power of two, lest all rows be the same.
constexpr std::int64_t kPeriod = 16392;

// In double: sizes may be beyond what any memory holds.
double aligned(double bytes) {
  constexpr auto kAlignment = static_cast<double>(kWorkspaceAlignment);
  return std::ceil(bytes / kAlignment) * kAlignment;
}

double operand_bytes(ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                     std::int64_t batch, std::int64_t stride) {
  const double last = static_cast<double>(batch - 1) * static_cast<double>(stride) +
                      static_cast<double>(rows - 1) * static_cast<double>(ld);
  const double bytes = (last + static_cast<double>(columns)) * static_cast<double>(size_of(type));
  return aligned(bytes);
}

std::vector<std::uint16_t> random_bits(ElementType type) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(kPeriod));
  Rng rng(1);
  for (std::int64_t i = 0; i < kPeriod; ++i) store(type, bits.data(), i, rng.normal());
  return bits;
}

// `bytes` at `to`: what is there already is copied behind itself, twice as much each time.
Status fill(const cuda::Driver& driver, ElementType type, cuda::Pointer to, std::size_t bytes,
            cuda::Stream stream) {
  const std::vector<std::uint16_t> bits = random_bits(type);
  std::size_t done = std::min(bits.size() * sizeof bits[0], bytes);
  const auto check = [&driver](cuda::Code code) {
    return driver.check(code, "filling operands to be timed");
  };
  if (Status s = check(driver.MemcpyHtoDAsync(to, bits.data(), done, stream)); !s) return s;
  while (done < bytes) {
    const std::size_t more = std::min(done, bytes - done);
    if (Status s = check(driver.MemcpyDtoDAsync(to + done, to, more, stream)); !s) return s;
    done += more;
  }
  return check(driver.StreamSynchronize(stream));  // `bits` goes
}

}  // namespace

Result<Scratch> Scratch::make(const cuda::Context& context, const Call& call, int most_sets,
                              std::int64_t workspace, cuda::Stream stream) {
  const cuda::Driver& driver = context.driver();
  const double a =
      operand_bytes(call.in, call.a_rows(), call.a_columns(), call.lda, call.batch, call.stride_a);
  const double b =
      operand_bytes(call.in, call.b_rows(), call.b_columns(), call.ldb, call.batch, call.stride_b);
  const double c = operand_bytes(call.out, call.m, call.n, call.ldc, call.batch, call.stride_c);
  // cublasLt asks for workspaces of odd sizes.
  const double set = a + b + c, rest = aligned(static_cast<double>(kWorkspaceHead + workspace));
  std::size_t free = 0, total = 0;
  if (Status s = driver.check(driver.MemGetInfo(&free, &total), "asking for free memory"); !s) {
    return tl::unexpected(s.error());
  }
  const double room = kShareOfFree * static_cast<double>(free);
  if (set + rest > room) {
    return fail(ErrorCode::negative,
                fmt::format("operands of {:.0f} bytes are more than a quarter of the {} that are "
                            "free",
                            set + rest, free));
  }
  const double most = std::clamp(most_sets, 1, kMostSets);
  const double sets = std::clamp(std::ceil(kSetBytes / set), std::min(most, 2.0), most);
  Scratch made;
  made.sets_ = static_cast<std::int64_t>(std::min(sets, std::floor((room - rest) / set)));
  made.a_ = static_cast<std::int64_t>(a);
  made.b_ = static_cast<std::int64_t>(b);
  made.c_ = static_cast<std::int64_t>(c);
  const auto before = static_cast<std::int64_t>(rest);
  const std::int64_t inputs = made.sets_ * (made.a_ + made.b_);
  auto memory = cuda::Buffer::allocate(
      context, static_cast<std::size_t>(before + inputs + made.sets_ * made.c_));
  if (!memory) return tl::unexpected(memory.error());
  made.memory_ = *std::move(memory);
  const cuda::Pointer base = made.memory_.address();
  if (Status s = driver.check(
          driver.MemsetD8Async(base, 0, static_cast<std::size_t>(kWorkspaceHead), stream),
          "zeroing a workspace");
      !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = fill(driver, call.in, base + static_cast<cuda::Pointer>(before),
                      static_cast<std::size_t>(inputs), stream);
      !s) {
    return tl::unexpected(s.error());
  }
  return made;
}

Operands Scratch::operands(int i) const {
  const std::int64_t set = i % sets_;
  const auto end = static_cast<std::int64_t>(memory_.bytes());
  const std::int64_t results = end - sets_ * c_, inputs = results - sets_ * (a_ + b_);
  const auto at = [this](std::int64_t offset) {
    return reinterpret_cast<void*>(memory_.address() + static_cast<cuda::Pointer>(offset));
  };
  Operands o;
  o.a = at(inputs + set * (a_ + b_));
  o.b = at(inputs + set * (a_ + b_) + a_);
  o.c = at(results + set * c_);
  return o;
}

cuda::Pointer Scratch::workspace(std::int64_t zeroed) const {
  return memory_.address() + static_cast<cuda::Pointer>(kWorkspaceHead - zeroed);
}

}  // namespace tilewright::runtime
