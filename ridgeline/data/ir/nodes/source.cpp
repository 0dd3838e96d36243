// Sources of whole image files, and pairs of idx files.
#include <fmt/format.h>

#include <iterator>

#include "ridgeline/data/ir/nodes/source_args.h"
#include "ridgeline/data/source/class_folders.h"
#include "ridgeline/format/dataset_recipes.h"

namespace ridgeline::data {
namespace {

void check_image_folder(const Node& node) {
  not_empty(node, "dir");
  if (arg<Texts>(node.args, "extensions").empty())
    throw Error("[image_folder] extensions is empty: no file could match");
  const Texts& classes = arg<Texts>(node.args, "classes");
  const Integers& labels = arg<Integers>(node.args, "labels");
  if (!labels.empty() && labels.size() != classes.size())
    throw Error(fmt::format("[image_folder] has {} labels for {} classes", labels.size(), classes.size()));
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= INT32_MAX) throw Error(fmt::format("[image_folder] label {} is no i32 from 0 on", label));
  }
}

void check_named(const Node& node) {
  dataset_recipe(arg<std::string>(node.args, "set"));
  not_empty(node, "root");
}

std::vector<NodeEntry> file_source_entries() {
  return {
      {.op = "image_folder",
       .kind = NodeKind::source,
       .doc = "class folders DIR/<class>/**/*; sorted classes give labels 0, 1, ...",
       .args = {place_arg("dir", "folder that holds one folder a class"),
                texts_arg("extensions", "lower-case ends of the file names that are read", image_extensions()),
                flag_arg("recursive", "files in folders below a class folder, too", true),
                texts_arg("classes", "class folders in the order of their labels; empty: all, sorted"),
                {.name = "labels",
                 .type = ArgType::integers,
                 .doc = "class indexing: the label of each of classes; empty: 0, 1, ...",
                 .fallback = Integers{}}},
       .check = check_image_folder,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "files",
       .kind = NodeKind::source,
       .doc = "whole files: the columns image (their bytes) and path",
       .args = {files_arg()},
       .check = check_files,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "idx",
       .kind = NodeKind::source,
       .doc = "a pair of idx files, plain or gz",
       .args = {place_arg("images", "u8 [N,H,W] or [N,H,W,C]"), place_arg("labels", "u8 or i32 [N]"),
                count_arg("label_base", "what is subtracted from stored labels"),
                flag_arg("transposed", "pictures lie on their side: rows and columns are exchanged", false),
                texts_arg("class_names", "by label")},
       .check =
           [](const Node& node) {
             not_empty(node, "images");
             not_empty(node, "labels");
             check_label_base(node);
           },
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "named",
       .kind = NodeKind::source,
       .doc = "a data set that has a name: cifar10, mnist, flowers102, voc, coco, ...",
       .args = {{.name = "set", .type = ArgType::text, .doc = "its name"},
                {.name = "split", .type = ArgType::text, .doc = "train, val, test"},
                place_arg("root", "folder it lies in"),
                flag_arg("boxes", "the columns boxes (f32, fractions: top, left, bottom, right) and box_labels",
                         false)},
       .check = check_named,
       .schema = columns_of_source,
       .size = records_of_source},
  };
}

}  // namespace

std::vector<NodeEntry> source_entries() {
  std::vector<NodeEntry> all;
  for (std::vector<NodeEntry> (*part)() : {file_source_entries, record_source_entries, table_source_entries}) {
    std::vector<NodeEntry> entries = part();
    std::move(entries.begin(), entries.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace ridgeline::data
