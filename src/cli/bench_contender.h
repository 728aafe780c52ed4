// SPDX-License-Identifier: Apache-2.0
// Who is benched for a problem: a candidate to compile, or kernels that the runtime library has.
#pragma once

#include "cli/program_argument.h"
#include "cli/served.h"
#include "compile/compile.h"

#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Contender {
  std::optional<Candidate> candidate;
  std::optional<ServedKernel> served;
  std::map<std::string, std::string> algorithms{};  // of baselines: --chosen-in
  bool by_estimate = false, by_timing = false;      // which of the library's two ways chose it
  bool stands = true;  // in the tables of the whole bench: by the way that was asked for last
  std::shared_future<CompileResult> built{};  // of a candidate, by build()
  [[nodiscard]] const std::string& name() const {
    return served ? served->program : candidate->name;
  }
  // "built in"; "built in, timed" where only timing chose it.
  [[nodiscard]] std::string origin() const {
    return served->from + (by_timing && !by_estimate ? ", timed" : "");
  }
};

// Compiles a candidate: at once on a thread of its own, or when its result is asked for. The
// compiler outlives the result.
void build(Contender& contender, Compiler& compiler, std::launch when);

// One, or two where the library's two ways differ.
[[nodiscard]] std::vector<Contender> served_contenders(const ServedChoices& choices);

}  // namespace tilewright
