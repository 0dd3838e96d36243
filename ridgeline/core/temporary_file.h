// ridgeline/core/temporary_file.h
//
// The file that an AtomicFile writes before it takes its target's name: `.NAME.ridgeline-PID-N.tmp` in the target's
// folder. Its writer holds a lock (flock) on it from its creation to the rename, and the system drops that lock when
// the process ends, however it ends. So nobody writes a temporary file any more whose lock can be taken, and whoever
// writes into the directory next removes it.
#pragma once

#include <filesystem>
#include <string>

namespace ridgeline {

struct TemporaryFile {
  int fd = -1;  // open for writing, locked; the caller closes it
  std::string path;
};

// A new one for `target`, under a name that no other process or thread uses, also where process numbers repeat
// (containers). On failure fd is -1 and errno is set. Removes abandoned ones from the directory.
TemporaryFile make_temporary(const std::filesystem::path& target);

// Removes abandoned temporary files from `directory`. On disks that other machines may write to, where their locks can
// be invisible here, only those that nobody wrote to for an hour by that disk's clock: `reference` is a file in the
// directory that was made just now.
void remove_stale_temporaries(const std::filesystem::path& directory, int reference);

}  // namespace ridgeline
