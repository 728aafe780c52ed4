/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tilewright's runtime library: half-precision matrix multiplication with kernels that were found
 * and proven for this very device.
 *
 *   D = activation(alpha * op(A) * op(B) + beta * C + bias),   D is written over C
 *
 * for each entry of a batch. This header is the whole ABI: plain C, opaque handles, status codes.
 * tilewright.hpp wraps it for C++. A first program:
 *
 * @code
 *   tw_handle handle;
 *   if (tw_create(&handle, NULL) != TW_OK) die(tw_last_error());
 *   tw_gemm_desc gemm;
 *   tw_gemm_desc_init(&gemm, TW_F16, m, n, k);          // packed, row-major, f16 in and out
 *   tw_prepare(handle, &gemm, stream);                  // optional: does all slow work ahead
 *   tw_gemm(handle, &gemm, 1.0f, a, b, 0.0f, c, NULL, stream);
 *   tw_destroy(handle);
 * @endcode
 *
 * Threads: every function may be called from several threads at once, with one handle too, except
 * tw_destroy(). Errors: a function that does not return TW_OK has written nothing to C, and
 * tw_last_error() says why on the same thread. What is done with NaN, infinities, rounding and
 * aliasing stands in docs/runtime.md.
 */
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0
#define TW_VERSION "0.1.0"

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a function returns. */
typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID = 1,       /**< an argument is wrong; tw_last_error() names it and its value */
  TW_ALIASED = 2,       /**< C overlaps A, B or the bias, or entries of C overlap each other */
  TW_UNSUPPORTED = 3,   /**< a legal product that nothing here can compute; the error says why */
  TW_NO_DEVICE = 4,     /**< no such device, or its driver is missing or too old */
  TW_NOT_PREPARED = 5,  /**< needs tw_prepare() first: the call would have to allocate or load */
  TW_OUT_OF_MEMORY = 6, /**< of the host or of the device */
  TW_FAILED = 7         /**< the driver or a library reported an error */
} tw_status;

/** What an element is: IEEE binary16, the upper half of binary32, binary32. */
typedef enum tw_type { TW_F16 = 0, TW_BF16 = 1, TW_F32 = 2 } tw_type;

/** How a matrix is stored, rows one after another. TW_N: A is m x k, B is k x n. TW_T: A is k x m,
 * B is n x k (a torch Linear's weight). C is m x n. */
typedef enum tw_layout { TW_N = 0, TW_T = 1 } tw_layout;

/** TW_F32_SUMS adds up in f32 (the default). TW_F16_SUMS allows f16 sums where the device is faster
 * with them (never on a CPU): results then lose digits and overflow at 65504. */
typedef enum tw_sums { TW_F32_SUMS = 0, TW_F16_SUMS = 1 } tw_sums;

/** gelu: x * Phi(x) with the error function, as torch.nn.GELU() has it. silu: x / (1 + exp(-x)). */
typedef enum tw_activation {
  TW_NO_ACTIVATION = 0,
  TW_RELU = 1,
  TW_GELU = 2,
  TW_SILU = 3
} tw_activation;

/** TW_FASTEST: whatever is fastest. TW_DETERMINISTIC: the same bits on every call with the same
 * sizes, whatever else the machine does. TW_BATCH_INVARIANT: besides, a row of D has the same bits
 * whatever m and batch are. Both leave the vendor's library out. */
typedef enum tw_mode { TW_FASTEST = 0, TW_DETERMINISTIC = 1, TW_BATCH_INVARIANT = 2 } tw_mode;

/** A stride of this value: rows, or batch entries, lie one after another without gaps. From entry
 * to entry that is the rows times the row stride; where that is 0, the columns. */
#define TW_PACKED ((int64_t)-1)

/** What is to be computed. Sizes may be 0. Strides count elements. No matrix may span more than
 * 2^62 bytes. Later versions add fields at the end. */
typedef struct tw_gemm_desc {
  uint32_t size;      /**< sizeof(tw_gemm_desc); tw_gemm_desc_init() sets it */
  int32_t in;         /**< tw_type of A and B: TW_F16 or TW_BF16 */
  int32_t out;        /**< tw_type of C, D and the bias: `in`'s, or TW_F32 */
  int32_t a_layout;   /**< tw_layout of A */
  int32_t b_layout;   /**< tw_layout of B */
  int32_t sums;       /**< tw_sums; TW_F16_SUMS only with `in` TW_F16 */
  int32_t activation; /**< tw_activation */
  int32_t mode;       /**< tw_mode */
  int64_t m;          /**< rows of C */
  int64_t n;          /**< columns of C */
  int64_t k;          /**< products in each sum */
  int64_t batch;      /**< how many such products */
  int64_t lda; /**< from row to row of A as it is stored: at least its columns, TW_PACKED, or 0 */
  int64_t ldb; /**< the same of B; 0: every row is the same */
  int64_t ldc; /**< the same of C; never 0 where n is not */
  int64_t stride_a; /**< from batch entry to entry of A: >= 0, or TW_PACKED; ignored for one */
  int64_t stride_b; /**< the same of B; 0: every entry is the same */
  int64_t stride_c; /**< the same of C; entries may interleave, but share no element */
} tw_gemm_desc;

/** A description of a packed, row-major product of one batch entry: `type` in and out, both
 * operands TW_N, f32 sums, no activation, TW_FASTEST. */
TW_API void tw_gemm_desc_init(tw_gemm_desc* desc, tw_type type, int64_t m, int64_t n, int64_t k);

#define TW_DEVICE_AUTO (-2) /**< the first CUDA device if it can be used, else the CPU */
#define TW_DEVICE_CPU (-1)  /**< this machine's processors */

/** How a device is opened. */
typedef struct tw_options {
  uint32_t size;  /**< sizeof(tw_options); tw_options_init() sets it */
  int32_t device; /**< a CUDA device's number, TW_DEVICE_CPU or TW_DEVICE_AUTO (the default) */
  /** CPU: most threads of one call, the caller's included; 0: the processors that this process may
   * use. */
  int32_t threads;
  /** Not 0: never call the vendor's library (cublasLt), whatever it costs. CPUs never do. */
  int32_t no_vendor;
  /** A wisdom file instead of the installed ones; NULL: those. "": none. A file that is damaged or
   * for another device is left out with a line on stderr. */
  const char* wisdom;
  /** CUDA: a folder of kernel bundles besides the installed ones, or NULL. */
  const char* kernels;
  /** CUDA: how many streams can have a workspace of their own at once; 0: 8. Calls on further
   * streams take kernels that need none. */
  int32_t streams;
  /** CUDA: bytes of each such workspace; 0: 32 MiB. */
  uint64_t workspace_bytes;
  /** CUDA: milliseconds that tw_prepare() may take to time kernels, and the vendor's library, for a
   * description of TW_FASTEST that was not tuned; 0: 50. Negative: it never does, and chooses by an
   * estimate, as tw_gemm() does for what was not prepared. */
  int64_t timing_ms;
} tw_options;

/** The defaults: TW_DEVICE_AUTO, installed wisdom, every processor that this process may use. */
TW_API void tw_options_init(tw_options* options);

/** An opened device. */
typedef struct tw_handle_s* tw_handle;

/** Opens a device, reads wisdom, loads the kernels that serve any product.
 *
 * Slow (tens of milliseconds); one handle a device and process is enough.
 * @param[out] handle the new handle; NULL after a failure
 * @param options NULL: the defaults
 * @return TW_OK, TW_INVALID, TW_NO_DEVICE, TW_OUT_OF_MEMORY, TW_FAILED */
TW_API tw_status tw_create(tw_handle* handle, const tw_options* options);

/** Gives everything back. Waits for nothing: calls must have ended, on a GPU also their work.
 * NULL is allowed. */
TW_API void tw_destroy(tw_handle handle);

/** All that is slow for calls like this one on `stream`: choosing and loading a kernel, a
 * workspace.
 *
 * Afterwards tw_gemm() with this desc, any operands, alpha, beta and bias, neither allocates nor
 * loads nor waits. On a GPU the first call for a description of TW_FASTEST chooses by timing, in
 * some 50 ms (tw_options.timing_ms) on a stream of its own, and with up to a quarter of the free
 * device memory, which it gives back. Without that tw_gemm() takes what an estimate says. Times of
 * a busy device are worth less; tw_explain() shows them. Not while `stream` is being captured.
 * @param handle the device
 * @param desc the product
 * @param stream a CUstream or cudaStream_t (NULL: the default stream); NULL on a CPU
 * @return TW_OK, TW_INVALID, TW_ALIASED, TW_UNSUPPORTED, TW_OUT_OF_MEMORY, TW_FAILED */
TW_API tw_status tw_prepare(tw_handle handle, const tw_gemm_desc* desc, void* stream);

/** D = activation(alpha * op(A) * op(B) + beta * C + bias), D written over C.
 *
 * As in BLAS: beta = 0 does not read C; alpha = 0 or k = 0 does not read A and B; what is not read
 * may be NULL. NaN and Inf of what is read propagate. Sums in f32 (tw_sums); bias and activation
 * are applied to them; then one rounding to C's type, to nearest even.
 *
 * On a GPU the work is enqueued on `stream`, and may be captured into a graph; on a CPU it is done
 * when the function returns.
 * @param handle the device
 * @param desc the product: shapes, layouts, strides
 * @param alpha factor of the product
 * @param a A, in the memory of the handle's device, aligned to its elements, no more
 * @param b B, likewise
 * @param beta factor of what C holds before
 * @param c C and D, likewise; overlaps neither A, B nor the bias in any element
 * @param bias n numbers of C's type, likewise, one for each column, or NULL
 * @param stream a CUstream or cudaStream_t (NULL: the default stream); NULL on a CPU
 * @return TW_OK; or with nothing written TW_INVALID, TW_ALIASED, TW_UNSUPPORTED, TW_NOT_PREPARED,
 * TW_OUT_OF_MEMORY, TW_FAILED */
TW_API tw_status tw_gemm(tw_handle handle, const tw_gemm_desc* desc, float alpha, const void* a,
                         const void* b, float beta, void* c, const void* bias, void* stream);

/** Which kernel would run, where it comes from (tuned here, nearest tuned, built in, the vendor's),
 * and why: lines of text, for people.
 * @param handle the device
 * @param desc the product, taken with alpha = 1 and beta = 0
 * @param[out] text receives as much as fits, with a closing 0; may be NULL if bytes is 0
 * @param bytes room in `text`
 * @param[out] needed if not NULL: the bytes that all of it takes, the closing 0 included */
TW_API tw_status tw_explain(tw_handle handle, const tw_gemm_desc* desc, char* text, size_t bytes,
                            size_t* needed);

/** How many calls were served by what, since the handle was made. Never grows: other counts would
 * get another function. */
typedef struct tw_counts {
  uint64_t exact;    /**< by the kernel that was tuned for the problem */
  uint64_t nearest;  /**< by the kernel of the nearest tuned problem */
  uint64_t built_in; /**< by a kernel that needs no tuning */
  uint64_t vendor;   /**< by the vendor's library: not ours */
  uint64_t empty;    /**< nothing to multiply: C scaled, or no element at all */
} tw_counts;
/** @return TW_OK or TW_INVALID for a NULL */
TW_API tw_status tw_get_counts(tw_handle handle, tw_counts* counts);

/** Why the last call on this thread that did not return TW_OK did not, in one line; never NULL.
 * Valid until this thread's next call that fails. */
TW_API const char* tw_last_error(void);
/** "TW_INVALID" and so on, of a tw_status. */
TW_API const char* tw_status_name(int status);
/** The library's TW_VERSION, which a program may compare with the one that it was compiled with. */
TW_API const char* tw_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TILEWRIGHT_TILEWRIGHT_H */
