// SPDX-License-Identifier: Apache-2.0
// Opening, creating and refusing SQLite files.
//
// Durability. The journal is a write-ahead log and synchronous is FULL: each commit writes its
// frames to the log and fsyncs it before it returns. A killed process loses nothing committed even
// without the fsync, because the kernel holds the pages; the fsync is for power loss, where NORMAL
// would lose the last commits (never the file's integrity). It costs about as much as one disk
// write, once per trial, which compiles and runs for far longer. A disk that acknowledges an fsync
// it has not done can still lose the tail on power loss; the file stays consistent.
//
// Refusals. A file is ours if SQLite's header carries our application id. That and the version are
// read with plain reads before SQLite opens the file, so a foreign file is never touched. They can
// be trusted: a new database gets them in its first transaction, in rollback-journal mode, so they
// reach the file itself, and only then does it become a WAL database. No checkpoint runs until all
// checks have passed.
#include "record/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyTimeoutMs = 5000;
constexpr std::chrono::seconds kLockLimit{60};

constexpr const char* kMoveAway = "name another database, or move this file away";

// `line` is the trial; the columns repeat what queries look for. Rows are kept in order of arrival.
constexpr const char* kSchema = R"(
CREATE TABLE trials (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  problem TEXT NOT NULL, program TEXT NOT NULL, device TEXT NOT NULL, mode TEXT NOT NULL,
  run TEXT NOT NULL, stage TEXT NOT NULL, outcome TEXT NOT NULL,
  time_us REAL, unix_ms INTEGER NOT NULL,
  line TEXT NOT NULL);
CREATE INDEX trials_by_key ON trials (problem, device, mode, outcome, stage, time_us);
CREATE INDEX trials_by_program ON trials (program, problem);
CREATE INDEX trials_by_run ON trials (run);
CREATE TABLE devices (fingerprint TEXT PRIMARY KEY, line TEXT NOT NULL);
)";

// Errors by extended or else primary result code: what the user can do.
struct Meaning {
  int code;
  ErrorCode kind;
  const char* what;
  const char* hint;
};
constexpr Meaning kMeanings[] = {
    {SQLITE_READONLY_ROLLBACK, ErrorCode::environment, "was left in the middle of a write",
     "any command that writes to it repairs it"},
    {SQLITE_CORRUPT, ErrorCode::refused, "is damaged", kMoveAway},
    // Our statements are fixed and right, so it is the file that does not fit them.
    {SQLITE_ERROR, ErrorCode::refused, "is damaged or has other tables", kMoveAway},
    {SQLITE_NOTADB, ErrorCode::refused, "is no database", kMoveAway},
    {SQLITE_BUSY, ErrorCode::environment, "stayed locked by another process",
     "is a process that uses it stopped?"},
    {SQLITE_LOCKED, ErrorCode::environment, "stayed locked", "is a process that uses it stopped?"},
    {SQLITE_PROTOCOL, ErrorCode::environment, "stayed locked by another process",
     "is it on a network file system? Use a local disk"},
    {SQLITE_FULL, ErrorCode::environment, "cannot grow", "free some space on its disk"},
    {SQLITE_READONLY, ErrorCode::environment, "cannot be written",
     "check the rights of the file and its directory"},
    {SQLITE_PERM, ErrorCode::environment, "cannot be accessed", "check the rights of the file"},
    {SQLITE_CANTOPEN, ErrorCode::environment, "cannot be opened",
     "check the rights of the file and its directory"},
    {SQLITE_IOERR, ErrorCode::environment, "could not be read or written", "check its disk"},
    {SQLITE_NOMEM, ErrorCode::environment, "needs more memory than there is", ""},
};

tl::unexpected<Error> refuse(const fs::path& path, const std::string& what,
                             const char* hint = kMoveAway) {
  return fail(ErrorCode::refused, fmt::format("database {} {}", path.string(), what), hint);
}

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

enum class Found { nothing, empty, ours };

// Offsets of the header: https://www.sqlite.org/fileformat2.html, section 1.3.
Result<Found> look_at(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return Found::nothing;
  if (status.type() != fs::file_type::regular) return refuse(path, "is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(ErrorCode::environment,
                fmt::format("database {} cannot be read: {}", path.string(), std::strerror(errno)),
                "check the rights of the file");
  }
  std::array<char, 100> header{};
  file.read(header.data(), header.size());
  const auto size = static_cast<std::size_t>(file.gcount());
  // A process that was killed while it created the file leaves it empty.
  if (size == 0) return Found::empty;
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  if (size < header.size() || !std::string_view(header.data(), size).starts_with(kMagic)) {
    return refuse(path, "is no SQLite file");
  }
  if (big_endian(header.data() + 68) != kApplicationId) {
    return refuse(path, "is a database of another program");
  }
  const auto version = big_endian(header.data() + 60);
  if (version != kDatabaseVersion) {
    return refuse(path,
                  fmt::format("has version {}, this program reads {}", version, kDatabaseVersion),
                  "use the newer tilewright that wrote it");
  }
  return Found::ours;
}

Status create(SQLite::Database& db, const fs::path& path) {
  return attempt(path, [&]() -> Status {
    // Not "has no tables": ours that lost its tables is damaged, and not for us to refill.
    if (db.execAndGet("PRAGMA page_count").getInt() > 0) return {};
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const bool is_new = db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (!is_new) return {};  // another process was faster
    db.exec(kSchema);
    db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    db.exec(fmt::format("PRAGMA user_version = {}", kDatabaseVersion));
    transaction.commit();
    return {};
  });
}

// The log may hold a newer header than the file, and pages may be bad.
Status check_content(SQLite::Database& db, const fs::path& path, bool thoroughly) {
  return attempt(path, [&]() -> Status {
    const int version = db.execAndGet("PRAGMA user_version").getInt();
    if (db.execAndGet("PRAGMA application_id").getInt() != kApplicationId ||
        version != kDatabaseVersion) {
      return refuse(
          path, fmt::format("has version {}, this program reads {}", version, kDatabaseVersion));
    }
    for (const char* table : {"trials", "devices"}) {
      if (!db.tableExists(table)) return refuse(path, fmt::format("has no table '{}'", table));
    }
    if (thoroughly) {
      const std::string finding = db.execAndGet("PRAGMA quick_check(1)").getString();
      if (finding != "ok") return refuse(path, "is damaged: " + finding);
    }
    return {};
  });
}

Result<std::unique_ptr<SQLite::Database>> connect(const fs::path& path, const std::string& name,
                                                  int flags) {
  return attempt(path, [&]() -> Result<std::unique_ptr<SQLite::Database>> {
    auto db = std::make_unique<SQLite::Database>(name, flags, kBusyTimeoutMs);
    sqlite3_extended_result_codes(db->getHandle(), 1);
    return db;
  });
}

void set_checkpoint_on_close(SQLite::Database& db, bool on) {
  sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

// Readers of a WAL database share an index file beside it, and where they may not create one they
// cannot open it: a read-only medium, a directory of another user. If no log waits there, the file
// alone is the whole database, and SQLite may take it as one that nobody changes.
Result<std::unique_ptr<SQLite::Database>> open_immutable(const fs::path& path) {
  for (const char* suffix : {"-wal", "-journal"}) {
    std::error_code error;
    const fs::path log = path.string() + suffix;
    const auto size = fs::file_size(log, error);
    if (!error && size > 0) {
      return refuse(path, "is incomplete without " + log.string() + ", which cannot be used here",
                    "copy both files to a directory that you may write to");
    }
  }
  return connect(path, "file:" + percent_encoded(fs::absolute(path).string()) + "?immutable=1",
                 SQLite::OPEN_READONLY | SQLite::OPEN_FULLMUTEX | SQLite::OPEN_URI);
}

Result<std::unique_ptr<SQLite::Database>> open_for_reading(const fs::path& path, Found found) {
  if (found == Found::nothing) {
    return fail(ErrorCode::usage, fmt::format("database {} does not exist", path.string()),
                "it is created by `tilewright tune`");
  }
  if (found == Found::empty) return refuse(path, "is empty");
  auto db = connect(path, path.string(), SQLite::OPEN_READONLY | SQLite::OPEN_FULLMUTEX);
  auto status = db ? check_content(**db, path, false) : Status(tl::unexpected(db.error()));
  if (status) return db;
  const std::string directory = fs::absolute(path).parent_path().string();
  const bool locked_out = ::access(directory.c_str(), W_OK) != 0;
  if (status.error().code != ErrorCode::environment || !locked_out) {
    return tl::unexpected(status.error());
  }
  db = open_immutable(path);
  if (!db) return db;
  status = check_content(**db, path, false);
  if (!status) return tl::unexpected(status.error());
  return db;
}

Result<std::unique_ptr<SQLite::Database>> open_for_writing(const fs::path& path, Found found) {
  std::error_code error;
  if (found == Found::nothing && path.has_parent_path()) {
    fs::create_directories(path.parent_path(), error);
    if (error) {
      return fail(ErrorCode::environment,
                  fmt::format("directory {} of the database cannot be created: {}",
                              path.parent_path().string(), error.message()),
                  "name a database in a directory that you may write to");
    }
  }
  auto db = connect(path, path.string(),
                    SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_FULLMUTEX);
  if (!db) return db;
  set_checkpoint_on_close(**db, false);
  // Whatever was found: a process that was killed while it created the file may have written our
  // header, and SQLite has now taken that back.
  Status status = create(**db, path);
  if (status) status = check_content(**db, path, true);
  if (status) {
    status = attempt(path, [&]() -> Status {
      // Where WAL is impossible (some network file systems) SQLite keeps the rollback journal,
      // which is slower and as safe.
      (*db)->execAndGet("PRAGMA journal_mode = WAL");
      (*db)->exec("PRAGMA synchronous = FULL");
      return {};
    });
  }
  if (!status) return tl::unexpected(status.error());
  set_checkpoint_on_close(**db, true);
  return db;
}

}  // namespace

Error error_of(const fs::path& path, const SQLite::Exception& exception) {
  const int code = exception.getExtendedErrorCode();
  const auto* meaning =
      std::find_if(std::begin(kMeanings), std::end(kMeanings),
                   [&](const Meaning& m) { return m.code == code || m.code == (code & 0xff); });
  if (meaning == std::end(kMeanings)) {
    return {ErrorCode::internal,
            fmt::format("database {}: {}", path.string(), exception.getErrorStr()), ""};
  }
  return {meaning->kind,
          fmt::format("database {} {} ({})", path.string(), meaning->what, exception.getErrorStr()),
          meaning->hint};
}

bool LockWait::again(const SQLite::Exception& exception) {
  const int code = exception.getErrorCode() & 0xff;
  if (code != SQLITE_BUSY && code != SQLITE_LOCKED && code != SQLITE_PROTOCOL) return false;
  if (std::chrono::steady_clock::now() - start_ > kLockLimit) return false;
  std::this_thread::sleep_for(pause_);
  pause_ = std::min(pause_ * 2, std::chrono::milliseconds(50));
  return true;
}

Result<std::unique_ptr<SQLite::Database>> open_sqlite(const fs::path& path,
                                                      Database::Access access) {
  const auto found = look_at(path);
  if (!found) return tl::unexpected(found.error());
  return access == Database::Access::read_only ? open_for_reading(path, *found)
                                               : open_for_writing(path, *found);
}

}  // namespace tilewright
