// SPDX-License-Identifier: Apache-2.0
// The trial database on top of sqlite_file.cc, which argues durability and refusals.
//
// A row is the trial's JSON line plus the columns that queries name; the line is the truth. Every
// write is one transaction, so a kill between two statements leaves either all of it or nothing.
#include "record/database.h"

#include "base/file.h"
#include "record/sqlite_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace tilewright {
namespace {

constexpr const char* kInsert =
    "INSERT INTO trials (id, problem, program, device, mode, run, stage, outcome, time_us, unix_ms,"
    " line) VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING";
constexpr const char* kSetProfile =
    "UPDATE trials SET line = json_set(line, '$.profile', json(?)) WHERE id = ?";
constexpr const char* kRemember =
    "INSERT INTO devices (fingerprint, line) VALUES (?,?)"
    " ON CONFLICT (fingerprint) DO UPDATE SET line = excluded.line WHERE line <> excluded.line";
constexpr const char* kAddDevice =
    "INSERT INTO devices (fingerprint, line) VALUES (?,?) ON CONFLICT (fingerprint) DO NOTHING";

// True if the row is new. `line` may hold fields of a later writer that `trial` has not.
bool insert_row(SQLite::Statement& statement, const Trial& trial, const std::string& line) {
  statement.reset();
  int column = 0;
  for (const std::string& text :
       {trial.id(), trial.problem, trial.program, trial.device, trial.mode, trial.run, trial.stage,
        std::string(name_of(trial.outcome))}) {
    statement.bind(++column, text);
  }
  statement.bind(++column, trial.time_us);  // SQLite stores NaN as NULL
  statement.bind(++column, static_cast<std::int64_t>(trial.unix_ms));
  statement.bind(++column, line);
  return statement.exec() > 0;
}

// The conditions of a query and what they compare with.
struct Where {
  std::string sql;
  std::vector<std::string> values;

  explicit Where(const TrialQuery& query) {
    add("problem", query.problem);
    add("program", query.program);
    add("device", query.device);
    add("mode", query.mode);
    add("run", query.run);
    add("stage", query.stage);
    if (query.outcome) add("outcome", std::string(name_of(*query.outcome)));
  }
  void add(const char* column, const std::string& value) {
    if (value.empty()) return;
    sql += fmt::format("{} {} = ?", sql.empty() ? " WHERE" : " AND", column);
    values.push_back(value);
  }
  void bind(SQLite::Statement& statement) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      statement.bind(static_cast<int>(i) + 1, values[i]);
    }
  }
};

tl::unexpected<Error> bad_row(const std::filesystem::path& path, const std::string& id,
                              const std::string& reason) {
  return fail(ErrorCode::refused, fmt::format("database {}, row {}: {}", path.string(), id, reason),
              "the row was damaged or written by another program");
}

struct Row {
  std::int64_t seq = 0;
  std::string id, line;
};

Result<std::vector<Row>> read_rows(SQLite::Database& db, std::int64_t after) {
  std::vector<Row> rows;
  SQLite::Statement statement(
      db, "SELECT seq, id, line FROM trials WHERE seq > ? ORDER BY seq LIMIT 1000");
  statement.bind(1, after);
  while (statement.executeStep()) {
    rows.push_back({statement.getColumn(0).getInt64(), statement.getColumn(1).getString(),
                    statement.getColumn(2).getString()});
  }
  return rows;
}

using DeviceLines = std::vector<std::pair<std::string, std::string>>;  // fingerprint, JSON

Result<DeviceLines> read_devices(SQLite::Database& db) {
  DeviceLines lines;
  SQLite::Statement statement(db, "SELECT fingerprint, line FROM devices ORDER BY fingerprint");
  while (statement.executeStep()) {
    lines.emplace_back(statement.getColumn(0).getString(), statement.getColumn(1).getString());
  }
  return lines;
}

}  // namespace

struct Database::State {
  std::filesystem::path path;
  Access access = Access::read_only;
  std::unique_ptr<SQLite::Database> db;
  mutable std::mutex mutex;  // a connection counts changes, so its statements must not interleave

  [[nodiscard]] Status writable() const {
    if (access == Access::read_write) return {};
    return fail(ErrorCode::usage,
                fmt::format("database {} was opened for reading only", path.string()));
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::open(const std::filesystem::path& path, Access access) {
  auto db = open_sqlite(path, access);
  if (!db) return tl::unexpected(db.error());
  auto state = std::make_unique<State>();
  state->path = path;
  state->access = access;
  state->db = std::move(*db);
  return Database(std::move(state));
}

Result<bool> Database::insert(const Trial& trial) {
  if (auto s = state_->writable(); !s) return tl::unexpected(s.error());
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<bool> {
    SQLite::Statement statement(*state_->db, kInsert);  // commits itself
    return insert_row(statement, trial, to_json(trial));
  });
}

Result<bool> Database::set_profile(const std::string& id, const Profile& profile) {
  if (auto s = state_->writable(); !s) return tl::unexpected(s.error());
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<bool> {
    SQLite::Statement statement(*state_->db, kSetProfile);
    statement.bind(1, to_json(profile));
    statement.bind(2, id);
    return statement.exec() > 0;
  });
}

Result<std::vector<Trial>> Database::select(const TrialQuery& query) const {
  const Where where(query);
  // By end of the attempt, which all hosts of a merged database share; arrival decides ties.
  std::string sql = "SELECT id, line FROM trials" + where.sql + " ORDER BY unix_ms, seq";
  if (query.limit > 0) sql += fmt::format(" LIMIT {}", query.limit);
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<std::vector<Trial>> {
    std::vector<Trial> trials;
    SQLite::Statement statement(*state_->db, sql);
    where.bind(statement);
    while (statement.executeStep()) {
      auto trial = trial_from_json(statement.getColumn(1).getString());
      if (!trial) {
        return bad_row(state_->path, statement.getColumn(0).getString(), trial.error().message);
      }
      trials.push_back(std::move(*trial));
    }
    return trials;
  });
}

Result<std::int64_t> Database::count(const TrialQuery& query) const {
  const Where where(query);
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<std::int64_t> {
    SQLite::Statement statement(*state_->db, "SELECT count(*) FROM trials" + where.sql);
    where.bind(statement);
    statement.executeStep();
    const std::int64_t rows = statement.getColumn(0).getInt64();
    const auto limit = static_cast<std::int64_t>(query.limit);
    return limit > 0 ? std::min(rows, limit) : rows;
  });
}

Result<std::optional<Trial>> Database::best(const std::string& problem, const std::string& device,
                                            const std::string& mode) const {
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<std::optional<Trial>> {
    SQLite::Statement statement(
        *state_->db,
        "SELECT id, line FROM trials WHERE problem = ? AND device = ? AND mode = ?"
        " AND outcome = 'ok' AND time_us > 0 ORDER BY stage <> 'final', time_us, seq LIMIT 1");
    statement.bind(1, problem);
    statement.bind(2, device);
    statement.bind(3, mode);
    if (!statement.executeStep()) return std::nullopt;
    auto trial = trial_from_json(statement.getColumn(1).getString());
    if (!trial) {
      return bad_row(state_->path, statement.getColumn(0).getString(), trial.error().message);
    }
    return std::optional(std::move(*trial));
  });
}

Result<std::int64_t> Database::insert(std::span<const Trial> trials) {
  if (auto s = state_->writable(); !s) return tl::unexpected(s.error());
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Result<std::int64_t> {
    SQLite::Transaction transaction(*state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insertion(*state_->db, kInsert);
    std::int64_t added = 0;
    for (const Trial& trial : trials) {
      added += insert_row(insertion, trial, to_json(trial)) ? 1 : 0;
    }
    transaction.commit();
    return added;
  });
}

Result<std::int64_t> Database::merge(const Database& other) {
  if (auto s = state_->writable(); !s) return tl::unexpected(s.error());
  if (&other == this) return 0;
  const std::scoped_lock lock(state_->mutex, other.state_->mutex);
  // Read in batches, so that an error names the file it is about and memory stays small.
  const auto rows_after = [&](std::int64_t seq) {
    return attempt(other.state_->path, [&] { return read_rows(*other.state_->db, seq); });
  };
  const auto devices = attempt(other.state_->path, [&] { return read_devices(*other.state_->db); });
  if (!devices) return tl::unexpected(devices.error());
  return attempt(state_->path, [&]() -> Result<std::int64_t> {
    SQLite::Transaction transaction(*state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insertion(*state_->db, kInsert);
    std::int64_t added = 0;
    std::int64_t seq = std::numeric_limits<std::int64_t>::min();
    while (true) {
      const auto rows = rows_after(seq);
      if (!rows) return tl::unexpected(rows.error());  // rolled back
      if (rows->empty()) break;
      for (const Row& row : *rows) {
        const auto trial = trial_from_json(row.line);
        if (!trial) return bad_row(other.state_->path, row.id, trial.error().message);
        if (trial->id() != row.id) {
          return bad_row(other.state_->path, row.id, "its content has another id");
        }
        added += insert_row(insertion, *trial, row.line) ? 1 : 0;
      }
      seq = rows->back().seq;
    }
    SQLite::Statement device(*state_->db, kAddDevice);
    for (const auto& [fingerprint, line] : *devices) {
      device.reset();
      device.bind(1, fingerprint);
      device.bind(2, line);
      device.exec();
    }
    transaction.commit();
    return added;
  });
}

Status Database::remember(const Device& device) {
  if (auto s = state_->writable(); !s) return s;
  const std::lock_guard lock(state_->mutex);
  return attempt(state_->path, [&]() -> Status {
    SQLite::Statement statement(*state_->db, kRemember);
    statement.bind(1, device.fingerprint());
    statement.bind(2, to_json(device));
    statement.exec();
    return {};
  });
}

Result<std::vector<Device>> Database::devices() const {
  const std::lock_guard lock(state_->mutex);
  const auto lines = attempt(state_->path, [&] { return read_devices(*state_->db); });
  if (!lines) return tl::unexpected(lines.error());
  std::vector<Device> devices;
  for (const auto& [fingerprint, line] : *lines) {
    auto device = device_from_json(line);
    if (!device) return bad_row(state_->path, fingerprint, device.error().message);
    devices.push_back(std::move(*device));
  }
  return devices;
}

Result<std::filesystem::path> default_database() {
  auto home = data_home();
  if (!home) return home;
  return *home / "tuning.db";
}

}  // namespace tilewright
