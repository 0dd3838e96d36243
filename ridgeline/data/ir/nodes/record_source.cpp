// Sources whose files hold many records each.
#include <fmt/format.h>

#include "ridgeline/data/ir/nodes/source_args.h"
#include "ridgeline/format/gzip.h"

namespace ridgeline::data {
namespace {

// The arguments that source/record_files.h reads.
std::vector<ArgSpec> record_file_args(std::vector<ArgSpec> others) {
  others.insert(others.begin(), files_arg());
  others.push_back(count_arg("file_shards", "sharding by file: parts that the files are shared out to", 1));
  ArgSpec part = count_arg("file_shard", "the part that is read: every file_shards-th file from this one on");
  part.part = true;
  others.push_back(std::move(part));
  ArgSpec limit = count_arg("inflate_limit", "bytes of memory that the content of all compressed files may take",
                            static_cast<std::int64_t>(kInflateLimit));
  limit.place = true;  // cannot change a record
  others.push_back(std::move(limit));
  return others;
}

void check_record_files(const Node& node) {
  check_files(node);
  const std::int64_t parts = at_least(node, "file_shards", 1);
  if (const std::int64_t part = at_least(node, "file_shard", 0); part >= parts)
    throw Error(fmt::format("[{}] file_shard is {}, it must be below file_shards, which is {}", node.op, part, parts));
  at_least(node, "inflate_limit", 0);
  at_least(node, "num_classes", 0);
}

void check_tfrecord(const Node& node) {
  check_record_files(node);
  if (arg<std::int64_t>(node.args, "file_shards") > 1 && arg<std::string>(node.args, "label_base") == "auto")
    throw Error("[tfrecord] label_base auto looks at the first file, which only one part has: give 0 or 1");
}

void check_example(const Node& node) {
  check_record_files(node);
  if (arg<std::int64_t>(node.args, "file_shards") > 1 && arg<std::string>(node.args, "schema").empty())
    throw Error(
        "[example] without a schema the types are those of the first record, which only one part has: give one");
  check_label_base(node);
  const bool asks = arg<std::int64_t>(node.args, "label_base") != 0 || arg<std::int64_t>(node.args, "num_classes") != 0;
  if (asks && arg<std::string>(node.args, "label").empty())
    throw Error("[example] label_base and num_classes need label, the column that holds the class");
}

void check_cifar(const Node& node) {
  check_files(node);
  if (arg<bool>(node.args, "coarse") && arg<std::string>(node.args, "kind") == "cifar10")
    throw Error("[cifar] CIFAR-10 has no coarse classes");
}

void check_tar(const Node& node) {
  check_files(node);
  at_least(node, "num_classes", 0);
}

}  // namespace

std::vector<NodeEntry> record_source_entries() {
  return {
      {.op = "tfrecord",
       .kind = NodeKind::source,
       .doc = "tf.train.Examples with the slim ImageNet keys, in TFRecord files (plain, GZIP, ZLIB)",
       .args = record_file_args(
           {{.name = "label_base",
             .type = ArgType::text,
             .doc = "what is subtracted from stored labels; auto: 0 if the first file has a label 0, else 1",
             .fallback = std::string("auto"),
             .allowed = {"auto", "0", "1"}},
            num_classes_arg()}),
       .check = check_tfrecord,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "example",
       .kind = NodeKind::source,
       .doc = "tf.train.Examples with typed columns, in TFRecord files (plain, GZIP, ZLIB)",
       .args = record_file_args(
           {{.name = "schema",
             .type = ArgType::text,
             .doc = "JSON file with the type and shape of each column; empty: as the first record shows them",
             .fallback = std::string(),
             .place = true},
            texts_arg("columns", "columns that are read; empty: all"),
            text_arg("label", "column that holds the class, which becomes the column label (i32); empty: none", ""),
            count_arg("label_base", "what is subtracted from stored labels"),
            num_classes_arg()}),
       .check = check_example,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "cifar",
       .kind = NodeKind::source,
       .doc = "the binary files of CIFAR-10 and CIFAR-100",
       .args = {files_arg(),
                {.name = "kind",
                 .type = ArgType::text,
                 .doc = "layout of the records",
                 .fallback = std::string("cifar10"),
                 .allowed = {"cifar10", "cifar100"}},
                flag_arg("coarse", "the 20 superclasses of CIFAR-100 instead of its classes", false)},
       .check = check_cifar,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "tar",
       .kind = NodeKind::source,
       .doc = "tar archives in WebDataset's layout: members with one base name are one sample, extensions its fields",
       .args = {files_arg(),
                texts_arg("image", "fields that may be the image, the first that is there; empty: no column image",
                          {"jpg", "jpeg", "png"}),
                text_arg("label", "field that holds the class as text; empty: no column label", "cls"),
                texts_arg("fields", "further fields, as bytes"), num_classes_arg()},
       .check = check_tar,
       .schema = columns_of_source,
       .size = records_of_source},
      {.op = "packed",
       .kind = NodeKind::source,
       .doc = "Ridgeline's own files of rows, read by memory map (ridgeline dataset pack)",
       .args = {files_arg(), texts_arg("columns", "columns that are read; empty: all")},
       .check = check_files,
       .schema = columns_of_source,
       .size = records_of_source},
  };
}

}  // namespace ridgeline::data
