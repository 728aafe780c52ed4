// SPDX-License-Identifier: Apache-2.0
// What decides a kernel of the family sm90 (sm90_gemm.cuh), and what a launch gives it.
#pragma once

#include "generate/cuda/device/sm90_epilogue.cuh"
#include "generate/cuda/device/sm90_gather.cuh"
#include "generate/cuda/device/stream_k.cuh"

namespace tw {

enum class Schedule { single, cooperative, pingpong, gather };

// Everything that a program decides (program/family_sm90.cc), and what the problem fixes.
struct Sm90Config {
  Type in = Type::f16, out = Type::f16;
  bool f16_sums = false, scaled = false, served = false;
  bool a_along_k = true, b_along_k = false;
  int tile_m = 128, tile_n = 128, tile_k = 64, stages = 4;
  Schedule schedule = Schedule::cooperative;
  bool swapped = false;  // sizes and tiles are of C^T, which is stored as C
  int consumers = 2;  // warpgroups that multiply
  int cluster_m = 1, cluster_n = 1;
  bool persistent = false;
  bool stream = false;  // and tiles that fill no wave are cut along K (stream_k.cuh)
  int in_flight = 1;  // groups of wgmma under way when a stage is waited for
  int group = 1;
  bool raster_n = false, blocks = false;
  int split = 1;
  Reduce reduce = Reduce::none;
  Epilogue epilogue = Epilogue::direct;
  int vector_c = 8;
  // schedule=gather: which operands are copied by threads, and elements by which they divide.
  bool gather_a = false, gather_b = false;
  int vector_a = 8, vector_b = 8;
  // Which maps are of copies (repack.cuh). Sizes::sa and sb then say by how many of the copy's
  // entries one entry of the batch is further: 0 if all are the same.
  bool packed_a = false, packed_b = false;
  int static_m = 0, static_n = 0, static_k = 0;
};

template <bool kServed, bool kGathers>
struct Sm90Arguments {
  const TensorMap& map_a;
  const TensorMap& map_b;
  const TensorMap& map_c;  // tma epilogue only, else any
  void* c;
  Workspace workspace;
  Sizes sizes;
  int batch;
  float alpha, beta;
  Served<kServed> served = {};
  GatherSource<kGathers> source = {};
};

}  // namespace tw
