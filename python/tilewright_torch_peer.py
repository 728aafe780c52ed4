# SPDX-License-Identifier: Apache-2.0
"""Times torch for Tilewright, as a process of its own (src/baseline/cuda/torch_peer.h).

One JSON object per line on stdin, one in answer on stdout; the first line out says what this is:

  {"ready": true, "torch": "2.9.0", "cuda": "13.0", "device": "NVIDIA H200"}   or   {"error": "..."}
  {"do": "open", "op": "gemm", "m": 64, "n": 64, "k": 64, "type": "f16", "a_transposed": false,
   "b_transposed": false, "batch": 1, "sets": 32}                              ->  {"ok": true}
  {"do": "open", "op": "map", "function": "gelu", "m": 64, "n": 64, "type": "f16", "sets": 32}
  {"do": "open", "op": "conv2d", "images": 8, "height": 56, "width": 56, "channels": 64,
   "filter_height": 3, "filter_width": 3, "filters": 128, "stride": 1, "pad": 1, ...}
  {"do": "time", "calls": 64, "repeats": 5, "mode": "device"}
                       ->  {"calls": 64, "seconds": [...], "host_seconds": [...]}  (per call)
  {"do": "check", "rows": 64}   ->  {"worst": 0.4}  (error over the permitted one; above 1 is wrong)
  {"do": "close"}               ->  {"ok": true}  (and the operands are freed)

`device` replays a CUDA graph of `calls` calls that rotates over the sets, between two events.
`wall` calls torch from Python back to back; host_seconds is the part of it that the host spent on
issuing. The program ends when stdin does. Needs Python 3.10 and torch, nothing else.
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
    torch.backends.cudnn.benchmark = True  # the fastest of its algorithms
    return torch, ""


DEVICE = "cuda"
SUM_UNIT = 2.0**-24  # of a sum in f32, for each term


class Gemm:
    """C = op(A) op(B)."""

    def __init__(self, torch, request):
        self.torch = torch
        self.m, self.n, self.k = request["m"], request["n"], request["k"]
        self.batch = [request["batch"]] if request["batch"] > 1 else []
        self.transposed = request["a_transposed"], request["b_transposed"]

    def operands(self, random, empty):
        def operand(rows, columns, transposed):
            shape = (columns, rows) if transposed else (rows, columns)
            stored = random(*self.batch, *shape)
            return stored.transpose(-1, -2) if transposed else stored

        a = operand(self.m, self.k, self.transposed[0])
        b = operand(self.k, self.n, self.transposed[1])
        return (a, b), empty(*self.batch, self.m, self.n)

    def call(self, a, b, out):
        return self.torch.matmul(a, b, out=out)

    def reference(self, chosen, a, b):
        left, right = a.index_select(-2, chosen).double(), b.double()
        return left @ right, 2 * self.k * SUM_UNIT * (left.abs() @ right.abs())


class Transpose:
    """C = A transposed."""

    def __init__(self, torch, request):
        self.m, self.n = request["m"], request["n"]

    def operands(self, random, empty):
        return (random(self.m, self.n),), empty(self.n, self.m)

    def call(self, a, out):
        return out.copy_(a.t())

    def reference(self, chosen, a):
        return a.t().index_select(0, chosen).double(), 0.0


class Rows:
    """What takes a row to a row or to one number: softmax, layernorm, reduce and map."""

    def __init__(self, torch, request):
        self.m, self.n = request["m"], request["n"]
        functional = torch.nn.functional
        self.name = request.get("function") or request["op"]
        self.call = {
            "softmax": lambda a, out: torch.softmax(a, -1, out=out),
            "layernorm": lambda a, b, _: functional.layer_norm(a, (self.n,), b[0], b[1], 1e-5),
            "sum": lambda a, out: torch.sum(a, -1, keepdim=True, out=out),
            "max": lambda a, out: torch.amax(a, -1, keepdim=True, out=out),
            "relu": lambda a, out: torch.clamp_min(a, 0, out=out),
            "gelu": lambda a, _: functional.gelu(a),
            "silu": lambda a, _: functional.silu(a),
        }[self.name]

    def operands(self, random, empty):
        scale_and_shift = (random(2, self.n),) if self.name == "layernorm" else ()
        columns = 1 if self.name in ("sum", "max") else self.n
        return (random(self.m, self.n), *scale_and_shift), empty(self.m, columns)

    def reference(self, chosen, a, *rest):
        """The exact result, and what arithmetic in f32 may be off by."""
        x = a.index_select(0, chosen).double()
        exact = self.call(x, *(r.double() for r in rest), x.new_empty(0))
        terms = self.n if self.name in ("sum", "layernorm") else 16
        magnitude = exact.abs()
        if self.name == "sum":
            magnitude = x.abs().sum(-1, keepdim=True)
        elif self.name == "layernorm":
            scale, shift = rest[0].double().abs()
            centred = x - x.mean(-1, keepdim=True)
            deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
            spread = centred.abs() + x.abs().mean(-1, keepdim=True)
            magnitude = scale * spread / deviation + shift
        elif self.name in ("gelu", "silu"):
            magnitude = x.abs()
        return exact, 2 * terms * SUM_UNIT * magnitude


class Conv2d:
    """NHWC by filters of height x width x channels, as channels_last tensors; the filters are
    brought into torch's order beforehand, which is not timed."""

    def __init__(self, torch, request):
        self.torch = torch
        self.input = [request[key] for key in ("images", "height", "width", "channels")]
        self.filter = [request[key] for key in ("filter_height", "filter_width")]
        self.filters = request["filters"]
        self.step = {"stride": request["stride"], "padding": request["pad"]}
        self.k = self.filter[0] * self.filter[1] * self.input[3]

    def operands(self, random, empty):
        a = random(*self.input).permute(0, 3, 1, 2)
        b = random(self.filters, *self.filter, self.input[3]).permute(0, 3, 1, 2)
        return (a, b), None  # torch makes the output

    def call(self, a, b, _):
        pixels = self.torch.nn.functional.conv2d(a, b, **self.step).permute(0, 2, 3, 1)
        return pixels.reshape(-1, self.filters)  # as C is stored: a view

    def reference(self, chosen, a, b):
        a, b = a.double(), b.double()
        exact = self.call(a, b, None).index_select(0, chosen)
        magnitude = self.call(a.abs(), b.abs(), None).index_select(0, chosen)
        return exact, 2 * self.k * SUM_UNIT * magnitude


OPERATIONS = {
    "gemm": Gemm,
    "transpose": Transpose,
    "softmax": Rows,
    "layernorm": Rows,
    "reduce": Rows,
    "map": Rows,
    "conv2d": Conv2d,
}


class Bench:
    """One problem: operands in several sets, and the graphs made of it so far."""

    def __init__(self, torch, request):
        self.torch = torch
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[request["type"]]
        self.unit = {"f16": 2.0**-11, "bf16": 2.0**-8}[request["type"]]
        self.operation = OPERATIONS[request["op"]](torch, request)

        def random(*shape):
            return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)

        def empty(*shape):
            return torch.empty(shape, device=DEVICE, dtype=dtype)

        torch.manual_seed(1)
        self.sets = [self.operation.operands(random, empty) for _ in range(request["sets"])]
        self.graphs = {}
        for index in range(len(self.sets)):
            self.call(index)
        torch.cuda.synchronize()

    def call(self, index):
        inputs, out = self.sets[index % len(self.sets)]
        return self.operation.call(*inputs, out)

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
        """Sampled rows of every set against f64: error over a unit of the result and what sums in
        f32 may be off by."""
        torch = self.torch
        worst = 0.0
        for index, (inputs, out) in enumerate(self.sets):
            if out is not None:
                out.fill_(float("nan"))
            made = self.call(index)
            total = made.shape[-2]
            picked = torch.randperm(total, device=DEVICE)[: max(0, rows - 2)]
            ends = torch.tensor([0, total - 1], device=DEVICE)
            chosen = torch.unique(torch.cat([ends, picked]))
            exact, slack = self.operation.reference(chosen, *inputs)
            allowed = self.unit * exact.abs() + slack + 2.0**-25
            error = (made.index_select(-2, chosen).double() - exact).abs() / allowed
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
