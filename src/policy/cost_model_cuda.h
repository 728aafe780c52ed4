// SPDX-License-Identifier: Apache-2.0
// The analytic cost model of CUDA programs (cost_model_cuda.cc), apart from its constants, so that
// a calibration can vary them and a test can ask for parts of an estimate.
#pragma once

#include "device/device.h"
#include "problem/problem.h"
#include "program/program.h"

namespace tilewright {

// Times in microseconds, rates in bytes per cycle and multiprocessor where not said otherwise; for
// one CTA where not said otherwise. Fitted to 2,038 programs timed on an H200 on 2026-11-29 and 30
// (tests/cases/cuda_times.txt is a part of them), but for latency90 and blend, which are set by
// hand as the fit would call rings unimportant, and for what static sizes gain and thin exchanges
// cost, which pairs of programs tell.
struct CudaConstants {
  double launch = 0.71;  // of a kernel that touches memory, in a chain of launches; sm90's barriers
  double cta = 0.00369;  // launching one more CTA, all of the chip together
  double clock = 0.886;  // of the largest clock, when busy
  double power = 0.907;  // of the tensor peak at the largest clock, when busy
  double chip_rate = 62.8;  // from L2, all multiprocessors busy
  double port_rate = 73.5;  // from L2, one multiprocessor
  double memory = 0.749;    // of the memory's bandwidth
  double kept = 0.5;        // of L2 that holds operands from wave to wave
  double blend = 4.5;       // exponent: limits that are close add up
  // sm90
  double first90 = 0.856;      // until the first stage is there
  double latency90 = 1.0;      // the same in a ring, from asking for a stage to its products
  double cluster_first = 1.9;  // the same two with multicast
  double cluster_latency = 1.15;
  double step90 = 0.166;        // handing a stage over
  double single_step = 0.269;   // the same where one warpgroup does all
  double exchange_rate = 9200;  // bytes per microsecond that a warpgroup stores
  double direct_rate = 7700;
  double tma_rate = 33300;
  double tma_wait = 0.0963;   // until a store by the copy engine is done
  double alone_store = 1.05;  // pingpong without tma: while the other multiplies
  double spill = 6.31;        // pingpong with a large tile and run-time sizes
  // Not fitted, no such program was timed yet: schedule=gather, a batch of loads through registers;
  // cp.async, bytes per cycle and element of alignment; epilogue=shared, as exchange_rate.
  double loose_latency = 0.7;
  double loose_rate = 12;
  double shared_rate = 14000;
  // Nor what copying unaligned operands first costs: its launch, and how much faster than memory it
  // is where L2 holds operands and copies.
  double pack_launch = 1.2;
  double pack_in_l2 = 2;
  // sm80
  double prologue80 = 0.291;
  double latency80 = 0.514;
  double step80 = 0.119;                    // of a stage beyond its products
  double mma_base = 4.39, mma_slope = 120;  // cycles of mma.sync, by the sides of a warp's part
  double mma_alone = 1.43;                  // the same where nobody else hides latencies
  double copy_rate = 37;                    // cp.async
  double store80_rate = 3800;               // bytes per microsecond that a warp stores
  double meet = 0.73;                       // warps_k: adding up
  double prologue_direct = 0.0828;
  double direct_latency = 0.693;   // a block of 32 in K
  double direct_ahead = 0.127;     // what a further block in flight gains (exponent)
  double direct_load_rate = 42.7;  // 16-byte loads
  double along_n = 1.48;           // B along N: loads of 4 and 2 bytes; latency
  double along_n_rate = 1.96;      // and throughput
  double eight = 1.08;             // tile_n=8 beyond that
  // split K
  double cluster_reduce = 1.49;
  double cluster_rate = 32500;    // bytes per microsecond and warpgroup
  double cluster_exchange = 0.9;  // exchanging thin slices of the sums, beside direct stores
  double workspace_reduce = 1.9;
  double workspace_rate = 104000;
  double spread_reduce = 1.9;
  // What a kernel that knows its sizes gains, and up to what part of its time.
  double static90 = 0.32, static_tile = 0.25, static_direct = 0.1;
  double static_part = 0.2;
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
