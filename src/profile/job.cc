// SPDX-License-Identifier: Apache-2.0
// Implementation of job.h: the lines of execute/protocol.h, in a file.
#include "profile/job.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/cuda/device_arena.h"
#include "launch/cuda/call.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

struct Space {
  std::int64_t bytes = 0, zeroed = 0;
};

Result<Space> workspace_of(const Job& job) {
  if (job.candidate == nullptr) return Space{};
  const Launch& launch = job.candidate->launch;
  const int sms = job.device.cuda.multiprocessors;
  const std::int64_t slots = slots_bound(launch, job.problem, job.device.cuda);
  const auto bytes = workspace_bytes(launch, job.problem, sms, slots);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto zeroed = zeroed_bytes(launch, job.problem, sms, slots);
  if (!zeroed) return tl::unexpected(zeroed.error());
  return Space{*bytes, *zeroed};
}

}  // namespace

std::string contestant_of(const Job& job) {
  return job.candidate != nullptr ? "candidate" : job.baseline;
}

std::vector<std::string> JobFiles::command(const std::filesystem::path& runner) const {
  std::vector<std::string> argv = {runner.string(), "--script", requests.string(),
                                   replies.string()};
  if (!cubin.empty()) argv.push_back(cubin.string());
  return argv;
}

Result<JobFiles> write_job(const Job& job, RequestBody question,
                           const std::filesystem::path& folder) {
  const auto space = workspace_of(job);
  if (!space) return tl::unexpected(space.error());
  const auto layout = device_layout(job.problem, job.sets, space->bytes);
  if (!layout) return tl::unexpected(layout.error());
  OpenRequest open;
  open.problem = to_text(job.problem);
  open.device = to_json(job.device);
  open.layout = *layout;
  open.arena = kOwnArena;
  open.workspace_in_use = space->bytes;
  open.workspace_zeroed = space->zeroed;
  open.vendor_search = job.vendor_search;
  JobFiles files{folder / "requests", folder / "replies", {}};
  if (job.candidate != nullptr) {
    open.launch = to_json(job.candidate->launch);
    files.cubin = job.candidate->path;
  } else {
    open.baselines = {job.baseline};
  }
  std::string lines;
  std::uint64_t number = 0;
  for (RequestBody& body : std::vector<RequestBody>{open, LoadRequest{}, std::move(question)}) {
    lines += to_line(Request{++number, "script", std::move(body)}) + "\n";
  }
  if (Status s = write_file_atomically(files.requests, lines); !s) return tl::unexpected(s.error());
  std::error_code ignored;
  std::filesystem::remove(files.replies, ignored);
  return files;
}

Result<JobReplies> read_replies(const JobFiles& files) {
  const auto text = read_file(files.replies);
  if (!text) return tl::unexpected(text.error());
  JobReplies found;
  int count = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    auto reply = parse_reply(line);
    if (!reply) return tl::unexpected(reply.error());
    ++count;
    if (!reply->choices.empty()) found.choice = reply->choices.front();
    if (!reply->samples.empty()) found.samples = std::move(reply->samples);
    found.finding = finding_of(*reply);
    if (!found.finding.ok()) return found;
  }
  if (count < 3) {
    found.finding = {Outcome::crash, "runner-exit",
                     fmt::format("the runner answered {} of 3 requests", count)};
  }
  return found;
}

}  // namespace tilewright
