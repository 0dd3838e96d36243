#include "ridgeline/data/transform/vertical_flip.h"

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::data {

Transform RandomVerticalFlip(double p) { return {"random_vertical_flip", {{"p", p}}, ""}; }

namespace {

// Draws one double. Whole rows change places, of bytes or of floats.
class RandomVerticalFlipStep : public Step {
 public:
  RandomVerticalFlipStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    if (frame.boxes) image::flip_boxes_vertical(*frame.boxes);
    record_geometry(frame, "vertical_flip");
    const Cell in = frame.cell;
    const auto rows = static_cast<int>(in.dims[0]), row = static_cast<int>(in.bytes / static_cast<std::size_t>(rows));
    std::uint8_t* out = frame.output(in.bytes);
    image::flip_vertical({in.data, rows, row, 1, in.row_bytes ? in.row_bytes : row}, out);
    frame.cell.data = out;
    frame.cell.row_bytes = 0;
  }

 private:
  PhiloxKey key_;
  double p_;
};

}  // namespace

std::vector<TransformEntry> vertical_flip_transforms() {
  return {
      {.op = "random_vertical_flip",
       .doc = "mirrors images top to bottom, with the given probability",
       .args = {p_arg()},
       .random = true,
       .check = check_probability,
       .schema = each(flip_schema),
       .step = seeded_step<RandomVerticalFlipStep>},
  };
}

}  // namespace ridgeline::data
