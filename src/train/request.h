// SPDX-License-Identifier: Apache-2.0
// What `tilewright train` hands to tilewright-learner: one JSON object with the stages, the folder,
// the files of trials, the device that they are of, and the numbers that differ from the plan's.
#pragma once

#include "train/plan.h"

#include <functional>
#include <string>

namespace tilewright {

// "cuda" if LibTorch has a usable device, else "cpu".
[[nodiscard]] std::string default_compute();

// The exit code: 0, or 1 if the last gate failed. Progress goes to stderr, the table of gates to
// stdout.
[[nodiscard]] Result<int> train_by_request(const std::string& request,
                                           const std::function<bool()>& stop);

// Sets one number of a plan, "samples=16"; an unknown name lists the known ones.
[[nodiscard]] Status set_number(TrainPlan& plan, const std::string& assignment);
// The names that set_number knows.
[[nodiscard]] std::string plan_numbers();

}  // namespace tilewright
