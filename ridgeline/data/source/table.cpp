// The one list of all sources. Nothing registers itself.
#include <algorithm>

#include "ridgeline/data/ir/nodes/entries.h"
#include "ridgeline/data/source/cifar.h"
#include "ridgeline/data/source/csv.h"
#include "ridgeline/data/source/example.h"
#include "ridgeline/data/source/files.h"
#include "ridgeline/data/source/generator.h"
#include "ridgeline/data/source/handle.h"
#include "ridgeline/data/source/idx.h"
#include "ridgeline/data/source/image_folder.h"
#include "ridgeline/data/source/in_memory.h"
#include "ridgeline/data/source/json_lines.h"
#include "ridgeline/data/source/named.h"
#include "ridgeline/data/source/packed.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/data/source/tar.h"
#include "ridgeline/data/source/tfrecord.h"

namespace ridgeline::data {

const std::vector<SourceEntry>& source_table() {
  static const std::vector<SourceEntry> table{
      image_folder_source(), files_source(),     idx_source(),      named_source(),  tfrecord_source(),
      example_source(),      cifar_source(),     tar_source(),      packed_source(), csv_source(),
      json_lines_source(),   generator_source(), in_memory_source()};
  return table;
}

const SourceEntry& source_entry(const std::string& op) {
  const auto found =
      std::find_if(source_table().begin(), source_table().end(), [&](const SourceEntry& e) { return e.op == op; });
  RIDGELINE_CHECK(found != source_table().end(), "no source " + op);
  return *found;
}

std::vector<NodeEntry> source_entries() {
  std::vector<NodeEntry> nodes;
  for (const SourceEntry& source : source_table()) {
    nodes.push_back({.op = source.op,
                     .kind = NodeKind::source,
                     .doc = source.doc,
                     .args = source.args,
                     .check = source.check,
                     .schema = [](const Node& node, const std::vector<Schema>&) { return columns_of_source(node); },
                     .size = [](const Node& node, const std::vector<std::int64_t>&) { return records_of_source(node); },
                     .handle = make_source_handle,
                     .choose_columns = source.choose_columns});
  }
  return nodes;
}

}  // namespace ridgeline::data
