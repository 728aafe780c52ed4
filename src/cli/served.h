// SPDX-License-Identifier: Apache-2.0
// What the runtime library would serve a problem with, for `bench --served`: the very cubin of an
// installed bundle and its launch, timed as any candidate is. The library is asked twice: what it
// takes by estimate, and what tw_prepare() chooses by timing. served_summary.h makes a table of it.
#pragma once

#include "base/error.h"
#include "compile/compile.h"
#include "compile/folder.h"
#include "device/device.h"
#include "runtime/backend.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

struct ServedKernel {
  std::string program;                 // that the kernel was generated from
  std::string from;                    // "exact", "nearest" or "built in"
  std::string why;                     // as tw_explain has it
  std::string vendor_because;          // not empty: the library would call the vendor's, and why
  double timed = 0, vendor_timed = 0;  // seconds as tw_prepare found them; 0: it did not time it
  Binary binary;                       // of the bundle
};

// By which of its two ways of choosing; what was not asked for is missing.
struct ServedChoices {
  std::optional<ServedKernel> estimate, timed;
};

// Which of them to ask for.
enum class ServedWay { estimate, timed, both };
[[nodiscard]] std::optional<ServedWay> served_way_from(std::string_view name);

// The call of the library that computes a problem, packed as the problem is.
[[nodiscard]] Result<runtime::Call> call_of(const Problem& problem);

// Asks the library for all problems, then closes it: nothing of it is on the device while something
// is timed. The files of the cubins live as long as this.
class ServedKernels {
 public:
  // An Error if the library does not open.
  [[nodiscard]] static Result<ServedKernels> choose(const std::vector<Problem>& problems,
                                                    const Device& device,
                                                    const runtime::Options& options, ServedWay way);
  // An Error of code negative says why there is none.
  [[nodiscard]] Result<ServedChoices> of(const Problem& problem) const;

 private:
  explicit ServedKernels(OwnedFolder folder) : folder_(std::move(folder)) {}
  Result<ServedChoices> chosen(runtime::Backend& backend, const Problem& problem, ServedWay way);
  Result<ServedKernel> kernel_for(runtime::Backend& backend, const runtime::Call& call,
                                  bool scales);

  OwnedFolder folder_;
  std::map<std::string, Result<ServedChoices>> kernels_;  // by the problem's text
};

}  // namespace tilewright
