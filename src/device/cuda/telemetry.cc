// SPDX-License-Identifier: Apache-2.0
// See telemetry.h. Types and constants as NVML's ABI has them (NVML API reference, nvml.h).
#include "device/cuda/telemetry.h"

#include "device/cuda/libraries.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <array>
#include <type_traits>

namespace tilewright::cuda {
namespace {

using NvmlCode = int;
using NvmlDevice = void*;
constexpr NvmlCode kNvmlSuccess = 0;
constexpr unsigned kClockSm = 1;         // NVML_CLOCK_SM
constexpr unsigned kClockMemory = 2;     // NVML_CLOCK_MEM
constexpr unsigned kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr std::size_t kVersionBytes = 80;

struct ThrottleReason {
  std::uint64_t bit;
  std::string_view text;
};
// NVML_CLOCKS_EVENT_REASONS. Idle (bit 0) and a display's clock say nothing about a measurement.
constexpr std::array kReasons = {
    ThrottleReason{0x02, "clocks set by an application"},
    ThrottleReason{0x04, "power cap"},
    ThrottleReason{0x08, "hardware slowdown"},
    ThrottleReason{0x10, "sync boost"},
    ThrottleReason{0x20, "thermal slowdown (software)"},
    ThrottleReason{0x40, "thermal slowdown (hardware)"},
    ThrottleReason{0x80, "power brake"},
};
constexpr std::uint64_t kHarmless = 0x01 | 0x100;

}  // namespace

struct Telemetry::Entries {
  NvmlCode (*Init)();
  const char* (*ErrorString)(NvmlCode);
  NvmlCode (*SystemGetDriverVersion)(char*, unsigned length);
  NvmlCode (*DeviceGetHandleByUUID)(const char*, NvmlDevice*);
  NvmlCode (*DeviceGetHandleByPciBusId)(const char*, NvmlDevice*);
  NvmlCode (*DeviceGetClockInfo)(NvmlDevice, unsigned which, unsigned* megahertz);
  NvmlCode (*DeviceGetPowerUsage)(NvmlDevice, unsigned* milliwatts);
  NvmlCode (*DeviceGetTemperature)(NvmlDevice, unsigned sensor, unsigned* celsius);
  // Named "...ThrottleReasons" before driver 535, with the same meaning.
  NvmlCode (*DeviceGetCurrentClocksEventReasons)(NvmlDevice, unsigned long long* reasons);
  std::string version;  // of the driver's package

  // NVML opened and initialised once per process, or why not.
  static const Result<Entries>& open();
};

const Result<Telemetry::Entries>& Telemetry::Entries::open() {
  static const Result<Entries> opened = []() -> Result<Entries> {
    const Result<void*> library = open_library("nvml");
    if (!library) return tl::unexpected(library.error());
    Entries e{};
    std::string missing;
    const auto find = [&](auto& entry, const char* name, const char* older = nullptr) {
      void* address = dlsym(*library, name);
      if (address == nullptr && older != nullptr) address = dlsym(*library, older);
      if (address == nullptr && missing.empty()) missing = name;
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(address);
    };
    find(e.Init, "nvmlInit_v2");
    find(e.ErrorString, "nvmlErrorString");
    find(e.SystemGetDriverVersion, "nvmlSystemGetDriverVersion");
    find(e.DeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID");
    find(e.DeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2");
    find(e.DeviceGetClockInfo, "nvmlDeviceGetClockInfo");
    find(e.DeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
    find(e.DeviceGetTemperature, "nvmlDeviceGetTemperature");
    find(e.DeviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!missing.empty()) {
      return fail(ErrorCode::environment, fmt::format("NVML lacks {}", missing),
                  "a newer NVIDIA driver has it");
    }
    if (const NvmlCode status = e.Init(); status != kNvmlSuccess) {
      return fail(ErrorCode::environment,
                  fmt::format("NVML does not start: {}", e.ErrorString(status)));
    }
    std::array<char, kVersionBytes> text{};
    if (e.SystemGetDriverVersion(text.data(), kVersionBytes - 1) == kNvmlSuccess) {
      e.version = text.data();
    }
    return e;
  }();
  return opened;
}

std::string throttle_text(std::uint64_t reasons) {
  std::string text;
  const auto add = [&](std::string_view words) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
  };
  std::uint64_t rest = reasons & ~kHarmless;
  for (const ThrottleReason& reason : kReasons) {
    if ((rest & reason.bit) != 0) add(reason.text);
    rest &= ~reason.bit;
  }
  if (rest != 0) add(fmt::format("reason {:#x}", rest));
  return text;
}

Result<Telemetry> Telemetry::open(const Context& context) {
  const Result<Entries>& entries = Entries::open();
  if (!entries) return tl::unexpected(entries.error());
  Telemetry telemetry;
  telemetry.entries_ = &*entries;
  const Driver& d = context.driver();
  Uuid id{};
  NvmlCode status = -1;
  if (d.DeviceGetUuid(&id, context.device()) == kSuccess) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
    }
    status = entries->DeviceGetHandleByUUID(text.c_str(), &telemetry.device_);
  }
  // A part of a device (MIG) has an id that NVML knows under another name; then its whole is asked.
  std::array<char, 64> bus{};
  if (status != kNvmlSuccess && d.DeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()) - 1,
                                                    context.device()) == kSuccess) {
    status = entries->DeviceGetHandleByPciBusId(bus.data(), &telemetry.device_);
  }
  if (status != kNvmlSuccess) {
    return fail(ErrorCode::environment,
                fmt::format("NVML does not know this device: {}", entries->ErrorString(status)));
  }
  return telemetry;
}

Reading Telemetry::read() const {
  Reading reading;
  const auto ask = [](NvmlCode status, unsigned value) {
    return status == kNvmlSuccess ? static_cast<int>(value) : 0;
  };
  const Entries& e = *entries_;
  unsigned value = 0;
  NvmlCode status = e.DeviceGetClockInfo(device_, kClockSm, &value);
  reading.sm_megahertz = ask(status, value);
  status = e.DeviceGetClockInfo(device_, kClockMemory, &value);
  reading.memory_megahertz = ask(status, value);
  status = e.DeviceGetPowerUsage(device_, &value);
  reading.watts = ask(status, value) / 1000.0;
  status = e.DeviceGetTemperature(device_, kTemperatureGpu, &value);
  reading.celsius = ask(status, value);
  unsigned long long reasons = 0;
  if (e.DeviceGetCurrentClocksEventReasons(device_, &reasons) == kNvmlSuccess) {
    reading.throttle = reasons;
  }
  return reading;
}

Result<std::string> Telemetry::driver_version() {
  const Result<Entries>& entries = Entries::open();
  if (!entries) return tl::unexpected(entries.error());
  if (entries->version.empty()) return fail(ErrorCode::environment, "NVML does not tell it");
  return entries->version;
}

}  // namespace tilewright::cuda
