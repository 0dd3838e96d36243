// ridgeline/data/source/class_folders.h
//
// The files of DIR/<class>/**, by class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/source/folder_tree.h"

namespace ridgeline::data {

struct ClassFolders {
  struct File {
    std::string path;
    std::int32_t label = -1;  // the number of its class below; -1: without a class
  };
  std::vector<std::string> classes = {};  // names of the folders, sorted or in the order asked for
  std::vector<File> files = {};           // by class, then by path
};

// Which folders are classes.
struct ClassFolderOptions {
  std::vector<std::string> classes = {};  // only these folders; empty: all, sorted
  bool recursive = true;                  // files in folders below the class's, too
};

// Files below each class folder whose lower-cased name ends in one of `extensions`; files that systems leave behind
// (is_dropping) are left out, links are followed. Errors that name the path: a missing directory, one without class
// folders or with only splits (train, val) in place of classes, a class without files, a folder that cannot be listed
// or that contains itself through a link.
ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions,
                                const ClassFolderOptions& options = {});

// The same for a tree that was read before, whose paths are moved out. Classes may have no files, and folders that
// could not be listed are skipped: call the two functions below before, to report them.
ClassFolders take_class_folders(FolderTree& tree, const std::vector<std::string>& classes = {});
// The Errors of list_class_folders about the folder's contents, except for classes without files.
void check_class_folders(const FolderTree& tree, const std::vector<std::string>& extensions,
                         const std::vector<std::string>& classes = {});
// The message of list_class_folders about the first class without files; "" if there is none.
std::string empty_class_folder(const FolderTree& tree, const std::vector<std::string>& extensions,
                               const std::vector<std::string>& classes = {});

// Why these folders are the splits of a data set (or contain them) rather than classes, and which path would be right;
// "" if they may be classes.
std::string parts_instead_of_classes(const FolderTree& tree);

}  // namespace ridgeline::data
