// SPDX-License-Identifier: Apache-2.0
// The analytic cost model of CUDA programs (cost_model_cuda.cc), apart from its constants, so that
// a calibration can vary them and a test can ask for parts of an estimate.
#pragma once

#include "device/device.h"
#include "problem/problem.h"
#include "program/program.h"

namespace tilewright {

// Times in microseconds, rates in bytes per cycle and multiprocessor where not said otherwise; for
// one CTA where not said otherwise. Fitted to programs timed on an H200 on 2026-11-29 and 30: those
// of sm90 and what all share to 6,732 of device headers 4 (tests/cases/cuda_times.txt is a part of
// them), those of sm80 to 2,038 before; but for clock and blend, which are set by hand, and for
// what thin exchanges cost, which pairs of programs tell.
struct CudaConstants {
  double launch =
      0.801;            // of a kernel that touches memory, in a chain of launches; sm90's barriers
  double cta = 0.0082;  // launching one more CTA, all of the chip together
  double persistent = 0.991;  // what a persistent kernel costs beyond that
  double clock = 0.886;       // of the largest clock, when busy
  double power = 0.848;       // of the tensor peak at the largest clock, when busy
  double chip_rate = 89.2;    // from L2, all multiprocessors busy
  double port_rate = 89.7;    // from L2, one multiprocessor
  double memory = 0.85;       // of the memory's bandwidth
  double kept = 0.00788;      // of L2 that holds operands from wave to wave
  double blend = 4.5;         // exponent: limits that are close add up
  // sm90
  double first90 = 0.778;       // until the first stage is there
  double latency90 = 0.955;     // the same in a ring, from asking for a stage to its products
  double cluster_first = 2.62;  // the same two with multicast
  double cluster_latency = 1.2;
  double step90 = 0.0911;        // handing a stage over
  double single_step = 0.173;    // the same where one warpgroup does all
  double exchange_rate = 18000;  // bytes per microsecond that a warpgroup stores
  double direct_rate = 6820;
  double tma_rate = 29600;
  double tma_wait = 0.001;    // until a store by the copy engine is done
  double alone_store = 1.05;  // pingpong without tma: while the other multiplies
  double slice_rate = 60000;  // grid=stream: bytes per microsecond of f32 sums, to L2 and from it
  // Not fitted: slice_rate, set by hand; and, since no such program was timed yet, schedule=gather,
  // a batch of loads through registers; cp.async, bytes per cycle and element of alignment;
  // epilogue=shared, as exchange_rate.
  double loose_latency = 0.7;
  double loose_rate = 12;
  double shared_rate = 14000;
  // Nor what copying unaligned operands first costs: its launch, and how much faster than memory it
  // is where L2 holds operands and copies.
  double pack_launch = 1.2;
  double pack_in_l2 = 2;
  // sm80
  double prologue80 = 0.544;
  double latency80 = 0.224;
  double step80 = 0.156;                    // of a stage beyond its products
  double mma_base = 4.48, mma_slope = 120;  // cycles of mma.sync, by the sides of a warp's part
  double mma_alone = 1.43;                  // the same where nobody else hides latencies
  double copy_rate = 34.6;                  // cp.async
  double store80_rate = 2560;               // bytes per microsecond that a warp stores
  double meet = 0.169;                      // warps_k: adding up
  double prologue_direct = 0.0828;
  double direct_latency = 0.738;   // a block of 32 in K
  double direct_ahead = 0.127;     // what a further block in flight gains (exponent)
  double direct_load_rate = 42.7;  // 16-byte loads
  double along_n = 1.48;           // B along N: loads of 4 and 2 bytes; latency
  double along_n_rate = 1.96;      // and throughput
  double eight = 1.08;             // tile_n=8 beyond that
  // split K
  double cluster_reduce = 1.66;
  double odd_cluster = 0.405;
  double cluster_rate = 34400;    // bytes per microsecond and warpgroup
  double cluster_exchange = 0.9;  // exchanging thin slices of the sums, beside direct stores
  double workspace_reduce = 1.88;
  double workspace_rate = 130000;
  double spread_reduce = 3.01;
  // What a kernel that knows its sizes gains, and up to what part of its time.
  double static90 = 0.26, static_tile = 0.25, static_direct = 0.1;
  double static_part = 0.2;
};

// How many rows and columns of C's operands 16 CTAs that follow each other read, which share a GPC
// and fetch them once (raster.cuh): tiles of tile_m x tile_n, rows x columns of them.
struct TileOrder {
  double tile_m = 0, tile_n = 0, rows = 0, columns = 0;
  bool along_n = false;
  double group = 1;
};
[[nodiscard]] double reads_of_gpc(const TileOrder& order);

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
