#include "ridgeline/data/transform/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"

namespace ridgeline::data {

Transform TypeCast(DType dtype) { return {"type_cast", {{"dtype", std::string(name_of(dtype))}}, ""}; }
Transform Rescale(double scale, double shift) { return {"rescale", {{"scale", scale}, {"shift", shift}}, ""}; }
Transform OneHot(std::int64_t classes, double smoothing, std::vector<double> weights) {
  return {"one_hot", {{"classes", classes}, {"smoothing", smoothing}, {"weights", std::move(weights)}}, ""};
}

Transform Function(const std::string& name, FunctionOptions options) {
  Args args{{"name", name}};
  if (options.dtype) args["dtype"] = std::string(name_of(*options.dtype));
  if (options.shape) args["shape"] = options.shape->empty() ? Integers{0} : *options.shape;
  return {"function", std::move(args), ""};
}

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

class TypeCastStep : public Step {
 public:
  explicit TypeCastStep(const Transform& t) : dtype_(dtype_named(arg<std::string>(t.args, "dtype"))) {}
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

class RescaleStep : public Step {
 public:
  explicit RescaleStep(const Transform& t)
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

class OneHotStep : public Step {
 public:
  explicit OneHotStep(const Transform& t)
      : classes_(arg<std::int64_t>(t.args, "classes")), weights_(arg<Reals>(t.args, "weights")) {
    const double smoothing = arg<double>(t.args, "smoothing");
    off_ = smoothing / static_cast<double>(classes_);
    on_ = 1 - smoothing + off_;
  }
  void run(Frame& frame, Scratch&) const override {
    const auto label = static_cast<std::int64_t>(to_tensor(frame.cell).at(0));
    if (label < 0 || label >= classes_) throw Error(fmt::format("class {} is outside the {} classes", label, classes_));
    const double weight = weights_.empty() ? 1 : weights_[static_cast<std::size_t>(label)];
    auto* out = reinterpret_cast<float*>(frame.output(static_cast<std::size_t>(classes_) * sizeof(float)));
    std::fill_n(out, classes_, static_cast<float>(weight * off_));
    out[label] = static_cast<float>(weight * on_);
    frame.cell = dense_cell(out, DType::f32, {classes_});
  }

 private:
  std::int64_t classes_;
  Reals weights_;
  double on_, off_;
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
  // Later columns were planned by the declared result.
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

// ---- rules

Column type_cast_schema(const Transform& t, const Column& given) {
  if (given.dtype == DType::bytes)
    throw Error(fmt::format("[{}] byte strings have no element type: {} (an encoded image needs decode before it)",
                            t.op, to_string({given})));
  Column column = given;
  column.dtype = dtype_named(arg<std::string>(t.args, "dtype"));
  return column;
}

Column rescale_schema(const Transform& t, const Column& given) {
  if (given.dtype != DType::u8 && given.dtype != DType::f32)
    throw Error(fmt::format("[{}] takes u8 or f32, it gets {}", t.op, to_string({given})));
  Column column = given;
  column.dtype = DType::f32;
  return column;
}

void check_one_hot(const Transform& t) {
  if (const auto classes = arg<std::int64_t>(t.args, "classes"); classes < 1 || classes > INT32_MAX)
    throw Error(fmt::format("[one_hot] classes is {}, it must be positive and fit 32 bits", classes));
  const double smoothing = arg<double>(t.args, "smoothing");
  if (!(smoothing >= 0 && smoothing < 1))
    throw Error(fmt::format("[one_hot] smoothing is {}, it must be at least 0 and below 1", smoothing));
  const Reals& weights = arg<Reals>(t.args, "weights");
  const auto classes = arg<std::int64_t>(t.args, "classes");
  if (!weights.empty() && static_cast<std::int64_t>(weights.size()) != classes)
    throw Error(fmt::format("[one_hot] has {} weights for {} classes", weights.size(), classes));
  for (const double weight : weights) {
    if (!(weight >= 0 && std::isfinite(weight)))
      throw Error(fmt::format("[one_hot] a weight is {}, it must be 0 or more and finite", weight));
  }
}

Column one_hot_schema(const Transform& t, const Column& given) {
  if ((given.dtype != DType::i32 && given.dtype != DType::i64) || given.shape.rank() != 0)
    throw Error(fmt::format("[{}] takes a class, i32 or i64 without extents, it gets {}", t.op, to_string({given})));
  return {given.name, DType::f32, Shape{arg<std::int64_t>(t.args, "classes")}};
}

void check_function(const Transform& t) {
  if (arg<std::string>(t.args, "name").empty()) throw Error("[function] name is empty");
  const Integers& shape = arg<Integers>(t.args, "shape");
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;  // values of 8 bytes
  for (const std::int64_t extent : shape) {
    if (extent < -1 || (extent == 0 && shape.size() > 1) || shape.size() > 4)
      throw Error("[function] shape must have at most 4 extents, positive or -1; [0] stands for a single number");
    if (extent > most) throw Error("[function] shape has more values than can be counted");
    if (extent > 0) most /= extent;
  }
}

Column function_schema(const Transform& t, const Column& given) {
  Column column = given;
  const std::string& dtype = arg<std::string>(t.args, "dtype");
  const Integers& shape = arg<Integers>(t.args, "shape");
  if (!dtype.empty()) column.dtype = dtype_named(dtype);
  if (shape == Integers{0})
    column.shape = Shape{};
  else if (!shape.empty())
    column.shape = Shape(shape);
  return column;
}

}  // namespace

std::vector<TransformEntry> value_transforms() {
  return {
      {.op = "type_cast",
       .doc = "converts to another element type; conversions to integers drop the fraction",
       .args = {{.name = "dtype",
                 .type = ArgType::text,
                 .doc = "type of the result",
                 .allowed = {"f64", "f32", "bf16", "f16", "u8", "i32", "i64", "bool"}}},
       .any_value = true,
       .schema = each(type_cast_schema),
       .step = step<TypeCastStep>},
      {.op = "rescale",
       .doc = "converts to f32: x * scale + shift",
       .args = {{.name = "scale", .type = ArgType::real, .doc = "factor"},
                {.name = "shift", .type = ArgType::real, .doc = "added after scaling", .fallback = 0.0}},
       .any_value = true,
       .schema = each(rescale_schema),
       .step = step<RescaleStep>},
      {.op = "one_hot",
       .doc = "one-hot encoding: a class number becomes f32 [classes]",
       .args = {{.name = "classes", .type = ArgType::integer, .doc = "number of classes"},
                {.name = "smoothing",
                 .type = ArgType::real,
                 .doc = "label smoothing: share that is spread evenly over all classes",
                 .fallback = 0.0},
                {.name = "weights",
                 .type = ArgType::reals,
                 .doc = "weight of each class, by which its row is multiplied; empty: 1",
                 .fallback = Reals{},
                 .newer = true}},
       .needs_pixels = false,
       .check = check_one_hot,
       .schema = each(one_hot_schema),
       .step = step<OneHotStep>},
      {.op = "function",
       .doc = "a user function, by the name given to register_function",
       .args = {{.name = "name", .type = ArgType::text, .doc = "registered name", .code = true},
                {.name = "dtype",
                 .type = ArgType::text,
                 .doc = "type of the result; empty: unchanged",
                 .fallback = std::string(),
                 .allowed = {"", "f64", "f32", "bf16", "f16", "u8", "i32", "i64", "bool", "bytes"}},
                {.name = "shape",
                 .type = ArgType::integers,
                 .doc = "shape of the result, -1 for an extent that varies; empty: unchanged, [0]: a single number",
                 .fallback = Integers{}}},
       .needs_pixels = false,
       .costly = true,
       .code_version = [](const Args& args) { return version_of_function(arg<std::string>(args, "name")); },
       .check = check_function,
       .schema = each(function_schema),
       .step = step<UserFunction>},
  };
}

}  // namespace ridgeline::data
