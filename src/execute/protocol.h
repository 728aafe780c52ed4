// SPDX-License-Identifier: Apache-2.0
// What the parent and tilewright-runner say to each other: one JSON object a line, as pure
// functions between values and text.
//
// A reply repeats the number and the nonce of its request. The nonce is fresh for each request and
// known to the parent and the runner's own code alone, so a line that a candidate writes to the
// socket does not pass for an answer. One line has no nonce: the trap, a forbidden system call,
// written by a signal handler - whoever forges that one accuses himself.
#pragma once

#include "execute/session.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright {

// OpenRequest::arena for operands that the runner itself allocates and fills with random numbers.
inline constexpr const char* kOwnArena = "own";

// To the zygote.
struct HelloRequest {  // what isolation is in force?
  friend bool operator==(const HelloRequest&, const HelloRequest&) = default;
};
// Fork a session. Descriptors beside the line: its socket, the arena, and the binary if there is a
// candidate. The zygote answers with the pid, the child on its own socket once it is primed.
struct OpenRequest {
  std::string problem;  // to_text
  std::string device;   // to_json
  std::string launch;   // to_json; empty: no candidate
  ArenaLayout layout;
  std::vector<std::string> baselines;
  std::vector<int> cpus;
  std::uint64_t memory_limit = 0;
  // CUDA alone: which arena this is (kOwnArena: the runner makes one), and what of its workspace
  // was handed out and is zero at first.
  std::string arena;
  std::int64_t workspace_in_use = 0, workspace_zeroed = 0;
  double vendor_search = 1;             // WorkerOptions
  std::vector<std::string> algorithms;  // of each baseline, chosen earlier; empty: none
  std::vector<std::string> rivals;      // launches of further candidates, to_json
};
// Kill what is left of a session, after `grace_ms` for it to end by itself, and wait for it.
struct ReapRequest {
  std::int64_t pid = 0;
  std::int64_t grace_ms = 0;
  friend bool operator==(const ReapRequest&, const ReapRequest&) = default;
};

// To a session.
struct LoadRequest {  // lock down, then load the candidate
  friend bool operator==(const LoadRequest&, const LoadRequest&) = default;
};
struct CallRequest {
  std::string contestant;
  int set = 0;
  float alpha = 1, beta = 0;
  friend bool operator==(const CallRequest&, const CallRequest&) = default;
};
struct SizesRequest {
  std::int64_t m = 0, n = 0, k = 0;
  friend bool operator==(const SizesRequest&, const SizesRequest&) = default;
};
struct TimeRequest {
  std::vector<Burst> plan;
};
// CUDA: calls a contestant `warm` times on set 0, then once more between the driver's profiler
// marks.
struct ProfileRequest {
  std::string contestant;
  int warm = 0;
  friend bool operator==(const ProfileRequest&, const ProfileRequest&) = default;
};
struct ReprepareRequest {
  friend bool operator==(const ReprepareRequest&, const ReprepareRequest&) = default;
};
struct SyncRequest {  // nothing but an answer: shows that no line too many was written before
  friend bool operator==(const SyncRequest&, const SyncRequest&) = default;
};

using RequestBody =
    std::variant<HelloRequest, OpenRequest, ReapRequest, LoadRequest, CallRequest, SizesRequest,
                 TimeRequest, ReprepareRequest, SyncRequest, ProfileRequest>;

struct Request {
  std::uint64_t sequence = 0;
  std::string nonce;
  RequestBody body;
};

// One timed sample, without the contestant's name: the plan has it.
struct RawSample {
  int burst = 0;
  double seconds = 0;
  int calls = 1;
  std::int64_t switches = 0;
  double latency = 0;
  friend bool operator==(const RawSample&, const RawSample&) = default;
};

// One shape for every answer; what a request does not ask for stays at its default.
struct Reply {
  std::uint64_t sequence = 0;
  std::string nonce;
  std::string failure;  // empty: done. Else a word of kFailures (failures.cc)
  std::string detail;
  std::vector<RawSample> samples;       // time
  double uncounted_seconds = 0;         // time: settling, gaps and uncounted calls
  std::vector<double> prime_seconds;    // open: one run of each baseline
  std::vector<std::string> choices;     // open, CUDA: what each baseline chose
  std::vector<std::string> algorithms;  // the same exactly
  std::int64_t pid = 0;                 // open, by the zygote
  std::int64_t status = 0;              // reap: as waitpid gives it
  bool killed = false;                  // reap: it had not ended by itself
  std::int64_t strays = 0;              // reap: other processes that it left behind
  std::vector<std::string> isolation;   // hello
  std::string missing;                  // hello
  friend bool operator==(const Reply&, const Reply&) = default;
};

// Sixteen hexadecimal digits from the kernel.
[[nodiscard]] std::string fresh_nonce();

[[nodiscard]] std::string to_line(const Request& request);
[[nodiscard]] Result<Request> parse_request(std::string_view line);
[[nodiscard]] std::string to_line(const Reply& reply);
[[nodiscard]] Result<Reply> parse_reply(std::string_view line);

// The finding of a `failure` word in a reply.
[[nodiscard]] Finding finding_of(const Reply& reply);
// After such an answer the process ends.
[[nodiscard]] bool is_last(const Reply& reply);

// The line of the signal handler: `trap ` and the number of a forbidden system call.
inline constexpr std::string_view kTrapWord = "trap ";
[[nodiscard]] std::optional<int> parse_trap(std::string_view line);

}  // namespace tilewright
