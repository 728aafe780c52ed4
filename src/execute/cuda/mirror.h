// SPDX-License-Identifier: Apache-2.0
// A host Arena that stands for a DeviceArena, so that what judges operands in host memory judges a
// GPU's as well: before a call all matrices and the guards round them go to the device, after it
// they come back.
//
// For operations whose checker exists on the host alone. It costs two copies of the operand sets
// that a call may touch, its own or for bursts all, outside of the clock.
#pragma once

#include "execute/cuda/device_arena.h"
#include "execute/session.h"

#include <memory>

namespace tilewright {

class OperandMirror {
 public:
  // With no workspace. `device` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<OperandMirror>> create(const DeviceArena& device);
  [[nodiscard]] const Arena& arena() const { return host_; }
  // The same session with the copies made. The mirror must outlive it.
  [[nodiscard]] std::unique_ptr<Session> mirrored(std::unique_ptr<Session> session) const;

  struct Sets {  // begin up to, not including, end
    int begin, end;
  };
  [[nodiscard]] Sets all() const { return {0, host_.layout().sets}; }
  [[nodiscard]] Status upload(Sets sets) const;
  [[nodiscard]] Status download(Sets sets) const;

 private:
  OperandMirror(Arena host, const DeviceArena& device) : host_(std::move(host)), device_(device) {}
  // visit(host memory, device memory, bytes) for each matrix of these sets with its guards.
  template <class Visit>
  [[nodiscard]] Status for_each_piece(Sets sets, Visit visit) const;

  Arena host_;
  const DeviceArena& device_;
};

}  // namespace tilewright
