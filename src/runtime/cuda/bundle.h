// SPDX-License-Identifier: Apache-2.0
// A bundle: cubins with all that the library must know to serve calls with them, in one file.
//
//   "TWKERN1\n"  32 hexadecimal digits: xxh3-128 of all that follows
//   version, total bytes; the silicon and capability that it was compiled for; the kernels:
//   program, problem, what they serve, launch, and where the cubin lies, with a hash of its own;
//   the cubins
//
// `tilewright bundle` writes it, without a GPU. It is checked whole before any of it is used; a
// file that is damaged, or of another device, is a miss with a warning. Numbers are little-endian.
#pragma once

#include "device/device.h"
#include "launch/launch.h"
#include "problem/problem.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

inline constexpr int kBundleVersion = 1;

struct BundleKernel {
  std::string program;  // that it was generated from
  std::string
      stands_for;       // the program of wisdom that calls it up: the same, or a sibling's; or ""
  std::string problem;  // that it was generated for: types, layout, alpha and beta, sums
  bool served = false;  // takes a bias and an activation (generate.h, Form)
  bool core = false;    // serves any product of its types and layout that is aligned like this:
  std::array<int, 3> alignment = {8, 8, 8};  // elements by which rows of A, B, C are apart
  Launch launch;
  std::string_view cubin;
};

struct Bundle {
  std::string silicon;
  int capability = 0;  // 90: compiled for sm_90a
  std::vector<BundleKernel> kernels;
};

[[nodiscard]] std::string to_bytes(const Bundle& bundle);
// Cubins point into `bytes`, which must begin at a multiple of 8 bytes. An Error of code refused
// says what is wrong.
[[nodiscard]] Result<Bundle> parse_bundle(std::string_view bytes);

// Why its cubins do not run on a device, or empty. One of the same capability but another silicon
// runs; what was measured there (kernels that are not `core`) does not count.
[[nodiscard]] std::string why_not(const Bundle& bundle, const Device& device);

// A file in memory and the bundle in it. Read, not mapped: somebody else may cut the file short.
class BundleFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BundleFile>> open(const std::filesystem::path& path);
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;
  [[nodiscard]] const Bundle& bundle() const { return bundle_; }

 private:
  BundleFile() = default;
  std::string bytes_;
  Bundle bundle_;
};

}  // namespace tilewright::runtime
