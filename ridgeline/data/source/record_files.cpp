#include "ridgeline/data/source/record_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"

namespace ridgeline::data {

std::vector<ArgSpec> record_file_args(std::vector<ArgSpec> others) {
  others.insert(others.begin(), files_arg());
  others.push_back(count_arg("file_shards", "sharding by file: number of shards that the files are divided into", 1));
  ArgSpec part = count_arg("file_shard", "the shard to read: every file_shards-th file, beginning at this one");
  part.part = true;
  others.push_back(std::move(part));
  ArgSpec limit = count_arg(
      "inflate_limit",
      "most memory for inflated blocks of compressed files, in bytes; others are inflated when they are needed",
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

Args with_record_files(Args args, const RecordFileOptions& options) {
  args["file_shards"] = options.file_shards;
  args["file_shard"] = options.file_shard;
  args["inflate_limit"] = options.inflate_limit;
  return args;
}

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
  const auto inflated = std::make_shared<InflatedBlocks>(limit);
  bool indexed = false;  // an index was made that is kept
  for (std::size_t i = part; i < paths.size(); i += parts) {
    const std::string directory = index_directory(paths[i]);
    TFRecordFile file(paths[i], {.index_cache_directory = directory, .inflated = inflated});
    indexed |= !directory.empty() && !file.index_was_cached();
    files.add(std::move(file));
  }
  if (indexed) bound_index_directory();
  if (files.size() == 0) throw Error(fmt::format("[{}] no records in {}", node.op, fmt::join(patterns, ", ")));
  return files;
}

}  // namespace ridgeline::data
