// SPDX-License-Identifier: Apache-2.0
// tilewright train: the stages of the language model's training. They run in tilewright-learner,
// which has LibTorch; this command reads the flags, then becomes that program.
#include "cli/command.h"

#include "policy/learner.h"

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tilewright {
namespace {

struct TrainFlags {
  std::vector<std::string> stages, trials, numbers;
  std::string out, size = "xs", compute = "auto", mode = "offline";
  bool force = false;
};

Result<int> train_command(const Cli& cli, const TrainFlags& flags) {
  const Result<std::filesystem::path> learner =
      find_learner({cli.settings.text("policy.learner"), {}, {}});
  if (!learner) return tl::unexpected(learner.error());
  const Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  const Result<std::int64_t> seed = cli.settings.number("tune.seed");
  if (!seed) return tl::unexpected(seed.error());
  const nlohmann::json request = {{"stages", flags.stages},
                                  {"out", flags.out},
                                  {"size", flags.size},
                                  {"seed", *seed},
                                  {"compute", flags.compute},
                                  {"mode", flags.mode},
                                  {"trials", flags.trials},
                                  {"set", flags.numbers},
                                  {"force", flags.force},
                                  {"quiet", cli.quiet},
                                  {"device", nlohmann::json::parse(to_json(*device))}};
  std::string program = learner->string(), verb = "train", text = request.dump();
  char* argv[] = {program.data(), verb.data(), text.data(), nullptr};
  std::fflush(nullptr);
  ::execv(argv[0], argv);
  return fail(ErrorCode::environment,
              fmt::format("cannot run {}: {}", program, std::strerror(errno)));
}

}  // namespace

void add_train(CLI::App& app, Cli& cli) {
  CLI::App* command = app.add_subcommand(
      "train",
      "Train the language model of the policy lm\n\n"
      "Examples:\n"
      "  tilewright train all --out run --trials trials.jsonl.gz\n"
      "  tilewright train corpus pretrain --out run --size s --device devices/h200.json\n"
      "  tilewright train rl --out run --set iterations=100 --set samples=16\n"
      "  tilewright policy-bench --policies lm,evolve --weights run/weights.safetensors\n\n"
      "Stages: corpus (programs with scores, from the cost model and from recorded trials), "
      "pretrain, sft (the best of what was measured), rl (reinforcement on the tables of shapes "
      "that are not held out) and ei (expert iteration, its control). The same command again goes "
      "on where it was stopped. Reinforcement on other kernels than matrix products is not built. "
      "docs/policy.md has the protocol and what the numbers of --set mean.");
  const auto flags = std::make_shared<TrainFlags>();
  command
      ->add_option("stage", flags->stages, "all, or stages: corpus, pretrain, sft, general, rl, ei")
      ->required();
  command->add_option("--out", flags->out, "Folder of the run")->required();
  command->add_option("--trials", flags->trials,
                      "Recorded trials: .jsonl or .jsonl.gz files, or databases; of the device of "
                      "--device. Tables of at least 16 programs are what rl learns on");
  command->add_option("--size", flags->size, "Of the model: xs, s, m or l")->capture_default_str();
  command->add_option("--compute", flags->compute, "Train on cpu, cuda, cuda:N, or auto")
      ->capture_default_str();
  command->add_option("--mode", flags->mode, "Mode of the trials")->capture_default_str();
  command->add_option("--set", flags->numbers, "A number of the plan, NAME=VALUE; may be repeated");
  command->add_flag("--force", flags->force, "Go on behind a gate that failed");
  command->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return train_command(cli, *flags); }; });
}

}  // namespace tilewright
