#include "ridgeline/data/ir/nodes/source_args.h"

#include <fmt/format.h>

#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

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
ArgSpec num_classes_arg() { return count_arg("num_classes", "labels outside are errors; 0: unknown"); }

void check_files(const Node& node) {
  if (arg<Texts>(node.args, "files").empty()) throw Error(fmt::format("[{}] files is empty", node.op));
}

void check_label_base(const Node& node) {
  if (const std::int64_t base = at_least(node, "label_base", 0); base > INT32_MAX)
    throw Error(fmt::format("[{}] label_base is {}, labels have 32 bits", node.op, base));
}

Schema columns_of_source(const Node& node, const std::vector<Schema>&) { return source_schema(node); }
std::int64_t records_of_source(const Node& node, const std::vector<std::int64_t>&) {
  return static_cast<std::int64_t>(source_of(node).size());
}

}  // namespace ridgeline::data
