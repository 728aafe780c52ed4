// SPDX-License-Identifier: Apache-2.0
// tilewright wisdom: the winners as a file that people pass on.
#include "cli/command.h"
#include "cli/installed_wisdom.h"

#include "base/file.h"
#include "program/program.h"
#include "record/wisdom.h"

#include <fmt/format.h>

#include <memory>

namespace tilewright {
namespace {

struct WisdomFlags {
  std::vector<std::string> files;
  std::string output;
};

Status write(const Wisdom& wisdom, const std::string& output) {
  if (!output.empty()) return write_file_atomically(output, to_text(wisdom));
  print(to_text(wisdom));
  return {};
}

Result<int> export_command(const Cli& cli, const WisdomFlags& flags) {
  Result<Database> database = open_database(cli, Database::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  Result<Wisdom> wisdom = export_wisdom(*database, *device);
  if (!wisdom) return tl::unexpected(wisdom.error());
  if (Status status = write(*wisdom, flags.output); !status) return tl::unexpected(status.error());
  note(cli, fmt::format("{} winners", wisdom->entries.size()));
  return 0;
}

// Whole file or nothing: text, hash, device, and that every program is one we can read.
Result<Wisdom> read_whole(const std::string& file, const Device& device) {
  Result<Wisdom> wisdom = load_wisdom(file, device);
  if (!wisdom) return fail(ErrorCode::refused, wisdom.error().message, wisdom.error().hint);
  for (const WisdomEntry& entry : wisdom->entries) {
    if (const Result<Program> program = parse_program(entry.program); !program) {
      return fail(ErrorCode::refused,
                  fmt::format("{}: {}: {}", file, entry.problem, program.error().message));
    }
  }
  return wisdom;
}

Result<int> check_command(const Cli& cli, const WisdomFlags& flags) {
  Result<Device> device = this_device(cli, Described::allowed);
  if (!device) return tl::unexpected(device.error());
  for (const std::string& file : flags.files) {
    Result<Wisdom> wisdom = read_whole(file, *device);
    if (!wisdom) return tl::unexpected(wisdom.error());
    print(fmt::format("{}: {} winners for this device\n", file, wisdom->entries.size()));
  }
  return 0;
}

// All files are read before the first byte is written, so an import is all or nothing.
Result<int> import_command(const Cli& cli, const WisdomFlags& flags) {
  const Result<Device> found = this_device(cli, Described::allowed);
  if (!found) return tl::unexpected(found.error());
  const Device& device = *found;
  Result<std::filesystem::path> path = installed_wisdom_path(device);
  if (!path) return tl::unexpected(path.error());
  Wisdom all;
  all.device = device;
  std::vector<std::string> files = flags.files;
  std::error_code ignored;
  if (std::filesystem::exists(*path, ignored)) files.insert(files.begin(), path->string());
  for (const std::string& file : files) {
    Result<Wisdom> wisdom = read_whole(file, device);
    if (!wisdom) return tl::unexpected(wisdom.error());
    Result<Wisdom> merged = merge(all, *wisdom);
    if (!merged) return tl::unexpected(merged.error());
    all = *std::move(merged);
  }
  if (Status status = write_file_atomically(*path, to_text(all)); !status) {
    return tl::unexpected(status.error());
  }
  print(fmt::format("{}: {} winners\n", path->string(), all.entries.size()));
  return 0;
}

Result<int> merge_command(const WisdomFlags& flags) {
  std::optional<Wisdom> all;
  for (const std::string& file : flags.files) {
    Result<std::string> text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    Result<Wisdom> wisdom = parse_wisdom(*text);
    if (!wisdom) {
      return fail(ErrorCode::refused, fmt::format("{}: {}", file, wisdom.error().message),
                  wisdom.error().hint);
    }
    if (!all) {
      all = *std::move(wisdom);
      continue;
    }
    Result<Wisdom> merged = merge(*all, *wisdom);
    if (!merged) return tl::unexpected(merged.error());
    all = *std::move(merged);
  }
  if (Status status = write(*all, flags.output); !status) return tl::unexpected(status.error());
  return 0;
}

}  // namespace

void add_wisdom(CLI::App& app, Cli& cli) {
  CLI::App* wisdom =
      app.add_subcommand("wisdom",
                         "The winners of a machine as a small text file\n\nExamples:\n"
                         "  tilewright wisdom export --output wisdom.txt\n"
                         "  tilewright wisdom check wisdom.txt\n"
                         "  tilewright wisdom import wisdom.txt\n"
                         "  tilewright wisdom merge a.txt b.txt --output all.txt");
  wisdom->require_subcommand(1);
  const auto flags = std::make_shared<WisdomFlags>();
  CLI::App* out = wisdom->add_subcommand("export", "Write the winners of the database");
  out->add_option("--output", flags->output, "File (default: stdout)");
  out->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return export_command(cli, *flags); }; });
  CLI::App* in = wisdom->add_subcommand(
      "import", "Take files into the wisdom of this user, all of them or none");
  in->add_option("files", flags->files, "Wisdom files")->required();
  in->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return import_command(cli, *flags); }; });
  CLI::App* check = wisdom->add_subcommand("check", "Whether a file counts on this machine");
  check->add_option("files", flags->files, "Wisdom files")->required();
  check->callback(
      [&cli, flags] { cli.action = [&cli, flags] { return check_command(cli, *flags); }; });
  CLI::App* merge_app = wisdom->add_subcommand("merge", "Union of files of one device");
  merge_app->add_option("files", flags->files, "Wisdom files")->required();
  merge_app->add_option("--output", flags->output, "File (default: stdout)");
  merge_app->callback([&cli, flags] { cli.action = [flags] { return merge_command(*flags); }; });
}

}  // namespace tilewright
