// SPDX-License-Identifier: Apache-2.0
// See stage.h.
#include "train/stage.h"

#include "base/file.h"
#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <numeric>

namespace tilewright {
namespace {

using Json = nlohmann::json;
constexpr int kLinesOfProgress = 20;  // of a stage

// The log up to a step: what a run that goes on writes behind.
Status keep_log(const std::filesystem::path& path, std::int64_t step) {
  std::error_code error;
  std::string kept;
  if (std::filesystem::exists(path, error)) {
    const Result<std::string> text = read_file(path);
    if (!text) return tl::unexpected(text.error());
    for (const std::string_view line : split(*text, '\n')) {
      const Json entry = Json::parse(line, nullptr, false);
      if (!entry.is_object() || !entry.contains("step") || !entry["step"].is_number()) continue;
      if (entry["step"].get<double>() <= static_cast<double>(step)) kept.append(line).append("\n");
    }
  }
  return write_file_atomically(path, kept);
}

tl::unexpected<Error> interrupted(std::string_view stage, std::int64_t step) {
  return fail(ErrorCode::interrupted, fmt::format("stopped in stage {} at step {}", stage, step),
              "the same command goes on from there");
}

}  // namespace

Rng rng_of(std::uint64_t seed, std::string_view stage, std::int64_t number, std::uint64_t part) {
  std::uint64_t stream = 1469598103934665603ULL;  // FNV-1a
  for (const char c : stage) {
    stream =
        (stream ^ static_cast<std::uint64_t>(static_cast<unsigned char>(c))) * 1099511628211ULL;
  }
  return Rng(seed, stream + (part << 40U) + static_cast<std::uint64_t>(number));
}

std::string line_of(const Numbers& numbers) {
  std::string out;
  for (const auto& [name, value] : numbers) {
    out += fmt::format("{}{} {:.4g}", out.empty() ? "" : "  ", name, value);
  }
  return out;
}

Result<Gate> run_stage(TrainingStage& stage, Trainer& trainer, const StageRoom& room) {
  const std::filesystem::path log = room.folder / "log.jsonl";
  const std::filesystem::path checkpoint = room.folder / "checkpoint";
  if (Status s = stage.begin(); !s) return tl::unexpected(s.error());
  std::int64_t step = 0;
  std::error_code error;
  if (std::filesystem::exists(checkpoint / "trainer.safetensors", error)) {
    const Result<std::string> notes = trainer.load(checkpoint);
    if (!notes) return tl::unexpected(notes.error());
    const Json all = Json::parse(*notes, nullptr, false);
    if (!all.is_object() || all.value("stage", "") != stage.name()) {
      return fail(
          ErrorCode::refused,
          fmt::format("{}: not a checkpoint of stage {}", checkpoint.string(), stage.name()),
          "remove that folder to begin the stage anew");
    }
    step = all.value("step", std::int64_t{0});
    if (Status s = stage.restore(all.value("notes", "")); !s) return tl::unexpected(s.error());
    if (room.log) room.log(fmt::format("{}: goes on after step {}", stage.name(), step));
  }
  if (Status s = keep_log(log, step); !s) return tl::unexpected(s.error());
  const auto save = [&] {
    const Json notes = {{"stage", stage.name()}, {"step", step}, {"notes", stage.notes()}};
    return trainer.save(checkpoint, notes.dump());
  };
  const std::int64_t often = std::max<std::int64_t>(1, stage.steps() / kLinesOfProgress);
  const auto begun = std::chrono::steady_clock::now();
  const std::int64_t first = step;
  while (step < stage.steps()) {
    const Result<Numbers> numbers = stage.step(step);
    if (!numbers) return tl::unexpected(numbers.error());
    ++step;
    if (room.fault && room.fault("step", step)) return interrupted(stage.name(), step);
    Json line = {{"step", step}};
    for (const auto& [name, value] : *numbers) line[name] = value;
    std::ofstream(log, std::ios::app) << line.dump() << "\n";
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
    if (room.log && (step % often == 0 || step == stage.steps())) {
      const double left = spent.count() / static_cast<double>(step - first) *
                          static_cast<double>(stage.steps() - step);
      room.log(fmt::format("{} {}/{}  {}  ({:.0f} s left)", stage.name(), step, stage.steps(),
                           line_of(*numbers), left));
    }
    const bool stop = room.stop && room.stop();
    if (stop || step % stage.save_every() == 0 || step == stage.steps()) {
      if (Status s = save(); !s) return tl::unexpected(s.error());
      if (room.fault && room.fault("saved", step)) return interrupted(stage.name(), step);
    }
    if (stop && step < stage.steps()) return interrupted(stage.name(), step);
  }
  return stage.gate();
}

}  // namespace tilewright
