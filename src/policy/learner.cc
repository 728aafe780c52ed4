// SPDX-License-Identifier: Apache-2.0
// See learner.h.
#include "policy/learner.h"

#include "base/hash.h"
#include "program/vocabulary.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::minutes kPatience{5};  // for one answer; a loaded machine is slow
constexpr const char* kHowToBuild =
    "it is built where CMake finds LibTorch (Debian: libtorch-dev); --learner or "
    "TILEWRIGHT_LEARNER names it elsewhere";
constexpr const char* kHowToTrain =
    "`tilewright train all --out DIR` makes DIR/weights.safetensors; --weights or "
    "TILEWRIGHT_WEIGHTS names such a file";
constexpr const char* kWeightsFile = "lm.safetensors";

// A field of an answer, or the fallback where it is of another type.
template <class T>
T field(const Json& answer, const char* key, T fallback) {
  try {
    return answer.value(key, fallback);
  } catch (const Json::exception&) {
    return fallback;
  }
}

Result<Json> ask(LineProcess& process, const Json& request) {
  const Result<std::string> line =
      process.ask(request.dump(-1, ' ', false, Json::error_handler_t::replace), kPatience);
  if (!line) return tl::unexpected(line.error());
  Json answer = Json::parse(*line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok")) {
    return fail(ErrorCode::internal, fmt::format("{} said what is no answer: {}", kLearnerProgram,
                                                 line->substr(0, 100)));
  }
  if (answer["ok"] == Json(true)) return answer;
  return fail(
      ErrorCode::environment,
      fmt::format("{}: {}", kLearnerProgram, field<std::string>(answer, "error", "it failed")),
      field<std::string>(answer, "hint", ""));
}

Status done(const Result<Json>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

}  // namespace

std::string vocabulary_hash() {
  std::string all;
  for (const std::string& token : vocabulary()) all.append(token).append("\n");
  return hash128(all).substr(0, 16);
}

Result<std::filesystem::path> find_learner(const LearnerPlace& place) {
  return find_companion(kLearnerProgram, kLearnerVariable, place.program, kHowToBuild);
}

Result<std::filesystem::path> find_weights(const LearnerPlace& place) {
  std::filesystem::path named = place.weights;
  if (const char* value = std::getenv(kWeightsVariable); named.empty() && value != nullptr) {
    named = value;
  }
  std::error_code error;
  if (!named.empty()) {
    if (std::filesystem::is_regular_file(named, error)) return named;
    return fail(ErrorCode::environment, fmt::format("weights {}: no such file", named.string()),
                kHowToTrain);
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed =
      self.parent_path().parent_path() / "share/tilewright/policy" / kWeightsFile;
  if (std::filesystem::is_regular_file(installed, error)) return installed;
  return fail(ErrorCode::environment, "the policy lm has no weights", kHowToTrain);
}

Result<std::unique_ptr<Learner>> Learner::start(const LearnerPlace& place) {
  const Result<std::filesystem::path> program = find_learner(place);
  if (!program) return tl::unexpected(program.error());
  const Result<std::filesystem::path> weights = find_weights(place);
  if (!weights) return tl::unexpected(weights.error());
  LineProgram start;
  // Never on the GPU that is being measured.
  start.argv = {program->string(), "serve", "cpu"};
  start.log = place.log;
  Result<std::unique_ptr<LineProcess>> process = LineProcess::start(start);
  if (!process) return tl::unexpected(process.error());
  const Result<Json> hello = ask(**process, {{"ask", "hello"}});
  if (!hello) return tl::unexpected(hello.error());
  const bool same = field(*hello, "protocol", 0) == kLearnerProtocol &&
                    field(*hello, "language", 0) == kProgramLanguageVersion &&
                    field<std::string>(*hello, "vocabulary", "") == vocabulary_hash();
  if (!same) {
    return fail(ErrorCode::environment,
                fmt::format("{} is of another version of Tilewright", program->string()),
                "build and install both together");
  }
  if (Status s = done(ask(**process, {{"ask", "load"}, {"path", weights->string()}})); !s) {
    return tl::unexpected(s.error());
  }
  return std::unique_ptr<Learner>(new Learner(*std::move(process)));
}

Status Learner::begin(const Problem& problem, const Device& device,
                      const std::vector<std::string>* only) {
  Json request = {
      {"ask", "begin"}, {"problem", to_text(problem)}, {"device", Json::parse(to_json(device))}};
  if (only != nullptr) request["only"] = *only;
  return done(ask(*process_, request));
}

Result<std::vector<Sampled>> Learner::sample(const SampleRequest& request) {
  Json shown = Json::array();
  for (const Shown& s : request.exemplars) {
    shown.push_back({{"problem", s.problem}, {"program", s.program}, {"score", s.score}});
    if (s.profile) shown.back()["profile"] = Json::parse(to_json(*s.profile));
  }
  const Result<Json> answer = ask(*process_, {{"ask", "sample"},
                                              {"n", request.n},
                                              {"temperature", request.temperature},
                                              {"seed", request.seed},
                                              {"exemplars", shown}});
  if (!answer) return tl::unexpected(answer.error());
  const Json programs = field(*answer, "programs", Json::array());
  const Json logprobs = field(*answer, "logprobs", Json::array());
  std::vector<Sampled> out;
  for (std::size_t i = 0; i < programs.size() && i < logprobs.size(); ++i) {
    if (!programs[i].is_string() || !logprobs[i].is_number()) continue;
    out.push_back({programs[i].get<std::string>(), logprobs[i].get<double>()});
  }
  return out;
}

Status Learner::learn(std::span<const Trial> trials, int steps) {
  Json list = Json::array();
  for (const Trial& trial : trials) list.push_back(Json::parse(to_json(trial)));
  return done(ask(*process_, {{"ask", "learn"}, {"trials", list}, {"steps", steps}}));
}

Status Learner::save(const std::filesystem::path& path) {
  return done(ask(*process_, {{"ask", "save"}, {"path", path.string()}}));
}

}  // namespace tilewright
