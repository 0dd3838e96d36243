// ridgeline/data/standard/record_parts.h
//
// Splits that are files: TFRecord shards and packed files, told apart by their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/source/part_names.h"
#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

struct FileParts {
  std::vector<DataPart> parts;
  std::vector<NotUsed> not_used;  // files of the layout that are in none of the splits
};

// The files of that layout directly in `folder`. `inside`: the folder is that split, whatever the files' names; else
// the last word for a split in a file's name tells ("flowers_train_00000-of-00001.tfrecord"), and if no name has one,
// all files are one split. Places are relative to `root`.
FileParts parts_of_files(Layout layout, const FolderTree& folder, std::optional<PartKind> inside,
                         const std::string& root);

// Whether a file has that layout, records or packed: by its name, or if the name does not tell, by its first bytes.
bool has_layout(Layout layout, const std::string& path);
bool has_files_of(Layout layout, const FolderTree& folder);

// Whether the name could be that of records of a split, but the content is not: "train-images-idx3-ubyte".
bool only_named_as_records(const std::string& path);
// Counts a file that the split skips.
void add_other_file(DataPart& part, const std::string& path, const std::string& root);

// "train-00001-of-00003 is missing (2 of 3 shards are there)", also for empty files and for two sets of shards in one;
// empty if none are missing, or if names do not count shards.
std::vector<ListingFault> shard_faults(const std::vector<std::string>& files, const std::string& root);

}  // namespace ridgeline::data
