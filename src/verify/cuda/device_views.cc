// SPDX-License-Identifier: Apache-2.0
// See device_views.h.
#include "verify/cuda/device_views.h"

#include "base/element.h"
#include "verify/cuda/kernel_bench.h"

namespace tilewright {
namespace {

DeviceView view(cuda::Pointer at, ElementType type, std::int64_t rows, std::int64_t cols,
                std::int64_t batches, std::int64_t stride) {
  return {device_pointer<unsigned char>(at),
          static_cast<int>(type),
          rows,
          cols,
          batches,
          stride,
          rows * stride};
}

}  // namespace

DeviceView device_a(const DeviceArena& arena, int set) {
  const Problem& p = arena.problem();
  return view(arena.a(set), p.in, p.a_rows(), p.a_cols(), p.batch, p.a_stride());
}
DeviceView device_b(const DeviceArena& arena, int set) {
  const Problem& p = arena.problem();
  return view(arena.b(set), p.in, p.b_rows(), p.b_cols(), p.batch, p.b_stride());
}
DeviceView device_c(const DeviceArena& arena, int set, Owner owner) {
  const Problem& p = arena.problem();
  return view(arena.c(set, owner), p.out, p.m, p.n, p.batch, p.c_stride());
}
DeviceView packed_device_a(const Problem& p, cuda::Pointer at) {
  return view(at, p.in, p.a_rows(), p.a_cols(), p.batch, p.a_cols());
}
DeviceView packed_device_b(const Problem& p, cuda::Pointer at) {
  return view(at, p.in, p.b_rows(), p.b_cols(), p.batch, p.b_cols());
}

std::int64_t bytes_of(const DeviceView& v) {
  return elements(v) * static_cast<std::int64_t>(size_of(static_cast<ElementType>(v.type)));
}

int word_bytes(const DeviceView& v) {
  const auto size = static_cast<std::int64_t>(size_of(static_cast<ElementType>(v.type)));
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(v.data));
  // A bit that is set in any of these is one that a word must not span.
  const std::int64_t all = v.cols * size | v.stride * size | v.batch_stride * size | at;
  return all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 2;
}

DeviceView in_words(DeviceView v, int bytes) {
  const auto size = static_cast<std::int64_t>(size_of(static_cast<ElementType>(v.type)));
  v.cols = v.cols * size / bytes;
  v.stride = v.stride * size / bytes;
  v.batch_stride = v.batch_stride * size / bytes;
  return v;
}

}  // namespace tilewright
