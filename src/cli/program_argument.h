// SPDX-License-Identifier: Apache-2.0
// Programs and outside sources as arguments.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "generate/generate.h"
#include "problem/problem.h"
#include "program/program.h"

#include <string>

namespace tilewright {

// The problem given, or the first of a few simple ones (1024^3, each type and layout) for which the
// program is legal; the refusals of the last if there is none.
[[nodiscard]] Result<Problem> problem_for(const Program& program, const std::string& text,
                                          const Device& device);

// What a candidate may be named by: a program's text, or a source file with a launch file (default:
// beside it, with the ending .launch.json).
struct CandidateArgument {
  std::string program, source_file, launch_file;
};
struct Candidate {
  std::string name;  // Program::text() or source:<hash>
  Source source;
};
// `form`: of a program.
[[nodiscard]] Result<Candidate> read_candidate(const CandidateArgument& argument,
                                               const Problem& problem, const Device& device,
                                               Form form = Form::plain);

}  // namespace tilewright
