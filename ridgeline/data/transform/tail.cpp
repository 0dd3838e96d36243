#include "ridgeline/data/transform/tail.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/made_by_passes.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::data {

Transform RandomHorizontalFlip(double p) { return {"random_horizontal_flip", {{"p", p}}, ""}; }

Transform HWC2CHW() { return {"hwc_to_chw", {}, ""}; }
Transform NormalizeWith(std::vector<double> mean, std::vector<double> std) {
  return {"normalize", {{"mean", std::move(mean)}, {"std", std::move(std)}}, ""};
}

Transform DrawFlip(double p) { return {"draw_flip", {{"p", p}}, ""}; }

Transform Write(const std::optional<Transform>& flip, const std::optional<Transform>& normalize,
                const std::optional<Transform>& layout) {
  Transform write{
      "write", {{"p", 0.0}, {"mean", Reals{}}, {"std", Reals{}}, {"layout", std::string(layout ? "chw" : "hwc")}}, ""};
  if (layout) write.name = layout->name;
  if (normalize) {
    write.args["mean"] = normalize->args.at("mean");
    write.args["std"] = normalize->args.at("std");
    write.name = normalize->name;
  }
  if (flip) {
    write.args["p"] = flip->args.at("p");
    write.name = flip->name;  // the flip's stream
  }
  return write;
}

Transform ResizeWrite(Transform resize, Transform write) {
  return {"resize_write", {}, "", {std::move(resize), std::move(write)}};
}

namespace {

// The boxes are flipped here, the pixels by the caller (or by the consumer of raw images).
bool draw_flip(PhiloxKey key, double p, Frame& frame) {
  if (p <= 0) return false;
  SampleRandom random = frame.random(key);
  const bool flip = random.uniform() < p;
  if (flip && frame.boxes) image::flip_boxes_horizontal(*frame.boxes);
  if (flip) record_geometry(frame, "horizontal_flip");
  return flip;
}

class DrawFlipStep : public Step {
 public:
  DrawFlipStep(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override { frame.work->flip = draw_flip(key_, p_, frame) ? 1 : 0; }
  bool writes() const override { return false; }

 private:
  PhiloxKey key_;
  double p_;
};

// One row of an image to its position in the result: mirrored, channels last or first. `n` channels: a number, or a
// constant that the compiler unrolls.
template <class T, class N>
void move_pixels(const T* in, int y, image::Size size, N n, bool flip, bool planes, T* out) {
  const std::ptrdiff_t width = size.width, plane = planes ? size.height * width : 1, step = planes ? 1 : n;
  T* row = out + y * width * step;
  for (std::ptrdiff_t x = 0; x < width; ++x) {
    const T* pixel = in + (flip ? width - 1 - x : x) * n;
    for (int c = 0; c < n; ++c) row[x * step + c * plane] = pixel[c];
  }
}

template <class T>
void move_row(const T* in, int y, image::Size size, int channels, bool flip, bool planes, T* out) {
  if (channels == 3)
    move_pixels(in, y, size, std::integral_constant<int, 3>(), flip, planes, out);
  else
    move_pixels(in, y, size, channels, flip, planes, out);
}

// Flip, normalize and channels first, each alone or all of them: one pass over the pixels.
class WriteStep : public Step, public RowTail {
 public:
  WriteStep(PhiloxKey key, double p, const Reals& mean, const Reals& std, bool planes)
      : key_(key), p_(p), planes_(planes) {
    if (!mean.empty()) table_ = std::make_unique<image::NormalizeTable>(three(mean), three(std));
  }

  void run(Frame& frame, Scratch&) const override {
    const bool flip = draw_flip(key_, p_, frame);
    if (frame.cell.dtype == DType::f32) {
      if (flip || planes_) move_floats(frame, flip);
      return;
    }
    if (!flip && !planes_ && !table_) return;
    const image::ImageView in = frame.view();
    const RowPlace place = begin(frame, size_of(in), in.channels, flip);
    for (int y = 0; y < in.height; ++y) write_row(in.row(y), y, place);
    finish(place);
  }

  void resample(Frame& frame, image::Resizer& resizer, const image::ImageView& part) const override {
    frame.tail = nullptr;
    const bool flip = draw_flip(key_, p_, frame);
    struct Sink : image::RowSink {
      const WriteStep& write;
      RowPlace place;
      Sink(const WriteStep& w, RowPlace p) : write(w), place(p) {}
      void take(int y, const std::uint8_t* row) override { write.write_row(row, y, place); }
    } sink(*this, begin(frame, resizer.result(), part.channels, flip));
    resizer.run(part, sink);
    finish(sink.place);
  }

 private:
  // Where the rows of an image are written.
  struct RowPlace {
    image::Size size;
    int channels = 0;
    bool flip = false;
    std::uint8_t* out = nullptr;
    image::Stores stores = image::Stores::cached;
  };

  // Values of a batch that are as large as this are written with non-temporal stores: they would be evicted long before
  // the consumer reads them, and the worker's next sample needs the cache.
  static constexpr std::size_t kStreamedBytes = 128 << 10;

  static void finish(const RowPlace& place) {
    if (place.stores == image::Stores::streamed) image::finish_streamed();
  }

  static std::array<double, 3> three(const Reals& v) { return {v.front(), v[v.size() / 2], v.back()}; }

  // Gets the memory of the result and points the frame to it.
  RowPlace begin(Frame& frame, image::Size size, int channels, bool flip) const {
    const DType dtype = table_ ? DType::f32 : DType::u8;
    std::uint8_t* out = frame.output(bytes_of(size, channels) * (table_ ? sizeof(float) : 1));
    if (planes_)
      frame.cell = dense_cell(out, dtype, {channels, size.height, size.width});
    else
      frame.cell = dense_cell(out, dtype, {size.height, size.width, channels});
    const bool streamed = table_ && out == frame.slot && frame.slot_bytes >= kStreamedBytes;
    return {size, channels, flip, out, streamed ? image::Stores::streamed : image::Stores::cached};
  }

  void write_row(const std::uint8_t* in, int y, const RowPlace& place) const {
    if (!table_) return write_bytes(in, y, place);
    const auto width = static_cast<std::size_t>(place.size.width), row = static_cast<std::size_t>(y) * width;
    auto* out = reinterpret_cast<float*>(place.out);
    if (place.channels != 3) {  // one: the schema allows no other
      for (std::size_t x = 0; x < width; ++x) out[row + x] = table_->at(0, in[place.flip ? width - 1 - x : x]);
    } else if (planes_) {
      table_->planar_row(in, width, place.flip, out + row, width * static_cast<std::size_t>(place.size.height),
                         place.stores);
    } else {
      table_->row(in, width, place.flip, out + 3 * row, place.stores);
    }
  }

  void write_bytes(const std::uint8_t* in, int y, const RowPlace& place) const {
    const auto width = static_cast<std::size_t>(place.size.width);
    const std::size_t bytes = width * static_cast<std::size_t>(place.channels);
    std::uint8_t* row = place.out + static_cast<std::size_t>(y) * bytes;
    if (planes_ || (place.flip && place.channels != 3)) {
      move_row(in, y, place.size, place.channels, place.flip, planes_, place.out);
    } else if (place.flip) {
      image::mirror_rgb(in, width, row);
    } else {
      std::memcpy(row, in, bytes);
    }
  }

  void move_floats(Frame& frame, bool flip) const {
    const Cell in = frame.cell;
    const image::Size size{static_cast<int>(in.dims[0]), static_cast<int>(in.dims[1])};
    const int channels = static_cast<int>(in.dims[2]);
    auto* out = reinterpret_cast<float*>(frame.output(in.bytes));
    const std::ptrdiff_t stride = in.row_bytes ? in.row_bytes : in.dims[1] * in.dims[2] * std::ptrdiff_t{sizeof(float)};
    for (int y = 0; y < size.height; ++y)
      move_row(reinterpret_cast<const float*>(in.data + y * stride), y, size, channels, flip, planes_, out);
    if (planes_)
      frame.cell = dense_cell(out, DType::f32, {in.dims[2], in.dims[0], in.dims[1]});
    else
      frame.cell = dense_cell(out, DType::f32, {in.dims[0], in.dims[1], in.dims[2]});
  }

  PhiloxKey key_;
  double p_;
  bool planes_;
  std::unique_ptr<image::NormalizeTable> table_;
};

std::unique_ptr<WriteStep> make_write(const Transform& t, std::uint64_t seed) {
  return std::make_unique<WriteStep>(philox_key(seed, t.name), arg<double>(t.args, "p"), arg<Reals>(t.args, "mean"),
                                     arg<Reals>(t.args, "std"), arg<std::string>(t.args, "layout") == "chw");
}

// A resize whose rows go through write one by one. Where the resize must do something else last (pixels around a crop
// that is larger than the image), write follows it.
class ResizeWriteStep : public Step {
 public:
  ResizeWriteStep(const Transform& t, std::uint64_t seed)
      : resize_(make_step(t.operations[0], seed)), write_(make_write(t.operations[1], seed)) {}
  void run(Frame& frame, Scratch& scratch) const override {
    frame.tail = write_.get();
    resize_->run(frame, scratch);
    if (std::exchange(frame.tail, nullptr)) write_->run(frame, scratch);
  }

 private:
  std::unique_ptr<Step> resize_;
  std::unique_ptr<WriteStep> write_;
};

// ---- rules

ArgSpec mean_arg() { return {.name = "mean", .type = ArgType::reals, .doc = "one per channel, as a share of 255"}; }
ArgSpec std_arg() {
  return {.name = "std", .type = ArgType::reals, .doc = "one per channel, as a share of 255; positive"};
}

void check_normalize(const Transform& t) {
  const Reals& mean = arg<Reals>(t.args, "mean");
  const Reals& std = arg<Reals>(t.args, "std");
  if (mean.size() != std.size() || (mean.size() != 1 && mean.size() != 3)) {
    throw Error(
        fmt::format("[{}] mean has {} and std {} numbers, both must have 1 or 3", t.op, mean.size(), std.size()));
  }
  for (const double s : std) {
    if (s <= 0) throw Error(fmt::format("[{}] std is {}, it must be positive", t.op, s));
  }
}

Column hwc_to_chw_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given, true);
  column.shape = Shape{given.shape[2], given.shape[0], given.shape[1]};
  return column;
}

Column normalize_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  const std::size_t channels = arg<Reals>(t.args, "mean").size();
  if (column.shape[2] != static_cast<std::int64_t>(channels)) {
    throw Error(fmt::format("[{}] mean has {} numbers, the image has {} channels", t.op, channels, column.shape[2]));
  }
  column.dtype = DType::f32;
  return column;
}

void check_write(const Transform& t) {
  check_probability(t);
  if (!arg<Reals>(t.args, "mean").empty() || !arg<Reals>(t.args, "std").empty()) check_normalize(t);
}

Column write_schema(const Transform& t, const Column& given) {
  const Column column = arg<Reals>(t.args, "mean").empty() ? flip_schema(t, given) : normalize_schema(t, given);
  return arg<std::string>(t.args, "layout") == "chw" ? hwc_to_chw_schema(t, column) : column;
}

void check_resize_write(const Transform& t) {
  const std::vector<Transform>& inner = t.operations;
  if (inner.size() == 2 && transform_entry(inner[0].op).ends_in_resize && transform_entry(inner[1].op).takes_rows)
    return;
  throw Error("[resize_write] is made of two operations: one that ends in a resize, and write");
}

Schema draw_flip_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = each([](const Transform& u, const Column& c) { return image_of(u, c); })(t, std::move(schema), columns);
  if (find_column(schema, kFlipColumn)) throw Error("[draw_flip] there is already a column 'flip'");
  schema.push_back({kFlipColumn, DType::u8, Shape{}});
  return schema;
}

}  // namespace

std::vector<TransformEntry> tail_transforms() {
  return {
      {.op = "random_horizontal_flip",
       .doc = "mirrors images left to right, with the given probability",
       .args = {p_arg()},
       .random = true,
       .tail = TailPart::flip,
       .check = check_probability,
       .schema = each(flip_schema),
       .step = [](const Transform& t, std::uint64_t seed) -> std::unique_ptr<Step> {
         return std::make_unique<WriteStep>(philox_key(seed, t.name), arg<double>(t.args, "p"), Reals{}, Reals{},
                                            false);
       }},
      {.op = "normalize",
       .doc = "normalises u8 to f32: (v - 255 mean) / (255 std)",
       .args = {mean_arg(), std_arg()},
       .tail = TailPart::normalize,
       .check = check_normalize,
       .schema = each(normalize_schema),
       .step = [](const Transform& t, std::uint64_t seed) -> std::unique_ptr<Step> {
         return std::make_unique<WriteStep>(philox_key(seed, t.name), 0.0, arg<Reals>(t.args, "mean"),
                                            arg<Reals>(t.args, "std"), false);
       }},
      {.op = "hwc_to_chw",
       .doc = "converts to channels first",
       .args = {},
       .tail = TailPart::layout,
       .schema = each(hwc_to_chw_schema),
       .step = [](const Transform& t, std::uint64_t seed) -> std::unique_ptr<Step> {
         return std::make_unique<WriteStep>(philox_key(seed, t.name), 0.0, Reals{}, Reals{}, true);
       }},
      {.op = "draw_flip",
       .doc = "draws whether to flip into the column flip; the consumer flips the pixels",
       .args = {p_arg()},
       .made_by_pass = true,
       .random = true,
       .adds_flip = true,
       .check = check_probability,
       .schema = draw_flip_schema,
       .step = seeded_step<DrawFlipStep>},
      {.op = "write",
       .doc = "flip, normalize and channels first in one pass over the pixels",
       .args = {{.name = "p", .type = ArgType::real, .doc = "probability of the flip; 0: none", .fallback = 0.0},
                {.name = "mean",
                 .type = ArgType::reals,
                 .doc = "as in normalize; empty: pixels stay u8",
                 .fallback = Reals{}},
                {.name = "std", .type = ArgType::reals, .doc = "as in normalize", .fallback = Reals{}},
                {.name = "layout",
                 .type = ArgType::text,
                 .doc = "layout of the result: channels last or first",
                 .fallback = std::string("hwc"),
                 .allowed = {"hwc", "chw"}}},
       .made_by_pass = true,
       .random = true,
       .takes_rows = true,
       .check = check_write,
       .schema = each(write_schema),
       .step = make_write},
      {.op = "resize_write",
       .doc = "an operation that ends in a resize, merged with a write that processes rows while they are in cache",
       .args = {},
       .made_by_pass = true,
       .nests = true,
       .fused_sequence = true,
       .check = check_resize_write,
       .schema = after_all,
       .step = seeded_step<ResizeWriteStep>},
  };
}

}  // namespace ridgeline::data
