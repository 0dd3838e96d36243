#include <fmt/format.h>

#include <set>

#include "ridgeline/data/ir/entries.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/format/dataset_recipes.h"

namespace ridgeline::data {
namespace {

std::int64_t records(const Node& node, const std::vector<std::int64_t>&) {
  return static_cast<std::int64_t>(source_of(node).size());
}

Schema encoded_image_and_label(const Node&, const std::vector<Schema>&) {
  return {{"image", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}};
}

// For sources whose columns are only known from their files.
Schema of_the_files(const Node& node, const std::vector<Schema>&) { return source_of(node).schema(); }

void check_image_folder(const Node& node) {
  not_empty(node, "dir");
  if (arg<Texts>(node.args, "extensions").empty())
    throw Error("[image_folder] extensions is empty: no file could match");
  const Texts& classes = arg<Texts>(node.args, "classes");
  const Integers& labels = arg<Integers>(node.args, "labels");
  if (!labels.empty() && labels.size() != classes.size())
    throw Error(fmt::format("[image_folder] has {} labels for {} classes", labels.size(), classes.size()));
  for (const std::int64_t label : labels) {
    if (label < 0 || label > INT32_MAX) throw Error(fmt::format("[image_folder] label {} is no i32 from 0 on", label));
  }
}

void check_files(const Node& node) {
  if (arg<Texts>(node.args, "files").empty()) throw Error(fmt::format("[{}] files is empty", node.op));
}

void check_csv(const Node& node) {
  not_empty(node, "file");
  if (arg<std::string>(node.args, "delimiter").size() != 1) throw Error("[csv] delimiter must be one character");
  if (!arg<bool>(node.args, "header") && arg<Texts>(node.args, "columns").empty())
    throw Error("[csv] a file without a header needs columns");
}

ArgSpec files_arg() {
  return {.name = "files", .type = ArgType::texts, .doc = "files or shell patterns", .place = true};
}
ArgSpec manifest_columns_arg(const char* otherwise) {
  return {
      .name = "columns",
      .type = ArgType::texts,
      .doc = std::string("NAME:TYPE, TYPE one of bytes, i32, i64, f32, f64 (and [] for lists); empty: ") + otherwise,
      .fallback = Texts{}};
}
ArgSpec image_column_arg() {
  return {.name = "image",
          .type = ArgType::text,
          .doc = "column that names an image file, whose bytes become the column image; empty: none",
          .fallback = std::string()};
}
ArgSpec root_arg() {
  return {.name = "root",
          .type = ArgType::text,
          .doc = "folder that image files are relative to; empty: the manifest's",
          .fallback = std::string(),
          .place = true};
}

void check_columns(const Node& node) {
  const Tensors& columns = arg<Tensors>(node.args, "columns");
  if (columns.empty()) throw Error("[in_memory] has no columns");
  std::set<std::string> names;
  for (const NamedTensor& column : columns) {
    if (column.name.empty() || !names.insert(column.name).second) {
      throw Error("[in_memory] column names must be different and not empty, '" + column.name + "' is not");
    }
    if (column.values.shape().rank() == 0 || column.values.shape()[0] != columns[0].values.shape()[0]) {
      throw Error(fmt::format("[in_memory] column '{}' is {}, the first extent must be {} as in '{}'", column.name,
                              column.values.shape().to_string(),
                              columns[0].values.shape().rank() ? columns[0].values.shape()[0] : 0, columns[0].name));
    }
    if (column.values.dtype() == DType::bytes && column.values.shape().rank() != 1) {
      throw Error("[in_memory] column '" + column.name + "' of bytes must have one extent");
    }
  }
}

Schema memory_schema(const Node& node, const std::vector<Schema>&) {
  Schema schema;
  for (const NamedTensor& column : arg<Tensors>(node.args, "columns")) {
    const std::vector<std::int64_t>& dims = column.values.shape().dims();
    schema.push_back(
        {column.name, column.values.dtype(), Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()))});
  }
  return schema;
}

}  // namespace

std::vector<NodeEntry> source_entries() {
  return {
      {"image_folder",
       NodeKind::source,
       "class folders DIR/<class>/**/*; sorted classes give labels 0, 1, ...",
       {{.name = "dir", .type = ArgType::text, .doc = "folder that holds one folder a class", .place = true},
        {.name = "extensions",
         .type = ArgType::texts,
         .doc = "lower-case ends of the file names that are read",
         .fallback = Texts{".jpg", ".jpeg", ".png"}},
        {.name = "recursive",
         .type = ArgType::boolean,
         .doc = "files in folders below a class folder, too",
         .fallback = true},
        {.name = "classes",
         .type = ArgType::texts,
         .doc = "class folders in the order of their labels; empty: all, sorted",
         .fallback = Texts{}},
        {.name = "labels",
         .type = ArgType::integers,
         .doc = "class indexing: the label of each of classes; empty: 0, 1, ...",
         .fallback = Integers{}}},
       check_image_folder,
       encoded_image_and_label,
       records},
      {"tfrecord",
       NodeKind::source,
       "tf.train.Examples with the slim ImageNet keys, in TFRecord files (plain, GZIP, ZLIB)",
       {{.name = "files", .type = ArgType::texts, .doc = "files or shell patterns", .place = true},
        {.name = "label_base",
         .type = ArgType::text,
         .doc = "what is subtracted from stored labels; auto: 0 if the first file has a label 0, else 1",
         .fallback = std::string("auto"),
         .allowed = {"auto", "0", "1"}},
        {.name = "num_classes",
         .type = ArgType::integer,
         .doc = "labels outside are errors; 0: unknown",
         .fallback = std::int64_t{0}}},
       [](const Node& node) {
         at_least(node, "num_classes", 0);
         if (arg<Texts>(node.args, "files").empty()) throw Error("[tfrecord] files is empty");
       },
       encoded_image_and_label,
       records},
      {"idx",
       NodeKind::source,
       "a pair of idx files, plain or gz",
       {{.name = "images", .type = ArgType::text, .doc = "u8 [N,H,W] or [N,H,W,C]", .place = true},
        {.name = "labels", .type = ArgType::text, .doc = "u8 or i32 [N]", .place = true},
        {.name = "label_base",
         .type = ArgType::integer,
         .doc = "what is subtracted from stored labels",
         .fallback = std::int64_t{0}},
        {.name = "transposed",
         .type = ArgType::boolean,
         .doc = "pictures lie on their side: rows and columns are exchanged",
         .fallback = false},
        {.name = "class_names", .type = ArgType::texts, .doc = "by label", .fallback = Texts{}}},
       [](const Node& node) {
         not_empty(node, "images");
         not_empty(node, "labels");
       },
       of_the_files,
       records},
      {.op = "files",
       .kind = NodeKind::source,
       .doc = "whole files: the columns image (their bytes) and path",
       .args = {files_arg()},
       .check = check_files,
       .schema =
           [](const Node&, const std::vector<Schema>&) {
             return Schema{{"image", DType::bytes, Shape{}}, {"path", DType::bytes, Shape{}}};
           },
       .size = records},
      {.op = "example",
       .kind = NodeKind::source,
       .doc = "tf.train.Examples with typed columns, in TFRecord files",
       .args = {files_arg(),
                {.name = "schema",
                 .type = ArgType::text,
                 .doc = "JSON file with the type and shape of each column; empty: as the first record shows them",
                 .fallback = std::string(),
                 .place = true},
                {.name = "columns",
                 .type = ArgType::texts,
                 .doc = "columns that are read; empty: all",
                 .fallback = Texts{}}},
       .check = check_files,
       .schema = of_the_files,
       .size = records},
      {.op = "csv",
       .kind = NodeKind::source,
       .doc = "rows of a CSV file (RFC 4180)",
       .args =
           {{.name = "file", .type = ArgType::text, .doc = "the file", .place = true},
            manifest_columns_arg("all, as bytes"),
            image_column_arg(),
            root_arg(),
            {.name = "delimiter", .type = ArgType::text, .doc = "between fields", .fallback = std::string(",")},
            {.name = "header", .type = ArgType::boolean, .doc = "the first row names the columns", .fallback = true}},
       .check = check_csv,
       .schema = of_the_files,
       .size = records},
      {.op = "json_lines",
       .kind = NodeKind::source,
       .doc = "one flat JSON object a line",
       .args = {{.name = "file", .type = ArgType::text, .doc = "the file", .place = true},
                manifest_columns_arg("as the first line shows them"),
                image_column_arg(),
                root_arg()},
       .check = [](const Node& node) { not_empty(node, "file"); },
       .schema = of_the_files,
       .size = records},
      {.op = "cifar",
       .kind = NodeKind::source,
       .doc = "the binary files of CIFAR-10 and CIFAR-100",
       .args = {files_arg(),
                {.name = "kind",
                 .type = ArgType::text,
                 .doc = "layout of the records",
                 .fallback = std::string("cifar10"),
                 .allowed = {"cifar10", "cifar100"}},
                {.name = "coarse",
                 .type = ArgType::boolean,
                 .doc = "the 20 superclasses of CIFAR-100 instead of its classes",
                 .fallback = false}},
       .check =
           [](const Node& node) {
             check_files(node);
             if (arg<bool>(node.args, "coarse") && arg<std::string>(node.args, "kind") == "cifar10")
               throw Error("[cifar] CIFAR-10 has no coarse classes");
           },
       .schema =
           [](const Node&, const std::vector<Schema>&) {
             return Schema{{"image", DType::u8, Shape{32, 32, 3}}, {"label", DType::i32, Shape{}}};
           },
       .size = records},
      {.op = "tar",
       .kind = NodeKind::source,
       .doc = "tar archives in WebDataset's layout: members with one base name are one sample, extensions its fields",
       .args = {files_arg(),
                {.name = "image",
                 .type = ArgType::texts,
                 .doc = "fields that may be the image, the first that is there; empty: no column image",
                 .fallback = Texts{"jpg", "jpeg", "png"}},
                {.name = "label",
                 .type = ArgType::text,
                 .doc = "field that holds the class as text; empty: no column label",
                 .fallback = std::string("cls")},
                {.name = "fields", .type = ArgType::texts, .doc = "further fields, as bytes", .fallback = Texts{}},
                {.name = "num_classes",
                 .type = ArgType::integer,
                 .doc = "labels outside are errors; 0: unknown",
                 .fallback = std::int64_t{0}}},
       .check =
           [](const Node& node) {
             check_files(node);
             at_least(node, "num_classes", 0);
           },
       .schema = of_the_files,
       .size = records},
      {.op = "packed",
       .kind = NodeKind::source,
       .doc = "Ridgeline's own files of rows, read by memory map (ridgeline dataset pack)",
       .args = {files_arg(),
                {.name = "columns",
                 .type = ArgType::texts,
                 .doc = "columns that are read; empty: all",
                 .fallback = Texts{}}},
       .check = check_files,
       .schema = of_the_files,
       .size = records},
      {.op = "generator",
       .kind = NodeKind::source,
       .doc = "rows from the user's own code",
       .args = {{.name = "name", .type = ArgType::text, .doc = "given to register_generator or register_stream"},
                {.name = "stream",
                 .type = ArgType::boolean,
                 .doc = "rows come one after the other (register_stream)",
                 .fallback = false}},
       .check = [](const Node& node) { not_empty(node, "name"); },
       .schema = of_the_files,
       .size = records},
      {.op = "named",
       .kind = NodeKind::source,
       .doc = "a data set that has a name: cifar10, mnist, flowers102, voc, coco, ...",
       .args = {{.name = "set", .type = ArgType::text, .doc = "its name"},
                {.name = "split", .type = ArgType::text, .doc = "train, val, test"},
                {.name = "root", .type = ArgType::text, .doc = "folder it lies in", .place = true},
                {.name = "boxes",
                 .type = ArgType::boolean,
                 .doc = "the columns boxes (f32, fractions: top, left, bottom, right) and box_labels",
                 .fallback = false}},
       .check =
           [](const Node& node) {
             dataset_recipe(arg<std::string>(node.args, "set"));
             not_empty(node, "root");
           },
       .schema = of_the_files,
       .size = records},
      {"in_memory",
       NodeKind::source,
       "columns held in memory",
       {{.name = "columns", .type = ArgType::tensors, .doc = "named tensors with the same first extent"}},
       check_columns,
       memory_schema,
       [](const Node& node, const std::vector<std::int64_t>&) {
         return arg<Tensors>(node.args, "columns")[0].values.shape()[0];
       }},
  };
}

}  // namespace ridgeline::data
