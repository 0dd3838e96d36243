// ridgeline/data/transform/window.h
//
// Windows of an image and resized images, for the steps that crop and resize.
#pragma once

#include "ridgeline/data/sample/step.h"

namespace ridgeline::data {

// The window of `size` with its upper left corner at (top, left) of the image, filled where it reaches beyond.
void window_into(Frame& frame, int top, int left, image::Size size, image::Colour fill = {});
// The middle, with zeros around it if the image is smaller.
void center_crop_into(Frame& frame, image::Size size);

// The whole image, resized.
void resize_into(Frame& frame, Scratch& scratch, const image::ResizeSpec& spec);

// The size that an image gets: these sides, rounded down. An Error if one is not in 1 to 65535.
image::Size new_size(image::Size in, double height, double width);

// [side] or [height, width].
image::Size to_size(const Integers& size);

}  // namespace ridgeline::data
