// ridgeline/core/temporary_file.h
//
// The file that an AtomicFile writes before it takes its target's name: `.NAME.ridgeline-PID-N.tmp` beside the target.
// Its writer holds a lock (flock) on it from the first moment to the rename, and the system drops that lock when the
// process ends, however it ends. So a temporary file whose lock can be taken has lost its writer, and whoever writes
// into the directory next removes it.
#pragma once

#include <filesystem>
#include <string>

namespace ridgeline {

struct TemporaryFile {
  int fd = -1;  // open for writing, locked; the caller's to close
  std::string path;
};

// A new one for `target`, under a name that no other process or thread has, also where process numbers repeat
// (containers). fd is -1 and errno set if there can be none. Removes those that were left in the directory.
TemporaryFile make_temporary(const std::filesystem::path& target);

// Removes the temporary files in `directory` that have lost their writer. On disks that other machines may write, where
// a lock can be invisible here, only those that were not written to for an hour, by the clock of that disk: `reference`
// is a file in the directory that was made just now.
void remove_stale_temporaries(const std::filesystem::path& directory, int reference);

}  // namespace ridgeline
