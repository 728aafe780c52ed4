// SPDX-License-Identifier: Apache-2.0
// CUDA devices through an invented driver, as text, and what is said where there is none.
#include "device/cuda/detect.h"

#include "base/file.h"
#include "device/cuda/libraries.h"
#include "device/cuda/telemetry.h"
#include "device/invented_gpu.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A driver that shows one H200.
int devices_shown = 1;
cuda::Driver invented_driver() {
  cuda::Driver d{};
  d.version = 13000;
  d.GetErrorName = [](cuda::Code, const char** name) {
    *name = "CUDA_ERROR_INVENTED";
    return cuda::kSuccess;
  };
  d.GetErrorString = [](cuda::Code, const char** text) {
    *text = "made up";
    return cuda::kSuccess;
  };
  d.DeviceGetCount = [](int* count) {
    *count = devices_shown;
    return cuda::kSuccess;
  };
  d.DeviceGet = [](cuda::DeviceId* id, int ordinal) {
    *id = ordinal;
    return cuda::kSuccess;
  };
  d.DeviceGetName = [](char* name, int length, cuda::DeviceId) {
    std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(length));
    return cuda::kSuccess;
  };
  d.DeviceTotalMem = [](std::size_t* bytes, cuda::DeviceId) {
    *bytes = std::size_t{143771} << 20;
    return cuda::kSuccess;
  };
  d.DeviceGetAttribute = [](int* value, int attribute, cuda::DeviceId) -> cuda::Code {
    static const std::map<int, int> values = {
        {cuda::kCapabilityMajor, 9},
        {cuda::kCapabilityMinor, 0},
        {cuda::kMultiprocessors, 132},
        {cuda::kSharedBytesPerBlockOptIn, 232448},
        {cuda::kSharedBytesPerMultiprocessor, 233472},
        {cuda::kRegistersPerMultiprocessor, 65536},
        {cuda::kClockKilohertz, 1980000},
        {cuda::kMemoryClockKilohertz, 3201000},
        {cuda::kMemoryBusBits, 6144},
        {cuda::kL2Bytes, 62914560},
    };
    const auto found = values.find(attribute);
    if (found == values.end()) return 1;  // CUDA_ERROR_INVALID_VALUE
    *value = found->second;
    return cuda::kSuccess;
  };
  return d;
}

TEST(DetectCuda, ReadsWhatTheDriverSays) {
  const auto device = detect_cuda(invented_driver(), 0);
  ASSERT_TRUE(device) << device.error().message;
  const Device h200 = invented_h200();
  EXPECT_EQ(device->kind, DeviceKind::cuda);
  EXPECT_EQ(device->name, h200.name);
  EXPECT_EQ(device->silicon, "nvidia-h200-sm_90");
  EXPECT_THAT(device->isa, ElementsAre("sm80", "sm90a"));
  EXPECT_EQ(device->l2_bytes, h200.l2_bytes);
  EXPECT_EQ(device->cuda.shared_per_block, h200.cuda.shared_per_block);
  EXPECT_EQ(device->cuda.memory_bytes, h200.cuda.memory_bytes);
  EXPECT_NEAR(device->cuda.memory_bandwidth, 4.917e12, 1e9);
  EXPECT_EQ(device->cuda.driver, 13000);
  EXPECT_GE(device->cores, 1);
  EXPECT_EQ(device->fingerprint(), h200.fingerprint());
}

TEST(DetectCuda, AnAbsentDeviceIsAnEnvironmentErrorWithTheFix) {
  for (const int ordinal : {-1, 1}) {
    const auto device = detect_cuda(invented_driver(), ordinal);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ErrorCode::environment);
    EXPECT_THAT(device.error().message,
                HasSubstr(fmt::format("CUDA device {}: there are 1", ordinal)));
    EXPECT_THAT(device.error().hint, HasSubstr("CUDA_VISIBLE_DEVICES"));
  }
  devices_shown = 0;
  const auto none = detect_cuda(invented_driver(), 0);
  devices_shown = 1;
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no device"));
}

TEST(DetectCuda, AFailingDriverIsNamedWithItsError) {
  auto driver = invented_driver();
  driver.DeviceGetName = [](char*, int, cuda::DeviceId) -> cuda::Code { return 101; };
  const auto device = detect_cuda(driver, 0);
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("CUDA_ERROR_INVENTED: made up"));
}

// CASES C21: no driver is a sentence with a fix. The driver is opened once per process, so this is
// the one place in this program that asks for it.
TEST(DetectCuda, NoDriverIsASentence) {
  ::setenv("TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  EXPECT_EQ(cuda_device_count(), 0);
  const auto device = detect_cuda(0);
  ::unsetenv("TILEWRIGHT_LIBCUDA");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::environment);
  EXPECT_THAT(device.error().message, HasSubstr("no CUDA driver"));
  EXPECT_THAT(device.error().message, HasSubstr("/nonexistent/libcuda.so.1"));
  EXPECT_THAT(device.error().hint, HasSubstr("the CPU works without"));
}

TEST(CudaNames, AreSlugs) {
  EXPECT_EQ(cuda_silicon("NVIDIA H200", 90), "nvidia-h200-sm_90");
  EXPECT_EQ(cuda_silicon("NVIDIA A100-SXM4-80GB", 80), "nvidia-a100-sxm4-80gb-sm_80");
  EXPECT_EQ(cuda_silicon("GeForce  RTX (TM) 4090 ", 89), "nvidia-geforce-rtx-tm-4090-sm_89");
  EXPECT_EQ(cuda_silicon("", 80), "nvidia-sm_80");
  EXPECT_THAT(cuda_features(75), ElementsAre());
  EXPECT_THAT(cuda_features(86), ElementsAre("sm80"));
  EXPECT_THAT(cuda_features(90), ElementsAre("sm80", "sm90a"));
  EXPECT_THAT(cuda_features(100), ElementsAre("sm80"));
}

TEST(CudaFingerprint, IsOfTheChipAndItsSize) {
  EXPECT_EQ(invented_h200().fingerprint(), "cuda-nvidia-h200-sm_90-132sm");
  auto other = invented_h200();
  other.cuda.multiprocessors = 114;
  EXPECT_EQ(other.fingerprint(), "cuda-nvidia-h200-sm_90-114sm");
  other = invented_h200();
  other.cuda.ordinal = 3;
  other.cuda.driver = 12040;
  other.cores = 7;
  EXPECT_EQ(other.fingerprint(), invented_h200().fingerprint());
}

TEST(CudaJson, RoundTrip) {
  for (Device device : {invented_h200(), invented_a100(), invented_rtx3090(), invented_rtx4090()}) {
    device.cuda.ordinal = 2;
    device.cuda.driver = 12080;
    device.cpus = {0, 5};
    const auto text = to_json(device);
    const auto back = device_from_json(text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(to_json(*back), text);
    EXPECT_EQ(back->kind, DeviceKind::cuda);
    EXPECT_EQ(back->cuda.ordinal, 2);
    EXPECT_EQ(back->cuda.memory_bandwidth, device.cuda.memory_bandwidth);
  }
}

TEST(CudaJson, DamageIsRefused) {
  const auto text = to_json(invented_h200());
  for (std::size_t i = 0; i < text.size(); ++i) {
    ASSERT_FALSE(device_from_json(std::string_view(text).substr(0, i))) << i;
  }
  for (const char* field : {"capability", "multiprocessors", "shared_per_block", "memory_bytes",
                            "memory_bandwidth", "clock_kilohertz"}) {
    const auto start = text.find(fmt::format("\"{}\":", field)) + std::strlen(field) + 3;
    const auto end = text.find_first_of(",}", start);
    for (const char* value : {"-1", "\"1\"", "null", "1e30"}) {
      auto changed = text;
      const auto result = device_from_json(changed.replace(start, end - start, value));
      ASSERT_FALSE(result) << field << '=' << value;
      EXPECT_THAT(result.error().message, HasSubstr(field));
    }
  }
  auto cpu = text;
  EXPECT_FALSE(device_from_json(cpu.replace(cpu.find("\"cuda\":{"), 6, "\"nope\"")));
}

// The descriptions that come with us say what the fixtures say.
TEST(CudaJson, CommittedDescriptionsAreRead) {
  for (const auto& [file, device] :
       {std::pair{"h200.json", invented_h200()}, {"a100.json", invented_a100()}}) {
    const auto text = read_file(fmt::format(TILEWRIGHT_SOURCE_DIR "/devices/{}", file));
    ASSERT_TRUE(text) << file;
    const auto read = device_from_json(*text);
    ASSERT_TRUE(read) << file << ": " << read.error().message;
    EXPECT_EQ(to_json(*read), to_json(device)) << file;
  }
}

TEST(Throttle, IsTextByBits) {
  EXPECT_EQ(cuda::throttle_text(0), "");
  EXPECT_EQ(cuda::throttle_text(0x1), "");  // idle
  EXPECT_EQ(cuda::throttle_text(0x4), "power cap");
  EXPECT_EQ(cuda::throttle_text(0x45), "power cap, thermal slowdown (hardware)");
  EXPECT_EQ(cuda::throttle_text(0x1008), "hardware slowdown, reason 0x1000");
}

TEST(CudaLibraries, APlaceThatWasNamedComesFirst) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "tilewright-libraries-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  for (const char* name : {"named/libnvrtc.so.12",
                           "venv/lib/python3.11/site-packages/nvidia/cu13/"
                           "lib/libnvrtc.so.13"}) {
    ASSERT_TRUE(write_file_atomically(folder / name, "not a library"));
  }
  ::setenv("TILEWRIGHT_CUDA_LIBRARIES", ("/nonexistent:" + (folder / "named").string()).c_str(), 1);
  const char* environment = ::getenv("VIRTUAL_ENV");
  const std::string before = environment == nullptr ? "" : environment;
  ::setenv("VIRTUAL_ENV", (folder / "venv").c_str(), 1);
  const auto places = cuda::library_places("nvrtc");
  ::unsetenv("TILEWRIGHT_CUDA_LIBRARIES");
  before.empty() ? ::unsetenv("VIRTUAL_ENV") : ::setenv("VIRTUAL_ENV", before.c_str(), 1);
  fs::remove_all(folder);
  ASSERT_GE(places.size(), 4U);
  EXPECT_EQ(places[0], folder / "named/libnvrtc.so.12");
  EXPECT_THAT(places[1], EndsWith("nvidia/cu13/lib/libnvrtc.so.13"));
  EXPECT_EQ(places[2], "libnvrtc.so.13");
  EXPECT_EQ(places[3], "libnvrtc.so.12");
  for (std::size_t i = 4; i < places.size(); ++i) EXPECT_THAT(places[i], StartsWith("/"));
}

TEST(CudaLibraries, AnUnknownOneIsOurMistake) {
  EXPECT_TRUE(cuda::library_places("nonsense").empty());
  const auto opened = cuda::open_library("nonsense");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace tilewright
