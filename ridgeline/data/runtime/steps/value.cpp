// Steps that work on values of any kind, not only images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/runtime/steps/step.h"

namespace ridgeline::data {
namespace {

// A cell over memory that a step has written, with the extents of `like`.
Cell written(const void* data, DType dtype, const Cell& like) {
  Cell cell = like;
  cell.data = static_cast<const std::uint8_t*>(data);
  cell.dtype = dtype;
  cell.row_bytes = 0;
  cell.bytes = static_cast<std::size_t>(like.elements()) * size_of(dtype);
  return cell;
}

class TypeCast : public Step {
 public:
  explicit TypeCast(const Transform& t) : dtype_(dtype_named(arg<std::string>(t.args, "dtype"))) {}
  void run(Frame& frame, Scratch&) const override {
    if (frame.cell.dtype == dtype_) return;
    const Tensor from = to_tensor(frame.cell);
    const std::size_t bytes = static_cast<std::size_t>(frame.cell.elements()) * size_of(dtype_);
    std::uint8_t* out = frame.output(bytes);
    Tensor to = Tensor::view(out, dtype_, from.shape());
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      const double value = from.at(i);
      if (!fits(value)) throw Error(fmt::format("{} does not fit {}", value, name_of(dtype_)));
      to.set(i, value);
    }
    frame.cell = written(out, dtype_, frame.cell);
  }

 private:
  bool fits(double value) const {
    switch (dtype_) {
      case DType::u8: return value > -1 && value < 256;
      case DType::i32: return value > -2147483649.0 && value < 2147483648.0;
      case DType::i64: return value >= -0x1p63 && value < 0x1p63;
      default: return true;
    }
  }
  DType dtype_;
};

class Rescale : public Step {
 public:
  explicit Rescale(const Transform& t)
      : scale_(static_cast<float>(arg<double>(t.args, "scale"))),
        shift_(static_cast<float>(arg<double>(t.args, "shift"))) {}
  void run(Frame& frame, Scratch&) const override {
    const Cell in = frame.cell;
    auto* out = reinterpret_cast<float*>(frame.output(static_cast<std::size_t>(in.elements()) * sizeof(float)));
    if (in.dtype == DType::f32) {
      const auto* x = reinterpret_cast<const float*>(in.data);
      for (std::int64_t i = 0; i < in.elements(); ++i) out[i] = x[i] * scale_ + shift_;
    } else {
      const std::int64_t rows = in.row_bytes ? in.dims[0] : 1, row = in.elements() / std::max<std::int64_t>(1, rows);
      for (std::int64_t y = 0; y < rows; ++y) {
        const std::uint8_t* x = in.data + y * in.row_bytes;
        for (std::int64_t i = 0; i < row; ++i) out[y * row + i] = static_cast<float>(x[i]) * scale_ + shift_;
      }
    }
    frame.cell = written(out, DType::f32, in);
  }

 private:
  float scale_, shift_;
};

class OneHot : public Step {
 public:
  explicit OneHot(const Transform& t) : classes_(arg<std::int64_t>(t.args, "classes")) {
    const double smoothing = arg<double>(t.args, "smoothing");
    off_ = static_cast<float>(smoothing / static_cast<double>(classes_));
    on_ = static_cast<float>(1 - smoothing + smoothing / static_cast<double>(classes_));
  }
  void run(Frame& frame, Scratch&) const override {
    const auto label = static_cast<std::int64_t>(to_tensor(frame.cell).at(0));
    if (label < 0 || label >= classes_) throw Error(fmt::format("class {} is outside the {} classes", label, classes_));
    auto* out = reinterpret_cast<float*>(frame.output(static_cast<std::size_t>(classes_) * sizeof(float)));
    std::fill_n(out, classes_, off_);
    out[label] = on_;
    frame.cell = dense_cell(out, DType::f32, {classes_});
  }

 private:
  std::int64_t classes_;
  float on_, off_;
};

class UserFunction : public Step {
 public:
  explicit UserFunction(const Transform& t)
      : name_(arg<std::string>(t.args, "name")),
        who_("function '" + name_ + "'"),
        function_(function_named(name_)),
        dtype_(arg<std::string>(t.args, "dtype")),
        shape_(arg<Integers>(t.args, "shape")) {}
  void run(Frame& frame, Scratch&) const override {
    const Tensor result = call_user(who_, [&] { return function_(to_tensor(frame.cell)); });
    check(result, frame.cell);
    if (result.dtype() == DType::bytes) {
      const std::string& text = result.string_values().at(0);
      std::memcpy(frame.output(text.size()), text.data(), text.size());
      frame.cell = bytes_cell(frame.work->buffers[frame.turn].data(), text.size());
      return;
    }
    std::uint8_t* out = frame.output(result.byte_size());
    if (result.byte_size() > 0) std::memcpy(out, result.raw(), result.byte_size());
    frame.cell = dense_cell(out, result.dtype(), result.shape().dims());
  }

 private:
  // What it promised in its arguments is what later columns were planned by.
  void check(const Tensor& result, const Cell& in) const {
    const DType dtype = dtype_.empty() ? in.dtype : dtype_named(dtype_);
    bool right = result.defined() && result.dtype() == dtype;
    if (right && dtype != DType::bytes) {
      std::vector<std::int64_t> wanted(in.dims.begin(), in.dims.begin() + in.rank);
      if (shape_ == Integers{0})
        wanted.clear();
      else if (!shape_.empty())
        wanted = shape_;
      const std::vector<std::int64_t>& got = result.shape().dims();
      right = got.size() == wanted.size();
      for (std::size_t i = 0; right && i < got.size(); ++i) right = wanted[i] == kVaries || wanted[i] == got[i];
    }
    if (right) return;
    throw Error(fmt::format("function '{}' returned {}{}, which is not what its arguments dtype and shape say", name_,
                            result.defined() ? name_of(result.dtype()) : "nothing",
                            result.defined() ? result.shape().to_string() : ""));
  }

  std::string name_, who_;
  const SampleFunction& function_;
  std::string dtype_;
  Integers shape_;
};

}  // namespace

std::unique_ptr<Step> make_value_step(const Transform& t) {
  if (t.op == "type_cast") return std::make_unique<TypeCast>(t);
  if (t.op == "rescale") return std::make_unique<Rescale>(t);
  if (t.op == "one_hot") return std::make_unique<OneHot>(t);
  if (t.op == "function") return std::make_unique<UserFunction>(t);
  return nullptr;
}

}  // namespace ridgeline::data
