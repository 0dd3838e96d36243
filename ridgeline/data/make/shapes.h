// ridgeline/data/make/shapes.h
//
// "shapes", the embedded data set: drawn photographs of ten kinds of figure, so that training can be tried and tested
// without a download. Each picture is a pure function of (seed, split, index): the same pixels on every machine. Class,
// position, size, angle, colours, textures, light and a smaller distractor vary independently, figures are darker or
// lighter than their background by chance: only the outline tells the class, no single pixel does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::data {

inline constexpr int kShapeClasses = 10;
inline constexpr int kShapeTrainImages = 8000;
inline constexpr int kShapeValidationImages = 1000;

// Ten names, by label.
const std::vector<std::string>& shape_class_names();

// The label is index % 10, so every split is balanced. RGB, sides 96 to 320.
int shape_label(std::int64_t index);
image::Image draw_shape_sample(std::uint64_t seed, bool validation, std::int64_t index, int* label = nullptr);

}  // namespace ridgeline::data
