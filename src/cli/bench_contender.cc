// SPDX-License-Identifier: Apache-2.0
// See bench_contender.h.
#include "cli/bench_contender.h"

namespace tilewright {

void build(Contender& contender, Compiler& compiler, std::launch when) {
  contender.built = std::async(when, [&compiler, source = contender.candidate->source] {
                      return compiler.compile(source);
                    }).share();
}

std::vector<Contender> served_contenders(const ServedChoices& choices) {
  const auto& [estimate, timed] = choices;
  std::vector<Contender> contenders;
  const bool same = estimate && timed && estimate->binary.hash == timed->binary.hash;
  if (estimate) {
    contenders.push_back({std::nullopt, estimate, {}, true, same, same || !timed});
  }
  if (timed && !same) contenders.push_back({std::nullopt, timed, {}, false, true, true});
  return contenders;
}

}  // namespace tilewright
