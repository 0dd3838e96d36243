#include "ridgeline/data/source/record_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/data/source/patterns.h"

namespace ridgeline::data {

SeveralFiles<TFRecordFile> open_record_files(const Node& node) {
  const Texts& patterns = arg<Texts>(node.args, "files");
  const auto parts = static_cast<std::size_t>(arg<std::int64_t>(node.args, "file_shards"));
  const auto part = static_cast<std::size_t>(arg<std::int64_t>(node.args, "file_shard"));
  const auto limit = static_cast<std::size_t>(arg<std::int64_t>(node.args, "inflate_limit"));
  const std::vector<std::string> paths = expand_patterns(node.op, patterns);
  if (paths.size() < parts) {
    throw Error(fmt::format("[{}] {} files cannot be shared out to {} file_shards: shard the rows instead", node.op,
                            paths.size(), parts));
  }
  SeveralFiles<TFRecordFile> files;
  std::size_t inflated = 0;
  for (std::size_t i = part; i < paths.size(); i += parts) {
    try {
      files.add(TFRecordFile(paths[i],
                             {.index_cache_directory = index_directory(paths[i]), .inflate_limit = limit - inflated}));
    } catch (const InflateLimitError&) {
      throw Error(
          fmt::format("[{}] {}: the content of compressed files lies in memory, and with this one it is more "
                      "than the inflate_limit of {} bytes ({} bytes without it)",
                      node.op, paths[i], limit, inflated));
    }
    inflated += files.files().back().inflated_bytes();
  }
  if (files.size() == 0) throw Error(fmt::format("[{}] no records in {}", node.op, fmt::join(patterns, ", ")));
  return files;
}

}  // namespace ridgeline::data
