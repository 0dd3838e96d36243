#include "ridgeline/data/source/arguments.h"

#include <fmt/format.h>

#include "ridgeline/data/source/handle.h"

namespace ridgeline::data {

Dataset source_dataset(std::string op, Args args) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  DataGraph graph;
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

Dataset source_dataset(std::string op, Args args, FunctionRef<std::unique_ptr<Source>(const Node&)> open) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.source = handle_of_open(open(node));
  DataGraph graph;
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

ArgSpec text_arg(const char* name, const char* doc, const char* fallback) {
  return {.name = name, .type = ArgType::text, .doc = doc, .fallback = std::string(fallback)};
}
ArgSpec place_arg(const char* name, const char* doc) {
  return {.name = name, .type = ArgType::text, .doc = doc, .place = true};
}
ArgSpec texts_arg(const char* name, std::string doc, Texts fallback) {
  return {.name = name, .type = ArgType::texts, .doc = std::move(doc), .fallback = std::move(fallback)};
}
ArgSpec flag_arg(const char* name, const char* doc, bool fallback) {
  return {.name = name, .type = ArgType::boolean, .doc = doc, .fallback = fallback};
}
ArgSpec count_arg(const char* name, const char* doc, std::int64_t fallback) {
  return {.name = name, .type = ArgType::integer, .doc = doc, .fallback = fallback};
}
ArgSpec files_arg() {
  return {.name = "files", .type = ArgType::texts, .doc = "files or shell patterns", .place = true};
}
ArgSpec num_classes_arg() {
  return count_arg("num_classes", "number of classes; larger labels are errors; 0: unknown");
}

void check_files(const Node& node) {
  if (arg<Texts>(node.args, "files").empty()) throw Error(fmt::format("[{}] files is empty", node.op));
}

void check_label_base(const Node& node) {
  if (const std::int64_t base = at_least(node, "label_base", 0); base > INT32_MAX)
    throw Error(fmt::format("[{}] label_base is {}, labels have 32 bits", node.op, base));
}

Column encoded_image() { return {kImageColumn, DType::bytes, Shape{}}; }
Column class_label() { return {kLabelColumn, DType::i32, Shape{}}; }

}  // namespace ridgeline::data
