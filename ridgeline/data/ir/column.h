// ridgeline/data/ir/column.h
//
// What flows along an edge of the data graph: columns with names, known from the graph alone, before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/shape.h"

namespace ridgeline::data {

// An extent that differs from sample to sample.
inline constexpr std::int64_t kVaries = -1;

// Column names that have a meaning for the engine.
inline constexpr const char* kImageColumn = "image";
inline constexpr const char* kLabelColumn = "label";
inline constexpr const char* kBoxesColumn = "boxes";           // f32 [?,4]; boxes follow the geometry of image
inline constexpr const char* kBoxLabelsColumn = "box_labels";  // i32 [?], one for each box
inline constexpr const char* kFlipColumn = "flip";  // u8: the consumer mirrors this image (IteratorOptions::raw_images)
inline constexpr const char* kMaskColumn = "mask";  // u8: 1 for real rows of a batch

struct Column {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;  // of one sample; after batch with the batch size in front. kVaries if samples differ
  friend bool operator==(const Column&, const Column&) = default;
};

using Schema = std::vector<Column>;

// The column of that name, or null.
const Column* find_column(const Schema& schema, std::string_view name);
// Columns that can hold rows of both: differing extents become kVaries. nullopt if they differ otherwise.
std::optional<Schema> common_columns(const Schema& a, const Schema& b);
// "image u8[224,224,3], label i32[]"; "?" for an extent that varies.
std::string to_string(const Schema& schema);

}  // namespace ridgeline::data
