// SPDX-License-Identifier: Apache-2.0
// tilewright config show: each setting, its value and where it came from.
#include "cli/command.h"

#include <fmt/format.h>

namespace tilewright {

void add_config(CLI::App& app, Cli& cli) {
  CLI::App* config = app.add_subcommand("config", "Settings and where they come from");
  config->require_subcommand(1);
  CLI::App* show = config->add_subcommand("show", "Each setting: value, origin, flag, variable");
  show->callback([&cli] {
    cli.action = [&cli]() -> Result<int> {
      for (const SettingInfo& info : kSettings) {
        print(fmt::format("{} = \"{}\"  # from {}; {}; {}\n", info.key, cli.settings.text(info.key),
                          cli.settings.origin(info.key), info.flag, info.variable));
      }
      return 0;
    };
  });
}

}  // namespace tilewright
