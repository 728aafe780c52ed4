// SPDX-License-Identifier: Apache-2.0
// What follows from a trial's fields: its id, its speed-up, the split of its problem.
//
// The id is a hash over a fixed list of fields, those that say which attempt this was; it must
// never change, because databases of other hosts and earlier versions hold it. What only comments
// on the attempt (detail, errors, seconds spent) stays out, and so do fields that later versions
// add. Read next: trial_json.cc.
#include "trial/trial.h"

#include "base/hash.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace tilewright {
namespace {

// Quoted, so that no two lists of fields give one text, and without the bytes that JSON cannot
// keep: the id of a trial is the same before and after it went through a file.
std::string quoted(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string Trial::id() const {
  std::string text = "tilewright-trial 1\n";
  for (const std::string* field :
       {&problem, &program, &device, &mode, &stage, &run, &host, &rule, &binary_hash}) {
    text += quoted(*field) + "\n";
  }
  // fmt prints the shortest decimal that reads back as the same double.
  text += fmt::format("{} {} {} {} {} {}\n", name_of(outcome), time_us, seed, unix_ms,
                      program_language, device_headers);
  return hash128(text);
}

const std::pair<const std::string, BaselineTime>* Trial::fastest_baseline() const {
  const std::pair<const std::string, BaselineTime>* fastest = nullptr;
  for (const auto& entry : baselines) {
    if (!entry.second.headline || !(entry.second.time_us > 0)) continue;
    if (fastest == nullptr || entry.second.time_us < fastest->second.time_us) fastest = &entry;
  }
  return fastest;
}

double Trial::reference_us() const {
  const auto* fastest = fastest_baseline();
  return fastest == nullptr ? 0 : fastest->second.time_us;
}

double Trial::speedup() const {
  return outcome == Outcome::ok && time_us > 0 ? reference_us() / time_us : 0;
}

std::string split_of(const Problem& problem) {
  constexpr std::int64_t kHeldOutSize = 12288;  // POLICY section 8: 271 shapes of the paper's grid
  for (const std::int64_t size : {problem.m, problem.n, problem.k}) {
    if (size == kHeldOutSize) return "held-out";
  }
  const std::string hash = hash128(fmt::format("split {}x{}x{}", problem.m, problem.n, problem.k));
  std::uint64_t bits = 0;
  std::from_chars(hash.data(), hash.data() + 16, bits, 16);
  return bits % 10 == 0 ? "held-out" : "train";
}

}  // namespace tilewright
