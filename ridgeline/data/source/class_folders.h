// ridgeline/data/source/class_folders.h
//
// The files of DIR/<class>/**, by class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

// Ends of the names of files that are images, in lower case, those of image::decoded_formats(): what ImageFolder and
// the tools read.
const std::vector<std::string>& image_extensions();

struct ClassFolders {
  struct File {
    std::string path;
    std::int32_t label;
  };
  std::vector<std::string> classes;  // names of the folders, sorted: the labels
  std::vector<File> files;           // by class, then by path
};

// Which folders are classes and what their labels are.
struct ClassFolderOptions {
  std::vector<std::string> classes = {};  // only these folders; empty: all, sorted
  std::vector<std::int64_t> labels = {};  // one a class; empty: 0, 1, ...
  bool recursive = true;                  // files in folders below the class's, too
};

// Files below each class folder whose lower-cased name ends in one of `extensions`; hidden ones are left out, links are
// followed. A missing directory, one without class folders, a class without files, and a folder that cannot be listed
// or that holds itself through a link are Errors that name the path.
ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions,
                                const ClassFolderOptions& options = {});

// The folder of a data set's root that holds its validation part: val/, or validation/ or test/ where they stand for
// it.
struct ValidationFolder {
  std::string name;       // "" if there is none
  std::string passed_by;  // the next of the three that is there, too
  // "validation is read from test/" or "validation is read from val/; test/ is not used"; "" where it is val/ alone.
  std::string note() const;
};
// validation/ and test/ count beside train/, or where no other folder is there: else they may well be classes.
ValidationFolder find_validation_folder(const std::string& root);

}  // namespace ridgeline::data
