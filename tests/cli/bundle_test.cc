// SPDX-License-Identifier: Apache-2.0
// tilewright bundle: a wisdom's winners become a file that the library reads. Needs NVRTC, no GPU.
#include "runtime/cuda/bundle.h"
#include "base/file.h"
#include "cli/program_run.h"
#include "program/program.h"
#include "record/wisdom.h"

#include <gmock/gmock.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDevice = TILEWRIGHT_SOURCE_DIR "/devices/h200.json";

TEST(Bundle, HoldsAWisdomsWinners) {
  const Place place;
  Wisdom wisdom{*device_from_json(*read_file(kDevice)), {}};
  WisdomEntry entry;
  entry.problem = to_text(*parse_problem("64x64x64"));
  entry.program =
      parse_program(
          "sm80 form=direct tile_m=16 tile_n=16 warps_k=2 ahead=2 split_k=1 raster=m group=1 "
          "sizes=static")
          ->text();
  entry.mode = "offline";
  entry.time_us = 2;
  entry.reference = "cublas";
  entry.ratio = 1.2;
  entry.date = "2026-11-30";
  wisdom.entries.push_back(entry);
  ASSERT_TRUE(write_file_atomically(place.file("wisdom.txt"), to_text(wisdom)));
  const std::vector<std::string> arguments = {"bundle",
                                              "--wisdom",
                                              place.file("wisdom.txt"),
                                              "-o",
                                              place.file("made.twk"),
                                              "--cache-dir",
                                              place.file("cubins"),
                                              "--device",
                                              kDevice};
  const Completion made = run_in(place, arguments);
  if (made.exit_code == 3) GTEST_SKIP() << made.output;  // no CUDA compiler
  ASSERT_EQ(made.exit_code, 0) << made.output;
  EXPECT_THAT(made.output, HasSubstr("2 kernels for nvidia-h200-sm_90"));
  const std::string bytes = *read_file(place.file("made.twk"));
  const auto bundle = runtime::parse_bundle(bytes);
  ASSERT_TRUE(bundle) << bundle.error().message;
  ASSERT_EQ(bundle->kernels.size(), 2U);
  for (const runtime::BundleKernel& kernel : bundle->kernels) {
    EXPECT_EQ(kernel.stands_for, entry.program);
    EXPECT_FALSE(kernel.core);
    EXPECT_TRUE(kernel.cubin.starts_with("\177ELF"));
    EXPECT_EQ(kernel.launch.m, 64);
  }
  EXPECT_NE(bundle->kernels[0].served, bundle->kernels[1].served);
  ASSERT_EQ(run_in(place, arguments).exit_code, 0);  // from the cache: the same bytes
  EXPECT_EQ(*read_file(place.file("made.twk")), bytes);
}

TEST(Bundle, SaysWhatIsMissing) {
  const Place place;
  const Completion nothing =
      run_in(place, {"bundle", "-o", place.file("x.twk"), "--device", kDevice});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("--core"));
  const Completion cpu = run_in(place, {"bundle", "--core", "-o", place.file("x.twk")});
  EXPECT_EQ(cpu.exit_code, 2);
  EXPECT_THAT(cpu.output, HasSubstr("bundles are for GPUs"));
}

}  // namespace
}  // namespace tilewright
