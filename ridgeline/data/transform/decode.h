// ridgeline/data/transform/decode.h
//
// Encoded bytes to pixels. No front end asks for it: resolve_schema writes it down where the first pixels are needed.
#pragma once

#include <vector>

#include "ridgeline/data/sample/step.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// Makes pixels of the frame's bytes; what is learned of the file goes to the run's JPEG indices.
void decode_whole(Frame& frame, Scratch& scratch);
// The same, computing no pixels outside the box.
void decode_part(Frame& frame, Scratch& scratch, image::Box box);

Column decode_schema(const Transform& t, const Column& column);

// Its entry in the table.
std::vector<TransformEntry> decode_transforms();

}  // namespace ridgeline::data
