// SPDX-License-Identifier: Apache-2.0
// Implementation of kernel.h over the driver API.
#include "launch/cuda/kernel.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

constexpr std::size_t kMostReady = 512;  // prepared calls kept: sets, and some ragged sizes
constexpr int kPortableCluster = 8;      // CTAs that every device with clusters can schedule
constexpr std::string_view kElfMagic = "\177ELF";
constexpr std::size_t kElfHeader = 64;

tl::unexpected<Error> refuse(const Launch& launch, const std::string& what) {
  return fail(ErrorCode::usage, fmt::format("kernel '{}': {}", launch.symbol, what));
}

int cluster_size(const Launch& launch) {
  const auto& c = launch.cuda.cluster;
  return c[0] * c[1] * c[2];
}

// Everything that resolve() sees of a call, in words.
using Key = std::array<std::uint64_t, 19>;
Key key_of(const Problem& p, const GemmShape& s, const CudaOperands& o, float alpha, float beta) {
  const auto word = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t form = static_cast<std::uint64_t>(p.in) * 100 +
                             static_cast<std::uint64_t>(p.out) * 10 + (p.a_transposed ? 2U : 0U) +
                             (p.b_transposed ? 1U : 0U);
  return {word(p.m),
          word(p.n),
          word(p.k),
          word(p.batch),
          word(p.lda),
          word(p.ldb),
          word(p.ldc),
          form,
          word(s.m),
          word(s.n),
          word(s.k),
          o.a,
          o.b,
          o.c,
          o.workspace,
          std::bit_cast<std::uint32_t>(alpha),
          std::bit_cast<std::uint32_t>(beta),
          o.bias,
          static_cast<std::uint64_t>(o.activation)};
}

}  // namespace

struct CudaKernel::State {
  const cuda::Driver* driver = nullptr;
  Launch launch;
  cuda::LoadedModule module;
  cuda::Function function = nullptr;
  std::vector<cuda::Function> before;  // of the launch's steps
  int multiprocessors = 1;
  int shared_limit = 0;  // dynamic bytes that a CTA may have beside the static ones
  int static_bytes = 0;
  int registers = 0;
  int local_bytes = 0;
  int granted = 0;                             // dynamic bytes that the driver was asked to allow
  std::map<std::int64_t, std::int64_t> slots;  // by dynamic bytes
  std::map<Key, std::shared_ptr<ReadyCall>> ready;

  [[nodiscard]] Status check(cuda::Code code, std::string_view what) const {
    return driver->check(code, fmt::format("kernel '{}': {}", launch.symbol, what));
  }
  // `words` of `what` against the parameters of a function.
  [[nodiscard]] Status match_arguments(cuda::Function of, const std::vector<std::string>& words,
                                       std::string_view what) const;
  [[nodiscard]] Status enqueue(cuda::Function of, const cuda::LaunchConfig& config,
                               void* const* arguments) const;
  [[nodiscard]] Status allow(std::int64_t shared);
};

// The launch's arguments against the kernel's parameters, as far as the driver knows them: number
// and sizes.
Status CudaKernel::State::match_arguments(cuda::Function of, const std::vector<std::string>& words,
                                          std::string_view what) const {
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (driver->FuncGetParamInfo(of, i, &offset, &size) != cuda::kSuccess) {
      return refuse(launch, fmt::format("it has {} parameters, the launch passes {}: {}[{}] "
                                        "'{}' is one too many",
                                        i, words.size(), what, i, words[i]));
    }
    if (size != argument_bytes(words[i])) {
      return refuse(launch, fmt::format("{}[{}] '{}' has {} bytes, the parameter has {}", what, i,
                                        words[i], argument_bytes(words[i]), size));
    }
  }
  if (driver->FuncGetParamInfo(of, words.size(), &offset, &size) == cuda::kSuccess) {
    return refuse(
        launch, fmt::format("it has more parameters than the launch's {} {}", words.size(), what));
  }
  return {};
}

Status CudaKernel::State::enqueue(cuda::Function of, const cuda::LaunchConfig& config,
                                  void* const* arguments) const {
  const cuda::Code code =
      driver->LaunchKernelEx(&config, of, const_cast<void**>(arguments), nullptr);
  if (code == cuda::kSuccess) return {};  // no text is made on the way that is timed
  return check(code, fmt::format("launching {}x{}x{} CTAs of {} threads", config.grid_x,
                                 config.grid_y, config.grid_z, config.block_x));
}

// Raises what the driver allows of dynamic shared memory, which is 48 KiB until asked.
Status CudaKernel::State::allow(std::int64_t shared) {
  if (shared > shared_limit) {
    return refuse(launch, fmt::format("shared_bytes={} and {} static bytes, of {} that a CTA of "
                                      "this device may have",
                                      shared, static_bytes, shared_limit + static_bytes));
  }
  if (shared <= granted) return {};
  granted = static_cast<int>(shared);
  return check(driver->FuncSetAttribute(function, cuda::kDynamicSharedBytes, granted),
               fmt::format("asking for {} bytes of shared memory", shared));
}

CudaKernel::CudaKernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaKernel::~CudaKernel() = default;
CudaKernel::CudaKernel(CudaKernel&&) noexcept = default;
CudaKernel& CudaKernel::operator=(CudaKernel&&) noexcept = default;
const Launch& CudaKernel::launch_description() const {
  return state_->launch;
}
int CudaKernel::registers() const {
  return state_->registers;
}
int CudaKernel::local_bytes() const {
  return state_->local_bytes;
}

Result<CudaKernel> CudaKernel::load(const cuda::Context& context, std::span<const std::byte> cubin,
                                    const Launch& launch) {
  // The driver takes no length, so what is not an object file must not get there.
  if (cubin.size() < kElfHeader ||
      std::memcmp(cubin.data(), kElfMagic.data(), kElfMagic.size()) != 0) {
    return refuse(launch, "the binary is not a cubin");
  }
  auto state = std::make_unique<State>();
  State& s = *state;
  s.driver = &context.driver();
  s.launch = launch;
  auto module = cuda::LoadedModule::load(context, cubin.data());
  if (!module) return tl::unexpected(module.error());
  s.module = std::move(*module);
  auto function = s.module.function(launch.symbol);
  if (!function) return tl::unexpected(function.error());
  s.function = *function;
  s.multiprocessors = context.attribute(cuda::kMultiprocessors);
  for (const auto& [attribute, value] :
       {std::pair{cuda::kStaticSharedBytes, &s.static_bytes},
        std::pair{cuda::kLocalBytes, &s.local_bytes}, std::pair{cuda::kRegisters, &s.registers}}) {
    if (Status read = s.check(s.driver->FuncGetAttribute(value, attribute, s.function),
                              "reading its attributes");
        !read) {
      return tl::unexpected(read.error());
    }
  }
  s.shared_limit = context.attribute(cuda::kSharedBytesPerBlockOptIn) - s.static_bytes;
  if (Status matched = s.match_arguments(s.function, launch.cuda.arguments, "arguments");
      !matched) {
    return tl::unexpected(matched.error());
  }
  for (const LaunchStep& step : launch.cuda.before) {
    auto found = s.module.function(step.symbol);
    if (!found) return tl::unexpected(found.error());
    s.before.push_back(*found);
    if (Status matched = s.match_arguments(*found, step.arguments, step.symbol + " arguments");
        !matched) {
      return tl::unexpected(matched.error());
    }
  }
  if (cluster_size(launch) > kPortableCluster) {
    if (Status allowed =
            s.check(s.driver->FuncSetAttribute(s.function, cuda::kNonPortableClusterSize, 1),
                    fmt::format("allowing clusters of {} CTAs", cluster_size(launch)));
        !allowed) {
      return tl::unexpected(allowed.error());
    }
  }
  return CudaKernel(std::move(state));
}

Result<std::int64_t> CudaKernel::slots(std::int64_t shared_bytes) {
  State& s = *state_;
  if (const auto known = s.slots.find(shared_bytes); known != s.slots.end()) return known->second;
  if (Status allowed = s.allow(shared_bytes); !allowed) return tl::unexpected(allowed.error());
  const int size = cluster_size(s.launch);
  int count = 0;  // CTAs per SM, or clusters
  cuda::Code code = cuda::kSuccess;
  if (size == 1) {
    code = s.driver->OccupancyMaxActiveBlocksPerMultiprocessor(
        &count, s.function, s.launch.cuda.threads, static_cast<std::size_t>(shared_bytes));
  } else {
    const auto& c = s.launch.cuda.cluster;
    const auto width = [&c](std::size_t i) { return static_cast<unsigned>(c[i]); };
    cuda::LaunchAttribute attribute;
    attribute.id = cuda::kClusterDimension;
    attribute.value.cluster = {width(0), width(1), width(2)};
    cuda::LaunchConfig config;
    config.grid_x = width(0);
    config.grid_y = width(1);
    config.grid_z = width(2);
    config.block_x = static_cast<unsigned>(s.launch.cuda.threads);
    config.shared_bytes = static_cast<unsigned>(shared_bytes);
    config.attributes = &attribute;
    config.attribute_count = 1;
    code = s.driver->OccupancyMaxActiveClusters(&count, s.function, &config);
  }
  if (Status asked = s.check(code, "asking for its occupancy"); !asked) {
    return tl::unexpected(asked.error());
  }
  if (count < 1) {
    return refuse(s.launch, fmt::format("no {} of {} threads, {} registers each and {} bytes of "
                                        "shared memory fits this device",
                                        size == 1 ? "CTA" : "cluster", s.launch.cuda.threads,
                                        s.registers, shared_bytes + s.static_bytes));
  }
  const std::int64_t slots = std::int64_t{count} * (size == 1 ? s.multiprocessors : size);
  s.slots[shared_bytes] = slots;
  return slots;
}

Result<std::shared_ptr<const ReadyCall>> CudaKernel::prepare(const Problem& problem,
                                                             const GemmShape& sizes,
                                                             const CudaOperands& operands,
                                                             float alpha, float beta) {
  State& s = *state_;
  const Key key = key_of(problem, sizes, operands, alpha, beta);
  if (const auto found = s.ready.find(key); found != s.ready.end()) return found->second;

  const auto shared = tilewright::shared_bytes(s.launch, problem, sizes, s.multiprocessors);
  if (!shared) return tl::unexpected(shared.error());
  const auto resident = slots(*shared);
  if (!resident) return tl::unexpected(resident.error());
  auto call =
      resolve(s.launch, problem, sizes, operands, alpha, beta, s.multiprocessors, *resident);
  if (!call) return tl::unexpected(call.error());

  auto ready = std::make_shared<ReadyCall>(std::move(*call));
  ready->maps_.resize(ready->call_.maps.size());
  for (std::size_t i = 0; i < ready->maps_.size(); ++i) {
    const cuda::Code code = encode(*s.driver, ready->call_.maps[i], ready->maps_[i]);
    if (Status encoded = s.check(code, fmt::format("encoding map{}", i)); !encoded) {
      return tl::unexpected(encoded.error());
    }
  }
  const auto point_at = [&ready](std::vector<CudaArgument>& arguments) {
    for (CudaArgument& argument : arguments) {
      ready->pointers_.push_back(argument.map < 0
                                     ? static_cast<void*>(&argument.value)
                                     : &ready->maps_[static_cast<std::size_t>(argument.map)]);
    }
  };
  point_at(ready->call_.arguments);
  for (CudaStep& step : ready->call_.before) point_at(step.arguments);
  if (s.ready.size() >= kMostReady) s.ready.clear();
  s.ready[key] = ready;
  return ready;
}

Status CudaKernel::launch(const ReadyCall& ready, cuda::Stream stream) const {
  return launch(ready.call_, ready.pointers_.data(), stream);
}

Status CudaKernel::launch(const CudaCall& call, void* const* arguments, cuda::Stream stream) const {
  if (call.empty) return {};
  void* const* next = arguments + call.arguments.size();
  for (std::size_t i = 0; i < call.before.size(); ++i) {
    const CudaStep& step = call.before[i];
    cuda::LaunchConfig config;
    config.grid_x = step.grid[0];
    config.grid_y = step.grid[1];
    config.grid_z = step.grid[2];
    config.block_x = step.threads;
    config.stream = stream;
    if (Status s = state_->enqueue(state_->before[i], config, next); !s) return s;
    next += step.arguments.size();
  }
  std::array<cuda::LaunchAttribute, 2> attributes;
  unsigned count = 0;
  if (call.cluster != std::array<unsigned, 3>{1, 1, 1}) {
    attributes[count].id = cuda::kClusterDimension;
    attributes[count++].value.cluster = {call.cluster[0], call.cluster[1], call.cluster[2]};
  }
  if (call.chained) {
    attributes[count].id = cuda::kProgrammaticSerialization;
    attributes[count++].value.flag = 1;
  }
  cuda::LaunchConfig config;
  config.grid_x = call.grid[0];
  config.grid_y = call.grid[1];
  config.grid_z = call.grid[2];
  config.block_x = call.threads;
  config.shared_bytes = call.shared_bytes;
  config.stream = stream;
  config.attributes = attributes.data();
  config.attribute_count = count;
  return state_->enqueue(state_->function, config, arguments);
}

Status CudaKernel::launch(const Problem& problem, const GemmShape& sizes,
                          const CudaOperands& operands, float alpha, float beta,
                          cuda::Stream stream) {
  const auto ready = prepare(problem, sizes, operands, alpha, beta);
  if (!ready) return tl::unexpected(ready.error());
  return launch(**ready, stream);
}

cuda::Code encode(const cuda::Driver& driver, const MapDescription& description,
                  cuda::TensorMap& map) {
  constexpr std::array<std::uint32_t, 3> kElementStrides = {1, 1, 1};
  const MapDescription& d = description;
  return driver.TensorMapEncodeTiled(&map, d.type, 3, std::bit_cast<void*>(d.address),
                                     d.dimensions.data(), d.strides.data(), d.box.data(),
                                     kElementStrides.data(), 0, d.swizzle, d.promotion, 0);
}

}  // namespace tilewright
