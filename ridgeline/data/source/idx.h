// ridgeline/data/source/idx.h
//
// Pairs of idx files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// A pair of idx files (plain or gz): images u8 [N,H,W] or [N,H,W,C], labels u8 or i32 [N]. Opened at once: their
// extents are part of the schema.
struct IdxOptions {
  std::int64_t label_base = 0;  // subtracted from stored labels
  bool transposed = false;      // pictures are stored with rows and columns exchanged (EMNIST)
  std::vector<std::string> class_names = {};
};
Dataset Idx(const std::string& images, const std::string& labels, IdxOptions options = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry idx_source();

}  // namespace ridgeline::data
