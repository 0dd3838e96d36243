// ridgeline/data/transform/decode.h
//
// Decodes encoded bytes to pixels. Usually implicit: the pass resolve_schema inserts it where pixels are first needed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/image/orientation.h"

namespace ridgeline::data {

struct DecodeOptions {
  std::string exif_orientation = "ignore";  // or "apply": turned upright, as by Pillow's ImageOps.exif_transpose
};
// For pipelines that need other options than the implicit decoding: the first transform of the column.
Transform Decode(DecodeOptions options = {});

// ---- for the transforms that decode

ArgSpec exif_orientation_arg();
image::ExifOrientation exif_orientation_of(const Transform& t);
// Boxes belong to the stored picture: they are turned with it, and the geometry is recorded.
void turn_upright(Frame& frame, image::ExifOrientation orientation);

// Decodes the frame's bytes; an index made on the way goes to the run's JPEG indices.
void decode_whole(Frame& frame, Scratch& scratch, image::ExifOrientation orientation);
// The same, computing no pixels outside the box.
void decode_part(Frame& frame, Scratch& scratch, image::Box box, image::ExifOrientation orientation);

Column decode_schema(const Transform& t, const Column& column);

// Its entry in the table.
std::vector<TransformEntry> decode_transforms();

}  // namespace ridgeline::data
