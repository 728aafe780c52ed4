/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a call of cuBLAS, which counts matrices column by column, by one of ours, which counts
 * them row by row.
 *
 * The same bytes read the other way are the transpose. So cuBLAS's C (m x n) is, row by row, our
 * C^T (n x m), and C^T = op(B)^T * op(A)^T: the operands change places, and so do m and n. The ld
 * stay what they are, and so do the words: CUBLAS_OP_N is TW_N, CUBLAS_OP_T is TW_T. This call
 *
 *   cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_16BF, lda,
 *                b, CUDA_R_16BF, ldb, &beta, c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F,
 *                CUBLAS_GEMM_DEFAULT);
 *
 * becomes
 *
 *   gemm_ex(handle, TW_T, TW_N, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, stream);
 *
 * with the function below. Many programs hold row-major matrices and swap them for cuBLAS already:
 * those just call tw_gemm with what they had before they swapped. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

/* C = alpha * op(A) * op(B) + beta * C, column-major as cublasGemmEx has it; bf16 in, f32 out. */
static tw_status gemm_ex(tw_handle handle, tw_layout op_a, tw_layout op_b, int64_t m, int64_t n,
                         int64_t k, float alpha, const void* a, int64_t lda, const void* b,
                         int64_t ldb, float beta, void* c, int64_t ldc, void* stream) {
  tw_gemm_desc gemm;
  tw_gemm_desc_init(&gemm, TW_BF16, n, m, k);
  gemm.out = TW_F32;
  gemm.a_layout = op_b;
  gemm.b_layout = op_a;
  gemm.lda = ldb;
  gemm.ldb = lda;
  gemm.ldc = ldc;
  return tw_gemm(handle, &gemm, alpha, b, a, beta, c, NULL, stream);
}

enum { kM = 3, kN = 4, kK = 5, kLda = 7, kLdb = 6, kLdc = 8 };

static uint16_t bf16(float value) { /* exact for small whole numbers */
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

/* What cuBLAS would compute, as its documentation has it: element (row, column) of a column-major
 * matrix is at row + column * ld. */
static int is_right(const float* c) {
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int p = 0; p < kK; ++p) {
        const int a_at = p + i * kLda; /* CUBLAS_OP_T: A is k x m */
        const int b_at = p + j * kLdb; /* CUBLAS_OP_N: B is k x n */
        sum += (a_at % 7 - 3) * (b_at % 5 - 2);
      }
      if (c[i + j * kLdc] != (float)(2 * sum + 3)) return 0;
    }
  }
  return 1;
}

int main(void) {
  uint16_t a[kLda * kM], b[kLdb * kN];
  float c[kLdc * kN];
  for (int i = 0; i < kLda * kM; ++i) a[i] = bf16((float)(i % 7 - 3));
  for (int i = 0; i < kLdb * kN; ++i) b[i] = bf16((float)(i % 5 - 2));
  for (int i = 0; i < kLdc * kN; ++i) c[i] = 1;

  tw_options options;
  tw_options_init(&options);
  options.device = TW_DEVICE_CPU; /* a program that had cuBLAS: 0, and the GPU's memory */
  tw_handle handle;
  tw_status status = tw_create(&handle, &options);
  if (status == TW_OK) {
    status = gemm_ex(handle, TW_T, TW_N, kM, kN, kK, 2, a, kLda, b, kLdb, 3, c, kLdc, NULL);
  }
  if (status != TW_OK) {
    fprintf(stderr, "%s: %s\n", tw_status_name((int)status), tw_last_error());
    return 1;
  }
  tw_destroy(handle);
  puts(is_right(c) ? "as cuBLAS has it" : "wrong");
  return is_right(c) ? 0 : 1;
}
