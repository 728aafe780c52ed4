// SPDX-License-Identifier: Apache-2.0
// Profiles as text.
#include "profile/render.h"

#include "profile/csv.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::vector<ProfiledPair> pairs() {
  Profiled ours;
  ours.time_us = 97.5;
  ours.flushed = true;
  ours.profile = {"ncu 1",
                  {{"tensor_pct", 71.25}, {"tma_load_bytes", 2.5e9}, {"a__b.sum", 3}},
                  "gmma",
                  "tensor",
                  {"tw_gemm"}};
  Profiled theirs = ours;
  theirs.choice = "algo=66 tile=128x256";
  theirs.profile.values.erase("tma_load_bytes");
  return {{"gemm 8x8x8 f16",
           "sm90 tile=1, \"x\"",
           {{"candidate", ours, ""},
            {"cublaslt_autotune", theirs, ""},
            {"cublas", {}, "it is not here"}}}};
}

TEST(RenderProfiles, ATableSideBySide) {
  const std::string text = render_profiles(pairs(), "H200", ProfileFormat::table);
  for (const char* wanted : {"candidate", "cublaslt_autotune", "71.25%", "2.5 GB", "97.50", "gmma",
                             "algo=66", "it is not here", "flushed", "tw_gemm", "a__b.sum"}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
  }
}

TEST(RenderProfiles, CsvComesBack) {
  const auto rows = parse_csv(render_profiles(pairs(), "H200", ProfileFormat::csv));
  ASSERT_TRUE(rows) << rows.error().message;
  for (const CsvRow& row : *rows) EXPECT_EQ(row.size(), 6U);
  EXPECT_EQ((*rows)[1],
            (CsvRow{"gemm 8x8x8 f16", "sm90 tile=1, \"x\"", "candidate", "time_us", "97.5", "us"}));
  EXPECT_EQ(rows->back(), (CsvRow{"gemm 8x8x8 f16", "sm90 tile=1, \"x\"", "cublas", "error",
                                  "it is not here", ""}));
}

TEST(RenderProfiles, Json) {
  const std::string text = render_profiles(pairs(), "H200", ProfileFormat::json);
  for (const char* wanted : {"\"schema_version\": 1", "\"tensor_pct\": 71.25",
                             "\"caches\": \"flushed\"", "\"error\": \"it is not here\""}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
  }
}

}  // namespace
}  // namespace tilewright
