// SPDX-License-Identifier: Apache-2.0
// See ladder.h.
#include "runtime/cuda/ladder.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace tilewright::runtime {
namespace {

cuda::Pointer address(const void* pointer) {
  return reinterpret_cast<cuda::Pointer>(pointer);
}

Grain grain_of(const ShelfKernel& kernel, const Call& call, std::int64_t workspace) {
  const Grain grain{kernel.tile_m, kernel.tile_n, kernel.split, !kernel.hopper};
  return kernel.copies.any() ? fitting(grain, call, kernel.copies, workspace) : grain;
}

// A launch of `kernel` for all of `call`, with addresses, alpha and beta of 0.
Result<CudaCall> resolved_for(ShelfKernel& kernel, const Call& call, const Device& device) {
  const Launch& launch = kernel.from->launch;
  const Problem problem = problem_of(call, 1, 0);
  const int sms = device.cuda.multiprocessors;
  const auto shared = shared_bytes(launch, problem, {call.m, call.n, call.k}, sms);
  if (!shared) return tl::unexpected(shared.error());
  const auto slots = kernel.loaded->slots(*shared);
  if (!slots) return tl::unexpected(slots.error());
  CudaOperands operands;
  operands.activation = call.activation;
  // One entry has no stride to step by, whatever the caller said of it.
  const std::int64_t steps = call.batch > 1 ? 1 : 0;
  const CudaStrides strides{call.lda,
                            call.ldb,
                            call.ldc,
                            steps * call.stride_a,
                            steps * call.stride_b,
                            steps * call.stride_c};
  return resolve(launch, problem, strides, operands, 0, 0, sms, *slots);
}

// Whether a call that asks for no more than `later` gives never gets past `earlier`.
bool hides(const Rung& earlier, const Rung& later) {
  if (earlier.workspace > 0 && later.workspace == 0) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (earlier.alignment[i] > later.alignment[i]) return false;
  }
  return earlier.scales >= later.scales && earlier.adds >= later.adds &&
         earlier.finishes >= later.finishes && earlier.sums_nothing >= later.sums_nothing;
}

// Where what a map describes begins: an operand, or its copy in the workspace, whose offset is the
// address that a workspace at 0 gave it.
cuda::Pointer map_address(const TensorMapSpec& map, const MapDescription& resolved,
                          const Operands& o, const Offsets& at, cuda::Pointer workspace) {
  const auto offset = [](std::int64_t bytes) { return static_cast<cuda::Pointer>(bytes); };
  if (map.copy) return workspace + resolved.address;
  return map.operand == 'a'   ? address(o.a) + offset(at.a)
         : map.operand == 'b' ? address(o.b) + offset(at.b)
                              : address(o.c) + offset(at.c);
}

Status launch_one(const Rung& rung, const Launchable& one, const Operands& o,
                  cuda::Pointer workspace, const cuda::Driver& driver, cuda::Stream stream) {
  std::array<cuda::TensorMap, kMostMaps> maps;
  for (std::size_t i = 0; i < one.call.maps.size(); ++i) {
    MapDescription description = one.call.maps[i];
    description.address =
        map_address(rung.kernel->from->launch.cuda.maps[i], description, o, one.at, workspace);
    if (const cuda::Code code = encode(driver, description, maps[i]); code != cuda::kSuccess) {
      return driver.check(code,
                          fmt::format("encoding a tensor map of {}", rung.kernel->from->program));
    }
  }
  const auto plus = [](const void* pointer, std::int64_t bytes) {
    return pointer == nullptr ? 0 : address(pointer) + static_cast<cuda::Pointer>(bytes);
  };
  std::array<std::uint64_t, kMostArguments> values{};
  std::array<void*, kMostArguments> pointers{};
  const std::vector<Slot>& slots = rung.kernel->slots;
  std::size_t i = 0;
  const auto fill = [&](const CudaArgument& argument) {
    pointers[i] = &values[i];
    switch (slots[i]) {
      case Slot::constant:
        values[i] = argument.value;
        break;
      case Slot::a:
        values[i] = plus(o.a, one.at.a);
        break;
      case Slot::b:
        values[i] = plus(o.b, one.at.b);
        break;
      case Slot::c:
        values[i] = plus(o.c, one.at.c);
        break;
      case Slot::workspace:
        values[i] = workspace;
        break;
      case Slot::alpha:
        values[i] = std::bit_cast<std::uint32_t>(o.alpha);
        break;
      case Slot::beta:
        values[i] = std::bit_cast<std::uint32_t>(o.beta);
        break;
      case Slot::bias:
        values[i] = plus(o.bias, one.at.bias);
        break;
      case Slot::map:
        pointers[i] = &maps[static_cast<std::size_t>(argument.map)];
    }
    ++i;
  };
  for (const CudaArgument& argument : one.call.arguments) fill(argument);
  for (const CudaStep& step : one.call.before) {
    for (const CudaArgument& argument : step.arguments) fill(argument);
  }
  return rung.kernel->loaded->launch(one.call, pointers.data(), stream);
}

}  // namespace

Wish wish_of(const Call& call, const Operands& o) {
  const bool nothing = !call.reads_inputs(o.alpha);
  return {.scales = o.alpha != 1,
          .adds = o.beta != 0,
          .finishes = o.bias != nullptr || call.activation != TW_NO_ACTIVATION,
          .sums_nothing = nothing,
          .a = nothing ? 0 : address(o.a),
          .b = nothing ? 0 : address(o.b),
          .c = address(o.c)};
}

Result<Rung> rung_of(ShelfKernel& kernel, const Call& call, const Device& device,
                     const Workspaces& workspaces) {
  const auto refuse = [](std::string reason) {
    return fail(ErrorCode::negative, std::move(reason));
  };
  if (std::string reason = kernel.why_not(call); !reason.empty()) return refuse(std::move(reason));
  const std::vector<Part> parts = parts_of(call, grain_of(kernel, call, workspaces.bytes()));
  if (parts.empty()) return refuse("it would take more than 4096 launches");
  Rung rung;
  rung.kernel = &kernel;
  rung.scales = rung.adds = kernel.scaled || kernel.from->served;
  rung.finishes = kernel.from->served;
  rung.sums_nothing = !kernel.maps_input;
  rung.alignment = kernel.address_alignment();
  for (const Part& part : parts) {
    auto resolved = resolved_for(kernel, part_call(call, part), device);
    if (!resolved) return tl::unexpected(resolved.error());
    rung.workspace = std::max(rung.workspace, resolved->workspace_bytes);
    rung.zeroed = std::max(rung.zeroed, resolved->zeroed_bytes);
    rung.launches.push_back({offsets_of(call, part), *std::move(resolved)});
  }
  // The heads of parts of different sizes would not end at the same place.
  if (rung.zeroed > 0 && parts.size() > 1) {
    return refuse("it needs a workspace with a head, and several launches");
  }
  if (rung.workspace > 0 && !workspaces.fits(rung.workspace, rung.zeroed)) {
    return refuse(fmt::format("it needs {} bytes of workspace, of which {} are a head",
                              rung.workspace, rung.zeroed));
  }
  return rung;
}

Status launch(const Rung& rung, const Call& call, const Operands& operands, cuda::Pointer workspace,
              const cuda::Driver& driver, cuda::Stream stream) {
  Operands used = operands;
  if (!call.reads_inputs(operands.alpha)) used.a = used.b = nullptr;
  if (rung.vendor != nullptr) return rung.vendor->run(used, workspace, stream);
  for (const Launchable& one : rung.launches) {
    if (Status s = launch_one(rung, one, used, workspace, driver, stream); !s) return s;
  }
  return {};
}

void prune(Ladder& ladder) {
  std::vector<Rung> kept;
  for (Rung& rung : ladder.rungs) {
    bool hidden = false;
    for (const Rung& earlier : kept) hidden = hidden || hides(earlier, rung);
    if (!hidden) kept.push_back(std::move(rung));
  }
  ladder.rungs = std::move(kept);
}

}  // namespace tilewright::runtime
