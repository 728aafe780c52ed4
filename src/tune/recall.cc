// SPDX-License-Identifier: Apache-2.0
// See recall.h.
#include "tune/recall.h"

#include "problem/operations.h"

#include <string_view>
#include <vector>

namespace tilewright {

Result<std::shared_ptr<const Experience>> recall(const Database& database, const Device& device,
                                                 Mode mode, Op op) {
  TrialQuery query;
  query.device = device.fingerprint();
  query.mode = name_of(mode);
  Result<std::vector<Trial>> trials = database.select(query);
  if (!trials) return tl::unexpected(trials.error());
  std::erase_if(*trials, [&](const Trial& trial) {
    const std::string_view text = trial.problem;
    return text.substr(0, text.find(' ')) != operation_of(op).name;
  });
  return std::make_shared<const Experience>(*trials);
}

}  // namespace tilewright
