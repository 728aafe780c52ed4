// SPDX-License-Identifier: Apache-2.0
// What lies in the arena, and whether a call left alone what it had no business with.
//
// Everything is put into the arena through a stage, which remembers it: digests of A and B, and C
// as it was before a call. After a call intact() answers for the guard bands and row gaps, for the
// inputs, and for the results in another operand set. Next: proof.h.
#pragma once

#include "base/outcome.h"
#include "verify/ground.h"
#include "verify/inputs.h"
#include "verify/strided.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

class Stage {
 public:
  Stage(const Arena& arena, Owner owner);  // whose C the calls write

  void place(int set, const Operands& operands);
  void place_a(int set, std::span<const std::byte> a);
  void fill_c(int set, Fill fill, std::uint64_t seed);
  // Overwrites the workspace: by turns NaN for every type, hashed words, and ordinary numbers.
  void scrub_workspace(std::uint64_t number) const;
  // Takes the C of `set` as it is now for its proper content.
  void accept_c(int set);

  // C of `set`, packed, as it was filled.
  [[nodiscard]] std::span<const std::byte> before(int set) const;

  // After a call on `called`: guards and inputs of that set and of the two placed last, and C of
  // those two unless it was called. (All sets after every call would cost more than the calls.)
  [[nodiscard]] Finding intact(int called) const;
  // The same for all sets, but C's content.
  [[nodiscard]] Finding all_intact() const;

 private:
  struct Placed {
    std::string a, b, c;  // digests of whole storage; empty: nothing was placed
    std::vector<std::byte> before;
  };
  [[nodiscard]] Finding surroundings_intact(int set) const;  // guards and inputs

  const Arena& arena_;
  Owner owner_;
  std::vector<Placed> sets_;
  int last_ = 0, other_ = 0;  // the sets placed last
};

}  // namespace tilewright
