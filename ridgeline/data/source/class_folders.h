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

// Files below each class folder whose lower-cased name ends in one of `extensions`; droppings are left out, links are
// followed. A missing directory, one without class folders or with nothing but parts in the place of classes, a class
// without files, and a folder that cannot be listed or that holds itself through a link are Errors that name the path.
ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions,
                                const ClassFolderOptions& options = {});

// The same of a tree that was read before, which gives its paths away. Classes may be without files, and folders that
// could not be listed are passed over: the two below tell of them, before the paths are taken.
ClassFolders take_class_folders(FolderTree& tree, const std::vector<std::string>& classes = {});
// The Errors of list_class_folders about what is inside the folder, but for classes without files.
void check_class_folders(const FolderTree& tree, const std::vector<std::string>& extensions,
                         const std::vector<std::string>& classes = {});
// What list_class_folders says of the first class without files; "" where there is none.
std::string empty_class_folder(const FolderTree& tree, const std::vector<std::string>& extensions,
                               const std::vector<std::string>& classes = {});

// Why folders of these names and shapes are parts of a data set (or folders of such) and no classes, and what would be
// right; "" where they may well be classes.
std::string parts_instead_of_classes(const FolderTree& tree);

}  // namespace ridgeline::data
