// SPDX-License-Identifier: Apache-2.0
// See cache.h. Removing is renaming first: what leaves a name leaves it whole, under the exclusive
// lock; deleting the bytes happens afterwards, with nobody waiting.
#include "compile/cache.h"

#include "base/file.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kScratch = "scratch";
constexpr const char* kHolds = "holds";
constexpr const char* kAside = "aside";
constexpr const char* kLock = "lock";
// Beside what is held, entries used this recently stay: their users may be about to hold them, or
// may have been unable to say so.
constexpr auto kRecent = 10min;
// A process evicts after adding 1/16 of the cap, so that the cap is exceeded by little, ...
constexpr std::int64_t kShare = 16;
// ... and when nobody has for this long: many short runs add up, too.
constexpr auto kEvery = 10min;
// Locks are held for milliseconds; more means that a process was stopped inside.
constexpr auto kPatience = 5s;

struct Used {
  fs::path path;
  fs::file_time_type when;
  std::int64_t bytes = 0;
};

std::int64_t size_of_folder(const fs::path& folder) {
  std::int64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat info{};
    if (::lstat(at->path().c_str(), &info) == 0) total += std::int64_t{info.st_blocks} * 512;
  }
  return total;
}

std::optional<Used> use_of(const fs::path& path) {
  std::error_code error;
  const auto when = fs::last_write_time(path, error);
  if (error) return std::nullopt;
  return Used{path, when, 0};
}

bool is_recent(fs::file_time_type when) {
  return when > fs::file_time_type::clock::now() - kRecent;  // so is a time in the future
}

void mark_used(const fs::path& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::open(const fs::path& root, std::int64_t cap_bytes,
                                           Warn warn) {
  std::error_code error;
  // Compilers run in folders of their own: a relative path would lead them elsewhere.
  const fs::path absolute = fs::absolute(root, error);
  const fs::path home = absolute / "v1";
  std::vector<std::string_view> folders = {kScratch, kHolds, kAside};
  for (const EntryKind& kind : kEntryKinds) folders.push_back(kind.place);
  for (const std::string_view name : folders) {
    if (!error) fs::create_directories(home / name, error);
    if (error) {
      return fail(ErrorCode::environment,
                  fmt::format("cannot make '{}': {}", (home / name).string(), error.message()));
    }
  }
  const int fd = ::open((home / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return fail(ErrorCode::environment,
                fmt::format("cannot write '{}': {}", (home / kLock).string(),
                            std::generic_category().message(errno)));
  }
  ::close(fd);
  remove_dead(home / kScratch, "");
  remove_dead(home / kHolds, "");
  auto holds = Holds::make(home / kHolds);
  if (!holds) return tl::unexpected(holds.error());
  std::unique_ptr<Cache> cache(new Cache(home, cap_bytes, std::move(warn), *std::move(holds)));
  // Only making a folder shows that folders can be made: permissions do not tell of a full disk or
  // a read-only mount.
  if (const auto probe = cache->scratch(); !probe) return tl::unexpected(probe.error());
  return cache;
}

Cache::Cache(fs::path home, std::int64_t cap_bytes, Warn warn, Holds holds)
    : home_(std::move(home)),
      cap_bytes_(cap_bytes),
      warn_(std::move(warn)),
      holds_(std::move(holds)) {}

void Cache::warn(const std::string& message) {
  const std::scoped_lock lock(mutex_);
  if (warn_) warn_(message);
}

fs::path Cache::folder_of(const std::string& key, const EntryKind& kind) const {
  return home_ / kind.place / key;
}

std::optional<Entry> Cache::find(const std::string& key, const EntryKind& kind) {
  const fs::path folder = folder_of(key, kind);
  {
    const auto lock = FileLock::take(home_ / kLock, FileLock::Mode::shared, kPatience);
    std::error_code error;
    if (!fs::exists(fs::symlink_status(folder, error))) return std::nullopt;
    if (auto entry = read_entry(folder, key, kind)) {
      holds_.add(key);
      mark_used(folder);
      return *std::move(entry);
    }
  }
  set_aside(key, kind);
  return std::nullopt;
}

// Looks again under the exclusive lock: by now another process may have put a whole entry there,
// and somebody may be using it.
void Cache::set_aside(const std::string& key, const EntryKind& kind) {
  const fs::path folder = folder_of(key, kind);
  std::string reason;
  bool moved = false;
  {
    const auto lock = FileLock::take(home_ / kLock, FileLock::Mode::exclusive, kPatience);
    std::error_code error;
    if (!lock || !fs::exists(fs::symlink_status(folder, error))) return;
    const auto entry = read_entry(folder, key, kind);
    if (entry) return;
    reason = entry.error().message;
    for (int i = 0; i < 1000 && !moved; ++i) {
      const fs::path aside = home_ / kAside / fmt::format("{}-{}", key, i);
      if (fs::exists(fs::symlink_status(aside, error))) continue;
      fs::rename(folder, aside, error);
      moved = !error;
      if (error) break;
    }
  }
  warn(fmt::format("compile cache: entry '{}' is damaged ({}); {}, compiling again",
                   folder.string(), reason, moved ? "set aside" : "ignored"));
}

Result<OwnedFolder> Cache::scratch() const {
  return OwnedFolder::make(home_ / kScratch, "", 0777);
}

fs::path Cache::add(OwnedFolder made, const Origin& origin, const EntryKind& kind) {
  const fs::path folder = folder_of(origin.key, kind);
  const fs::path own = made.path();
  // Another has been faster: spares the disk our copy. Whoever looks away here meets it below.
  if (find(origin.key, kind)) return folder;
  auto sealed = seal(own, origin);
  std::error_code error;
  // Renaming onto a folder that is not empty fails: another's entry. If that is whole it is as good
  // as ours; if not, find() sets it aside and we try once more.
  for (int attempt = 0; sealed && attempt < 3; ++attempt) {
    {
      const auto lock = FileLock::take(home_ / kLock, FileLock::Mode::shared, kPatience);
      holds_.add(origin.key);
      fs::rename(own, folder, error);
      if (!error) {
        made.release();
        mark_used(folder);
      }
    }
    if (!error) {
      [[maybe_unused]] const auto synced = sync_path(folder.parent_path());
      evict_if_due(folder);
      return folder;
    }
    if (find(origin.key, kind)) return folder;
  }
  warn(fmt::format("compile cache: cannot keep '{}': {}", folder.string(),
                   sealed ? error.message() : sealed.error().message));
  const std::scoped_lock lock(mutex_);
  kept_.push_back(std::move(made));
  return own;
}

void Cache::evict_if_due(const fs::path& added) {
  added_bytes_ += size_of_folder(added);
  std::error_code error;
  const auto last = fs::last_write_time(home_ / kLock, error);
  const bool long_ago = !error && last < fs::file_time_type::clock::now() - kEvery;
  if (added_bytes_ > cap_bytes_ / kShare || long_ago) evict();
}

void Cache::evict() {
  added_bytes_ = 0;
  mark_used(home_ / kLock);  // its time is that of the last eviction
  remove_dead(home_ / kScratch, "");
  std::vector<Used> entries;
  std::int64_t total = 0;
  std::vector<std::string_view> places = {kAside};
  for (const EntryKind& kind : kEntryKinds) places.push_back(kind.place);
  for (const std::string_view place : places) {
    for (const auto& path : children(home_ / place)) {
      auto used = use_of(path);
      if (!used) continue;
      used->bytes = size_of_folder(path);
      total += used->bytes;
      entries.push_back(*std::move(used));
    }
  }
  if (total <= cap_bytes_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Used& a, const Used& b) { return a.when < b.when; });

  const auto bin = scratch();  // emptied after the lock has been given up
  const auto lock = FileLock::take(home_ / kLock, FileLock::Mode::exclusive, kPatience);
  if (!bin || !lock) return;
  const auto held = Holds::live(home_ / kHolds);
  for (const auto& entry : entries) {
    if (total <= cap_bytes_) break;
    const auto now = use_of(entry.path);  // it may have been used since the list was made
    if (!now || is_recent(now->when) || held.contains(entry.path.filename().string())) continue;
    std::error_code error;
    fs::rename(entry.path, bin->path() / entry.path.filename(), error);
    if (!error) total -= entry.bytes;
  }
}

}  // namespace tilewright
