// ridgeline/train/recipe/last_file.h
//
// Files that are written at the end of a run.
#pragma once

#include <filesystem>
#include <string>

#include "ridgeline/core/atomic_file.h"

namespace ridgeline::train {

// Call before the run: an Error if the file could not be written at its end. Empty path: no file.
inline void check_last_file(const std::string& path) {
  if (path.empty()) return;
  std::error_code none;
  const std::filesystem::file_type type = std::filesystem::status(path, none).type();
  // Devices and pipes are opened only when there is something to write.
  if (type == std::filesystem::file_type::character || type == std::filesystem::file_type::fifo ||
      type == std::filesystem::file_type::socket)
    return;
  const AtomicFile probe(path);
}

}  // namespace ridgeline::train
