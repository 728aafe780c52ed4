// SPDX-License-Identifier: Apache-2.0
// See entry.h.
#include "compile/entry.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

tl::unexpected<Error> failed(std::string_view verb, const fs::path& path, int number) {
  return fail(ErrorCode::environment, fmt::format("cannot {} '{}': {}", verb, path.string(),
                                                  std::generic_category().message(number)));
}

tl::unexpected<Error> damaged(std::string message) {
  return fail(ErrorCode::refused, std::move(message));
}

// Folders come before what is in them.
std::vector<fs::path> everything_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Sealed {
  std::uint64_t bytes = 0;
  std::string hash;
};

std::optional<Sealed> sealed_from(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto bytes = value.find("bytes"), hash = value.find("xxh3");
  if (bytes == value.end() || !bytes->is_number_unsigned() || hash == value.end() ||
      !hash->is_string()) {
    return std::nullopt;
  }
  return Sealed{bytes->get<std::uint64_t>(), hash->get<std::string>()};
}

// The size is looked at first: a file that is not ours may be too large to read.
Result<std::string> read_sealed(const fs::path& path, const Sealed& sealed) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) ||
      fs::file_size(path, error) != sealed.bytes || error) {
    return damaged(fmt::format("{} is missing or has another size", path.filename().string()));
  }
  auto bytes = read_file(path);
  if (!bytes || hash128(*bytes) != sealed.hash) {
    return damaged(fmt::format("{} has another content", path.filename().string()));
  }
  return bytes;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  for (const auto part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Status put(const fs::path& folder, std::string_view name, std::string_view bytes) {
  const fs::path path = folder / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return failed("make", path.parent_path(), error.value());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return failed("write", path, errno);
  int number = 0;
  while (!bytes.empty() && number == 0) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      number = errno;
    }
  }
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number != 0) return failed("write", path, number);
  return {};
}

// Some file systems cannot fsync a folder and say EINVAL.
Status sync_path(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("open", path, errno);
  const int number = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  if (number != 0) return failed("sync", path, number);
  return {};
}

Status seal(const fs::path& folder, const Origin& origin) {
  json files = json::object();
  const auto paths = everything_in(folder);
  for (const auto& path : paths) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;
    const auto bytes = read_file(path);
    if (!bytes) return tl::unexpected(bytes.error());
    files[path.lexically_relative(folder).generic_string()] = {{"bytes", bytes->size()},
                                                               {"xxh3", hash128(*bytes)}};
  }
  const json meta = {{"format", kCacheFormat},
                     {"key", origin.key},
                     {"compiler", origin.compiler},
                     {"launch", json::parse(origin.launch, nullptr, false)},
                     {"compile_seconds", origin.compile_seconds},
                     {"files", std::move(files)}};
  // A version line in another encoding must not throw.
  const std::string text = meta.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
  if (auto status = put(folder, kSealFile, text); !status) return status;
  // Bottom-up: a folder must not point at files that are not on the disk yet.
  auto order = everything_in(folder);
  std::reverse(order.begin(), order.end());
  order.push_back(folder);
  for (const auto& path : order) {
    if (auto status = sync_path(path); !status) return status;
  }
  return {};
}

Result<Entry> read_entry(const fs::path& folder, const std::string& key, const EntryKind& kind) {
  constexpr std::uintmax_t kLargestSeal = 1 << 20;
  std::error_code error;
  const fs::path seal_path = folder / kSealFile;
  if (!fs::is_regular_file(fs::symlink_status(seal_path, error)) ||
      fs::file_size(seal_path, error) > kLargestSeal || error) {
    return damaged("meta.json is missing");
  }
  const auto text = read_file(seal_path);
  const json meta = text ? json::parse(*text, nullptr, false) : json();
  if (!meta.is_object()) return damaged("meta.json is not a JSON object");
  if (meta.value("/format"_json_pointer, json()) != kCacheFormat ||
      meta.value("/key"_json_pointer, json()) != key) {
    return damaged("meta.json is of another format or entry");
  }
  const auto files = meta.find("files");
  if (files == meta.end() || !files->is_object()) return damaged("meta.json lists no files");
  Entry entry;
  if (const auto& compiler = meta.value("/compiler"_json_pointer, json()); compiler.is_string()) {
    entry.compiler = compiler.get<std::string>();
  }
  for (const auto& [name, value] : files->items()) {
    const auto sealed = sealed_from(value);
    if (!sealed || !is_plain_name(name)) return damaged("meta.json lists no files");
    auto bytes = read_sealed(folder / name, *sealed);
    if (!bytes) return tl::unexpected(bytes.error());
    if (name == kind.object)
      entry.object = *std::move(bytes);
    else if (name == kLogFile)
      entry.log = *std::move(bytes);
  }
  for (const auto name : {kind.source, kind.object, kLogFile, kExportsFile}) {
    if (name == kExportsFile && !kind.exports) continue;
    if (!files->contains(std::string(name))) {
      return damaged(fmt::format("meta.json does not list {}", name));
    }
  }
  return entry;
}

}  // namespace tilewright
