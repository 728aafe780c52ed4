// SPDX-License-Identifier: Apache-2.0
// The `torch` column: torch.matmul, or torch's function for another operation, timed by a Python
// process of its own.
//
// It cannot run in our process, which holds no interpreter, so it is not paired with a candidate
// like the other baselines: its own data, its own minute. It stands beside the headline and never
// in it. The program is python/tilewright_torch_peer.py, which also documents the protocol; a copy
// is compiled in.
#pragma once

#include "baseline/baseline.h"
#include "baseline/cuda/peer_process.h"

#include <chrono>
#include <string>
#include <vector>

namespace tilewright {

struct TorchPeerOptions {
  std::string python;                              // empty: TILEWRIGHT_PYTHON, else python3
  int ordinal = 0;                                 // of the CUDA device
  std::chrono::milliseconds start_limit{120'000};  // importing torch from a cold disk
  std::chrono::milliseconds limit{60'000};         // of each answer after that
};

// device: replays of a CUDA graph that rotates over the sets, by events. wall: called from Python
// back to back, by the host's clock.
enum class TorchMode { device, wall };

struct TorchSamples {
  int calls = 0;                     // per sample
  std::vector<double> seconds;       // per call, one for each repeat
  std::vector<double> host_seconds;  // wall: of that, what issuing took the host
};

class TorchPeer {
 public:
  // An Error says what is missing: Python, torch, or torch's view of the device.
  [[nodiscard]] static Result<TorchPeer> start(const TorchPeerOptions& options = {});

  // "torch 2.9.0 (CUDA 13.0)".
  [[nodiscard]] const std::string& library() const { return library_; }
  // Makes `sets` random operand sets and runs each once.
  [[nodiscard]] Status open(const Problem& problem, int sets);
  [[nodiscard]] Result<TorchSamples> time(int calls, int repeats, TorchMode mode);
  // Frees the operands; the process waits for the next problem.
  [[nodiscard]] Status close();
  // Largest error of sampled rows against f64, as a fraction of what is permitted.
  [[nodiscard]] Result<double> check(int rows = 64);

 private:
  TorchPeer(PeerProcess process, std::chrono::milliseconds limit)
      : process_(std::move(process)), limit_(limit) {}
  PeerProcess process_;
  std::chrono::milliseconds limit_;
  std::string library_;
};

// Why torch does not compute `problem`, or empty.
[[nodiscard]] std::string torch_why_not(const Problem& problem);
// The column's row: `peer` is what start() returned.
[[nodiscard]] BaselineInfo torch_baseline(const Result<TorchPeer>& peer, const Problem& problem);

}  // namespace tilewright
