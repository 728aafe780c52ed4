// SPDX-License-Identifier: Apache-2.0
// Implementation of device_arena.h: create, reserve, map, allow, export; and on the other side
// import, reserve, map, allow.
#include "execute/cuda/device_arena.h"

#include "execute/arena_layout.h"
#include "execute/protocol.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tilewright {
namespace {

constexpr LayoutRules kRules = {.alignment = 256, .guard_bytes = kDeviceGuardBytes, .page = 256};
constexpr double kMostBytes = 1e15;  // far beyond any device, far below overflow

cuda::AllocationProperties properties_on(const cuda::Context& context) {
  cuda::AllocationProperties properties;
  properties.handle_types = cuda::kFileDescriptor;
  properties.location.id = context.device();
  return properties;
}

// `bytes` in whole pages of the device. Both sides must come to the same number.
Result<std::size_t> whole_pages(const cuda::Context& context, std::int64_t bytes) {
  constexpr int kRecommended = 1;  // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
  const cuda::AllocationProperties properties = properties_on(context);
  std::size_t page = 0;
  const cuda::Driver& d = context.driver();
  if (Status s = d.check(d.MemGetAllocationGranularity(&page, &properties, kRecommended),
                         "asking for the size of device pages");
      !s) {
    return tl::unexpected(s.error());
  }
  if (page == 0) return fail(ErrorCode::environment, "the device reports pages of 0 bytes");
  return (static_cast<std::size_t>(bytes) + page - 1) / page * page;
}

// Addresses for an allocation, mapped and accessible; nothing stays behind on failure.
Result<cuda::Pointer> map_handle(const cuda::Context& context, cuda::MemoryHandle handle,
                                 std::size_t bytes) {
  const cuda::Driver& d = context.driver();
  cuda::Pointer base = 0;
  if (Status s = d.check(d.MemAddressReserve(&base, bytes, 0, 0, 0), "reserving device addresses");
      !s) {
    return tl::unexpected(s.error());
  }
  if (Status s = d.check(d.MemMap(base, bytes, 0, handle, 0), "mapping device memory"); !s) {
    d.MemAddressFree(base, bytes);
    return tl::unexpected(s.error());
  }
  cuda::AccessDescription access;
  access.location.id = context.device();
  if (Status s =
          d.check(d.MemSetAccess(base, bytes, &access, 1), "allowing access to device memory");
      !s) {
    d.MemUnmap(base, bytes);
    d.MemAddressFree(base, bytes);
    return tl::unexpected(s.error());
  }
  return base;
}

void unmap(const cuda::Driver& driver, cuda::Pointer base, std::size_t bytes) {
  driver.MemUnmap(base, bytes);
  driver.MemAddressFree(base, bytes);
}

Status shareable(const cuda::Context& context) {
  for (const auto& [attribute, what] :
       {std::pair{cuda::kVirtualMemory, "virtual memory management"},
        std::pair{cuda::kFileDescriptorHandles, "device memory as file descriptors"}}) {
    if (context.attribute(attribute) != 0) continue;
    return fail(ErrorCode::environment,
                fmt::format("CUDA device {} does not support {}", context.device(), what),
                "candidates run in another process on shared operands; vGPU profiles and WSL do "
                "not offer that");
  }
  return {};
}

}  // namespace

struct DeviceArena::State {
  const cuda::Context* context = nullptr;
  Problem problem;
  ArenaLayout layout;
  std::string id;
  std::size_t bytes = 0;
  cuda::MemoryHandle handle = 0;
  bool allocated = false;
  cuda::Pointer base = 0;
  int fd = -1;
  std::int64_t in_use = 0, zeroed = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (context == nullptr) return;
    if (base != 0) unmap(context->driver(), base, bytes);
    if (fd >= 0) close(fd);
    if (allocated) context->driver().MemRelease(handle);
  }
};

DeviceArena::DeviceArena(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceArena::~DeviceArena() = default;
DeviceArena::DeviceArena(DeviceArena&&) noexcept = default;
DeviceArena& DeviceArena::operator=(DeviceArena&&) noexcept = default;

Result<ArenaLayout> device_layout(const Problem& problem, int sets, std::int64_t workspace_bytes) {
  if (Status valid = check(problem); !valid) return tl::unexpected(valid.error());
  if (sets < 1) return fail(ErrorCode::usage, fmt::format("sets = {}: at least 1", sets));
  if (workspace_bytes < 0) {
    return fail(ErrorCode::usage, fmt::format("workspace_bytes = {}: at least 0", workspace_bytes));
  }
  if (const double wanted = estimate_bytes(problem, sets, workspace_bytes); wanted > kMostBytes) {
    return fail(ErrorCode::environment,
                fmt::format("{} operand sets of \"{}\" need {:.0f} GiB", sets, to_text(problem),
                            wanted / (1 << 30)),
                "fewer operand sets or a smaller problem needs less memory");
  }
  return lay_out(problem, sets, workspace_bytes, kRules);
}

Result<DeviceArena> DeviceArena::create(const cuda::Context& context, const Problem& problem,
                                        int sets, std::int64_t workspace_bytes) {
  const auto layout = device_layout(problem, sets, workspace_bytes);
  if (!layout) return tl::unexpected(layout.error());
  if (Status s = shareable(context); !s) return tl::unexpected(s.error());
  const auto bytes = whole_pages(context, layout->bytes);
  if (!bytes) return tl::unexpected(bytes.error());

  const cuda::Driver& d = context.driver();
  auto state = std::make_unique<State>();
  State& s = *state;
  s.context = &context;
  s.problem = problem;
  s.layout = *layout;
  s.id = fresh_nonce();
  s.bytes = *bytes;
  s.in_use = workspace_bytes;
  const cuda::AllocationProperties properties = properties_on(context);
  if (Status made = d.check(d.MemCreate(&s.handle, s.bytes, &properties, 0),
                            fmt::format("{} operand set{} of \"{}\", {:.2f} GiB of device memory",
                                        sets, sets == 1 ? "" : "s", to_text(problem),
                                        static_cast<double>(s.bytes) / (1 << 30)));
      !made) {
    return fail(made.error().code, made.error().message,
                "fewer operand sets or a smaller problem needs less memory");
  }
  s.allocated = true;
  auto base = map_handle(context, s.handle, s.bytes);
  if (!base) return tl::unexpected(base.error());
  s.base = *base;
  if (Status exported =
          d.check(d.MemExportToShareableHandle(&s.fd, s.handle, cuda::kFileDescriptor, 0),
                  "sharing device memory with the runner");
      !exported) {
    s.fd = -1;
    return tl::unexpected(exported.error());
  }
  fcntl(s.fd, F_SETFD, FD_CLOEXEC);
  return DeviceArena(std::move(state));
}

const Problem& DeviceArena::problem() const {
  return state_->problem;
}
const ArenaLayout& DeviceArena::layout() const {
  return state_->layout;
}
const cuda::Context& DeviceArena::context() const {
  return *state_->context;
}
int DeviceArena::fd() const {
  return state_->fd;
}
const std::string& DeviceArena::id() const {
  return state_->id;
}
cuda::Pointer DeviceArena::base() const {
  return state_->base;
}
cuda::Pointer DeviceArena::a(int set) const {
  return device_operands(state_->layout, state_->base, set, Owner::candidate).a;
}
cuda::Pointer DeviceArena::b(int set) const {
  return device_operands(state_->layout, state_->base, set, Owner::candidate).b;
}
cuda::Pointer DeviceArena::c(int set, Owner owner) const {
  return device_operands(state_->layout, state_->base, set, owner).c;
}
cuda::Pointer DeviceArena::workspace() const {
  return state_->base + static_cast<cuda::Pointer>(state_->layout.workspace);
}

void DeviceArena::use_workspace(std::int64_t bytes, std::int64_t zeroed) {
  state_->in_use = std::clamp<std::int64_t>(bytes, 0, state_->layout.workspace_bytes);
  state_->zeroed = std::clamp<std::int64_t>(zeroed, 0, state_->in_use);
}
std::int64_t DeviceArena::workspace_in_use() const {
  return state_->in_use;
}
std::int64_t DeviceArena::workspace_zeroed() const {
  return state_->zeroed;
}

DeviceOperands device_operands(const ArenaLayout& layout, cuda::Pointer base, int set,
                               Owner owner) {
  const auto at = [&](std::int64_t offset) { return base + static_cast<cuda::Pointer>(offset); };
  const std::int64_t first = set * layout.set_stride;
  return {at(first + layout.a), at(first + layout.b),
          at(first + (owner == Owner::candidate ? layout.c : layout.c_baseline)),
          at(layout.workspace)};
}

Result<ImportedArena> ImportedArena::map(const cuda::Context& context, int fd, std::int64_t bytes) {
  const cuda::Driver& d = context.driver();
  const auto pages = whole_pages(context, bytes);
  if (!pages) return tl::unexpected(pages.error());
  cuda::MemoryHandle handle = 0;
  // The descriptor travels in the pointer itself: cuMemImportFromShareableHandle.
  void* const shared = std::bit_cast<void*>(static_cast<std::intptr_t>(fd));
  if (Status s = d.check(d.MemImportFromShareableHandle(&handle, shared, cuda::kFileDescriptor),
                         "importing the operands");
      !s) {
    return tl::unexpected(s.error());
  }
  auto base = map_handle(context, handle, *pages);
  d.MemRelease(handle);  // the mapping keeps the memory
  if (!base) return tl::unexpected(base.error());
  ImportedArena arena;
  arena.driver_ = &d;
  arena.base_ = *base;
  arena.bytes_ = *pages;
  return arena;
}

ImportedArena::~ImportedArena() {
  if (driver_ != nullptr) unmap(*driver_, base_, bytes_);
}
ImportedArena::ImportedArena(ImportedArena&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)), base_(other.base_), bytes_(other.bytes_) {}
ImportedArena& ImportedArena::operator=(ImportedArena&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace tilewright
