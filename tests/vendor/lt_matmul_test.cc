// SPDX-License-Identifier: Apache-2.0
// Descriptors and preferences of cublasLt: against an invented library that misbehaves, and as far
// as it goes without a device against the real one.
#include "vendor/lt_matmul.h"
#include "vendor/algo_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace tilewright::vendor {
namespace {

using testing::HasSubstr;

ColumnGemm gemm_of(std::string_view text) {
  const Problem p = parse_problem(text).value();
  return column_gemm(p, packed_strides(p));
}

// A library whose state is what the last test put here: entry points are plain functions.
struct Invented {
  std::map<int, std::uint64_t> preferences;
  std::vector<std::array<std::uint64_t, 2>> layouts;
  std::vector<std::int64_t> batches;
  bool swallows_workspace = false;  // as an int of 20 GiB would be
  int live = 0;                     // objects made and not destroyed
  Code heuristic = kSuccess;
  std::map<int, std::uint64_t> attributes;  // of an algorithm
  int refuses = kConfigId;                  // the attribute that may not be written
};
Invented* now = nullptr;

template <class Handle>
Code make_object(Handle* handle) {
  ++now->live;
  *handle = reinterpret_cast<Handle>(std::uintptr_t{0x10});
  return kSuccess;
}
std::uint64_t number(const void* from, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

CublasLt invented_library() {
  CublasLt lt{};
  lt.MatmulDescCreate = [](LtMatmulDesc* desc, int, int) { return make_object(desc); };
  lt.MatmulDescDestroy = [](LtMatmulDesc) { return --now->live, kSuccess; };
  lt.MatmulDescSetAttribute = [](LtMatmulDesc, int, const void*, std::size_t bytes) {
    return bytes == 4 ? kSuccess : 7;
  };
  lt.MatrixLayoutCreate = [](LtLayout* layout, int, std::uint64_t rows, std::uint64_t columns,
                             std::int64_t) {
    now->layouts.push_back({rows, columns});
    return make_object(layout);
  };
  lt.MatrixLayoutDestroy = [](LtLayout) { return --now->live, kSuccess; };
  lt.MatrixLayoutSetAttribute = [](LtLayout, int which, const void* value, std::size_t bytes) {
    if (bytes != (which == kLayoutBatch ? 4U : 8U)) return 7;
    now->batches.push_back(static_cast<std::int64_t>(number(value, bytes)));
    return kSuccess;
  };
  lt.MatmulPreferenceCreate = [](LtPreference* preference) { return make_object(preference); };
  lt.MatmulPreferenceDestroy = [](LtPreference) { return --now->live, kSuccess; };
  lt.MatmulPreferenceSetAttribute = [](LtPreference, int which, const void* value,
                                       std::size_t bytes) {
    now->preferences[which] = number(value, bytes);
    return kSuccess;
  };
  lt.MatmulPreferenceGetAttribute = [](LtPreference, int which, void* value, std::size_t bytes,
                                       std::size_t* written) {
    const std::uint64_t held = now->swallows_workspace ? 0 : now->preferences[which];
    std::memcpy(value, &held, bytes);
    *written = bytes;
    return kSuccess;
  };
  lt.MatmulAlgoGetHeuristic = [](LtHandle, LtMatmulDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                                 LtPreference, int, LtHeuristic* list, int* returned) {
    list[1].state = kNotSupported;
    *returned = 2;
    return now->heuristic;
  };
  lt.MatmulAlgoInit = [](LtHandle, int, int, int, int, int, int, int id, LtAlgo*) {
    now->attributes[kConfigId] = static_cast<std::uint64_t>(id);
    return kSuccess;
  };
  lt.MatmulAlgoConfigSetAttribute = [](LtAlgo*, int which, const void* value, std::size_t bytes) {
    if (which == now->refuses) return 7;
    now->attributes[which] = number(value, bytes);
    return kSuccess;
  };
  lt.MatmulAlgoConfigGetAttribute = [](const LtAlgo*, int which, void* value, std::size_t bytes,
                                       std::size_t* written) {
    std::memcpy(value, &now->attributes[which], bytes);
    *written = bytes;
    return kSuccess;
  };
  lt.MatmulAlgoCapGetAttribute = [](const LtAlgo*, int which, void* value, std::size_t bytes,
                                    std::size_t* written) {
    constexpr std::array<std::uint32_t, 3> kList = {15, 18, 20};
    if (which != kCapTiles && which != kCapStages) {
      const std::uint32_t one = 1;
      std::memcpy(value, &one, bytes);
      return kSuccess;
    }
    *written = sizeof kList;
    if (bytes != 0) std::memcpy(value, kList.data(), bytes);
    return kSuccess;
  };
  return lt;
}

class LtMatmulTest : public testing::Test {
 protected:
  void SetUp() override { now = &state_; }
  void TearDown() override {
    EXPECT_EQ(state_.live, 0);  // all that was made was released
    now = nullptr;
  }
  Invented state_;
  CublasLt library_ = invented_library();
};

TEST_F(LtMatmulTest, DescribesStoredMatrices) {
  const auto made = LtMatmul::make(library_, nullptr, gemm_of("2x3x5 f16 nt batch=4"));
  ASSERT_TRUE(made);
  using Size = std::array<std::uint64_t, 2>;
  // B is stored 3 x 5 by rows, so 5 x 3 by columns; A 5 x 2; C 3 x 2.
  EXPECT_THAT(state_.layouts, testing::ElementsAre(Size{5, 3}, Size{5, 2}, Size{3, 2}));
  EXPECT_THAT(state_.batches, testing::ElementsAre(4, 15, 4, 10, 4, 6));
}

TEST_F(LtMatmulTest, PassesTheLimitsOn) {
  const auto made = LtMatmul::make(library_, nullptr, gemm_of("64x64x64 f16"));
  ASSERT_TRUE(made);
  const auto proposals = made->propose({.workspace = std::uint64_t{20} << 30,
                                        .reductions = kReductionComputeType,
                                        .align_left = 2,
                                        .align_right = 16,
                                        .align_out = 64},
                                       100);
  ASSERT_TRUE(proposals) << proposals.error().message;
  EXPECT_EQ(proposals->size(), 2U);
  EXPECT_EQ((*proposals)[1].state, kNotSupported);  // the caller sees what failed
  EXPECT_EQ(state_.preferences[kPreferWorkspace], std::uint64_t{20} << 30);
  EXPECT_EQ(state_.preferences[kPreferReductions], 2U);
  EXPECT_EQ(state_.preferences[kPreferAlignmentA], 2U);
  EXPECT_EQ(state_.preferences[kPreferAlignmentB], 16U);
  EXPECT_EQ(state_.preferences[kPreferAlignmentD], 64U);
}

TEST_F(LtMatmulTest, ASwallowedWorkspaceIsAnError) {
  const auto made = LtMatmul::make(library_, nullptr, gemm_of("64x64x64 f16"));
  ASSERT_TRUE(made);
  state_.swallows_workspace = true;
  const auto proposals = made->propose({.workspace = 1 << 20}, 8);
  ASSERT_FALSE(proposals);
  EXPECT_THAT(proposals.error().message, HasSubstr("0 bytes, not 1048576"));
}

TEST_F(LtMatmulTest, NoSuggestionIsNoError) {
  const auto made = LtMatmul::make(library_, nullptr, gemm_of("64x64x64 f16"));
  ASSERT_TRUE(made);
  state_.heuristic = kNotSupported;
  EXPECT_TRUE(made->propose({}, 8).value().empty());
  state_.heuristic = 14;
  EXPECT_THAT(made->propose({}, 8).error().message, HasSubstr("INTERNAL_ERROR"));
}

TEST_F(LtMatmulTest, ConfigurationsSurviveTheLibrary) {
  const AlgoConfig config{.id = 66,
                          .tile = 20,
                          .stages = 35,
                          .split_k = 3,
                          .reduction = 2,
                          .swizzling = 1,
                          .custom = 4,
                          .inner = 2,
                          .cluster = 3};
  const auto plain = plain_algo(library_, nullptr, gemm_of("64x64x64 f16"), config.id);
  ASSERT_TRUE(plain);
  const auto algo = turned(library_, *plain, config);
  ASSERT_TRUE(algo) << algo.error().message;
  EXPECT_EQ(read_config(library_, *algo).value(), config);
  state_.refuses = kConfigCluster;
  EXPECT_TRUE(turned(library_, *algo, config));  // nothing to write
  AlgoConfig other = config;
  other.cluster = 4;
  EXPECT_FALSE(turned(library_, *algo, other));
  const auto can = read_capabilities(library_, *algo);
  ASSERT_TRUE(can);
  EXPECT_THAT(can->tiles, testing::ElementsAre(15, 18, 20));
  EXPECT_TRUE(can->split_k);
}

TEST(CublasLtLibrary, TakesOurDescriptions) {
  const auto lt = cublas_lt();
  if (!lt) GTEST_SKIP() << "no cublasLt here: " << lt.error().message;
  for (const std::string_view text :
       {"65x33x129 f16", "64x48x32 bf16 tt out=f32 batch=3", "64x64x64 f16 acc=f16"}) {
    const auto made = LtMatmul::make(**lt, nullptr, gemm_of(text));
    ASSERT_TRUE(made) << text << ": " << made.error().message;
    // Without a handle it proposes nothing, but by then it took the preferences and gave the
    // workspace limit back.
    const auto proposals = made->propose({.workspace = std::uint64_t{20} << 30}, 8);
    ASSERT_FALSE(proposals);
    EXPECT_THAT(proposals.error().message, HasSubstr("asking cublasLt for algorithms"));
  }
}

}  // namespace
}  // namespace tilewright::vendor
