#include "ridgeline/data/transform/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/boxes.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/data/transform/window.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {

Transform RandomZoomOut(RandomZoomOutOptions options) {
  return {"random_zoom_out",
          {{"side_range", Reals(options.side_range.begin(), options.side_range.end())},
           {"p", options.p},
           {"fill", options.fill.values}},
          ""};
}

Transform RandomIoUCrop(RandomIoUCropOptions options) {
  return {"random_iou_crop",
          {{"min_scale", options.min_scale},
           {"max_scale", options.max_scale},
           {"min_aspect_ratio", options.min_aspect_ratio},
           {"max_aspect_ratio", options.max_aspect_ratio},
           {"options", std::move(options.options)},
           {"trials", options.trials}},
          ""};
}

namespace {

// Draws a double, and three more if it is below p: the factor, the horizontal and the vertical position.
class RandomZoomOutStep : public Step {
 public:
  RandomZoomOutStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        sides_(arg<Reals>(t.args, "side_range")),
        p_(arg<double>(t.args, "p")),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}

  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const image::Size in = size_of(frame.view());
    const double factor = random.uniform(sides_[0], sides_[1]);
    const image::Size out = new_size(in, in.height * factor, in.width * factor);
    const int left = static_cast<int>((out.width - in.width) * random.uniform());
    const int top = static_cast<int>((out.height - in.height) * random.uniform());
    record_geometry(
        frame, "pad",
        {static_cast<double>(left), static_cast<double>(top), static_cast<double>(out.width - in.width - left),
         static_cast<double>(out.height - in.height - top)});
    window_into(frame, -top, -left, out, fill_);
  }

 private:
  PhiloxKey key_;
  Reals sides_;
  double p_;
  image::Colour fill_;
};

// An integer, the option, and for each of its trials two doubles, the sides, and if their ratio is within the limits
// two more: the horizontal and the vertical position.
class RandomIoUCropStep : public Step {
 public:
  RandomIoUCropStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        scale_{arg<double>(t.args, "min_scale"), arg<double>(t.args, "max_scale")},
        ratio_{arg<double>(t.args, "min_aspect_ratio"), arg<double>(t.args, "max_aspect_ratio")},
        options_(arg<Reals>(t.args, "options")),
        trials_(arg<std::int64_t>(t.args, "trials")) {}

  void run(Frame& frame, Scratch&) const override {
    const image::Size in = size_of(frame.view());
    SampleRandom random = frame.random(key_);
    for (int round = 0; round < kMostRounds; ++round) {
      const double least =
          options_[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(options_.size()) - 1))];
      if (least >= 1) return;
      for (std::int64_t trial = 0; trial < trials_; ++trial) {
        const std::optional<image::Box> crop = draw(in, random);
        if (!crop || !(overlap(*frame.boxes, in, *crop) >= least)) continue;
        keep_inside(frame, in, *crop);
        record_geometry(frame, "iou_crop", *crop);
        return window_into(frame, crop->top, crop->left, {crop->height, crop->width});
      }
    }
    throw Error(
        fmt::format("no crop was found for its {} boxes by any of the options (one of 1 leaves such images "
                    "as they are)",
                    frame.boxes->size()));
  }

 private:
  // torchvision's loops forever where no option fits.
  static constexpr int kMostRounds = 1000;

  std::optional<image::Box> draw(image::Size in, SampleRandom& random) const {
    const int width = static_cast<int>(in.width * random.uniform(scale_[0], scale_[1]));
    const int height = static_cast<int>(in.height * random.uniform(scale_[0], scale_[1]));
    if (width < 1 || height < 1) return std::nullopt;
    const double ratio = static_cast<double>(width) / height;
    if (!(ratio >= ratio_[0] && ratio <= ratio_[1])) return std::nullopt;
    const int left = static_cast<int>((in.width - width) * random.uniform());
    const int top = static_cast<int>((in.height - height) * random.uniform());
    return image::Box{top, left, height, width};
  }

  // A middle on the border is outside, even where the shares of the sides, which are f32, round it inwards: so in
  // pixels at least one box is inside.
  static bool holds_middle(const image::ObjectBox& box, image::Size in, const image::Box& crop) {
    const double x = 0.5 * (double{box.xmin} + box.xmax) * in.width, x_slack = 1e-6 * in.width;
    const double y = 0.5 * (double{box.ymin} + box.ymax) * in.height, y_slack = 1e-6 * in.height;
    return crop.left + x_slack < x && x + x_slack < crop.left + crop.width && crop.top + y_slack < y &&
           y + y_slack < crop.top + crop.height;
  }

  // The greatest of the boxes whose middle the crop holds; -1: there are none.
  static double overlap(std::span<const image::ObjectBox> boxes, image::Size in, const image::Box& crop) {
    double greatest = -1;
    for (const image::ObjectBox& box : boxes) {
      if (!holds_middle(box, in, crop)) continue;
      const double left = double{box.xmin} * in.width, right = double{box.xmax} * in.width;
      const double top = double{box.ymin} * in.height, bottom = double{box.ymax} * in.height;
      const double across = std::min<double>(right, crop.left + crop.width) - std::max<double>(left, crop.left);
      const double down = std::min<double>(bottom, crop.top + crop.height) - std::max<double>(top, crop.top);
      const double common = std::max(across, 0.0) * std::max(down, 0.0);
      const double all = (right - left) * (bottom - top) + static_cast<double>(crop.width) * crop.height - common;
      greatest = std::max(greatest, common / all);
    }
    return greatest;
  }

  static void keep_inside(Frame& frame, image::Size in, const image::Box& crop) {
    std::vector<image::ObjectBox>& boxes = *frame.boxes;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (!holds_middle(boxes[i], in, crop)) continue;
      // Boxes are clipped before the crop, as fractions of the image.
      image::ObjectBox box = boxes[i];
      const auto share = [](int at, int side) { return static_cast<float>(static_cast<double>(at) / side); };
      box.xmin = std::max(box.xmin, share(crop.left, in.width));
      box.xmax = std::min(box.xmax, share(crop.left + crop.width, in.width));
      box.ymin = std::max(box.ymin, share(crop.top, in.height));
      box.ymax = std::min(box.ymax, share(crop.top + crop.height, in.height));
      boxes[kept.size()] = box;
      kept.push_back(i);
    }
    boxes.resize(kept.size());
    keep_labels(frame, kept);
  }

  PhiloxKey key_;
  double scale_[2], ratio_[2];
  Reals options_;
  std::int64_t trials_;
};

// ---- rules

void check_zoom_out(const Transform& t) {
  check_probability(t);
  check_fill(t);
  check_count(t, "side_range", {2});
  check_reals(t, "side_range", 1);
  const Reals& sides = arg<Reals>(t.args, "side_range");
  if (sides[0] > sides[1])
    throw Error(fmt::format("[{}] side_range goes from {} down to {}", t.op, sides[0], sides[1]));
}

void check_iou_crop(const Transform& t) {
  const auto real = [&](const char* name) { return arg<double>(t.args, name); };
  if (!(real("min_scale") > 0 && real("min_scale") <= real("max_scale") && real("max_scale") <= 1))
    throw Error(fmt::format("[{}] needs 0 < min_scale <= max_scale <= 1, it has {} and {}", t.op, real("min_scale"),
                            real("max_scale")));
  if (!(real("min_aspect_ratio") > 0 && real("min_aspect_ratio") <= real("max_aspect_ratio")))
    throw Error(fmt::format("[{}] needs 0 < min_aspect_ratio <= max_aspect_ratio, it has {} and {}", t.op,
                            real("min_aspect_ratio"), real("max_aspect_ratio")));
  if (arg<Reals>(t.args, "options").empty()) throw Error(fmt::format("[{}] there are no options", t.op));
  check_between(t, "trials", static_cast<double>(arg<std::int64_t>(t.args, "trials")), 1, 1e6);
}

Column any_size(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  column.shape = Shape{kVaries, kVaries, column.shape[2]};
  return column;
}

Schema iou_crop_schema(const Transform& t, Schema schema, const Columns& columns) {
  return boxes_dropped(t, each(any_size)(t, std::move(schema), columns), columns);
}

ArgSpec real_arg(const char* name, const char* doc, double fallback) {
  return {.name = name, .type = ArgType::real, .doc = doc, .fallback = fallback};
}

}  // namespace

std::vector<TransformEntry> detection_transforms() {
  return {
      {.op = "random_zoom_out",
       .doc = "places the image at a random position in a larger, filled image",
       .args = {{.name = "side_range",
                 .type = ArgType::reals,
                 .doc = "smallest and largest factor of both sides",
                 .fallback = Reals{1, 4}},
                p_arg(),
                fill_arg()},
       .random = true,
       .check = check_zoom_out,
       .schema = each(any_size),
       .step = seeded_step<RandomZoomOutStep>},
      {.op = "random_iou_crop",
       .doc = "a random crop that contains the centre of a box; boxes whose centre lies outside are dropped with their "
              "box_labels, the others are clipped",
       .args = {real_arg("min_scale", "smallest share of each side", 0.3),
                real_arg("max_scale", "largest share of each side", 1),
                real_arg("min_aspect_ratio", "smallest ratio of width to height", 0.5),
                real_arg("max_aspect_ratio", "largest ratio of width to height", 2),
                {.name = "options",
                 .type = ArgType::reals,
                 .doc = "smallest overlaps with a box, one of which is drawn for each image; 1 or more: the image "
                        "stays unchanged",
                 .fallback = Reals{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}},
                {.name = "trials",
                 .type = ArgType::integer,
                 .doc = "number of crops to try for an option",
                 .fallback = std::int64_t{40}}},
       .random = true,
       .check = check_iou_crop,
       .schema = iou_crop_schema,
       .step = seeded_step<RandomIoUCropStep>},
  };
}

}  // namespace ridgeline::data
