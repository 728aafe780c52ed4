// SPDX-License-Identifier: Apache-2.0
// f32 copies of operands, for libraries that compute with f32 only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tilewright {

// Zeros at a cache line's alignment, touched once so that no page fault is timed.
class Floats {
 public:
  explicit Floats(std::int64_t count) : data_(new(kAlignment) float[at_least_one(count)]()) {}
  [[nodiscard]] float* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static std::size_t at_least_one(std::int64_t count) {
    return static_cast<std::size_t>(count > 0 ? count : 1);
  }
  struct Free {
    void operator()(float* data) const { operator delete[](data, kAlignment); }
  };
  std::unique_ptr<float[], Free> data_;
};

}  // namespace tilewright
