// SPDX-License-Identifier: Apache-2.0
// See shelf.h.
#include "runtime/cuda/shelf.h"

#include "base/text.h"
#include "runtime/wisdom_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".twk";

// The number of `key=number` in a program's text, or `otherwise`.
std::int64_t number_in(std::string_view program, std::string_view key, std::int64_t otherwise) {
  for (const std::string_view word : words(program)) {
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
      return parse_integer(word.substr(key.size() + 1)).value_or(otherwise);
    }
  }
  return otherwise;
}

// Types and layout as a number; `Product` is a Problem or a Call.
template <class Product>
int class_of(const Product& p) {
  return static_cast<int>(p.in) * 16 + static_cast<int>(p.out) * 4 + (p.a_transposed ? 2 : 0) +
         (p.b_transposed ? 1 : 0);
}

Slot slot_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Slot>, 7> kSlots = {
      {{"a", Slot::a},
       {"b", Slot::b},
       {"c", Slot::c},
       {"workspace", Slot::workspace},
       {"alpha", Slot::alpha},
       {"beta", Slot::beta},
       {"bias", Slot::bias}}};
  const auto* row = std::ranges::find(kSlots, word, [](const auto& r) { return r.first; });
  if (row != kSlots.end()) return row->second;
  return word.starts_with("map") ? Slot::map : Slot::constant;
}

// What the index says of a kernel, or why it is none that calls could be made of.
Result<ShelfKernel> described(const BundleKernel& from) {
  const CudaLaunch& launch = from.launch.cuda;
  std::vector<Slot> slots;
  for (const std::string& word : launch.arguments) slots.push_back(slot_of(word));
  for (const LaunchStep& step : launch.before) {
    for (const std::string& word : step.arguments) slots.push_back(slot_of(word));
  }
  if (slots.size() > kMostArguments || launch.maps.size() > kMostMaps) {
    return fail(
        ErrorCode::refused,
        fmt::format("the kernel of '{}' has {} arguments and {} maps, {} and {} at most",
                    from.program, slots.size(), launch.maps.size(), kMostArguments, kMostMaps));
  }
  auto problem = parse_problem(from.problem);
  if (!problem) return tl::unexpected(problem.error());
  ShelfKernel kernel;
  kernel.from = &from;
  kernel.problem = *problem;
  kernel.tile_m = std::max<std::int64_t>(number_in(from.program, "tile_m", 16), 1);
  kernel.tile_n = std::max<std::int64_t>(number_in(from.program, "tile_n", 8), 1);
  kernel.tile_k = std::max<std::int64_t>(number_in(from.program, "tile_k", 32), 1);
  kernel.split = std::max<std::int64_t>(number_in(from.program, "split_k", 1), 1);
  kernel.warps_k = std::max<std::int64_t>(number_in(from.program, "warps_k", 1), 1);
  kernel.stages = std::max<std::int64_t>(number_in(from.program, "stages", 1), 1);
  kernel.hopper = from.program.starts_with("sm90");
  kernel.direct = from.program.find(" form=direct ") != std::string::npos;
  kernel.scaled = problem->alpha != AlphaClass::one || problem->beta != BetaClass::zero;
  kernel.maps_input =
      std::ranges::any_of(launch.maps, [](const TensorMapSpec& map) { return map.operand != 'c'; });
  kernel.workspace = from.launch.workspace != "0";
  for (const TensorMapSpec& map : launch.maps) {
    if (map.copy) (map.operand == 'a' ? kernel.copies.a : kernel.copies.b) = true;
  }
  kernel.slots = std::move(slots);
  return kernel;
}

}  // namespace

std::array<std::uint64_t, 3> ShelfKernel::address_alignment() const {
  constexpr std::uint64_t kWidest = 16;  // bytes of one load or store, and of a map's base
  std::array<std::uint64_t, 3> bytes{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t element = size_of(i == 2 ? problem.out : problem.in);
    bytes[i] = std::min(kWidest, static_cast<std::uint64_t>(from->alignment[i]) * element);
  }
  for (const TensorMapSpec& map : from->launch.cuda.maps) {
    if (!map.copy) bytes[static_cast<std::size_t>(map.operand - 'a')] = kWidest;
  }
  return bytes;
}

std::string ShelfKernel::why_not(const Call& call) const {
  const bool f16_sums = problem.acc == Accumulator::f16;
  if (problem.in != call.in || problem.out != call.out ||
      problem.a_transposed != call.a_transposed || problem.b_transposed != call.b_transposed) {
    return "other types or layout";
  }
  if (f16_sums && !call.f16_sums) return "it sums in f16";
  if (!refused.empty()) return refused;
  if (const Status sizes = serves(from->launch, call.m, call.n, call.k); !sizes) {
    return sizes.error().message;
  }
  const std::array<std::uint64_t, 3> wanted = address_alignment();
  const std::array<std::array<std::int64_t, 2>, 3> strides = {
      {{call.lda, call.stride_a}, {call.ldb, call.stride_b}, {call.ldc, call.stride_c}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto element = static_cast<std::int64_t>(size_of(i == 2 ? call.out : call.in));
    const auto bytes = static_cast<std::int64_t>(wanted[i]);
    const std::int64_t batch_stride = call.batch > 1 ? strides[i][1] : 0;
    if (strides[i][0] * element % bytes != 0 || batch_stride * element % bytes != 0) {
      return fmt::format("rows or entries of {} are not a multiple of {} bytes apart",
                         std::string_view("ABC").substr(i, 1), bytes);
    }
  }
  if (maps_input) {
    if (call.k == 0) return "K=0 has no tensor map";
    const auto still = [&call](std::int64_t stride, std::int64_t rows, std::int64_t batch_stride) {
      return (stride == 0 && rows > 1) || (batch_stride == 0 && call.batch > 1);
    };
    for (const TensorMapSpec& map : from->launch.cuda.maps) {
      if (map.copy) continue;
      if ((map.operand == 'a' && still(call.lda, call.a_rows(), call.stride_a)) ||
          (map.operand == 'b' && still(call.ldb, call.b_rows(), call.stride_b))) {
        return "a tensor map cannot have a stride of 0";
      }
    }
  }
  return {};
}

void Shelf::add(std::unique_ptr<BundleFile> file, const Device& device,
                std::vector<std::string>& warnings) {
  const Bundle& bundle = file->bundle();
  if (const std::string reason = runtime::why_not(bundle, device); !reason.empty()) {
    warnings.push_back("bundle of kernels left out: " + reason);
    return;
  }
  const bool ours = bundle.silicon == device.silicon;
  for (const BundleKernel& from : bundle.kernels) {
    if (!ours && !from.core) continue;  // tuned on another chip
    auto kernel = described(from);
    if (!kernel) {
      warnings.push_back("kernel left out: " + kernel.error().message);
      continue;
    }
    ShelfKernel& kept = kernels_.emplace_back(*std::move(kernel));
    if (from.core) core_[class_of(kept.problem)].push_back(&kept);
    if (!from.stands_for.empty()) called_up_[from.stands_for].push_back(&kept);
  }
  files_.push_back(std::move(file));
}

std::span<ShelfKernel* const> Shelf::core(const Call& call) const {
  const auto found = core_.find(class_of(call));
  if (found == core_.end()) return {};
  return found->second;
}

std::span<ShelfKernel* const> Shelf::called_up(const std::string& program) const {
  const auto found = called_up_.find(program);
  if (found == called_up_.end()) return {};
  return found->second;
}

bool Shelf::load(ShelfKernel& kernel, const cuda::Context& context) {
  if (kernel.loaded) return true;
  if (!kernel.refused.empty()) return false;
  auto loaded =
      CudaKernel::load(context, std::as_bytes(std::span(kernel.from->cubin)), kernel.from->launch);
  if (!loaded) {
    kernel.refused = loaded.error().message;
    return false;
  }
  kernel.loaded.emplace(*std::move(loaded));
  return true;
}

void Shelf::load_core(const cuda::Context& context) {
  for (ShelfKernel& kernel : kernels_) {
    if (kernel.from->core) load(kernel, context);
  }
}

std::vector<fs::path> bundle_paths(const Options& options) {
  std::vector<fs::path> places = installed_places("kernels");
  if (!options.kernels.empty()) places.insert(places.begin(), options.kernels);
  std::vector<fs::path> files;
  const auto add = [&files](const fs::path& file) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(file, ignored);
    if (std::ranges::find(files, path) == files.end()) files.push_back(path);
  };
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) add(place);
    if (!fs::is_directory(place, error)) continue;
    std::vector<fs::path> here;
    for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == kSuffix) here.push_back(at->path());
    }
    std::ranges::sort(here);
    for (const fs::path& file : here) add(file);
  }
  return files;
}

}  // namespace tilewright::runtime
