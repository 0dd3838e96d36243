#include "ridgeline/image/boxes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/image/orientation.h"

namespace ridgeline::image {
namespace {

void check_image(Size image) {
  if (image.height < 1 || image.width < 1) {
    throw Error("[boxes] an image of " + std::to_string(image.height) + "x" + std::to_string(image.width) +
                " has no pixels");
  }
}

// The boxes in pixels of `image` become fractions of a part or a surrounding with its origin at (top, left).
void move_boxes(std::span<ObjectBox> boxes, Size image, double top, double left, Size out) {
  check_image(image);
  check_image(out);
  const auto row = [&](float y) { return static_cast<float>((double{y} * image.height - top) / out.height); };
  const auto column = [&](float x) { return static_cast<float>((double{x} * image.width - left) / out.width); };
  for (ObjectBox& box : boxes) box = {row(box.ymin), column(box.xmin), row(box.ymax), column(box.xmax)};
}

double area(const ObjectBox& box) {
  return std::max(0.0, double{box.ymax} - box.ymin) * std::max(0.0, double{box.xmax} - box.xmin);
}

// Result positions of the source's points: the inverse of a warp's matrix, which leads from result to source.
AffineMatrix inverse_of(const AffineMatrix& m) {
  const double determinant = m.a * m.e - m.b * m.d;
  if (!(std::fabs(determinant) > 1e-12)) throw Error("[boxes] the warp's matrix has no inverse");
  AffineMatrix r{m.e / determinant, -m.b / determinant, 0, -m.d / determinant, m.a / determinant, 0};
  r.c = -(r.a * m.c + r.b * m.f);
  r.f = -(r.d * m.c + r.e * m.f);
  return r;
}

}  // namespace

void crop_boxes(std::span<ObjectBox> boxes, Size image, const Box& crop) {
  move_boxes(boxes, image, crop.top, crop.left, {crop.height, crop.width});
}

void pad_boxes(std::span<ObjectBox> boxes, Size image, const Border& border) {
  move_boxes(boxes, image, -border.top, -border.left, padded_size(image, border));
}

void flip_boxes_horizontal(std::span<ObjectBox> boxes) {
  for (ObjectBox& box : boxes) box = {box.ymin, 1 - box.xmax, box.ymax, 1 - box.xmin};
}

void flip_boxes_vertical(std::span<ObjectBox> boxes) {
  for (ObjectBox& box : boxes) box = {1 - box.ymax, box.xmin, 1 - box.ymin, box.xmax};
}

void turn_boxes_upright(std::span<ObjectBox> boxes, int orientation) {
  const Turn turn = turn_of(orientation);
  if (turn.from_below) flip_boxes_vertical(boxes);
  if (turn.from_right) flip_boxes_horizontal(boxes);
  for (ObjectBox& box : boxes) {
    if (turn.transposed) box = {box.xmin, box.ymin, box.xmax, box.ymax};
  }
}

void warp_boxes(std::span<ObjectBox> boxes, Size image, const AffineMatrix& matrix, Size out) {
  check_image(image);
  check_image(out);
  const AffineMatrix forward = inverse_of(matrix);
  for (ObjectBox& box : boxes) {
    double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
    for (const auto& [x, y] :
         {std::pair{box.xmin, box.ymin}, {box.xmax, box.ymin}, {box.xmax, box.ymax}, {box.xmin, box.ymax}}) {
      const double px = double{x} * image.width, py = double{y} * image.height;
      const double to_x = forward.a * px + forward.b * py + forward.c;
      const double to_y = forward.d * px + forward.e * py + forward.f;
      left = std::min(left, to_x), right = std::max(right, to_x);
      top = std::min(top, to_y), bottom = std::max(bottom, to_y);
    }
    box = {static_cast<float>(top / out.height), static_cast<float>(left / out.width),
           static_cast<float>(bottom / out.height), static_cast<float>(right / out.width)};
  }
}

void perspective_boxes(std::span<ObjectBox> boxes, Size image, const PerspectiveCoefficients& k) {
  check_image(image);
  // Of the matrix {k0 k1 k2, k3 k4 k5, k6 k7 1}, which leads from result to source, by its adjugate.
  const double a = k[4] - k[5] * k[7], b = k[2] * k[7] - k[1], c = k[1] * k[5] - k[2] * k[4];
  const double d = k[5] * k[6] - k[3], e = k[0] - k[2] * k[6], f = k[2] * k[3] - k[0] * k[5];
  const double g = k[3] * k[7] - k[4] * k[6], h = k[1] * k[6] - k[0] * k[7], i = k[0] * k[4] - k[1] * k[3];
  const double determinant = k[0] * a + k[1] * d + k[2] * g;
  if (!(std::fabs(determinant) > 1e-12)) throw Error("[boxes] the warp's matrix has no inverse");
  // The smallest upright box around the warped corners; false where one is on or behind the horizon.
  const auto warped = [&](ObjectBox& box) {
    double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
    for (const auto& [x, y] :
         {std::pair{box.xmin, box.ymin}, {box.xmax, box.ymin}, {box.xmax, box.ymax}, {box.xmin, box.ymax}}) {
      const double px = double{x} * image.width, py = double{y} * image.height;
      const double below = (g * px + h * py + i) / determinant;
      if (!(below > 1e-9)) return false;
      const double to_x = (a * px + b * py + c) / determinant / below;
      const double to_y = (d * px + e * py + f) / determinant / below;
      left = std::min(left, to_x), right = std::max(right, to_x);
      top = std::min(top, to_y), bottom = std::max(bottom, to_y);
    }
    box = {static_cast<float>(top / image.height), static_cast<float>(left / image.width),
           static_cast<float>(bottom / image.height), static_cast<float>(right / image.width)};
    return true;
  };
  for (ObjectBox& box : boxes) {
    if (warped(box)) continue;
    clip_boxes({&box, 1});
    if (!warped(box)) box = {0, 0, 0, 0};
  }
}

void augment_boxes(std::span<ObjectBox> boxes, Size image, const AugmentStep& step) {
  if (step.op == Augment::rotate) return rotate_boxes(boxes, image, plan_rotation(image, step.magnitude));
  if (const std::optional<AffineMatrix> matrix = augment_matrix(step)) warp_boxes(boxes, image, *matrix, image);
}

void rotate_boxes(std::span<ObjectBox> boxes, Size image, const Rotation& rotation) {
  using Kind = Rotation::Kind;
  switch (rotation.kind) {
    case Kind::copy: return;
    case Kind::half:
      flip_boxes_horizontal(boxes);
      flip_boxes_vertical(boxes);
      return;
    case Kind::quarter:  // against the clock: the right border becomes the upper one
      for (ObjectBox& box : boxes) box = {1 - box.xmax, box.ymin, 1 - box.xmin, box.ymax};
      return;
    case Kind::three_quarters:
      for (ObjectBox& box : boxes) box = {box.xmin, 1 - box.ymax, box.xmax, 1 - box.ymin};
      return;
    case Kind::warp: return warp_boxes(boxes, image, rotation.matrix, rotation.size);
  }
}

void clip_boxes(std::span<ObjectBox> boxes) {
  const auto inside = [](float v) { return std::clamp(v, 0.0f, 1.0f); };
  for (ObjectBox& box : boxes) box = {inside(box.ymin), inside(box.xmin), inside(box.ymax), inside(box.xmax)};
}

std::vector<std::size_t> clip_and_drop_boxes(std::vector<ObjectBox>& boxes, Size image, const BoxRule& rule) {
  check_image(image);
  if (!(rule.min_area >= 0 && rule.min_share >= 0 && rule.min_share <= 1)) {
    throw Error("[boxes] min_area must not be negative and min_share must be 0 to 1");
  }
  std::vector<std::size_t> kept;
  const std::vector<ObjectBox> before = boxes;
  clip_boxes(boxes);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double now = area(boxes[i]), whole = area(before[i]);
    const bool keep = now > 0 && now * image.height * image.width >= rule.min_area && now >= rule.min_share * whole;
    if (!keep) continue;
    boxes[kept.size()] = boxes[i];
    kept.push_back(i);
  }
  boxes.resize(kept.size());
  return kept;
}

}  // namespace ridgeline::image
