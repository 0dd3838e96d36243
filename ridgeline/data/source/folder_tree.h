// ridgeline/data/source/folder_tree.h
//
// The contents of a folder and its subfolders, links followed: listed once, for training and for the tools. Reads only
// names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

// Lower-case endings of image files, those of image::decoded_formats(): what ImageFolder and the tools read.
const std::vector<std::string>& image_extensions();
// ".jpg" for "photo.JPG"; "" if there is none.
std::string ending_of(std::string_view path);

// A name that data files do not have: hidden ones (".DS_Store", ".ipynb_checkpoints", "._a.jpg"), and what file systems
// and programs leave behind ("Thumbs.db", "__MACOSX", "@eaDir", "lost+found").
bool is_dropping(std::string_view name);

struct FolderTree {
  // An entry that cannot be read.
  struct Fault {
    enum class Kind {
      other,   // neither file nor folder: "is a link to nothing", "is a FIFO"
      closed,  // a folder that is not entered: "is a link to a folder around it", "cannot be listed: ..."
    };
    std::string path;
    Kind kind = Kind::other;
    std::string problem;
  };
  // An entry left out because of its name. Such folders are not entered, but their entries are counted.
  struct Dropping {
    std::string path;
    bool folder = false;
    std::int64_t entries = 0;
  };

  std::string path, name;
  std::vector<FolderTree> folders;  // by name
  std::vector<std::string> images;  // paths, unsorted
  std::vector<std::string> files;   // paths of all others, unsorted
  std::vector<Dropping> droppings;  // of this folder
  std::vector<Fault> faults;        // of this folder; a closed subfolder's fault is in its own list

  std::int64_t images_below() const;  // images of this folder and all folders below
};

struct FolderTreeOptions {
  std::vector<std::string> extensions = image_extensions();  // of images
  std::vector<std::string> folders = {};  // only these folders of the first level are entered; empty: all
  bool recursive = true;                  // below the first level, too
};

// A folder that contains itself through a link is listed once, and closed where it recurs. `dir` must exist; if it
// cannot be listed, that is one of its faults.
FolderTree read_folder_tree(const std::string& dir, const FolderTreeOptions& options = {});

}  // namespace ridgeline::data
