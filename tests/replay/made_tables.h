// SPDX-License-Identifier: Apache-2.0
// Invented dense tables: the same programs on several shapes of an invented CPU, each timed twice.
#pragma once

#include "policy/policy.h"
#include "program/devices.h"
#include "replay/tables.h"

#include <cmath>
#include <string>
#include <vector>

namespace tilewright {

inline std::vector<Trial> made_table(const std::vector<std::string>& problems,
                                     std::size_t programs) {
  PolicyContext context;
  context.problem = parse_problem("128x1536x1024 f16 acc=f32 nn").value();
  context.device = avx512_device(2);
  const std::vector<Program> common = make_policy("random", context).value()->propose(programs);
  std::vector<Trial> trials;
  std::int64_t at = 1;
  for (const char* pass : {"first", "second"}) {
    for (const std::string& text : problems) {
      const Problem problem = parse_problem(text).value();
      for (const Program& program : common) {
        if (!is_legal(program, problem, context.device)) continue;
        Trial trial;
        trial.problem = to_text(problem);
        trial.program = program.text();
        trial.device = context.device.fingerprint();
        trial.outcome = at % 11 == 0 ? Outcome::wrong : Outcome::ok;
        trial.stage = "screen";
        trial.policy = "table";
        trial.unix_ms = at++;
        const double noise = std::string(pass) == "first" ? 1 : 1.01;
        trial.time_us =
            noise * (10 + std::abs(std::log2(static_cast<double>(program.number("mr") + 1) / 6)) +
                     std::abs(std::log2(static_cast<double>(program.number("nr") + 1) / 33)));
        if (trial.outcome != Outcome::ok) trial.time_us = 0;
        trials.push_back(trial);
      }
    }
  }
  return trials;
}

}  // namespace tilewright
