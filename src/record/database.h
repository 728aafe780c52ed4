// SPDX-License-Identifier: Apache-2.0
// The trial database: SQLite in WAL mode, one row per trial, committed as soon as it is known.
//
// Killed at any moment it loses at most the trial in flight. Any number of processes may write to
// one file. Rows are addressed by content id, so merging is a union and resuming is a look-up.
#pragma once

#include "base/error.h"
#include "trial/trial.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr int kDatabaseVersion = 1;

struct TrialQuery {  // empty fields match everything
  std::string problem, program, device, mode, run, stage;
  std::optional<Outcome> outcome;
  std::size_t limit = 0;  // 0: all
};

class Database {
 public:
  enum class Access { read_only, read_write };
  // Creates the file and its directory when missing (read_write). Refuses a file that is no
  // database of ours, damaged or of a newer version, and leaves it as it was. read_only works on
  // media where nothing can be written.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, Access access);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Durable when it returns (fsynced; sqlite_file.cc says what that is worth). True if the row is
  // new.
  [[nodiscard]] Result<bool> insert(const Trial& trial);
  // Adds those that are not here; returns how many. All or none, and durable at the end, not after
  // each.
  [[nodiscard]] Result<std::int64_t> insert(std::span<const Trial> trials);
  // Puts a profile into the trial of this id, in place of one that it had; all else of its line
  // stays, fields of a later writer too. False if there is no such trial.
  [[nodiscard]] Result<bool> set_profile(const std::string& id, const Profile& profile);
  // In the order in which the attempts ended.
  [[nodiscard]] Result<std::vector<Trial>> select(const TrialQuery& query) const;
  [[nodiscard]] Result<std::int64_t> count(const TrialQuery& query) const;
  // The fastest ok trial (final before screen stages), by time_us.
  [[nodiscard]] Result<std::optional<Trial>> best(const std::string& problem,
                                                  const std::string& device,
                                                  const std::string& mode) const;
  // Adds every row of `other` that is not here, devices too; returns how many rows. All or, if a
  // row of `other` is damaged, nothing.
  [[nodiscard]] Result<std::int64_t> merge(const Database& other);
  // The device that a fingerprint stands for, kept beside the trials.
  [[nodiscard]] Status remember(const Device& device);
  [[nodiscard]] Result<std::vector<Device>> devices() const;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// $XDG_DATA_HOME/tilewright/tuning.db
[[nodiscard]] Result<std::filesystem::path> default_database();

}  // namespace tilewright
