// SPDX-License-Identifier: Apache-2.0
// See holds.h. A list is the file `keys` in an OwnedFolder, which brings the lock and the removal.
#include "compile/holds.h"

#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFile = "keys";

}  // namespace

Holds::Holds(OwnedFolder folder)
    : folder_(std::move(folder)), mutex_(std::make_unique<std::mutex>()) {}

Result<Holds> Holds::make(const fs::path& folder) {
  auto own = OwnedFolder::make(folder, "", 0777);
  if (!own) return tl::unexpected(own.error());
  return Holds(*std::move(own));
}

void Holds::add(const std::string& key) {
  const std::scoped_lock lock(*mutex_);
  if (!keys_.insert(key).second) return;
  const std::string line = key + "\n";
  const int fd =
      ::open((folder_.path() / kFile).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;  // a full disk: the entry was used just now, which protects it for a while
  [[maybe_unused]] const ssize_t count = ::write(fd, line.data(), line.size());
  ::close(fd);
}

std::set<std::string> Holds::live(const fs::path& folder) {
  remove_dead(folder, "");
  std::set<std::string> keys;
  for (const auto& list : children(folder)) {
    const auto text = read_file(list / kFile);
    if (!text) continue;
    for (const auto key : split(*text, '\n')) {
      if (!key.empty()) keys.emplace(key);
    }
  }
  return keys;
}

}  // namespace tilewright
