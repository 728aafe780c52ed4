/* SPDX-License-Identifier: Apache-2.0 */
/* The library from C: y = x * w + bias on the CPU, bf16 in, f32 out.
 *
 *   cc gemm.c $(pkg-config --cflags --libs tilewright) -o gemm && ./gemm
 *
 * For a GPU: options.device = 0, a stream of your own, and a, b, c, bias in that GPU's memory. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { kRows = 3, kColumns = 4, kInner = 5 };

/* bf16 is the upper half of a float; exact for the small whole numbers of this example. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tw_last_error());
  return 1;
}

int main(void) {
  uint16_t x[kRows * kInner], w[kInner * kColumns];
  float y[kRows * kColumns], bias[kColumns];
  for (int i = 0; i < kRows * kInner; ++i) x[i] = bf16((float)(i % 7 - 3));
  for (int i = 0; i < kInner * kColumns; ++i) w[i] = bf16((float)(i % 5 - 2));
  for (int i = 0; i < kColumns; ++i) bias[i] = (float)(10 * i);

  tw_options options;
  tw_options_init(&options);
  options.device = TW_DEVICE_CPU;
  tw_handle handle;
  if (tw_create(&handle, &options) != TW_OK) return failed("tw_create");

  tw_gemm_desc gemm;
  tw_gemm_desc_init(&gemm, TW_BF16, kRows, kColumns, kInner);
  gemm.out = TW_F32;
  if (tw_prepare(handle, &gemm, NULL) != TW_OK) return failed("tw_prepare");
  if (tw_gemm(handle, &gemm, 1.0f, x, w, 0.0f, y, bias, NULL) != TW_OK) return failed("tw_gemm");

  char why[2000];
  if (tw_explain(handle, &gemm, why, sizeof why, NULL) != TW_OK) return failed("tw_explain");
  printf("tilewright %s\n%s", tw_version(), why);
  tw_destroy(handle);

  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      int sum = 10 * j;
      for (int k = 0; k < kInner; ++k) {
        sum += ((i * kInner + k) % 7 - 3) * ((k * kColumns + j) % 5 - 2);
      }
      printf("%5.0f", (double)y[i * kColumns + j]);
      if (y[i * kColumns + j] != (float)sum) return printf(" is not %d\n", sum), 1;
    }
    printf("\n");
  }
  return 0;
}
