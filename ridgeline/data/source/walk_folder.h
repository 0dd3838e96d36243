// ridgeline/data/source/walk_folder.h
//
// What lies in a folder and below it, links followed: the one walk of training and of the tools, which differ only in
// what they do about what is neither file nor folder.
#pragma once

#include <string>

#include "ridgeline/core/function_ref.h"

namespace ridgeline::data {

struct FolderEntry {
  enum class Kind {
    file,    // regular, or a link to such
    folder,  // a walk that goes below enters it next
    other,   // `problem` says what
    closed,  // a folder that is not entered, `problem` says why: a loop, or it cannot be listed
  };
  std::string path;
  Kind kind = Kind::file;
  std::string problem;  // "is a link to nothing", "is a FIFO", "is a link to a folder around it", ...
};

// Calls `look` for every entry of `dir`, in no special order; with `recursive` for those below, too. A folder that
// holds itself through a link is met once, as closed. `dir` itself is met only if it is closed: it cannot be listed, or
// is a link to `within`, the folder it lies in, or to one around that.
void walk_folder(const std::string& dir, const std::string& within, bool recursive,
                 FunctionRef<void(const FolderEntry&)> look);

}  // namespace ridgeline::data
