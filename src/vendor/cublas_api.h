// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS and cuBLASLt that we use, opened at run time like the driver
// (device/cuda/driver.h): the program builds without a toolkit and runs without the libraries.
//
// Types and constants are declared here as the libraries' ABI has them (cuBLAS reference;
// tests/vendor/cublas_abi_test.cc compares them with the headers where there are some). Members
// of Cublas and CublasLt are entry points under the libraries' names, without prefix and version
// suffix. Next: gemm.h, lt_matmul.h.
#pragma once

#include "base/error.h"
#include "device/cuda/driver.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vendor {

using Code = int;  // cublasStatus_t
using CublasHandle = struct CublasHandle_*;
using LtHandle = struct LtHandle_*;
using LtMatmulDesc = struct LtMatmulDesc_*;
using LtLayout = struct LtLayout_*;
using LtPreference = struct LtPreference_*;

inline constexpr Code kSuccess = 0;
inline constexpr Code kNotSupported = 15;

enum Operation : int { kNoTranspose = 0, kTranspose = 1 };                    // cublasOperation_t
enum DataType : int { kReal32F = 0, kReal16F = 2, kReal16BF = 14 };           // cudaDataType_t
enum ComputeType : int { kCompute16F = 64, kCompute32F = 68 };                // cublasComputeType_t
enum MathMode : int { kDefaultMath = 0, kNoReducedPrecisionReduction = 16 };  // cublasMath_t
inline constexpr int kDefaultAlgo = -1;                                       // CUBLAS_GEMM_DEFAULT

enum ReductionScheme : std::uint32_t {  // cublasLtReductionScheme_t
  kReductionNone = 0,
  kReductionInPlace = 1,      // partial sums in the output buffer, in the output's type
  kReductionComputeType = 2,  // in the workspace, in the compute type
  kReductionOutputType = 4,   // in the workspace, in the output's type
  kReductionAny = 7,
};

enum DescAttribute : int { kDescTransA = 3, kDescTransB = 4 };  // cublasLtMatmulDescAttributes_t
enum LayoutAttribute : int { kLayoutBatch = 5, kLayoutStride = 6 };  // int32; int64 in elements
enum PreferenceAttribute : int {  // cublasLtMatmulPreferenceAttributes_t
  kPreferWorkspace = 1,           // uint64 bytes
  kPreferReductions = 3,          // uint32 mask of ReductionScheme
  kPreferAlignmentA = 5,          // uint32 bytes, A to D
  kPreferAlignmentB = 6,
  kPreferAlignmentC = 7,
  kPreferAlignmentD = 8,
};
enum CapAttribute : int {  // cublasLtMatmulAlgoCapAttributes_t
  kCapSplitK = 0,          // int32
  kCapReductions = 1,      // uint32 mask
  kCapSwizzling = 2,       // uint32: 1 where swizzling may be 1
  kCapTiles = 6,           // array of uint32
  kCapCustomMax = 7,       // int32
  kCapStages = 13,         // array of uint32
};
enum ConfigAttribute : int {  // cublasLtMatmulAlgoConfigAttributes_t
  kConfigId = 0,              // int32, read only
  kConfigTile = 1,            // uint32
  kConfigSplitK = 2,          // int32
  kConfigReduction = 3,       // uint32
  kConfigSwizzling = 4,       // uint32
  kConfigCustom = 5,          // uint32
  kConfigStages = 6,          // uint32
  kConfigInner = 7,           // uint16
  kConfigCluster = 8,         // uint16
};

struct LtAlgo {  // cublasLtMatmulAlgo_t: opaque
  std::uint64_t data[8] = {};
  friend bool operator==(const LtAlgo&, const LtAlgo&) = default;
};
struct LtHeuristic {  // cublasLtMatmulHeuristicResult_t
  LtAlgo algo;
  std::size_t workspace = 0;  // bytes that the algorithm needs
  Code state = kSuccess;      // the rest holds only if success
  float waves = 0;
  int reserved[4] = {};
};

struct Cublas {
  Code (*Create)(CublasHandle*);
  Code (*Destroy)(CublasHandle);
  Code (*GetVersion)(CublasHandle, int* version);
  Code (*GetProperty)(int part, int* value);      // 0 major, 1 minor, 2 patch; needs no handle
  Code (*SetStream)(CublasHandle, cuda::Stream);  // forgets the workspace: set it again
  Code (*SetWorkspace)(CublasHandle, void* workspace, std::size_t bytes);
  Code (*SetMathMode)(CublasHandle, int mode);
  Code (*GemmEx)(CublasHandle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algo);
  Code (*GemmStridedBatchedEx)(CublasHandle, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* a, int type_a, int lda,
                               long long stride_a, const void* b, int type_b, int ldb,
                               long long stride_b, const void* beta, void* c, int type_c, int ldc,
                               long long stride_c, int batch, int compute, int algo);

  std::string version;  // "13.1.0", as the library reports it
  std::string path;
};

struct CublasLt {
  Code (*Create)(LtHandle*);
  Code (*Destroy)(LtHandle);
  std::size_t (*GetVersion)();
  Code (*MatmulDescCreate)(LtMatmulDesc*, int compute, int scale);
  Code (*MatmulDescDestroy)(LtMatmulDesc);
  Code (*MatmulDescSetAttribute)(LtMatmulDesc, int attribute, const void*, std::size_t bytes);
  Code (*MatrixLayoutCreate)(LtLayout*, int type, std::uint64_t rows, std::uint64_t columns,
                             std::int64_t stride);
  Code (*MatrixLayoutDestroy)(LtLayout);
  Code (*MatrixLayoutSetAttribute)(LtLayout, int attribute, const void*, std::size_t bytes);
  Code (*MatmulPreferenceCreate)(LtPreference*);
  Code (*MatmulPreferenceDestroy)(LtPreference);
  Code (*MatmulPreferenceSetAttribute)(LtPreference, int attribute, const void*, std::size_t bytes);
  Code (*MatmulPreferenceGetAttribute)(LtPreference, int attribute, void*, std::size_t bytes,
                                       std::size_t* written);
  Code (*MatmulAlgoGetHeuristic)(LtHandle, LtMatmulDesc, LtLayout a, LtLayout b, LtLayout c,
                                 LtLayout d, LtPreference, int requested, LtHeuristic*,
                                 int* returned);
  Code (*Matmul)(LtHandle, LtMatmulDesc, const void* alpha, const void* a, LtLayout, const void* b,
                 LtLayout, const void* beta, const void* c, LtLayout, void* d, LtLayout,
                 const LtAlgo*, void* workspace, std::size_t bytes, cuda::Stream);
  Code (*MatmulAlgoGetIds)(LtHandle, int compute, int scale, int type_a, int type_b, int type_c,
                           int type_d, int requested, int* ids, int* returned);
  Code (*MatmulAlgoInit)(LtHandle, int compute, int scale, int type_a, int type_b, int type_c,
                         int type_d, int id, LtAlgo*);
  Code (*MatmulAlgoCheck)(LtHandle, LtMatmulDesc, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                          const LtAlgo*, LtHeuristic*);
  Code (*MatmulAlgoCapGetAttribute)(const LtAlgo*, int attribute, void*, std::size_t bytes,
                                    std::size_t* written);
  Code (*MatmulAlgoConfigSetAttribute)(LtAlgo*, int attribute, const void*, std::size_t bytes);
  Code (*MatmulAlgoConfigGetAttribute)(const LtAlgo*, int attribute, void*, std::size_t bytes,
                                       std::size_t* written);

  std::string version;
  std::string path;
};

// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
[[nodiscard]] std::string status_text(Code status);
// Success, or an Error "what: status".
[[nodiscard]] Status check(Code status, std::string_view what);
// 130100 and 120805 as "13.1.0" and "12.8.5", 120100 as "12.1.0".
[[nodiscard]] std::string version_text(std::size_t version);

// Opened once per process, or why not. Opening maps some 600 MB of code: only after it is known
// that there is a device.
[[nodiscard]] Result<const Cublas*> cublas();
[[nodiscard]] Result<const CublasLt*> cublas_lt();

}  // namespace tilewright::vendor
