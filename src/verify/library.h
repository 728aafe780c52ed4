// SPDX-License-Identifier: Apache-2.0
// Data sets of one problem with their references, kept so that many candidates meet the same data.
//
// A reference costs far more than the call that it checks, so those of the fixed kinds are made
// once per problem. Operands are kept too unless they are large; they are a pure function of their
// seed and can be drawn again.
#pragma once

#include "verify/ground.h"
#include "verify/inputs.h"
#include "verify/reference.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright {

struct DataSet final : Feed {
  std::uint64_t seed = 0;
  Operands operands;
  Reference reference;
};

// The sizes that a kernel with run-time sizes is tried on besides its own.
[[nodiscard]] std::vector<Extent> ragged_extents(const Problem& problem);

class DataLibrary {
 public:
  DataLibrary(const Problem& problem, std::uint64_t seed) : problem_(problem), seed_(seed) {}

  // The set that every candidate meets.
  [[nodiscard]] std::shared_ptr<const DataSet> fixed(DataKind kind);
  // A set of its own, drawn now.
  [[nodiscard]] std::shared_ptr<const DataSet> fresh(DataKind kind, std::uint64_t seed) const;
  [[nodiscard]] const std::vector<RaggedFeed>& ragged();

 private:
  [[nodiscard]] std::shared_ptr<DataSet> make(DataKind kind, std::uint64_t seed) const;

  Problem problem_;
  std::uint64_t seed_;
  std::array<std::shared_ptr<const DataSet>, kDataKindNames.size()> fixed_;
  std::vector<RaggedFeed> ragged_;
};

// The same data but for one element of A (or B), with the reference corrected. For exact kinds,
// whose elements stay within {-1,0,1} or {0,1}.
[[nodiscard]] std::shared_ptr<const DataSet> with_one_changed(const Problem& problem,
                                                              const DataSet& set, bool in_a,
                                                              std::uint64_t seed);

}  // namespace tilewright
