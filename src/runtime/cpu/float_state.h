// SPDX-License-Identifier: Apache-2.0
// The state of the floating-point unit that kernels are proven in: round to nearest, subnormals
// kept. A caller may have set another one (torch.set_flush_denormal), and then its thread would
// compute other bits than the workers.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::runtime::cpu {

#if defined(__x86_64__)
inline constexpr unsigned kPlainMxcsr = 0x1f80;  // all exceptions masked, nothing else

inline void set_plain_float_state() {
  _mm_setcsr(kPlainMxcsr);
}

// Plain as long as it lives; costs next to nothing where the state is plain already.
class PlainFloatState {
 public:
  PlainFloatState() : before_(_mm_getcsr()), changed_((before_ & ~kFlags) != kPlainMxcsr) {
    if (changed_) _mm_setcsr(kPlainMxcsr);
  }
  ~PlainFloatState() {
    if (changed_) _mm_setcsr(before_);
  }
  PlainFloatState(const PlainFloatState&) = delete;
  PlainFloatState& operator=(const PlainFloatState&) = delete;

 private:
  static constexpr unsigned kFlags = 0x3f;  // exceptions that happened
  unsigned before_;
  bool changed_;
};
#else
inline void set_plain_float_state() {}
class PlainFloatState {
 public:
  PlainFloatState() {}
  ~PlainFloatState() {}
};
#endif

}  // namespace tilewright::runtime::cpu
