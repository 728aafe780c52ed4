// SPDX-License-Identifier: Apache-2.0
// What may serve calls of one description, best first: a ladder of rungs.
//
// Everything that follows from the description is decided when the ladder is built: which kernels,
// in how many launches, every number of a launch. What a call adds - addresses, alpha, beta, bias,
// stream - decides only which rung is the first that can serve it, and fills in the rest. The last
// rung serves all.
#pragma once

#include "runtime/cuda/parts.h"
#include "runtime/cuda/shelf.h"
#include "runtime/cuda/vendor.h"
#include "runtime/cuda/workspaces.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

struct Launchable {
  Offsets at;
  CudaCall call;  // with addresses, alpha and beta of 0
};

struct Rung {
  Origin origin = Origin::built_in;
  const ShelfKernel* kernel = nullptr;       // loaded; or
  std::shared_ptr<const VendorCall> vendor;  // the vendor's
  bool scales = false;                       // any alpha
  bool adds = false;                         // any beta
  bool finishes = false;                     // a bias and an activation
  bool sums_nothing = false;                 // alpha = 0 or K = 0, when A and B may be null
  std::array<std::uint64_t, 3> alignment = {1, 1, 1};  // bytes, of the addresses of A, B, C
  std::int64_t workspace = 0, zeroed = 0;
  std::vector<Launchable> launches;
  double expected = 0;  // seconds by the rule, of a kernel
  double timed = 0;     // seconds by timing; 0: was not
  std::string why;      // for tw_explain
};

struct Ladder {
  std::vector<Rung> rungs;
  bool complete = true;            // false: made while nothing could be loaded
  bool settled = false;            // timed, or tuned for this problem and ahead
  double vendor_timed = 0;         // seconds that the vendor's took; 0: was not timed
  std::vector<std::string> notes;  // for tw_explain: what was left out
};

// What a call asks of a rung.
struct Wish {
  bool scales = false, adds = false, finishes = false, sums_nothing = false;
  std::uint64_t a = 0, b = 0, c = 0;  // addresses; those of what is not read are 0
  [[nodiscard]] bool granted_by(const Rung& rung) const {
    return (!scales || rung.scales) && (!adds || rung.adds) && (!finishes || rung.finishes) &&
           (!sums_nothing || rung.sums_nothing) && a % rung.alignment[0] == 0 &&
           b % rung.alignment[1] == 0 && c % rung.alignment[2] == 0;
  }
};
[[nodiscard]] Wish wish_of(const Call& call, const Operands& operands);

// A rung for `kernel`, which must be loaded, or why there is none.
[[nodiscard]] Result<Rung> rung_of(ShelfKernel& kernel, const Call& call, const Device& device,
                                   const Workspaces& workspaces);

// Enqueues a rung's launches: no allocation, no waiting. `workspace` as Workspaces::claim gave it.
[[nodiscard]] Status launch(const Rung& rung, const Call& call, const Operands& operands,
                            cuda::Pointer workspace, const cuda::Driver& driver,
                            cuda::Stream stream);

// Drops rungs that are never reached, since an earlier one serves all that they serve.
void prune(Ladder& ladder);

}  // namespace tilewright::runtime
