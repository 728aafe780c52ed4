// SPDX-License-Identifier: Apache-2.0
// Builds ladders: which kernels may serve a description, from wisdom, the built-in rule and the
// vendor, in the order of docs/runtime.md. Slow, and for one thread at a time.
#pragma once

#include "runtime/cuda/ladder.h"
#include "runtime/lookup.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::runtime {

class Planner {
 public:
  // All must outlive it. Without `vendor_allowed` the vendor's library is never opened.
  Planner(const cuda::Context& context, const Device& device, Shelf& shelf, const Lookup& lookup,
          const Workspaces& workspaces, bool vendor_allowed)
      : context_(context),
        device_(device),
        shelf_(shelf),
        lookup_(lookup),
        workspaces_(workspaces),
        vendor_allowed_(vendor_allowed) {}

  // The context must be current. Without `may_load` only what is loaded counts, and the vendor's
  // library is not asked.
  [[nodiscard]] Ladder build(const Call& call, bool may_load);
  // More rungs than anyone would reach, for who times them: kernels of each kind, and the vendor's
  // whatever is expected of it. Not pruned.
  [[nodiscard]] Ladder candidates(const Call& call);

 private:
  enum class Width { serving, candidates };
  struct Tuned {
    ShelfKernel* kernel;
    Lookup::Hit hit;
  };
  [[nodiscard]] bool allowed(const ShelfKernel& kernel, const Call& call) const;
  [[nodiscard]] ShelfKernel* kernel_for(const WisdomEntry& entry, const Call& call, bool served);
  [[nodiscard]] std::optional<Tuned> tuned(const Call& call, bool served);
  [[nodiscard]] std::vector<ShelfKernel*> built_in(const Call& call);
  [[nodiscard]] Ladder collect(const Call& call, bool may_load, Width width);
  void add_built_in(Ladder& ladder, const Call& call, const std::vector<ShelfKernel*>& kernels,
                    bool may_load, Width width);
  // False if it was left out for want of loading.
  bool add(Ladder& ladder, ShelfKernel& kernel, const Call& call, Origin origin,
           const std::string& why, bool may_load);
  void add_vendor(Ladder& ladder, const Call& call, const std::string& why);
  [[nodiscard]] Vendor* vendor(Ladder& ladder);

  const cuda::Context& context_;
  const Device& device_;
  Shelf& shelf_;
  const Lookup& lookup_;
  const Workspaces& workspaces_;
  bool vendor_allowed_;
  std::optional<Result<std::unique_ptr<Vendor>>> vendor_;
};

}  // namespace tilewright::runtime
