// SPDX-License-Identifier: Apache-2.0
// What the runtime library would serve a problem with, for `bench --served`: the very cubin of an
// installed bundle and its launch, timed as any candidate is. And the summary of such a bench: how
// the library's choices stand against a baseline, alone and with its fallback to the vendor's.
#pragma once

#include "base/error.h"
#include "compile/compile.h"
#include "compile/folder.h"
#include "device/device.h"
#include "report/report.h"
#include "runtime/backend.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct ServedKernel {
  std::string program;         // that the kernel was generated from
  std::string from;            // "exact", "nearest" or "built in"
  std::string why;             // as tw_explain has it
  std::string vendor_because;  // not empty: the library would call the vendor's, and why
  Binary binary;               // of the bundle
};

// The call of the library that computes a problem, packed as the problem is.
[[nodiscard]] Result<runtime::Call> call_of(const Problem& problem);

// Asks the library for all problems, then closes it: nothing of it is on the device while something
// is timed. The files of the cubins live as long as this.
class ServedKernels {
 public:
  // An Error if the library does not open.
  [[nodiscard]] static Result<ServedKernels> choose(const std::vector<Problem>& problems,
                                                    const Device& device,
                                                    const runtime::Options& options);
  // An Error of code negative says why there is none.
  [[nodiscard]] Result<ServedKernel> of(const Problem& problem) const;

 private:
  explicit ServedKernels(OwnedFolder folder) : folder_(std::move(folder)) {}
  Result<ServedKernel> chosen(runtime::Backend& backend, const Problem& problem);

  OwnedFolder folder_;
  std::map<std::string, Result<ServedKernel>> kernels_;  // by the problem's text
};

// One timed problem of such a bench.
struct ServedRow {
  std::string problem, from;
  bool vendor_first = false;
  double ratio = 0;        // the baseline's time over ours
  std::string comparison;  // faster | slower | same | ambiguous
};
// Nothing if the trial has no such baseline.
[[nodiscard]] std::optional<ServedRow> served_row(const Trial& trial, const ServedKernel& kernel,
                                                  const std::string& baseline);
// Groups of rows by where kernels came from, then all of them, then all with the fallback: where
// the library calls the vendor's, it is as fast as that.
[[nodiscard]] std::string render_served(const std::vector<ServedRow>& rows,
                                        const std::string& baseline, Format format);

}  // namespace tilewright
