// SPDX-License-Identifier: Apache-2.0
// What is known from other shapes: recorded trials, parsed once and shared by all policies that are
// offered them.
#pragma once

#include "program/program.h"
#include "trial/trial.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

struct Known {
  Problem problem;
  Program program;
  bool ok = false;
  bool final = false;   // proven and timed in full
  double fitness = 0;   // fitness_of(), 0 unless ok
  bool paired = false;  // it is a speed-up, not 1/time
  std::optional<Profile> profile{};
};

class Experience {
 public:
  // Trials whose text no longer parses are left out.
  explicit Experience(std::span<const Trial> trials);
  // The same without the trials of one shape, in any type or layout: for a test on that shape.
  [[nodiscard]] std::shared_ptr<const Experience> without(const Problem& shape) const;
  [[nodiscard]] const std::vector<Known>& known() const { return known_; }

  // What a policy derives from all of it, made by the first who asks. `Model` must be one type.
  template <class Model>
  [[nodiscard]] std::shared_ptr<const Model> derived(
      const std::function<std::shared_ptr<const Model>()>& make) const {
    const std::scoped_lock lock(mutex_);
    if (!derived_) derived_ = make();
    return std::static_pointer_cast<const Model>(derived_);
  }

 private:
  Experience() = default;
  std::vector<Known> known_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const void> derived_;
};

// Higher is better: the ratio to a baseline timed in the same minute, which is steadier than the
// time; 1/time where there is no baseline; 0 unless ok.
[[nodiscard]] double fitness_of(const Trial& trial);

// log2 per axis, so that 64x4096x64 is not 4096x64x64. Other types or layouts are far away.
[[nodiscard]] double shape_distance(const Problem& a, const Problem& b);

// What won on other problems, nearest first; of one problem fully timed programs in the order of
// their fitness or, where there are none, the `screened` fittest.
[[nodiscard]] std::vector<Program> winners_near(const Experience& experience,
                                                const Problem& problem, std::size_t screened);

}  // namespace tilewright
