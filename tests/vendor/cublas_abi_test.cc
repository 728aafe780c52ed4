// SPDX-License-Identifier: Apache-2.0
// Our declarations of cuBLAS and cuBLASLt against the vendor's headers, where there are some; and
// what is said of the libraries where they are absent.
#include "vendor/cublas_api.h"
#include "vendor/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#define TILEWRIGHT_HAS_CUBLAS_HEADERS 1
#else
#define TILEWRIGHT_HAS_CUBLAS_HEADERS 0
#endif

namespace tilewright::vendor {
namespace {

#if TILEWRIGHT_HAS_CUBLAS_HEADERS

// The same call: as many parameters, each of the same size and kind (an enumeration counts as the
// int that carries it, an opaque handle as the pointer that it is).
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class T>
constexpr bool kIsInteger = std::is_integral_v<T> || std::is_enum_v<T>;
template <class A, class B>
constexpr bool kSameKind =
    sizeof(A) == sizeof(B) &&
    ((std::is_pointer_v<A> && std::is_pointer_v<B>) || (kIsInteger<A> && kIsInteger<B>) ||
     (std::is_floating_point_v<A> && std::is_floating_point_v<B>));
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool kValue = [] {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return kSameKind<R, S> && (kSameKind<A, B> && ...);
  }();
};
template <class Ours, class Theirs>
constexpr bool kSame = SameCall<Ours, Theirs>::kValue;

static_assert(kSame<decltype(Cublas::Create), decltype(&cublasCreate_v2)>);
static_assert(kSame<decltype(Cublas::Destroy), decltype(&cublasDestroy_v2)>);
static_assert(kSame<decltype(Cublas::GetVersion), decltype(&cublasGetVersion_v2)>);
static_assert(kSame<decltype(Cublas::GetProperty), decltype(&cublasGetProperty)>);
static_assert(kSame<decltype(Cublas::SetStream), decltype(&cublasSetStream_v2)>);
static_assert(kSame<decltype(Cublas::SetWorkspace), decltype(&cublasSetWorkspace_v2)>);
static_assert(kSame<decltype(Cublas::SetMathMode), decltype(&cublasSetMathMode)>);
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
[[maybe_unused]] constexpr GemmEx kGemmEx = &cublasGemmEx;  // the overload that is exported
static_assert(kSame<decltype(Cublas::GemmEx), GemmEx>);
using StridedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                     int, const void*, const void*, cudaDataType, int,
                                     long long int, const void*, cudaDataType, int, long long int,
                                     const void*, void*, cudaDataType, int, long long int, int,
                                     cublasComputeType_t, cublasGemmAlgo_t);
[[maybe_unused]] constexpr StridedEx kStridedEx = &cublasGemmStridedBatchedEx;
static_assert(kSame<decltype(Cublas::GemmStridedBatchedEx), StridedEx>);

static_assert(kSame<decltype(CublasLt::Create), decltype(&cublasLtCreate)>);
static_assert(kSame<decltype(CublasLt::Destroy), decltype(&cublasLtDestroy)>);
static_assert(kSame<decltype(CublasLt::GetVersion), decltype(&cublasLtGetVersion)>);
static_assert(kSame<decltype(CublasLt::MatmulDescCreate), decltype(&cublasLtMatmulDescCreate)>);
static_assert(kSame<decltype(CublasLt::MatmulDescDestroy), decltype(&cublasLtMatmulDescDestroy)>);
static_assert(
    kSame<decltype(CublasLt::MatmulDescSetAttribute), decltype(&cublasLtMatmulDescSetAttribute)>);
static_assert(kSame<decltype(CublasLt::MatrixLayoutCreate), decltype(&cublasLtMatrixLayoutCreate)>);
static_assert(
    kSame<decltype(CublasLt::MatrixLayoutDestroy), decltype(&cublasLtMatrixLayoutDestroy)>);
static_assert(kSame<decltype(CublasLt::MatrixLayoutSetAttribute),
                    decltype(&cublasLtMatrixLayoutSetAttribute)>);
static_assert(
    kSame<decltype(CublasLt::MatmulPreferenceCreate), decltype(&cublasLtMatmulPreferenceCreate)>);
static_assert(
    kSame<decltype(CublasLt::MatmulPreferenceDestroy), decltype(&cublasLtMatmulPreferenceDestroy)>);
static_assert(kSame<decltype(CublasLt::MatmulPreferenceSetAttribute),
                    decltype(&cublasLtMatmulPreferenceSetAttribute)>);
static_assert(kSame<decltype(CublasLt::MatmulPreferenceGetAttribute),
                    decltype(&cublasLtMatmulPreferenceGetAttribute)>);
static_assert(
    kSame<decltype(CublasLt::MatmulAlgoGetHeuristic), decltype(&cublasLtMatmulAlgoGetHeuristic)>);
static_assert(kSame<decltype(CublasLt::Matmul), decltype(&cublasLtMatmul)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoGetIds), decltype(&cublasLtMatmulAlgoGetIds)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoInit), decltype(&cublasLtMatmulAlgoInit)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoCheck), decltype(&cublasLtMatmulAlgoCheck)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoCapGetAttribute),
                    decltype(&cublasLtMatmulAlgoCapGetAttribute)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoConfigSetAttribute),
                    decltype(&cublasLtMatmulAlgoConfigSetAttribute)>);
static_assert(kSame<decltype(CublasLt::MatmulAlgoConfigGetAttribute),
                    decltype(&cublasLtMatmulAlgoConfigGetAttribute)>);

static_assert(sizeof(LtAlgo) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtHeuristic, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

static_assert(kSuccess == int{CUBLAS_STATUS_SUCCESS});
static_assert(kNotSupported == int{CUBLAS_STATUS_NOT_SUPPORTED});
static_assert(int{kNoTranspose} == int{CUBLAS_OP_N} && int{kTranspose} == int{CUBLAS_OP_T});
static_assert(int{kReal32F} == int{CUDA_R_32F} && int{kReal16F} == int{CUDA_R_16F});
static_assert(int{kReal16BF} == int{CUDA_R_16BF});
static_assert(int{kCompute16F} == int{CUBLAS_COMPUTE_16F});
static_assert(int{kCompute32F} == int{CUBLAS_COMPUTE_32F});
static_assert(int{kDefaultMath} == int{CUBLAS_DEFAULT_MATH});
static_assert(int{kNoReducedPrecisionReduction} ==
              int{CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION});
static_assert(kDefaultAlgo == int{CUBLAS_GEMM_DEFAULT});
static_assert(int{kReductionInPlace} == int{CUBLASLT_REDUCTION_SCHEME_INPLACE});
static_assert(int{kReductionComputeType} == int{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
static_assert(int{kReductionOutputType} == int{CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE});
static_assert(int{kReductionAny} == int{CUBLASLT_REDUCTION_SCHEME_MASK});
static_assert(int{kDescTransA} == int{CUBLASLT_MATMUL_DESC_TRANSA});
static_assert(int{kDescTransB} == int{CUBLASLT_MATMUL_DESC_TRANSB});
static_assert(int{kLayoutBatch} == int{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT});
static_assert(int{kLayoutStride} == int{CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET});
static_assert(int{kPreferWorkspace} == int{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES});
static_assert(int{kPreferReductions} == int{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK});
static_assert(int{kPreferAlignmentA} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES});
static_assert(int{kPreferAlignmentB} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES});
static_assert(int{kPreferAlignmentC} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES});
static_assert(int{kPreferAlignmentD} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES});
static_assert(int{kCapSplitK} == int{CUBLASLT_ALGO_CAP_SPLITK_SUPPORT});
static_assert(int{kCapReductions} == int{CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK});
static_assert(int{kCapSwizzling} == int{CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT});
static_assert(int{kCapTiles} == int{CUBLASLT_ALGO_CAP_TILE_IDS});
static_assert(int{kCapCustomMax} == int{CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX});
static_assert(int{kCapStages} == int{CUBLASLT_ALGO_CAP_STAGES_IDS});
static_assert(int{kConfigId} == int{CUBLASLT_ALGO_CONFIG_ID});
static_assert(int{kConfigTile} == int{CUBLASLT_ALGO_CONFIG_TILE_ID});
static_assert(int{kConfigSplitK} == int{CUBLASLT_ALGO_CONFIG_SPLITK_NUM});
static_assert(int{kConfigReduction} == int{CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME});
static_assert(int{kConfigSwizzling} == int{CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING});
static_assert(int{kConfigCustom} == int{CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION});
static_assert(int{kConfigStages} == int{CUBLASLT_ALGO_CONFIG_STAGES_ID});
static_assert(int{kConfigInner} == int{CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID});
static_assert(int{kConfigCluster} == int{CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID});

TEST(CublasAbi, TilesAreNumberedAsInTheHeader) {
  const auto expect = [](int id, int rows, int columns) {
    EXPECT_EQ(tile_size(static_cast<std::uint32_t>(id)), (TileSize{rows, columns})) << id;
  };
  expect(CUBLASLT_MATMUL_TILE_8x8, 8, 8);
  expect(CUBLASLT_MATMUL_TILE_256x32, 256, 32);
  expect(CUBLASLT_MATMUL_TILE_8x128, 8, 128);
  expect(CUBLASLT_MATMUL_TILE_128x256, 128, 256);
  expect(CUBLASLT_MATMUL_TILE_768x64, 768, 64);
  expect(CUBLASLT_MATMUL_TILE_64x16, 64, 16);
  expect(CUBLASLT_MATMUL_TILE_128x512, 128, 512);
  expect(CUBLASLT_MATMUL_TILE_192x336, 192, 336);
  EXPECT_EQ(cluster_size(CUBLASLT_CLUSTER_SHAPE_2x4x1), (ClusterSize{2, 4}));
  EXPECT_EQ(cluster_size(CUBLASLT_CLUSTER_SHAPE_1x16x1), (ClusterSize{1, 16}));
}

#endif

TEST(CublasApi, NamesIdsThatItDoesNotKnow) {
  EXPECT_EQ(tile_text(0), "auto");
  EXPECT_EQ(tile_text(23), "128x256");
  EXPECT_EQ(tile_text(9999), "#9999");
  EXPECT_EQ(cluster_text(0), "auto");
  EXPECT_EQ(cluster_text(3), "2x1");
  EXPECT_EQ(cluster_text(1), "#1");
  EXPECT_EQ(cluster_text(40), "#40");
}

TEST(CublasApi, SaysStatusesAndVersions) {
  EXPECT_EQ(status_text(15), "CUBLAS_STATUS_NOT_SUPPORTED (15)");
  EXPECT_EQ(status_text(99), "cuBLAS status 99");
  EXPECT_TRUE(check(0, "x"));
  EXPECT_EQ(check(13, "cublasGemmEx").error().message,
            "cublasGemmEx: CUBLAS_STATUS_EXECUTION_FAILED (13)");
  EXPECT_EQ(version_text(130100), "13.1.0");
  EXPECT_EQ(version_text(120805), "12.8.5");
}

TEST(CublasApi, OpensOrSaysWhyNot) {
  const auto blas = cublas();
  const auto lt = cublas_lt();
  if (!blas) {
    EXPECT_FALSE(blas.error().message.empty());
    GTEST_SKIP() << "no cuBLAS here: " << blas.error().message;
  }
  EXPECT_THAT((*blas)->version, testing::HasSubstr("."));
  EXPECT_THAT((*blas)->path, testing::HasSubstr("cublas"));
  ASSERT_TRUE(lt) << lt.error().message;
  EXPECT_NE((*lt)->Matmul, nullptr);
  EXPECT_THAT((*lt)->path, testing::HasSubstr("cublasLt"));
}

}  // namespace
}  // namespace tilewright::vendor
