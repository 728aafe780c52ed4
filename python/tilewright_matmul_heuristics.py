# SPDX-License-Identifier: Apache-2.0
"""Asks NVIDIA's nvMatmulHeuristics which kernels it would run (src/policy/heuristics.cc).

One JSON object as the argument, one in answer on stdout:

  {"gpu": 9003, "precision": "HSH", "m": 64, "n": 64, "k": 64, "batch": 1, "layout": 0, "count": 32}
  {"kernels": [{"tile": [128, 128, 64], "warp": [64, 64, 32], "split": 1, "stages": 7, "swizzle": 1,
                "along_n": true, "cluster": [2, 1]}, ...]}                 or   {"error": "..."}

It needs no GPU. A process of its own, which leaves without the library's destructors: those of
0.1.0 crash where there is no driver. Needs Python 3.9 and `pip install nvidia-matmul-heuristics`.
"""

import ctypes
import importlib.util
import json
import os
import pathlib
import sys

CUTLASS3 = 4  # the target whose kernels are built like ours: tensor copies and wgmma
REFINED = 4  # candidates sorted by its timing model


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("m", "n", "k", "batch")]
    _fields_ += [("layout", ctypes.c_uint8)]


class Kernel(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint16 * 3) for name in ("cta", "warp", "instruction")]
    _fields_ += [("split", ctypes.c_uint16)]
    _fields_ += [(name, ctypes.c_uint8) for name in ("stages", "swizzle", "order")]
    _fields_ += [("cluster", ctypes.c_uint8 * 2)]


def library():
    try:
        found = importlib.util.find_spec("nvidia.nvMatmulHeuristics")
    except ModuleNotFoundError:
        found = None
    for folder in found.submodule_search_locations or [] if found else []:
        for path in sorted(pathlib.Path(folder, "lib").glob("libnvMatmulHeuristics.so*")):
            return ctypes.CDLL(str(path))
    return None


def answer(request):
    lib = library()
    if lib is None:
        return {"error": "Python has no package nvidia-matmul-heuristics"}
    hardware = ctypes.c_void_p()
    done = lib.nvMatmulHeuristicsHardwareDescriptorCreate(ctypes.byref(hardware))
    if done == 1:
        done = lib.nvMatmulHeuristicsHardwareDescriptorSetPredefinedGpu(hardware, request["gpu"])
    if done != 1:
        return {"error": f"nvMatmulHeuristics knows no GPU {request['gpu']} (status {done})"}
    problem = Problem(*(request[name] for name in ("m", "n", "k", "batch", "layout")))
    kernels = (Kernel * request["count"])()
    count = lib.nvMatmulHeuristicsGetGemmConfig(
        None, request["precision"].encode(), REFINED, CUTLASS3, ctypes.byref(problem), kernels,
        len(kernels), hardware)
    return {"kernels": [{"tile": list(k.cta), "warp": list(k.warp), "split": k.split,
                         "stages": k.stages, "swizzle": k.swizzle, "along_n": k.order == 0,
                         "cluster": list(k.cluster)} for k in kernels[:count]]}


try:
    reply = answer(json.loads(sys.argv[1]))
except Exception as error:  # whatever a broken installation raises
    reply = {"error": f"{type(error).__name__}: {error}"}
print(json.dumps(reply), flush=True)
os._exit(0)
