// SPDX-License-Identifier: Apache-2.0
// The table for CPUs (for GPUs: experts_cuda.cc). Measured by hand on a two-core AVX-512 machine,
// 2026-11-29 (docs/lab-notebook.md); within a class the best comes first. A search starts here and
// is free to leave.
#include "policy/experts.h"

#include "base/text.h"
#include "policy/experts_cuda.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace tilewright {
namespace {

struct Expert {
  std::int64_t m_low, m_high;
  bool b_transposed;
  std::string_view wishes;  // words of a program; `threads` and `isa` are added
};

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

constexpr std::array<Expert, 22> kExperts = {{
    {1, 1, false, "form=direct mr=1 nr=64 kc=16 nc=0 packa=f32 unroll=4 prefetch=0 split=k"},
    {1, 1, false, "form=direct mr=1 nr=256 kc=16 nc=0 packa=f32 unroll=4 prefetch=0 split=n"},
    {1, 1, false, "form=direct mr=1 nr=128 kc=16 nc=0 packa=f32 unroll=4 prefetch=8 split=k"},
    {1, 1, false, "form=direct mr=1 nr=128 kc=64 nc=0 packa=f32 unroll=4 prefetch=0 split=n"},
    {2, 16, false, "form=direct mr=8 nr=32 kc=16 nc=0 packa=f32 unroll=2 prefetch=8 split=k"},
    {2, 16, false, "form=direct mr=8 nr=32 kc=16 nc=0 packa=f32 unroll=2 prefetch=8 split=n"},
    {2, 16, false, "form=direct mr=4 nr=64 kc=64 nc=0 packa=f32 unroll=2 prefetch=2 split=n"},
    {2, 16, false, "form=direct mr=4 nr=96 kc=64 nc=0 packa=f32 unroll=2 prefetch=0 split=n"},
    {17, 64, false, "form=blocked mr=8 nr=48 kc=128 mc=0 nc=0 packb=f32 unroll=2 split=n"},
    {17, 64, false, "form=direct mr=8 nr=32 kc=32 nc=0 packa=f32 unroll=2 prefetch=8 split=n"},
    {17, 64, false, "form=blocked mr=11 nr=32 kc=64 mc=0 nc=0 packb=f32 unroll=2 split=n"},
    {65, kAny, false, "form=blocked mr=6 nr=64 kc=256 mc=48 nc=512 packb=f32 unroll=2 split=n"},
    {65, kAny, false, "form=blocked mr=8 nr=48 kc=128 mc=0 nc=0 packb=f32 unroll=2 split=n"},
    {65, kAny, false, "form=blocked mr=8 nr=48 kc=256 mc=0 nc=384 packb=f32 unroll=2 split=n"},
    {65, kAny, false, "form=blocked mr=14 nr=32 kc=256 mc=112 nc=0 packb=f32 unroll=2 split=n"},
    {65, kAny, false, "form=blocked mr=6 nr=64 kc=256 mc=0 nc=256 packb=f32 unroll=2 split=m"},
    {1, 1, true, "form=dot mr=1 nr=4 packa=f32 unroll=1 prefetch_bytes=0 split=n"},
    {1, 1, true, "form=dot mr=1 nr=8 packa=f32 unroll=2 prefetch_bytes=512 split=n"},
    {2, 16, true, "form=dot mr=4 nr=4 packa=f32 unroll=1 prefetch_bytes=512 split=n"},
    {2, 16, true, "form=dot mr=2 nr=8 packa=f32 unroll=1 prefetch_bytes=512 split=n"},
    {17, kAny, true, "form=blocked mr=6 nr=64 kc=256 mc=0 nc=256 packb=f32 unroll=2 split=n"},
    {17, kAny, true, "form=blocked mr=8 nr=48 kc=256 mc=0 nc=192 packb=f32 unroll=2 split=n"},
}};

}  // namespace

std::vector<Program> expert_programs(const std::vector<Space>& spaces,
                                     const PolicyContext& context) {
  if (!context.problem.is_gemm()) return {};
  if (context.device.kind == DeviceKind::cuda) {
    return cuda_experts(context.problem, context.device);
  }
  std::vector<Program> out;
  Seen seen;
  const std::string threads = std::to_string(context.device.cores);
  const std::string_view isa = context.device.has("avx512f") ? "avx512" : "avx2";
  for (const Expert& expert : kExperts) {
    const Problem& p = context.problem;
    if (p.m < expert.m_low || p.m > expert.m_high || p.b_transposed != expert.b_transposed) {
      continue;
    }
    std::vector<std::pair<std::string_view, std::string_view>> wishes = {{"isa", isa},
                                                                         {"threads", threads},
                                                                         {"order", "nm"},
                                                                         {"sizes", "runtime"},
                                                                         {"prefetch", "0"}};
    for (const std::string_view word : words(expert.wishes)) {
      const std::size_t equals = word.find('=');
      const auto wish = std::pair(word.substr(0, equals), word.substr(equals + 1));
      // A wish of the row replaces a default.
      std::erase_if(wishes, [&](const auto& w) { return w.first == wish.first; });
      wishes.push_back(wish);
    }
    for (const Space& space : spaces) {
      if (space.family().name != "cpu") continue;
      auto program = nearest_legal(space, wishes);
      if (program && seen.add(*program)) out.push_back(*std::move(program));
    }
  }
  return out;
}

}  // namespace tilewright
