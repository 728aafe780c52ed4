// SPDX-License-Identifier: Apache-2.0
// Which device a handle gets, and what options mean.
#include "runtime/fake_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using Opened = tl::expected<std::unique_ptr<Backend>, Failure>;

FakeDevice& cpu() {
  static FakeDevice device;
  device.text = "cpu\n";
  return device;
}
FakeDevice& gpu() {
  static FakeDevice device;
  device.text = "gpu\n";
  return device;
}
Opened open_fake_cpu(const Options&) {
  return std::make_unique<FakeBackend>(cpu());
}
Opened open_fake_gpu(const Options&, int ordinal) {
  if (ordinal > 1) return tl::unexpected(Failure{TW_NO_DEVICE, "only two devices"});
  return std::make_unique<FakeBackend>(gpu());
}
Opened no_gpu(const Options&, int) {
  return tl::unexpected(Failure{TW_NO_DEVICE, "libcuda.so.1 is missing"});
}
Opened wrong_folder(const Options&, int) {
  return tl::unexpected(Failure{TW_INVALID, "kernels=/nowhere"});
}

std::string said_by(tw_handle handle) {
  tw_gemm_desc desc;
  tw_gemm_desc_init(&desc, TW_F16, 4, 4, 4);
  std::string text(200, '\0');
  EXPECT_EQ(tw_explain(handle, &desc, text.data(), text.size(), nullptr), TW_OK);
  tw_destroy(handle);
  return text.c_str();
}

Options on(int device) {
  Options options;
  options.device = device;
  return options;
}

TEST(Handle, AutoIsTheGpuElseTheCpu) {
  EXPECT_EQ(said_by(open_handle({}, {open_fake_cpu, open_fake_gpu}).value()), "gpu\n");
  const std::string text = said_by(open_handle({}, {open_fake_cpu, no_gpu}).value());
  EXPECT_THAT(text, HasSubstr("cpu\n"));
  EXPECT_THAT(text, HasSubstr("libcuda.so.1 is missing"));
  const auto wrong = open_handle({}, {open_fake_cpu, wrong_folder});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, TW_INVALID);
}

TEST(Handle, ANamedDeviceIsThatOrNone) {
  EXPECT_EQ(said_by(open_handle(on(TW_DEVICE_CPU), {open_fake_cpu, open_fake_gpu}).value()),
            "cpu\n");
  EXPECT_EQ(said_by(open_handle(on(1), {open_fake_cpu, open_fake_gpu}).value()), "gpu\n");
  const auto none = open_handle(on(2), {open_fake_cpu, open_fake_gpu});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, TW_NO_DEVICE);
  EXPECT_EQ(open_handle(on(0), {open_fake_cpu, no_gpu}).error().status, TW_NO_DEVICE);
}

TEST(Handle, OptionsAreCheckedAndHaveDefaults) {
  tw_options options;
  tw_options_init(&options);
  const auto defaults = checked(&options);
  ASSERT_TRUE(defaults);
  EXPECT_EQ(defaults->device, TW_DEVICE_AUTO);
  EXPECT_TRUE(defaults->installed_wisdom);
  EXPECT_EQ(defaults->streams, 8);
  EXPECT_EQ(defaults->workspace_bytes, std::int64_t{32} << 20);
  EXPECT_EQ(defaults->timing_seconds, 0.05);
  EXPECT_TRUE(checked(static_cast<const tw_options*>(nullptr)));
  options.timing_ms = 7;
  EXPECT_EQ(checked(&options)->timing_seconds, 0.007);
  options.size = offsetof(tw_options, timing_ms);  // a caller who does not know of it
  EXPECT_EQ(checked(&options)->timing_seconds, 0.05);
  options.size = sizeof options;
  options.timing_ms = -1;
  EXPECT_EQ(checked(&options)->timing_seconds, 0);

  options.wisdom = "";
  EXPECT_FALSE(checked(&options)->installed_wisdom);
  EXPECT_EQ(checked(&options)->wisdom, "");
  options.wisdom = "w.txt";
  EXPECT_EQ(checked(&options)->wisdom, "w.txt");

  struct Spoilt {
    void (*spoil)(tw_options&);
    const char* said;
  };
  for (const auto& [spoil, said] :
       {Spoilt{[](tw_options& o) { o.size = 4; }, "options->size=4"},
        Spoilt{[](tw_options& o) { o.device = -3; }, "device=-3"},
        Spoilt{[](tw_options& o) { o.threads = -1; }, "threads=-1"},
        Spoilt{[](tw_options& o) { o.streams = -1; }, "streams=-1"},
        Spoilt{[](tw_options& o) { o.workspace_bytes = ~std::uint64_t{0}; }, "workspace_bytes="},
        Spoilt{[](tw_options& o) { o.timing_ms = 60001; }, "timing_ms=60001"}}) {
    tw_options wrong;
    tw_options_init(&wrong);
    spoil(wrong);
    const auto refused = checked(&wrong);
    ASSERT_FALSE(refused) << said;
    EXPECT_EQ(refused.error().status, TW_INVALID);
    EXPECT_THAT(refused.error().message, HasSubstr(said));
  }
}

}  // namespace
}  // namespace tilewright::runtime
