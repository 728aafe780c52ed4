// SPDX-License-Identifier: Apache-2.0
// What the checker's kernels are told, as both the host that launches them and NVRTC read it; so it
// includes nothing but what both can. Pointers are addresses on the device.
#pragma once

#include "verify/both/bit_patterns.h"
#include "verify/both/bound_arithmetic.h"
#include "verify/both/drawing.h"

namespace tilewright {

enum KernelElement : int { kElementF16, kElementBf16, kElementF32 };  // as ElementType

// A batch of matrices as they lie on the device (strided.h).
struct DeviceView {
  unsigned char* data = nullptr;
  int type = kElementF16;
  long long rows = 0, cols = 0, batches = 1;
  long long stride = 0, batch_stride = 0;  // elements
};

// Chosen indices, or all of them where the pointer is null.
struct Chosen {
  const long long* at = nullptr;
  long long count = 0;
};

// sum (and magnitude, unless null) of a strip: batches x rows x cols.
struct ProductArguments {
  DeviceView a, b;
  bool a_transposed = false, b_transposed = false;
  // Not null: B is these sums by groups of columns, [batch][k][group], with their magnitudes.
  const double* weighed = nullptr;
  const float* weighed_magnitude = nullptr;
  Chosen batches, rows, cols;
  long long k = 0;
  double* sum = nullptr;
  float* magnitude = nullptr;
};

// Weighted sums of groups of `width` elements along one axis of a matrix, for each of `outer`
// places of the other: sum[(batch * outer + o) * groups + g].
struct WeighArguments {
  DeviceView matrix;
  long long outer = 0, along = 0, width = 64, groups = 0;
  const double* weights = nullptr;
  double* sum = nullptr;
  float* magnitude32 = nullptr;  // either of these may be null
  double* magnitude64 = nullptr;
};

struct CompareArguments {
  DeviceView c;
  Chosen batches, rows, cols;
  const double* sum = nullptr;
  const float* magnitude = nullptr;  // null where exact
  Terms terms;
  Accumulation how;
  Drawing before;  // of C, needed if how.reads
  bool exact = false, with_norm = false;
  double edge = 0;
  Tally* tallies = nullptr;  // one per block
};

struct JudgeWeighedArguments {
  const double* product = nullptr;
  const float* size = nullptr;  // null where exact
  const double* got = nullptr;
  const double* got_size = nullptr;
  const double* before = nullptr;  // null unless how.reads
  const double* before_size = nullptr;
  long long count = 0, groups = 0, width = 64, n = 0, k = 0;
  Terms terms;
  Accumulation how;
  bool exact = false;
  Tally* tallies = nullptr;  // one per block; places count weighted sums
};

struct SixSums {  // InnerProducts, of one block
  double value[6];
};
struct InnerArguments {
  const double* got = nullptr;
  const double* product = nullptr;
  const double* before = nullptr;
  long long count = 0;
  SixSums* sums = nullptr;
};

// A stretch that carries the guard pattern; positions count from `base`.
struct Stretch {
  long long begin = 0, end = 0;
};
struct Broken {
  unsigned long long first = ~0ULL, last = 0, count = 0;  // positions
};
struct GuardArguments {
  unsigned char* base = nullptr;
  const Stretch* stretches = nullptr;
  long long count = 0;       // of stretches
  Broken* broken = nullptr;  // one per stretch; null: paint
};
// The gaps between the rows of one matrix.
struct GapArguments {
  unsigned char* base = nullptr;
  long long start = 0;  // of the matrix
  long long row_bytes = 0, stride_bytes = 0, rows = 0;
  Broken* broken = nullptr;  // null: paint
};

struct WorkspaceArguments {
  unsigned char* data = nullptr;
  long long bytes = 0, zeroed = 0;  // the first `zeroed` bytes stay as they are
  unsigned long long number = 0;
};

// One element gets other bits.
struct ElementChange {
  unsigned char* at = nullptr;
  int type = kElementF16;
  unsigned bits = 0;
};

}  // namespace tilewright
