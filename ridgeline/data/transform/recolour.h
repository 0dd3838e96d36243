// ridgeline/data/transform/recolour.h
//
// What steps that change colours share.
#pragma once

#include "ridgeline/data/sample/step.h"

namespace ridgeline::data {

// Applies op(const image::ImageView& in, std::uint8_t* out), which keeps size and channels, to the frame's image.
template <class Op>
void recolour(Frame& frame, Op&& op) {
  const image::ImageView in = frame.view();
  std::uint8_t* out = frame.output(bytes_of(size_of(in), in.channels));
  op(in, out);
  frame.set(packed(out, size_of(in), in.channels));
}

}  // namespace ridgeline::data
