# SPDX-License-Identifier: Apache-2.0
"""Times torch.matmul for Tilewright, as a process of its own (src/baseline/cuda/torch_peer.h).

One JSON object per line on stdin, one in answer on stdout; the first line out says what this is:

  {"ready": true, "torch": "2.9.0", "cuda": "13.0", "device": "NVIDIA H200"}   or   {"error": "..."}
  {"do": "open", "m": 64, "n": 64, "k": 64, "type": "f16", "a_transposed": false,
   "b_transposed": false, "batch": 1, "sets": 32}                              ->  {"ok": true}
  {"do": "time", "calls": 64, "repeats": 5, "mode": "device"}
                       ->  {"calls": 64, "seconds": [...], "host_seconds": [...]}  (per call)
  {"do": "check", "rows": 64}   ->  {"worst": 0.4}  (error over the permitted one; above 1 is wrong)
  {"do": "close"}               ->  {"ok": true}  (and the operands are freed)

`device` replays a CUDA graph of `calls` products that rotates over the sets, between two events.
`wall` calls torch.matmul from Python back to back; host_seconds is the part of it that the host
spent on issuing. The program ends when stdin does. Needs Python 3.10 and torch, nothing else.
"""

import json
import os
import sys
import time

# The protocol has its own copy of stdout: what a library prints goes to stderr.
out = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def reply(message):
    out.write(json.dumps(message) + "\n")
    out.flush()


def load_torch(ordinal):
    try:
        import torch
    except Exception as error:  # a broken installation raises more than ImportError
        return None, f"Python has no usable torch: {error}"
    if not torch.cuda.is_available():
        return None, f"torch {torch.__version__} sees no CUDA device"
    torch.cuda.set_device(ordinal)
    # As for the other baselines: partial sums stay in f32.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return torch, ""


class Bench:
    """One problem: operands in several sets, and the graphs made of it so far."""

    def __init__(self, torch, request):
        self.torch = torch
        self.k = request["k"]
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[request["type"]]
        self.unit = {"f16": 2.0**-11, "bf16": 2.0**-8}[request["type"]]
        batch = [request["batch"]] if request["batch"] > 1 else []

        def operand(rows, columns, transposed):
            shape = (columns, rows) if transposed else (rows, columns)
            stored = torch.randn(*batch, *shape, device="cuda", dtype=torch.float32).to(dtype)
            return stored.transpose(-1, -2) if transposed else stored

        m, n, k = request["m"], request["n"], request["k"]
        torch.manual_seed(1)
        self.sets = []
        for _ in range(request["sets"]):
            a = operand(m, k, request["a_transposed"])
            b = operand(k, n, request["b_transposed"])
            self.sets.append((a, b, torch.empty(*batch, m, n, device="cuda", dtype=dtype)))
        self.graphs = {}
        for index in range(len(self.sets)):
            self.call(index)
        torch.cuda.synchronize()

    def call(self, index):
        a, b, c = self.sets[index % len(self.sets)]
        self.torch.matmul(a, b, out=c)

    def graph(self, calls):
        if calls not in self.graphs:
            torch = self.torch
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # warms up what a capture would not allow
                for index in range(3):
                    self.call(index)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for index in range(calls):
                    self.call(index)
            graph.replay()
            torch.cuda.synchronize()
            self.graphs[calls] = graph
        return self.graphs[calls]

    def time_device(self, calls, repeats):
        torch = self.torch
        graph = self.graph(calls)
        seconds = []
        for _ in range(repeats):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            seconds.append(start.elapsed_time(end) / 1e3 / calls)
        return {"calls": calls, "seconds": seconds, "host_seconds": []}

    def time_wall(self, calls, repeats):
        torch = self.torch
        seconds, host = [], []
        for _ in range(repeats):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for index in range(calls):
                self.call(index)
            issued = time.perf_counter()
            torch.cuda.synchronize()
            end = time.perf_counter()
            seconds.append((end - start) / calls)
            host.append((issued - start) / calls)
        return {"calls": calls, "seconds": seconds, "host_seconds": host}

    def check(self, rows):
        """Sampled rows of every set against f64: error over u |ref| + 2 K 2^-24 (|A| |B|)."""
        torch = self.torch
        worst = 0.0
        for index, (a, b, c) in enumerate(self.sets):
            c.fill_(float("nan"))
            self.call(index)
            total = a.shape[-2]
            picked = torch.randperm(total, device="cuda")[: max(0, rows - 2)]
            ends = torch.tensor([0, total - 1], device="cuda")
            chosen = torch.unique(torch.cat([ends, picked]))
            left = a.index_select(-2, chosen).double()
            right = b.double()
            reference = left @ right
            magnitude = left.abs() @ right.abs()
            allowed = self.unit * reference.abs() + 2 * self.k * 2.0**-24 * magnitude + 2.0**-25
            error = (c.index_select(-2, chosen).double() - reference).abs() / allowed
            largest = error.max().item()
            if largest != largest:  # NaN: something was not written
                return {"worst": 1e300}
            worst = max(worst, largest)
        return {"worst": worst}


def answer(torch, bench, request):
    what = request.get("do")
    if what == "open":
        return Bench(torch, request), {"ok": True}
    if what == "close":
        return None, {"ok": True}
    if bench is None:
        return bench, {"error": f"'{what}' before 'open'"}
    if what == "time":
        timed = {"device": bench.time_device, "wall": bench.time_wall}[request["mode"]]
        return bench, timed(request["calls"], request["repeats"])
    if what == "check":
        return bench, bench.check(request["rows"])
    return bench, {"error": f"unknown request '{what}'"}


def main():
    ordinal = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    torch, error = load_torch(ordinal)
    if torch is None:
        reply({"error": error})
        return
    name = torch.cuda.get_device_name(ordinal)
    reply({"ready": True, "torch": torch.__version__, "cuda": torch.version.cuda, "device": name})
    bench = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request.get("do") in ("open", "close"):  # open makes room first
                bench = None
                torch.cuda.empty_cache()
            bench, message = answer(torch, bench, request)
        except Exception as failure:
            message = {"error": f"{type(failure).__name__}: {failure}"}
        reply(message)


if __name__ == "__main__":
    main()
