// ridgeline/data/ir/geometry_column.h
//
// The column in which record_geometry writes what was done to the column image: bytes, one line for each step
// (sample/geometry.h). Like boxes it follows the image.
#pragma once

namespace ridgeline::data {

inline constexpr const char* kGeometryColumn = "image_geometry";

}  // namespace ridgeline::data
