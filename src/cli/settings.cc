// SPDX-License-Identifier: Apache-2.0
// See settings.h.
#include "cli/settings.h"

#include "base/text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdlib>

namespace tilewright {
namespace {

std::size_t index_of(std::string_view key) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    if (kSettings[i].key == key) return i;
  }
  return kSettings.size();
}

tl::unexpected<Error> unknown_key(const std::string& file, std::uint32_t line,
                                  const std::string& key) {
  std::vector<std::string_view> known;
  for (const SettingInfo& info : kSettings) known.push_back(info.key);
  const std::string near = nearest_word(key, known);
  return fail(ErrorCode::usage, fmt::format("{}:{}: unknown key '{}'", file, line, key),
              near.empty() ? "tilewright config show lists the keys"
                           : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Settings::Settings() : values_(kSettings.size()) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) values_[i].text = kSettings[i].fallback;
}

Status Settings::read(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  toml::table root;
  try {
    root = toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::usage, fmt::format("{}:{}: {}", file.string(), error.source().begin.line,
                                              error.description()));
  }
  for (const auto& [table_name, node] : root) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return unknown_key(file.string(), node.source().begin.line, std::string(table_name.str()));
    }
    for (const auto& [name, value] : *table) {
      const std::string key = fmt::format("{}.{}", table_name.str(), name.str());
      const std::size_t index = index_of(key);
      if (index == kSettings.size()) {
        return unknown_key(file.string(), value.source().begin.line, key);
      }
      if (const auto text = value.value_exact<std::string>()) {
        values_[index].text = *text;
      } else if (const auto number = value.value_exact<std::int64_t>()) {
        values_[index].text = std::to_string(*number);
      } else {
        return fail(ErrorCode::usage, fmt::format("{}:{}: '{}' takes a string or an integer",
                                                  file.string(), value.source().begin.line, key));
      }
      values_[index].origin = file.string();
    }
  }
  return {};
}

Result<Settings> Settings::load() {
  Settings settings;
  std::vector<std::filesystem::path> files = {"/etc/tilewright/config.toml"};
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home != nullptr && *home != '\0') {
    files.emplace_back(std::filesystem::path(home) / "tilewright/config.toml");
  } else if (const char* user = std::getenv("HOME"); user != nullptr && *user != '\0') {
    files.emplace_back(std::filesystem::path(user) / ".config/tilewright/config.toml");
  }
  files.emplace_back("tilewright.toml");
  for (const std::filesystem::path& file : files) {
    if (Status status = settings.read(file); !status) return tl::unexpected(status.error());
  }
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const std::string variable(kSettings[i].variable);
    if (const char* value = std::getenv(variable.c_str())) {
      settings.values_[i].text = value;
      settings.values_[i].origin = variable;
    }
  }
  return settings;
}

void Settings::add_flags(CLI::App& app) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    values_[i].flag =
        app.add_option(std::string(kSettings[i].flag), values_[i].flag_text,
                       std::string(kSettings[i].help))
            ->group("Settings (also TILEWRIGHT_* and config files: tilewright config show)");
  }
}

const std::string& Settings::text(std::string_view key) const {
  const Value& value = values_.at(index_of(key));
  return value.flag != nullptr && value.flag->count() > 0 ? value.flag_text : value.text;
}

Result<std::int64_t> Settings::number(std::string_view key) const {
  const auto number = parse_integer(text(key));
  if (number && *number >= 0) return *number;
  return fail(ErrorCode::usage, fmt::format("{} = '{}' (from {}): not a whole number >= 0", key,
                                            text(key), origin(key)));
}

std::string Settings::origin(std::string_view key) const {
  const std::size_t index = index_of(key);
  const Value& value = values_.at(index);
  if (value.flag != nullptr && value.flag->count() > 0) return std::string(kSettings[index].flag);
  return value.origin;
}

}  // namespace tilewright
