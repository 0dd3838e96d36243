#include "ridgeline/data/source/walk_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

using Identity = std::pair<dev_t, ino_t>;

bool identify(const fs::path& path, Identity& identity) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  identity = {info.st_dev, info.st_ino};
  return true;
}

std::string problem_of(const fs::directory_entry& entry, fs::file_type type) {
  std::error_code ignored;
  switch (type) {
    case fs::file_type::not_found: return "is a link to nothing";
    case fs::file_type::fifo: return "is a FIFO";
    case fs::file_type::socket: return "is a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "is a device";
    default: break;
  }
  // Links that lead to each other cannot be followed at all.
  return entry.is_symlink(ignored) ? "is a link that cannot be followed" : "is neither file nor folder";
}

FolderEntry entry_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  const fs::file_type type = entry.status(ignored).type();
  if (type == fs::file_type::regular) return {entry.path().string(), FolderEntry::Kind::file, ""};
  if (type == fs::file_type::directory) return {entry.path().string(), FolderEntry::Kind::folder, ""};
  return {entry.path().string(), FolderEntry::Kind::other, problem_of(entry, type)};
}

class Walk {
 public:
  explicit Walk(FunctionRef<void(const FolderEntry&)> look) : look_(look) {}

  // The folder, and those around it wherever it really is.
  void begin_inside(const std::string& folder) {
    std::error_code error;
    for (fs::path at = fs::canonical(folder, error); !error; at = at.parent_path()) {
      if (Identity identity; identify(at, identity)) around_.push_back(identity);
      if (at == at.parent_path()) break;
    }
  }

  void list(const fs::path& dir, bool recursive) {
    std::vector<std::string> folders;
    std::error_code error;
    // Closed before the walk goes below: a descriptor for each level would be too many.
    for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
      FolderEntry entry = entry_of(*at);
      look_(entry);
      if (entry.kind == FolderEntry::Kind::folder) folders.push_back(std::move(entry.path));
    }
    if (error) close(dir, "cannot be listed: " + error.message());
    if (!recursive) return;
    for (const std::string& folder : folders) enter(folder);
  }

  void enter(const fs::path& dir) {
    Identity identity;
    if (!identify(dir, identity)) return close(dir, "cannot be listed: " + std::generic_category().message(errno));
    if (std::find(around_.begin(), around_.end(), identity) != around_.end())
      return close(dir, "is a link to a folder around it");
    around_.push_back(identity);
    list(dir, true);
    around_.pop_back();
  }

 private:
  void close(const fs::path& dir, std::string problem) {
    look_({dir.string(), FolderEntry::Kind::closed, std::move(problem)});
  }

  FunctionRef<void(const FolderEntry&)> look_;
  std::vector<Identity> around_;  // the folders that the walk is in
};

}  // namespace

void walk_folder(const std::string& dir, const std::string& within, bool recursive,
                 FunctionRef<void(const FolderEntry&)> look) {
  Walk walk(look);
  if (!recursive) return walk.list(dir, false);
  walk.begin_inside(within);
  walk.enter(dir);
}

}  // namespace ridgeline::data
