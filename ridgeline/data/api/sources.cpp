#include "ridgeline/data/api/sources.h"

#include <utility>

namespace ridgeline::data {
namespace {

Args with_record_files(Args args, const RecordFileOptions& options) {
  args["file_shards"] = options.file_shards;
  args["file_shard"] = options.file_shard;
  args["inflate_limit"] = options.inflate_limit;
  return args;
}

Dataset source(std::string op, Args args) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  DataGraph graph;
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

}  // namespace

Dataset ImageFolder(const std::string& dir, ImageFolderOptions options) {
  return source("image_folder", {{"dir", dir},
                                 {"extensions", std::move(options.extensions)},
                                 {"recursive", options.recursive},
                                 {"classes", std::move(options.classes)},
                                 {"labels", std::move(options.labels)}});
}

LabelBase parse_label_base(const std::string& text) {
  if (text == "auto") return LabelBase::automatic;
  if (text == "0") return LabelBase::zero;
  if (text == "1") return LabelBase::one;
  throw Error("unknown label_base '" + text + "' (allowed: auto, 0, 1)", ErrorKind::usage);
}

Dataset TFRecord(const std::string& pattern, TFRecordOptions options) {
  return TFRecord(std::vector<std::string>{pattern}, options);
}

Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options) {
  const char* base = options.label_base == LabelBase::automatic ? "auto"
                     : options.label_base == LabelBase::zero    ? "0"
                                                                : "1";
  return source("tfrecord", with_record_files({{"files", std::move(files)},
                                               {"label_base", std::string(base)},
                                               {"num_classes", options.num_classes}},
                                              options.record_files));
}

Dataset Idx(const std::string& images, const std::string& labels, IdxOptions options) {
  return source("idx", {{"images", images},
                        {"labels", labels},
                        {"label_base", options.label_base},
                        {"transposed", options.transposed},
                        {"class_names", std::move(options.class_names)}});
}
Dataset InMemory(std::vector<NamedTensor> columns) { return source("in_memory", {{"columns", std::move(columns)}}); }

Dataset Files(std::vector<std::string> patterns) { return source("files", {{"files", std::move(patterns)}}); }

Dataset Examples(std::vector<std::string> files, ExamplesOptions options) {
  return source("example", with_record_files({{"files", std::move(files)},
                                              {"schema", std::move(options.schema)},
                                              {"columns", std::move(options.columns)},
                                              {"label", std::move(options.label)},
                                              {"label_base", options.label_base},
                                              {"num_classes", options.num_classes}},
                                             options.record_files));
}

Dataset JsonLines(const std::string& file, ManifestOptions options) {
  return source("json_lines", {{"file", file},
                               {"columns", std::move(options.columns)},
                               {"image", std::move(options.image)},
                               {"root", std::move(options.root)},
                               {"num_classes", options.num_classes}});
}

Dataset Csv(const std::string& file, CsvOptions options) {
  return source("csv", {{"file", file},
                        {"columns", std::move(options.manifest.columns)},
                        {"image", std::move(options.manifest.image)},
                        {"root", std::move(options.manifest.root)},
                        {"num_classes", options.manifest.num_classes},
                        {"delimiter", std::string(1, options.delimiter)},
                        {"header", options.header}});
}

Dataset Cifar(std::vector<std::string> files, CifarKind kind) {
  return source("cifar", {{"files", std::move(files)},
                          {"kind", std::string(kind == CifarKind::cifar10 ? "cifar10" : "cifar100")},
                          {"coarse", kind == CifarKind::cifar100_coarse}});
}

Dataset Tar(std::vector<std::string> files, TarOptions options) {
  return source("tar", {{"files", std::move(files)},
                        {"image", std::move(options.image)},
                        {"label", std::move(options.label)},
                        {"fields", std::move(options.fields)},
                        {"num_classes", options.num_classes}});
}

Dataset Packed(std::vector<std::string> files, std::vector<std::string> columns) {
  return source("packed", {{"files", std::move(files)}, {"columns", std::move(columns)}});
}

Dataset FromGenerator(const std::string& name) { return source("generator", {{"name", name}}); }
Dataset FromStream(const std::string& name) { return source("generator", {{"name", name}, {"stream", true}}); }

Dataset NamedSet(const std::string& set, const std::string& split, const std::string& root, bool boxes) {
  return source("named", {{"set", set}, {"split", split}, {"root", root}, {"boxes", boxes}});
}

}  // namespace ridgeline::data
