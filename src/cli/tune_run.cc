// SPDX-License-Identifier: Apache-2.0
// See tune_run.h.
#include "cli/tune_run.h"

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/self_check.h"

#include <string>

namespace tilewright {

Status add_settings(TuneOptions& options, const Cli& cli) {
  Result<std::int64_t> seed = cli.settings.number("tune.seed");
  if (!seed) return tl::unexpected(seed.error());
  Result<std::int64_t> threads = cli.settings.number("execute.threads");
  if (!threads) return tl::unexpected(threads.error());
  options.seed = static_cast<std::uint64_t>(*seed);
  options.threads = static_cast<int>(*threads);
  options.runner = cli.settings.text("execute.runner");
  options.cache_directory = cli.settings.text("cache.dir");
  options.compiler = cli.settings.text("compile.cxx");
  options.cuda_compiler = cli.settings.text("compile.cuda");
  options.learner = {cli.settings.text("policy.learner"), cli.settings.text("policy.weights"), {}};
  return {};
}

Result<std::vector<TuneResult>> run_tune(const std::vector<Problem>& problems, const Device& device,
                                         Database& database, TuneOptions& options, Cli& cli,
                                         Context& context) {
  if (Status status = require_honest_baselines(cli, device, context); !status) {
    return tl::unexpected(status.error());
  }
  options.stop = &stop_on_signals();
  ProgressLine line(cli.quiet, cli.verbose);
  options.progress = [&line](const Progress& progress) { line.show(progress); };
  options.log = [&line](const std::string& text) { line.remark(text); };
  auto results = tune(problems, device, database, options);
  options.progress = nullptr;
  options.log = nullptr;
  return results;
}

}  // namespace tilewright
