// SPDX-License-Identifier: Apache-2.0
// Who of the screened programs is measured in full, in which order, and who wins.
#pragma once

#include "trial/trial.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tilewright {

// The best of the screening first, until `wanted` of them have stood their finals. Behind them come
// those whose screening was too noisy, and once more those whose finals were, but only as long as
// none has stood: a busy machine is no fault of a program.
class Finalists {
 public:
  // Of `screened`, trials of any outcome, those that are timed or noisy.
  Finalists(const std::vector<Trial>& screened, std::size_t wanted);

  // The screening (or noisy final) of the next one. In haste there is none once one has stood, and
  // nobody waits for those behind.
  [[nodiscard]] std::optional<Trial> next(bool haste);
  // How the final of the last next() went.
  void ended(const Trial& final);
  [[nodiscard]] const std::optional<Trial>& winner() const { return winner_; }

 private:
  std::vector<Trial> line_;
  std::size_t wanted_;
  std::size_t timed_ = 0, first_time_ = 0;  // how many of the line are
  std::size_t next_ = 0, stood_ = 0;
  std::optional<Trial> winner_;
};

}  // namespace tilewright
