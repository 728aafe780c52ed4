// SPDX-License-Identifier: Apache-2.0
// The analytic cost model of CUDA programs (cost_model_cuda.cc), apart from its constants, so that
// a calibration can vary them and a test can ask for parts of an estimate.
#pragma once

#include "device/device.h"
#include "problem/problem.h"
#include "program/program.h"

namespace tilewright {

// Times in microseconds, rates in bytes per cycle and multiprocessor where not said otherwise; for
// one CTA where not said otherwise. Fitted to 1,876 programs timed on an H200 on 2026-11-29 and 30
// (tests/cases/cuda_times.txt is a part of them), but for latency90 and blend, which are set by
// hand: the fit would call rings unimportant.
struct CudaConstants {
  double launch = 0.53;     // of a kernel that touches memory, in a chain of launches
  double cta = 0.0019;      // launching one more CTA, all of the chip together
  double clock = 0.886;     // of the largest clock, when busy
  double power = 0.87;      // of the tensor peak at the largest clock, when busy
  double moving = 0.1;      // of power, for tiles of 64x128 beyond 128x256
  double chip_rate = 62.8;  // from L2, all multiprocessors busy
  double port_rate = 82;    // from L2, one multiprocessor
  double memory = 0.9;      // of the memory's bandwidth
  double kept = 0.5;        // of L2 that holds operands from wave to wave
  double blend = 4.5;       // exponent: limits that are close add up
  // sm90
  double prologue90 = 0.134;     // barriers, tensor maps
  double latency90 = 1.0;        // from asking for a stage to its products
  double cluster_latency = 2.7;  // the same with multicast
  double step90 = 0.18;          // handing a stage over
  double single_step = 0.25;     // the same where one warpgroup does all
  double drain = 0.06;           // of the products, in_flight=0
  double donate = 0.3;           // more threads, whose registers move
  double exchange_rate = 9900;   // bytes per microsecond that a warpgroup stores
  double direct_rate = 6500;
  double tma_rate = 31500;
  double tma_wait = 0.35;     // until a store by the copy engine is done
  double alone_store = 1.13;  // pingpong without tma: while the other multiplies
  double spill = 5;           // pingpong with a large tile and run-time sizes
  // sm80
  double prologue80 = 0.42;
  double latency80 = 0.5;
  double step80 = 0.07;                    // of a stage beyond its products
  double mma_base = 4.4, mma_slope = 118;  // cycles of mma.sync, by the sides of a warp's part
  double mma_alone = 1.5;                  // the same where nobody else hides latencies
  double copy_rate = 32;                   // cp.async
  double store80_rate = 2720;              // bytes per microsecond that a warp stores
  double meet = 0.27;                      // warps_k: adding up
  double direct_latency = 0.635;           // a block of 32 in K
  double direct_ahead = 0.18;              // what a further block in flight gains (exponent)
  double direct_load_rate = 38;            // 16-byte loads
  double along_n = 2.03;                   // B along N: loads of 4 and 2 bytes; latency
  double along_n_rate = 1.67;              // and throughput
  double eight = 1.19;                     // tile_n=8 beyond that
  // split K
  double cluster_reduce = 1.3;
  double cluster_rate = 7000;  // bytes per microsecond and multiprocessor
  double workspace_reduce = 1.58;
  double workspace_rate = 91000;
};

// Where the time goes, in microseconds.
struct CudaEstimate {
  double fixed = 0;    // launch, and what does not overlap
  double latency = 0;  // of the CTAs of the busiest multiprocessor, one after another
  double tensor = 0, port = 0, chip = 0, memory = 0;  // the limits of throughput
  double total = 0;
};

[[nodiscard]] CudaEstimate estimate_cuda(const Program& program, const Problem& problem,
                                         const Device& device, const CudaConstants& constants = {});

}  // namespace tilewright
