// Steps that choose and resample pixels.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ridgeline/data/runtime/steps/step.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {
namespace {

image::Size to_size(const Integers& size) { return {static_cast<int>(size.front()), static_cast<int>(size.back())}; }

// What Resize(size) makes of an image.
class SizeLaw {
 public:
  SizeLaw(const Transform& t, const char* name)
      : size_(arg<Integers>(t.args, name)),
        rule_(arg<std::string>(t.args, "size_rule") == "mindata" ? image::SizeRule::mindata
                                                                 : image::SizeRule::torchvision) {}
  image::Size of(image::Size in) const {
    return size_.size() == 1 ? image::resized_short_side(in, static_cast<int>(size_[0]), rule_) : to_size(size_);
  }

 private:
  Integers size_;
  image::SizeRule rule_;
};

// `part` is what the prepared resizer reads.
void resample(Frame& frame, image::Resizer& resizer, const image::ImageView& part) {
  if (frame.tail) return frame.tail->resample(frame, resizer, part);
  const image::Size out = resizer.result();
  std::uint8_t* target = frame.output(bytes_of(out, part.channels));
  resizer.run(part, target, static_cast<std::ptrdiff_t>(out.width) * part.channels);
  frame.set(packed(target, out, part.channels));
}

void resize_into(Frame& frame, Scratch& scratch, const image::ResizeSpec& spec) {
  scratch.resizer.prepare(spec);
  resample(frame, scratch.resizer, image::crop(frame.view(), scratch.resizer.source()));
}

// Calls decode(index) with what is known of the file, and keeps what it learned.
template <class Decode>
image::ImageView with_index(Frame& frame, Scratch& scratch, Decode decode) {
  if (!scratch.indices) return decode(nullptr);
  image::JpegIndex index = scratch.indices->find(frame.place, frame.row.record);
  const int known_rows = index.known_rows();
  const image::ImageView view = decode(&index);
  if (index.known_rows() > known_rows) scratch.indices->keep(frame.place, frame.row.record, index);
  return view;
}

void decode_whole(Frame& frame, Scratch& scratch) {
  frame.set(with_index(frame, scratch,
                       [&](image::JpegIndex* index) { return scratch.decoder.decode(frame.encoded(), index, index); }));
  scratch.lap(Part::decode, bytes_of(size_of(frame.view()), frame.view().channels));
}

void decode_part(Frame& frame, Scratch& scratch, image::Box box) {
  frame.set(with_index(frame, scratch, [&](image::JpegIndex* index) {
    return scratch.decoder.decode_region(frame.encoded(), box, index, index);
  }));
  scratch.lap(Part::decode, bytes_of({box.height, box.width}, frame.view().channels));
}

void fill_all(std::uint8_t* data, std::size_t bytes, int channels, image::Colour fill) {
  if (fill[0] == fill[1] && fill[1] == fill[2]) {
    std::memset(data, fill[0], bytes);
    return;
  }
  const auto n = static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = fill[std::min<std::size_t>(i % n, 2)];
}

// The window of `size` whose upper left corner lies at (top, left) of the image, filled where it reaches beyond.
void window_into(Frame& frame, int top, int left, image::Size size, image::Colour fill = {}) {
  const image::ImageView in = frame.view();
  if (frame.boxes) image::crop_boxes(*frame.boxes, size_of(in), {top, left, size.height, size.width});
  const bool inside = top >= 0 && left >= 0 && top + size.height <= in.height && left + size.width <= in.width;
  if (inside) {
    frame.set(image::crop(in, {top, left, size.height, size.width}));
    return;
  }
  std::uint8_t* target = frame.output(bytes_of(size, in.channels));
  fill_all(target, bytes_of(size, in.channels), in.channels, fill);
  const int first = std::max(0, -left), last = std::min(size.width, in.width - left);
  for (int y = 0; y < size.height && first < last; ++y) {
    if (top + y < 0 || top + y >= in.height) continue;
    std::memcpy(target + (static_cast<std::ptrdiff_t>(y) * size.width + first) * in.channels,
                in.pixel(top + y, left + first),
                static_cast<std::size_t>(last - first) * static_cast<std::size_t>(in.channels));
  }
  frame.set(packed(target, size, in.channels));
}

void center_crop_into(Frame& frame, image::Size size) {
  const image::CenterCrop crop = image::center_crop(size_of(frame.view()), size);
  window_into(frame, crop.box.top - crop.pad_top, crop.box.left - crop.pad_left, size);
}

// ---- geometry

class Decode : public Step {
 public:
  void run(Frame& frame, Scratch& scratch) const override { decode_whole(frame, scratch); }
};

class RandomResizedCropStep : public Step {
 public:
  RandomResizedCropStep(const Transform& t, std::uint64_t seed, bool decodes)
      : key_(philox_key(seed, t.name)),
        out_(to_size(arg<Integers>(t.args, "size"))),
        filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))),
        decodes_(decodes) {
    const Reals& scale = arg<Reals>(t.args, "scale");
    const Reals& ratio = arg<Reals>(t.args, "ratio");
    law_ = {scale[0], scale[1], ratio[0], ratio[1], 10, arg<double>(t.args, "min_object_covered")};
  }

  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = decodes_ ? image::read_header(frame.encoded()).size() : size_of(frame.view());
    SampleRandom random = frame.random(key_);
    std::span<const image::ObjectBox> objects;
    if (law_.min_object_covered > 0 && frame.row.objects) objects = *frame.row.objects;
    const image::Box box = image::random_resized_crop(in, law_, random, objects);
    if (frame.boxes) image::crop_boxes(*frame.boxes, in, box);
    if (decodes_)
      decode_part(frame, scratch, box);
    else
      frame.set(image::crop(frame.view(), box));
    resize_into(frame, scratch, {.in = {box.height, box.width}, .out = out_, .filter = filter_});
  }

 private:
  PhiloxKey key_;
  image::Size out_;
  image::Filter filter_;
  image::CropLaw law_;
  bool decodes_;
};

class ResizeStep : public Step {
 public:
  explicit ResizeStep(const Transform& t)
      : size_(t, "size"), filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))) {}
  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = size_of(frame.view());
    resize_into(frame, scratch, {.in = in, .out = size_.of(in), .filter = filter_});
  }

 private:
  SizeLaw size_;
  image::Filter filter_;
};

class CenterCropStep : public Step {
 public:
  explicit CenterCropStep(const Transform& t) : size_(to_size(arg<Integers>(t.args, "size"))) {}
  void run(Frame& frame, Scratch&) const override { center_crop_into(frame, size_); }

 private:
  image::Size size_;
};

// Decodes the pixels that the resampling of the crop reads, and computes no others.
class DecodeResizeCenterCrop : public Step {
 public:
  explicit DecodeResizeCenterCrop(const Transform& t)
      : crop_(to_size(arg<Integers>(t.args, "size"))),
        resize_(t, "resize"),
        filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))) {}

  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = image::read_header(frame.encoded()).size();
    const image::Size out = resize_.of(in);
    if (crop_.height > out.height || crop_.width > out.width) {  // zeros around: the plain way
      decode_whole(frame, scratch);
      // This resize is not the end.
      std::uint8_t* slot = std::exchange(frame.slot, nullptr);
      const RowTail* tail = std::exchange(frame.tail, nullptr);
      resize_into(frame, scratch, {.in = in, .out = out, .filter = filter_});
      frame.slot = slot;
      frame.tail = tail;
      center_crop_into(frame, crop_);
      return;
    }
    const image::CenterCrop crop = image::center_crop(out, crop_);
    if (frame.boxes) image::crop_boxes(*frame.boxes, out, crop.box);
    scratch.resizer.prepare({.in = in, .out = out, .filter = filter_, .window = crop.box});
    decode_part(frame, scratch, scratch.resizer.source());
    resample(frame, scratch.resizer, frame.view());
  }

 private:
  image::Size crop_;
  SizeLaw resize_;
  image::Filter filter_;
};

class Crop : public Step {
 public:
  explicit Crop(const Transform& t)
      : top_(static_cast<int>(arg<std::int64_t>(t.args, "top"))),
        left_(static_cast<int>(arg<std::int64_t>(t.args, "left"))),
        size_(to_size(arg<Integers>(t.args, "size"))),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}
  void run(Frame& frame, Scratch&) const override { window_into(frame, top_, left_, size_, fill_); }

 private:
  int top_, left_;
  image::Size size_;
  image::Colour fill_;
};

class RandomCrop : public Step {
 public:
  RandomCrop(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        size_(to_size(arg<Integers>(t.args, "size"))),
        padding_(static_cast<int>(arg<std::int64_t>(t.args, "padding"))),
        pad_if_needed_(arg<bool>(t.args, "pad_if_needed")),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}

  // torchvision's RandomCrop.get_params: the row, then the column, both ends included. A side that is too short is
  // padded by what it lacks on both ends, also as there.
  void run(Frame& frame, Scratch&) const override {
    const auto border = [&](int side, int wanted) {
      const int lacks = wanted - (side + 2 * padding_);
      return pad_if_needed_ && lacks > 0 ? padding_ + lacks : padding_;
    };
    const image::Size in = size_of(frame.view());
    const int above = border(in.height, size_.height), before = border(in.width, size_.width);
    const int spare_rows = in.height + 2 * above - size_.height, spare_columns = in.width + 2 * before - size_.width;
    if (spare_rows < 0 || spare_columns < 0) {
      throw Error(fmt::format(
          "a crop of {}x{} does not fit into an image of {}x{} with {} pixels of padding (pad_if_needed makes it fit)",
          size_.height, size_.width, in.height, in.width, padding_));
    }
    SampleRandom random = frame.random(key_);
    const int top = static_cast<int>(random.integer(0, spare_rows)) - above;
    const int left = static_cast<int>(random.integer(0, spare_columns)) - before;
    window_into(frame, top, left, size_, fill_);
  }

 private:
  PhiloxKey key_;
  image::Size size_;
  int padding_;
  bool pad_if_needed_;
  image::Colour fill_;
};

}  // namespace

std::unique_ptr<Step> make_geometry_step(const Transform& t, std::uint64_t seed) {
  if (t.op == "decode") return std::make_unique<Decode>();
  if (t.op == "random_resized_crop") return std::make_unique<RandomResizedCropStep>(t, seed, false);
  if (t.op == "decode_random_resized_crop") return std::make_unique<RandomResizedCropStep>(t, seed, true);
  if (t.op == "resize") return std::make_unique<ResizeStep>(t);
  if (t.op == "center_crop") return std::make_unique<CenterCropStep>(t);
  if (t.op == "decode_resize_center_crop") return std::make_unique<DecodeResizeCenterCrop>(t);
  if (t.op == "crop") return std::make_unique<Crop>(t);
  if (t.op == "random_crop") return std::make_unique<RandomCrop>(t, seed);
  return nullptr;
}

}  // namespace ridgeline::data
