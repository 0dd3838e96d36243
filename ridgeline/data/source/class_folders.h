// ridgeline/data/source/class_folders.h
//
// The files of DIR/<class>/**, by class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

struct ClassFolders {
  struct File {
    std::string path;
    std::int32_t label;
  };
  std::vector<std::string> classes;  // names of the folders, sorted: the labels
  std::vector<File> files;           // by class, then by path
};

// Files below each class folder whose lower-cased name ends in one of `extensions`; hidden ones are left out, links are
// followed. A missing directory, one without class folders, and a class without files are Errors that name the path.
ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions);

}  // namespace ridgeline::data
