#include "ridgeline/data/make/shapes.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/make/draw.h"
#include "ridgeline/data/make/shape_outlines.h"

namespace ridgeline::data {
namespace {

constexpr int kMinSide = 96, kMaxSide = 320;

float uniform(SampleRandom& random, double low, double high) { return static_cast<float>(random.uniform(low, high)); }

// A colour of the given brightness (Rec. 601 weights) with a random hue.
std::array<float, 3> colour(SampleRandom& random, float brightness) {
  const float r = uniform(random, -0.3, 0.3), g = uniform(random, -0.3, 0.3), b = uniform(random, -0.3, 0.3);
  const float grey = 0.299f * r + 0.587f * g + 0.114f * b;
  return {brightness + r - grey, brightness + g - grey, brightness + b - grey};
}

Paint paint(SampleRandom& random, float brightness, int side) {
  Paint p;
  p.base = colour(random, brightness);
  const float strength = uniform(random, 0.02, 0.08);
  p.tint = colour(random, strength);
  for (float& t : p.tint) t = std::clamp(t, -0.11f, 0.11f);
  p.pattern = static_cast<Pattern>(random.integer(0, kPatterns - 1));
  const double period = side * (p.pattern == Pattern::gradient ? random.uniform(0.5, 1.0) : random.uniform(0.06, 0.25));
  const double angle = random.uniform(0, kFullTurn);
  p.along_x = static_cast<float>(portable_cos(angle) / period);
  p.along_y = static_cast<float>(portable_sin(angle) / period);
  p.phase = uniform(random, 0, 1);
  for (int i = 0; i < 17; ++i) {
    for (int j = 0; j < 17; ++j) p.lattice[static_cast<std::size_t>(i * 17 + j)] = uniform_float(random.bits()) * 2 - 1;
  }
  for (std::size_t i = 0; i < 17; ++i) {  // so that it repeats without a seam
    p.lattice[i * 17 + 16] = p.lattice[i * 17];
    p.lattice[16 * 17 + i] = p.lattice[i];
  }
  return p;
}

// Brighter towards the light, one at the middle (x, y), `depth` up or down at `reach` pixels from it.
void shine(Paint& p, double angle, double depth, double reach, double x, double y) {
  const double dx = portable_cos(angle) * depth / reach, dy = portable_sin(angle) * depth / reach;
  p.light_x = static_cast<float>(dx);
  p.light_y = static_cast<float>(dy);
  p.light = static_cast<float>(1 - dx * x - dy * y);
}

std::uint8_t to_byte(float v) { return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f); }

struct Scene {
  int height, width;
  Paint ground, figure, distractor;
  Mask figure_mask, shadow_mask, distractor_mask;
  bool distractor_in_front;
  float shadow, grain;
};

Scene compose(int label, SampleRandom& random) {
  // Sides of at most 4:3: a resize to a square then distorts no more than the crops of training do.
  const auto height = static_cast<int>(random.integer(kMinSide, kMaxSide));
  const auto width =
      static_cast<int>(random.integer(std::max(kMinSide, height * 3 / 4), std::min(kMaxSide, height * 4 / 3)));
  Scene scene{height, width, {}, {}, {}, {height, width}, {height, width}, {height, width}, false, 0, 0};
  const int side = std::min(height, width);

  // The figure is clearly lighter than its ground, three times in four, or darker.
  const bool lighter = random.integer(0, 3) != 0;
  const float contrast = uniform(random, 0.42, 0.65);
  const float ground = lighter ? uniform(random, 0.08, 0.95 - contrast) : uniform(random, 0.05 + contrast, 0.92);
  scene.ground = paint(random, ground, side);
  scene.figure = paint(random, lighter ? ground + contrast : ground - contrast, side);
  scene.distractor = paint(random, uniform(random, 0.1, 0.9), side / 2);

  const double radius = side * random.uniform(0.55, 0.82) / 2;
  // The figure stays inside the middle seven eighths: a resize and a centre crop, which is how networks are evaluated,
  // keep all of it.
  const double room = 0.4375 * side - radius;
  const double x = width / 2.0 + random.uniform(-room, room), y = height / 2.0 + random.uniform(-room, room);
  const double angle = random.uniform(-kFullTurn / 18, kFullTurn / 18);
  const double squash = random.uniform(0.86, 1.0), squash_angle = random.uniform(0, kFullTurn);
  const Outline outline = placed(shape_outline(label, random), angle, squash, squash_angle, radius, x, y);
  scene.figure_mask.fill(outline);

  const double light = random.uniform(0, kFullTurn);
  shine(scene.ground, light, random.uniform(0.0, 0.3), std::max(height, width) / 2.0, width / 2.0, height / 2.0);
  shine(scene.figure, light, random.uniform(0.0, 0.22), radius, x, y);
  const double throw_length = radius * random.uniform(0.05, 0.16);
  Outline shadow = outline;
  for (auto& contour : shadow) {
    for (Point& p : contour) {
      p.x -= portable_cos(light) * throw_length;
      p.y -= portable_sin(light) * throw_length;
    }
  }
  scene.shadow = random.bits() & 1 ? uniform(random, 0.15, 0.45) : 0.0f;
  if (scene.shadow > 0) {
    scene.shadow_mask.fill(shadow);
    scene.shadow_mask.blur(side / 80);
  }

  // The distractor lies across the figure's border or beside it.
  const double where = random.uniform(0, kFullTurn), distance = radius * random.uniform(0.6, 1.3);
  const double small = radius * random.uniform(0.1, 0.22);
  // Drawn one by one: compilers order a call's arguments as the processor likes.
  const double distractor_squash_angle = random.uniform(0, kFullTurn), distractor_squash = random.uniform(0.5, 1.0);
  const double distractor_angle = random.uniform(0, kFullTurn);
  const Outline blob = blob_outline(random);
  scene.distractor_mask.fill(placed(blob, distractor_angle, distractor_squash, distractor_squash_angle, small,
                                    x + distance * portable_cos(where), y + distance * portable_sin(where)));
  scene.distractor_in_front = random.bits() & 1;
  scene.grain = uniform(random, 0.0, 0.03);
  return scene;
}

void paint_over(const Paint& paint, const Mask& mask, int y, float* rgb) {
  const image::Box extent = mask.extent();
  if (y < extent.top || y >= extent.top + extent.height) return;
  paint.row(y, extent.left, extent.left + extent.width, mask.row(y), rgb);
}

image::Image render(const Scene& scene, PhiloxKey key, std::uint64_t index) {
  image::Image image(scene.height, scene.width, 3);
  const auto n = static_cast<std::size_t>(scene.width) * 3;
  std::vector<float> rgb(n);
  for (int y = 0; y < scene.height; ++y) {
    scene.ground.row(y, 0, scene.width, nullptr, rgb.data());
    if (!scene.distractor_in_front) paint_over(scene.distractor, scene.distractor_mask, y, rgb.data());
    if (scene.shadow > 0) {
      const float* cover = scene.shadow_mask.row(y);
      for (std::size_t i = 0; i < n; ++i) rgb[i] *= 1.0f - scene.shadow * std::min(cover[i / 3], 1.0f);
    }
    paint_over(scene.figure, scene.figure_mask, y, rgb.data());
    if (scene.distractor_in_front) paint_over(scene.distractor, scene.distractor_mask, y, rgb.data());
    // Grain: one random byte a value. The epoch word, 0 in the scene's draws, is 1 + row here.
    SampleRandom grain(key, 1 + static_cast<std::uint64_t>(y), index);
    std::uint32_t bits = 0;
    std::uint8_t* out = image.row(y);
    for (std::size_t i = 0; i < n; ++i, bits >>= 8) {
      if (i % 4 == 0) bits = grain.bits();
      out[i] = to_byte(rgb[i] + (static_cast<float>(bits & 255) / 127.5f - 1.0f) * scene.grain);
    }
  }
  return image;
}

}  // namespace

const std::vector<std::string>& shape_class_names() {
  static const std::vector<std::string> names = {"circle", "square",   "triangle", "star",  "ring",
                                                 "cross",  "crescent", "heart",    "arrow", "hourglass"};
  return names;
}

int shape_label(std::int64_t index) { return static_cast<int>(index % kShapeClasses); }

image::Image draw_shape_sample(std::uint64_t seed, bool validation, std::int64_t index, int* label) {
  if (index < 0) throw Error("[shapes] index must not be negative");
  const PhiloxKey key = philox_key(seed, validation ? "shapes/validation" : "shapes/train");
  SampleRandom random(key, 0, static_cast<std::uint64_t>(index));
  if (label) *label = shape_label(index);
  return render(compose(shape_label(index), random), key, static_cast<std::uint64_t>(index));
}

}  // namespace ridgeline::data
