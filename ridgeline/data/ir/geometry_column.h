// ridgeline/data/ir/geometry_column.h
//
// The column in which record_geometry tells what is done to the column image: bytes, a line a step
// (sample/geometry.h). Like boxes it follows the image.
#pragma once

namespace ridgeline::data {

inline constexpr const char* kGeometryColumn = "image_geometry";

}  // namespace ridgeline::data
