// SPDX-License-Identifier: Apache-2.0
// Operands in device memory that the parent made and checks, shared with the runner.
//
// The counterpart of Arena (execute/arena.h) on a GPU, with the same layout of sets, matrices and
// one workspace, between guard bands. The memory is one physical allocation made with the virtual
// memory API (CUDA driver API, "Virtual Memory Management") and exported as a file descriptor: the
// runner maps it, the candidate works on it, and what the parent needs to judge the results lies in
// memory of its own that no candidate can reach.
#pragma once

#include "device/cuda/context.h"
#include "execute/arena.h"

#include <memory>
#include <string>

namespace tilewright {

// Each side of each matrix, at least. Larger than on a CPU: a tile that overshoots writes whole
// rows, and these bands cost nothing.
inline constexpr std::int64_t kDeviceGuardBytes = 64 << 10;

class DeviceArena {
 public:
  // Matrices begin at multiples of 256 bytes; contents are undefined, guards too: whoever judges
  // paints them. The context must outlive the arena.
  [[nodiscard]] static Result<DeviceArena> create(const cuda::Context& context,
                                                  const Problem& problem, int sets,
                                                  std::int64_t workspace_bytes);
  ~DeviceArena();
  DeviceArena(DeviceArena&&) noexcept;
  DeviceArena& operator=(DeviceArena&&) noexcept;

  [[nodiscard]] const Problem& problem() const;
  [[nodiscard]] const ArenaLayout& layout() const;
  [[nodiscard]] const cuda::Context& context() const;
  [[nodiscard]] int fd() const;  // of the allocation, for the runner
  // Tells arenas apart. (All exported descriptors may be one inode of the driver's.)
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] cuda::Pointer base() const;

  // First element of each matrix. Rows are the problem's strides apart.
  [[nodiscard]] cuda::Pointer a(int set) const;
  [[nodiscard]] cuda::Pointer b(int set) const;
  [[nodiscard]] cuda::Pointer c(int set, Owner owner = Owner::candidate) const;
  [[nodiscard]] cuda::Pointer workspace() const;
  // Hands out only the first `bytes` of the workspace, of which the first `zeroed` are zero at the
  // first launch (launch.h); a guard follows right behind. At most layout().workspace_bytes.
  void use_workspace(std::int64_t bytes, std::int64_t zeroed);
  [[nodiscard]] std::int64_t workspace_in_use() const;
  [[nodiscard]] std::int64_t workspace_zeroed() const;

 private:
  struct State;
  explicit DeviceArena(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Where a DeviceArena's matrices lie, as a pure function: also for the runner and for tests.
[[nodiscard]] Result<ArenaLayout> device_layout(const Problem& problem, int sets,
                                                std::int64_t workspace_bytes);

struct DeviceOperands {
  cuda::Pointer a = 0, b = 0, c = 0, workspace = 0;
};
// First elements of one set for memory mapped at `base`.
[[nodiscard]] DeviceOperands device_operands(const ArenaLayout& layout, cuda::Pointer base, int set,
                                             Owner owner);

// The allocation behind `fd`, mapped into another process's context.
class ImportedArena {
 public:
  [[nodiscard]] static Result<ImportedArena> map(const cuda::Context& context, int fd,
                                                 std::int64_t bytes);
  ~ImportedArena();
  ImportedArena(ImportedArena&&) noexcept;
  ImportedArena& operator=(ImportedArena&&) noexcept;
  [[nodiscard]] cuda::Pointer base() const { return base_; }

 private:
  ImportedArena() = default;
  const cuda::Driver* driver_ = nullptr;
  cuda::Pointer base_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tilewright
