// SPDX-License-Identifier: Apache-2.0
// A host Arena that stands for a DeviceArena, so that what judges operands in host memory judges a
// GPU's as well: before a call all matrices and the guards round them go to the device, after it
// they come back.
//
// For operations whose checker exists on the host alone. It costs two copies of all operand sets
// for each call or burst of calls, outside of the clock.
#pragma once

#include "execute/cuda/device_arena.h"
#include "execute/session.h"

#include <memory>

namespace tilewright {

class Mirror {
 public:
  // With no workspace. `device` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Mirror>> create(const DeviceArena& device);
  [[nodiscard]] const Arena& arena() const { return host_; }
  // The same session with the copies made. The mirror must outlive it.
  [[nodiscard]] std::unique_ptr<Session> mirrored(std::unique_ptr<Session> session) const;

  [[nodiscard]] Status upload() const;
  [[nodiscard]] Status download() const;

 private:
  Mirror(Arena host, const DeviceArena& device) : host_(std::move(host)), device_(device) {}
  // visit(host memory, device memory, bytes) for each matrix of each set with its guards.
  template <class Visit>
  [[nodiscard]] Status for_each_piece(Visit visit) const;

  Arena host_;
  const DeviceArena& device_;
};

}  // namespace tilewright
