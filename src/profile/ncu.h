// SPDX-License-Identifier: Apache-2.0
// Nsight Compute's command-line program: where it is, what it can measure, running it.
#pragma once

#include "base/error.h"
#include "profile/ncu_report.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

class Ncu {
 public:
  // $TILEWRIGHT_NCU, else `ncu` in PATH, else below the usual roots: <root>/usr/local/cuda*/bin and
  // <root>/opt/nvidia/nsight-compute/*, the newest version first. An Error says how to get one.
  [[nodiscard]] static Result<Ncu> find(const std::filesystem::path& root = "/");

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // "2025.3.1.0", or "?" if it does not say.
  [[nodiscard]] const std::string& version() const { return version_; }

  // Names without suffixes of what can be measured on devices of this compute capability (90).
  // Empty if the program does not tell.
  [[nodiscard]] std::vector<std::string> metrics(int capability) const;

  struct Request {
    std::vector<std::string> metrics;
    // Empties the caches before each pass, or leaves in them what the pass before left.
    bool flush = true;
    std::vector<std::string> program;  // and its arguments; marks what to profile (ProfilerStart)
    std::filesystem::path log;         // where the tool writes; overwritten
    std::chrono::milliseconds limit{300000};
  };
  // Runs the program under the tool. Clocks are left alone. A metric that the tool then refuses
  // is dropped, once, and named in `dropped`. An Error with the fix where counters may not be read.
  struct Answer {
    NcuReport report;
    std::vector<std::string> dropped;
  };
  [[nodiscard]] Result<Answer> profile(Request request) const;

 private:
  explicit Ncu(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::string version_ = "?";
};

// What the tool's errors mean, with what to do about it.
[[nodiscard]] Error explain_ncu(const std::vector<std::string>& errors, const std::string& output);

}  // namespace tilewright
