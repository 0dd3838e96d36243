// ridgeline/data/set/dataset_recipes.h
//
// The standard data sets (cifar10, mnist, ...): which files are expected under a root, which reader reads them, what
// their classes are called. A table; the readers do not know it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/set/annotated_files.h"

namespace ridgeline {

enum class RecipeReader : std::uint8_t {
  class_folders,  // one directory: DIR/<class>/<image>
  cifar10,        // cifar.h: all files one after the other
  cifar100,
  idx,  // idx.h: images, then labels
  flowers102,
  manifest,
  voc,
  coco,
};

struct RecipeSplit {
  std::string name;  // "train", "val", "test", ...
  // In the reader's order. "a|b": the first of these names that exists.
  std::vector<std::string> files;
  std::int64_t records = 0;  // of the set as published; 0 if copies differ
};

struct DatasetRecipe {
  std::string name;
  RecipeReader reader;
  std::string class_names;                // a set of class_names.h; "": taken from the files
  std::vector<std::string> subfolders{};  // where archives unpack to: searched after the root itself
  std::string hint{};                     // for the message about missing files
  std::vector<RecipeSplit> splits{};
  int label_base = 0;       // the label of the first class in the files
  bool transposed = false;  // pictures are stored with rows and columns exchanged (EMNIST)
};

// In the order of the table.
const std::vector<DatasetRecipe>& dataset_recipes();
// An unknown name is an Error with the nearest one.
const DatasetRecipe& dataset_recipe(std::string_view name);

struct RecipeFiles {
  std::string directory;           // the root, or the subfolder in which the files are
  std::vector<std::string> files;  // full paths, in the order of RecipeSplit::files
};

// Finds a split's files. For manifests the root is the file itself. Missing files are an Error that names them all, an
// unknown split one that names the others: "[recipe] cifar10: DIR has no data_batch_3.bin ...".
RecipeFiles find_recipe_files(const DatasetRecipe& recipe, std::string_view split, const std::string& root);

// Files and labels of a set whose reader returns such a list: flowers102, manifest, voc, coco.
AnnotatedFiles read_annotated_split(const DatasetRecipe& recipe, std::string_view split, const std::string& root);

}  // namespace ridgeline
