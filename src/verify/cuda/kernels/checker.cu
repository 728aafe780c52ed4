// SPDX-License-Identifier: Apache-2.0
// All of the checker's kernels as one translation unit for NVRTC. They are ours, run in the
// parent's context and touch memory that no candidate can reach, apart from the operands. Next:
// cuda_ground.cc, which launches them.
#include "verify/cuda/kernels/judging.cuh"
#include "verify/cuda/kernels/memory.cuh"
#include "verify/cuda/kernels/product.cuh"
