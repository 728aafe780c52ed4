// SPDX-License-Identifier: Apache-2.0
// Measured on an H200, 2026-11-29 and 30, or reported as best in public work; the classes are by
// the number of tiles, since what fills 132 multiprocessors decides.
#include "policy/expert_rows_cuda.h"

#include <array>

namespace tilewright {
namespace {

// The order of tiles is order_of's and the sizes are lineup.h's, where not wished; tile_n=fitted
// and tile_n=wave are worked out in experts_cuda.cc.
constexpr std::array<CudaExpert, 120> kExperts = {{
    {Regime::tiny, "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=2"},
    {Regime::tiny, "sm90 schedule=single tile_m=64 tile_n=16 tile_k=128 stages=2"},
    {Regime::tiny, "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=4"},
    {Regime::tiny,
     "sm80 form=tile tile_m=16 tile_n=64 tile_k=64 warps_m=1 warps_n=4 warps_k=1 "
     "stages=2 epilogue=shared"},
    {Regime::tiny, "sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2"},
    {Regime::tiny,
     "sm80 form=direct tile_m=16 tile_n=16 warps_k=8 ahead=2 split_k=4 reduce=cluster"},
    {Regime::tiny, "sm90 schedule=single tile_m=64 tile_n=64 tile_k=64 stages=2 epilogue=tma"},
    {Regime::few,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=8 epilogue=tma"},
    {Regime::few,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=4 "
     "epilogue=tma"},
    {Regime::few, "sm90 schedule=single tile_m=64 tile_n=32 tile_k=128 stages=4"},
    {Regime::few, "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=16 tile_k=128 stages=4"},
    {Regime::few, "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=4"},
    {Regime::few,
     "sm80 form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 "
     "stages=4 epilogue=exchange"},
    {Regime::few, "sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=12 split_k=2 "
     "reduce=cluster"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=12 split_k=8 "
     "reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=12 epilogue=tma"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=12 split_k=4 "
     "reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=64 stages=8 split_k=4 "
     "reduce=spread"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 "
     "split_k=8 reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=8 "
     "split_k=8 reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=7 "
     "split_k=2 reduce=cluster"},
    {Regime::split, "sm90 schedule=single tile_m=64 tile_n=32 tile_k=128 stages=8"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=7 "
     "split_k=2 reduce=workspace"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=6 "
     "epilogue=tma"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 "
     "split_k=16 reduce=workspace"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=6 "
     "split_k=4 reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=8 "
     "split_k=8 reduce=cluster epilogue=direct"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 "
     "split_k=4 reduce=spread"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 "
     "split_k=8 reduce=spread"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=128 stages=4 "
     "split_k=4 reduce=spread"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=8 "
     "split_k=12 reduce=spread"},
    {Regime::split,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 "
     "split_k=16 reduce=spread"},
    {Regime::split,
     "sm80 form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 "
     "stages=4 split_k=8 reduce=cluster epilogue=exchange"},
    {Regime::split,
     "sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 "
     "stages=4 fragments=double split_k=4 reduce=workspace epilogue=exchange"},
    // All tiles in one wave.
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=64 stages=8 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=12 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=8 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 in_flight=0 "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 in_flight=0 "
     "grid=tiles epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 in_flight=0 "
     "grid=tiles epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=96 tile_k=64 stages=7 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=pingpong tile_m=128 tile_n=128 tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=pingpong tile_m=128 tile_n=fitted tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=192 tile_k=64 stages=4 grid=tiles "
     "epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=192 tile_k=64 stages=6 epilogue=tma"},
    // The same in clusters: of two tiles that share an operand, one asks for it.
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "cluster=2x1 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "cluster=1x2 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=wave tile_k=64 stages=12 grid=tiles "
     "cluster=1x2 epilogue=tma"},
    // M of 128 and wide matrices of weights to stream: two rows of tiles in one wave.
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=256 tile_k=64 stages=5 epilogue=tma"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent in_flight=0 epilogue=deferred"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 split_k=2 "
     "reduce=cluster"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=8 split_k=2 "
     "reduce=spread"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 split_k=4 "
     "reduce=spread"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 split_k=4 "
     "reduce=spread"},
    {Regime::middle,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=6 epilogue=tma"},
    {Regime::middle,
     "sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
     "fragments=double epilogue=exchange"},
    {Regime::middle,
     "sm80 form=tile tile_m=16 tile_n=64 tile_k=64 warps_m=1 warps_n=2 warps_k=2 stages=4 "
     "epilogue=exchange"},
    {Regime::thin,
     "sm90 schedule=pingpong tile_m=128 tile_n=fitted tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=pingpong tile_m=128 tile_n=192 tile_k=64 stages=4 grid=persistent "
     "epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=pingpong tile_m=64 tile_n=256 tile_k=64 stages=4 grid=persistent epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=pingpong tile_m=192 tile_n=128 tile_k=64 stages=4 grid=persistent "
     "epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=pingpong tile_m=128 tile_n=128 tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent in_flight=0 epilogue=deferred"},
    {Regime::thin,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 grid=tiles "
     "in_flight=0 epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=4 grid=tiles "
     "epilogue=tma"},
    {Regime::thin,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent epilogue=tma"},
    {Regime::thin,
     "sm80 form=tile tile_m=128 tile_n=128 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
     "epilogue=shared"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent in_flight=0 epilogue=deferred"},
    {Regime::big,
     "sm90 schedule=pingpong tile_m=128 tile_n=fitted tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=192 tile_k=64 stages=3 "
     "grid=persistent in_flight=0 epilogue=tma"},
    // A last wave that is nearly empty, cut along K.
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=stream in_flight=0 epilogue=deferred"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent in_flight=0 cluster=2x1 epilogue=deferred"},
    {Regime::big,
     "sm90 schedule=pingpong tile_m=128 tile_n=192 tile_k=64 stages=4 grid=persistent "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=192 tile_k=64 stages=3 "
     "grid=persistent in_flight=0 cluster=1x2 epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 "
     "grid=stream in_flight=0 epilogue=tma"},
    {Regime::big,
     "sm90 schedule=pingpong tile_m=192 tile_n=128 tile_k=64 stages=4 grid=persistent "
     "epilogue=tma"},
    // M or N of 256, where these are one wave.
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=192 tile_k=64 stages=4 grid=tiles "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=3 tile_m=192 tile_n=128 tile_k=64 stages=4 grid=tiles "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 "
     "grid=persistent cluster=1x2 epilogue=deferred"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent cluster=2x1 epilogue=deferred"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 in_flight=0 "
     "grid=tiles epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=4 in_flight=0 "
     "grid=tiles epilogue=tma"},
    {Regime::big,
     "sm90 schedule=pingpong tile_m=128 tile_n=192 tile_k=64 stages=4 grid=persistent cluster=2x1 "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=pingpong tile_m=128 tile_n=128 tile_k=64 stages=6 grid=persistent "
     "epilogue=tma"},
    {Regime::big,
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
     "grid=persistent epilogue=tma"},
    {Regime::big,
     "sm80 form=tile tile_m=128 tile_n=128 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
     "epilogue=shared"},
    {Regime::big,
     "sm80 form=tile tile_m=128 tile_n=256 tile_k=32 warps_m=2 warps_n=4 warps_k=1 stages=3 "
     "epilogue=shared"},
    // Few rows (swapped) or columns: one tile of them, and as much of the other matrix under way as
    // fits.
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=10 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=128 tile_n=16 tile_k=64 stages=5 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=128 tile_n=32 tile_k=64 stages=4 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=5 split_k=3 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=4 split_k=3 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=8 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=12 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=10 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=2 tile_m=256 tile_n=16 tile_k=64 stages=6 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=2 tile_m=256 tile_n=32 tile_k=64 stages=6 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=128 tile_n=16 tile_k=64 stages=12 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=128 tile_n=32 tile_k=64 stages=8 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=8 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=8 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=10 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=128 tile_n=16 tile_k=64 stages=5 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=128 tile_n=32 tile_k=64 stages=4 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=5 split_k=3 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=4 split_k=3 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=8 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=12 grid=tiles"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=10 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 split_k=2 "
     "reduce=cluster"},
    {Regime::narrow,
     "sm80 form=tile tile_m=16 tile_n=64 tile_k=64 warps_m=1 warps_n=2 warps_k=2 stages=4 "
     "epilogue=exchange"},
    {Regime::narrow, "sm80 form=direct tile_m=16 tile_n=64 warps_k=4 ahead=1"},
}};

}  // namespace

std::span<const CudaExpert> cuda_expert_rows() {
  return kExperts;
}

}  // namespace tilewright
