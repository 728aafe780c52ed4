// SPDX-License-Identifier: Apache-2.0
// See torch_peer.h. Answers are data from another process: every field is checked.
#include "baseline/cuda/torch_peer.h"

#include "base/embedded.h"
#include "problem/operations.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <span>

namespace tilewright {

std::span<const EmbeddedFile> torch_peer_program();  // cmake/TilewrightEmbed.cmake

namespace {

using nlohmann::json;

constexpr const char* kFix =
    "pip install torch (a build with CUDA), or set TILEWRIGHT_PYTHON to an interpreter that has it";

tl::unexpected<Error> bad_answer(std::string_view line) {
  return fail(ErrorCode::environment,
              fmt::format("the torch process answered '{}'", line.substr(0, 200)));
}

// The object that it answered, or what it complained of.
Result<json> read_answer(PeerProcess& process, std::chrono::milliseconds limit) {
  const auto line = process.receive(limit);
  if (!line) return tl::unexpected(line.error());
  json answer = json::parse(*line, nullptr, false);
  if (!answer.is_object()) return bad_answer(*line);
  if (const auto error = answer.find("error"); error != answer.end()) {
    return fail(ErrorCode::environment,
                error->is_string() ? error->get<std::string>() : error->dump());
  }
  return answer;
}

Result<json> ask(PeerProcess& process, std::chrono::milliseconds limit, const json& request) {
  if (Status s = process.send(request.dump()); !s) return tl::unexpected(s.error());
  return read_answer(process, limit);
}

std::string text_in(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "?";
}

// A list of `count` positive finite numbers.
Result<std::vector<double>> times_in(const json& object, const char* name, int count) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array() || at->size() != static_cast<std::size_t>(count)) {
    return bad_answer(object.dump());
  }
  std::vector<double> times;
  for (const json& each : *at) {
    if (!each.is_number() || !std::isfinite(each.get<double>()) || !(each.get<double>() > 0)) {
      return bad_answer(object.dump());
    }
    times.push_back(each.get<double>());
  }
  return times;
}

// What asks for operands; fields that an operation does not have are ignored there.
json opening(const Problem& p, int sets) {
  json request = {{"do", "open"},
                  {"op", operation_of(p.op).name},
                  {"m", p.m},
                  {"n", p.n},
                  {"k", p.k},
                  {"type", std::string(name_of(p.in))},
                  {"a_transposed", p.a_transposed},
                  {"b_transposed", p.b_transposed},
                  {"batch", p.batch},
                  {"sets", sets}};
  if (p.function != Function::none) request["function"] = name_of(p.function);
  if (p.op == Op::conv2d) {
    request.update({{"images", p.conv.images},
                    {"height", p.conv.height},
                    {"width", p.conv.width},
                    {"channels", p.conv.channels},
                    {"filter_height", p.conv.filter_height},
                    {"filter_width", p.conv.filter_width},
                    {"filters", p.n},
                    {"stride", p.conv.stride},
                    {"pad", p.conv.pad}});
  }
  return request;
}

std::string python_in(const TorchPeerOptions& options) {
  if (!options.python.empty()) return options.python;
  const char* chosen = std::getenv("TILEWRIGHT_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

}  // namespace

Result<TorchPeer> TorchPeer::start(const TorchPeerOptions& options) {
  const std::string program(torch_peer_program().front().text);
  auto process =
      PeerProcess::start({python_in(options), "-c", program, std::to_string(options.ordinal)});
  if (!process) {
    return fail(ErrorCode::environment, process.error().message, kFix);
  }
  TorchPeer peer(std::move(*process), options.limit);
  const auto hello = read_answer(peer.process_, options.start_limit);
  if (!hello) return fail(ErrorCode::environment, hello.error().message, kFix);
  if (!hello->contains("ready")) return bad_answer(hello->dump());
  peer.library_ =
      fmt::format("torch {} (CUDA {})", text_in(*hello, "torch"), text_in(*hello, "cuda"));
  return peer;
}

Status TorchPeer::open(const Problem& p, int sets) {
  if (const std::string reason = torch_why_not(p); !reason.empty()) {
    return fail(ErrorCode::usage, fmt::format("torch for {}: {}", to_text(p), reason));
  }
  const auto answer = ask(process_, limit_, opening(p, sets));
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<TorchSamples> TorchPeer::time(int calls, int repeats, TorchMode mode) {
  const bool wall = mode == TorchMode::wall;
  const auto answer = ask(
      process_, limit_,
      {{"do", "time"}, {"calls", calls}, {"repeats", repeats}, {"mode", wall ? "wall" : "device"}});
  if (!answer) return tl::unexpected(answer.error());
  auto seconds = times_in(*answer, "seconds", repeats);
  if (!seconds) return tl::unexpected(seconds.error());
  auto host = times_in(*answer, "host_seconds", wall ? repeats : 0);
  if (!host) return tl::unexpected(host.error());
  return TorchSamples{calls, std::move(*seconds), std::move(*host)};
}

Status TorchPeer::close() {
  const auto answer = ask(process_, limit_, {{"do", "close"}});
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<double> TorchPeer::check(int rows) {
  const auto answer = ask(process_, limit_, {{"do", "check"}, {"rows", rows}});
  if (!answer) return tl::unexpected(answer.error());
  const auto worst = answer->find("worst");
  if (worst == answer->end() || !worst->is_number()) return bad_answer(answer->dump());
  return worst->get<double>();
}

std::string torch_why_not(const Problem& p) {
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0) return "the product is empty";
  if (p.acc != Accumulator::f32) return "torch accumulates in f32";
  if (p.out != p.in) return "torch's result has the type of its operands";
  if (p.alpha != AlphaClass::one || p.beta != BetaClass::zero) {
    return "torch.matmul has neither alpha nor beta";
  }
  if (p.a_stride() != p.a_cols() || p.b_stride() != p.b_cols() || p.c_stride() != p.c_cols()) {
    return "torch is compared on packed operands only";
  }
  return {};
}

BaselineInfo torch_baseline(const Result<TorchPeer>& peer, const Problem& problem) {
  BaselineInfo info;
  info.name = "torch";
  info.headline = false;
  if (peer) {
    info.library = peer->library();
    info.why_not = torch_why_not(problem);
  } else {
    const Error& error = peer.error();
    info.why_not =
        error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
  }
  info.available = info.why_not.empty();
  return info;
}

}  // namespace tilewright
