// ridgeline/data/source/folder_tree.h
//
// What lies in a folder and below it, links followed: listed once, for training and for the tools alike. Looks at
// names only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

// Ends of the names of files that are images, in lower case, those of image::decoded_formats(): what ImageFolder and
// the tools read.
const std::vector<std::string>& image_extensions();
// ".jpg" of "photo.JPG"; "" where there is none.
std::string ending_of(std::string_view path);

// A name that no data has: hidden ones (".DS_Store", ".ipynb_checkpoints", "._a.jpg"), and what file systems and
// programs drop ("Thumbs.db", "__MACOSX", "@eaDir", "lost+found").
bool is_dropping(std::string_view name);

struct FolderTree {
  // Something that is there and cannot be read.
  struct Fault {
    enum class Kind {
      other,   // neither file nor folder: "is a link to nothing", "is a FIFO"
      closed,  // a folder that is not entered: "is a link to a folder around it", "cannot be listed: ..."
    };
    std::string path;
    Kind kind = Kind::other;
    std::string problem;
  };
  // Left out by its name. Folders are not entered, their entries are counted.
  struct Dropping {
    std::string path;
    bool folder = false;
    std::int64_t entries = 0;
  };

  std::string path, name;
  std::vector<FolderTree> folders;  // by name
  std::vector<std::string> images;  // paths, in no order: who needs one sorts
  std::vector<std::string> files;   // paths of all others, in no order
  std::vector<Dropping> droppings;  // of this folder
  std::vector<Fault> faults;        // of this folder; that of a folder below that is closed is there, in its own

  std::int64_t images_below() const;  // its own and those of all folders below
};

struct FolderTreeOptions {
  std::vector<std::string> extensions = image_extensions();  // of images
  std::vector<std::string> folders = {};  // only these folders of the first level are entered; empty: all
  bool recursive = true;                  // below the first level, too
};

// A folder that holds itself through a link is listed once, and closed where it comes again. The folder itself must be
// there; that it cannot be listed is its fault.
FolderTree read_folder_tree(const std::string& dir, const FolderTreeOptions& options = {});

}  // namespace ridgeline::data
