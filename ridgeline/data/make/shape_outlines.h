// ridgeline/data/make/shape_outlines.h
//
// The ten figures of the embedded data set, as outlines about the origin that touch the unit circle. Private to this
// folder.
#pragma once

#include <numbers>

#include "ridgeline/core/random.h"
#include "ridgeline/data/make/draw.h"

namespace ridgeline::data {

inline constexpr double kFullTurn = 2 * std::numbers::pi;  // radians

// Proportions vary a little with `random`.
Outline shape_outline(int label, SampleRandom& random);
// An irregular blob of 5 to 8 corners: none of the classes.
Outline blob_outline(SampleRandom& random);

// Rotated by `angle` (radians), squashed across `squash_angle` by `squash`, scaled to `radius`, moved to (x, y).
Outline placed(const Outline& outline, double angle, double squash, double squash_angle, double radius, double x,
               double y);

}  // namespace ridgeline::data
