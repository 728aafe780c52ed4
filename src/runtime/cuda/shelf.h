// SPDX-License-Identifier: Apache-2.0
// The kernels of all bundles that run on a device, and what each can serve. Loading one is slow;
// what a loaded one needs to know of a call is in ladder.h.
#pragma once

#include "device/cuda/context.h"
#include "launch/cuda/kernel.h"
#include "runtime/backend.h"
#include "runtime/cuda/bundle.h"
#include "runtime/cuda/parts.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::runtime {

// The most arguments, with those of the steps before, and maps that a kernel of a bundle may have:
// a call's are built on the stack.
inline constexpr std::size_t kMostArguments = 64;
inline constexpr std::size_t kMostMaps = 4;

// Where an argument comes from when a call is made.
enum class Slot { constant, a, b, c, workspace, alpha, beta, bias, map };

struct ShelfKernel {
  const BundleKernel* from = nullptr;
  Problem problem;  // that it was generated for
  std::int64_t tile_m = 64, tile_n = 64, tile_k = 32, warps_k = 1, split = 1, stages = 1;
  bool hopper = false;      // of the family sm90
  bool direct = false;      // of the family sm80, without shared memory
  bool scaled = false;      // takes any alpha and beta
  bool maps_input = false;  // reads A and B through tensor maps, which K = 0 has none of
  Copies copies;            // that are made before, for tensor maps to describe
  bool workspace = false;   // needs some
  std::vector<Slot> slots;  // of each argument, then of those of each step before
  std::optional<CudaKernel> loaded;
  std::string refused;  // why it could not be loaded

  // Bytes by which the addresses of A, B and C must be divisible.
  [[nodiscard]] std::array<std::uint64_t, 3> address_alignment() const;
  // Why it cannot serve a call, whatever alpha, beta and addresses are, or empty.
  [[nodiscard]] std::string why_not(const Call& call) const;
};

class Shelf {
 public:
  // Adds what of a bundle runs on `device`; the rest is left out with a warning.
  void add(std::unique_ptr<BundleFile> file, const Device& device,
           std::vector<std::string>& warnings);
  [[nodiscard]] const std::deque<ShelfKernel>& kernels() const { return kernels_; }
  // Kernels that serve any product of the call's types and layout.
  [[nodiscard]] std::span<ShelfKernel* const> core(const Call& call) const;
  // Kernels that a program of wisdom calls up, plain or served.
  [[nodiscard]] std::span<ShelfKernel* const> called_up(const std::string& program) const;
  // Loads the kernel unless it is; false if it cannot be. The context must be current.
  bool load(ShelfKernel& kernel, const cuda::Context& context);
  void load_core(const cuda::Context& context);

 private:
  std::vector<std::unique_ptr<BundleFile>> files_;
  std::deque<ShelfKernel> kernels_;  // pointers to them stay valid
  std::unordered_map<std::string, std::vector<ShelfKernel*>> called_up_;
  std::unordered_map<int, std::vector<ShelfKernel*>> core_;  // by types and layout
};

// Bundles of the installed places and of options.kernels: *.twk files, in the order of their names.
[[nodiscard]] std::vector<std::filesystem::path> bundle_paths(const Options& options);

}  // namespace tilewright::runtime
