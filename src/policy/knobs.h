// SPDX-License-Identifier: Apache-2.0
// The numbers that policies can be tuned by. The defaults were chosen on shapes that are not held
// out (docs/policy.md); `tilewright policy-bench --set` tries others.
#pragma once

#include "base/error.h"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

struct Knob {
  std::string_view name;  // policy.word
  double fallback;
  double least, most;
  std::string_view help;
};
[[nodiscard]] std::span<const Knob> all_knobs();

class Knobs {
 public:
  // "anneal.temperature=0.1"; an unknown name lists those of the policy.
  [[nodiscard]] Status set(std::string_view assignment);
  [[nodiscard]] double operator[](std::string_view name) const;
  // Those that were set, "name=value", in the order of names.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, double, std::less<>> set_;
};

}  // namespace tilewright
