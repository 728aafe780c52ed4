// SPDX-License-Identifier: Apache-2.0
// What libtilewright would do on a device: the wisdom that counts there, and one product explained.
#include "cli/doctor_lines.h"

#include "base/text.h"
#include "runtime/wisdom_files.h"

#include <tilewright/tilewright.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {
namespace {

DoctorLine wisdom_line(const Device& device) {
  const runtime::KnownWisdom known = runtime::known_wisdom({}, device);
  std::string finding =
      known.files.empty()
          ? fmt::format(
                "none for {}: `tilewright tune`, then `tilewright wisdom export` and import",
                device.fingerprint())
          : fmt::format("{} winners from {}", known.entries.size(), fmt::join(known.files, ", "));
  for (const std::string& warning : known.warnings) finding += "; " + warning;
  return {"runtime wisdom", known.warnings.empty(), finding};
}

DoctorLine product_line(const Device& device) {
  const int number = device.kind == DeviceKind::cuda ? device.cuda.ordinal : TW_DEVICE_CPU;
  // Its warnings stand in the line above.
  auto handle = tw::Handle::create({.device = number, .wisdom = std::string()});
  if (!handle) return {"runtime", false, handle.error().message};
  const auto text = handle->explain(tw::Gemm(tw::Type::f16, 1024, 1024, 1024));
  if (!text) return {"runtime", false, text.error().message};
  return {"runtime", true,
          fmt::format("libtilewright {}, f16 1024x1024x1024 without wisdom: {}", tw_version(),
                      fmt::join(split(trim(*text), '\n'), "; "))};
}

}  // namespace

std::vector<DoctorLine> runtime_lines(const Device& device) {
  return {wisdom_line(device), product_line(device)};
}

}  // namespace tilewright
