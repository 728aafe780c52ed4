// SPDX-License-Identifier: Apache-2.0
// Which kernel serves a call: the wisdom's where its program is compiled in, else the catalogue's
// rule (catalogue.txt).
#pragma once

#include "device/device.h"
#include "runtime/backend.h"
#include "runtime/cpu/kernel.h"
#include "runtime/lookup.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

// The widest instruction set of a device that there are kernels for, without avx512bf16.
[[nodiscard]] CpuIsa widest_isa(const Device& device);
// `asked` (TILEWRIGHT_CPU_ISA, may be null) lowers it, or asks for avx512bf16, which is never taken
// otherwise. What the device lacks is not taken either; no name of a set is TW_INVALID.
[[nodiscard]] tl::expected<CpuIsa, Failure> isa_for(const Device& device, const char* asked);

struct Choice {
  const CpuKernel* kernel = nullptr;
  Origin origin = Origin::built_in;
  int threads = 0;        // as tuned, or 0: by the size of the call
  std::size_t entry = 0;  // of the wisdom; its distance
  double distance = 0;
};

class Chooser {
 public:
  Chooser(CpuIsa isa, std::vector<WisdomEntry> entries);

  // `threads`: how many a call may use.
  [[nodiscard]] Choice choose(const Call& call, int threads) const;
  // Why it was chosen, lines of text; also what the wisdom has for this very problem but cannot be
  // used.
  [[nodiscard]] std::string reason(const Call& call, const Choice& choice, int threads) const;

  [[nodiscard]] CpuIsa isa() const { return isa_; }

 private:
  // What an entry's program comes to.
  struct Served {
    const CpuKernel* kernel = nullptr;  // nullptr: `refusal` says why not
    int threads = 1;
    std::int64_t m = 0;  // of the entry's problem
    std::string refusal;
  };
  [[nodiscard]] Served served(const WisdomEntry& entry) const;
  [[nodiscard]] bool serves(const Served& entry, const Call& call, int threads) const;
  [[nodiscard]] const CpuKernel* built_in(const Call& call, int threads) const;

  CpuIsa isa_;
  Lookup wisdom_;
  std::vector<Served> served_;  // by entry
};

}  // namespace tilewright::runtime::cpu
