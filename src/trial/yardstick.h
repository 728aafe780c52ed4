// SPDX-License-Identifier: Apache-2.0
// What makes times of different runs comparable. Two cards of one kind differ by 5 % and more, and
// one card cool and warm; a baseline that was timed beside every trial differs alike.
#pragma once

#include "trial/trial.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Yardstick {
 public:
  // Of trials of one problem, device and mode. The baseline is one that had nothing to choose: an
  // autotuned one may have chosen anew.
  explicit Yardstick(std::span<const Trial* const> trials);

  // What to divide times beside this trial by: the baseline's in microseconds, or 1 if they have
  // none in common.
  [[nodiscard]] double beside(const Trial& trial) const;
  // Of several trials the fastest, where of each program the newest counts; null of none.
  [[nodiscard]] const Trial* fastest(std::span<const Trial* const> trials) const;

 private:
  std::string baseline_;
};

// By when they ended. Ids settle ties, so that no order of arrival decides.
[[nodiscard]] bool is_newer(const Trial& a, const Trial& b);
// Of several trials of a program the newest, in the order of the first ones. Whoever chooses the
// fastest of many is partly lucky; a time that stayed the best for ever, however often its program
// is timed again, would be chosen for that luck again and again.
[[nodiscard]] std::vector<const Trial*> newest_of_each_program(
    std::span<const Trial* const> trials);

// What the policy of a trial begins with whose program the runtime library took from a bundle.
inline constexpr std::string_view kServedPolicy = "served: ";

// Proven, and timed as finals and benches are.
[[nodiscard]] bool was_timed_in_full(const Trial& trial);
// Whether the program can be compiled from its text: what a bundle served or came as a source from
// outside cannot.
[[nodiscard]] bool has_a_text(const Trial& trial);

}  // namespace tilewright
