#include "ridgeline/graph/op/pointwise.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using loop::define;
using loop::Expr;
using loop::Expression;
using rules::fail;
using rules::optional;
using rules::required;

// The types in which the operands of an op may be stored.
constexpr DTypeSet kNumbers{DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64};
constexpr DTypeSet kAny{DType::f64, DType::f32, DType::bf16, DType::f16,
                        DType::u8,  DType::i32, DType::i64,  DType::boolean};
// What loops read: all types for which f32 arithmetic is exact, and i32, which is converted.
constexpr DTypeSet kLoopTypes{DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean};

// Operands of one dtype among `types`; their broadcast shape, with that dtype or `result`.
ValueType same_types(const std::string& op, const std::vector<std::string>& names, std::span<const ValueType> inputs,
                     DTypeSet types) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    expect_types(op, names[i], inputs[i], types);
    if (inputs[i].dtype != inputs[0].dtype) {
      fail(op, names[0] + " is " + inputs[0].to_string() + " and " + names[i] + " is " + inputs[i].to_string() +
                   ": one element type is meant (cast one of them)");
    }
  }
  return {inputs[0].dtype, broadcast_shape(op, inputs)};
}

// f64 where an operand or result is f64 or a 32- or 64-bit integer (which are exact up to 2^53 then), else f32. The
// step of a random number is ignored.
Arithmetic exact_arithmetic(const Expression& expression, std::span<const ValueType> inputs,
                            std::span<const ValueType> results) {
  const auto wide = [](const ValueType& type) {
    return type.dtype == DType::f64 || type.dtype == DType::i64 || type.dtype == DType::i32;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (wide(inputs[i]) && !only_a_step(expression, static_cast<int>(i))) return Arithmetic::f64;
  }
  return std::any_of(results.begin(), results.end(), wide) ? Arithmetic::f64 : Arithmetic::f32;
}

template <int N, class F>
OpDef arithmetic(std::string name, std::vector<std::string> operands, DTypeSet types, const F& body) {
  Expression expression = define<N>(body);
  OpDef def = pointwise_op(name, operands, [expression](const Attributes&) { return expression; });
  def.formula = loop::to_string(expression, operands);
  def.infer = [name, operands, types](const OpInstance& op) -> std::vector<ValueType> {
    return {same_types(name, operands, op.inputs, types)};
  };
  return def;
}

template <class F>
OpDef comparison(std::string name, const F& body) {
  OpDef def = arithmetic<2>(name, {"x", "y"}, kAny, body);
  def.infer = [name, operands = def.operands](const OpInstance& op) -> std::vector<ValueType> {
    return {{DType::boolean, same_types(name, operands, op.inputs, kAny).shape}};
  };
  return def;
}

OpDef select_op() {
  OpDef def = arithmetic<3>("select", {"c", "a", "b"}, kAny, [](Expr c, Expr a, Expr b) { return select(c, a, b); });
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    rules::expect_dtype("select", "c", op.inputs[0], DType::boolean);
    const ValueType values = same_types("select", {"a", "b"}, op.inputs.subspan(1), kAny);
    return {{values.dtype, broadcast_shape("select", op.inputs)}};
  };
  return def;
}

OpDef cast_op() {
  Expression expression = define<1>([](Expr x) { return x; });
  OpDef def = pointwise_op("cast", {"x"}, [expression](const Attributes&) { return expression; });
  def.traits |= kCast;
  def.formula = "x converted to another element type: to integers towards zero and saturating, to bool as x != 0";
  def.attributes = {required("to", DType::f32, "the element type of the result")};
  // An i32 becomes a narrow floating number by one rounding, and stays zero or not, in f32 as well.
  def.arithmetic = [expression](const OpInstance& op, std::span<const ValueType> results) {
    const DType to = results[0].dtype;
    const bool narrow = to == DType::f32 || to == DType::bf16 || to == DType::f16 || to == DType::boolean;
    if (op.inputs[0].dtype == DType::i32 && narrow) return Arithmetic::f32;
    return exact_arithmetic(expression, op.inputs, results);
  };
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    expect_types("cast", "x", op.inputs[0], kAny);
    if (op.attributes.dtype("to") == DType::bytes) fail("cast", "numbers have no form as byte strings");
    return {{op.attributes.dtype("to"), op.inputs[0].shape}};
  };
  return def;
}

OpDef scale_op() {
  OpDef def = pointwise_op("scale", {"x"}, [](const Attributes& attributes) {
    const double factor = attributes.real("factor");
    return define<1>([&](Expr x) { return x * factor; });
  });
  def.formula = "x * factor";
  def.attributes = {required("factor", 1.0, "factor of every element")};
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    return {same_types("scale", {"x"}, op.inputs, kFloatingTypes)};
  };
  return def;
}

OpDef constant_op() {
  OpDef def = pointwise_op("constant", {}, [](const Attributes& attributes) {
    loop::Builder builder;
    builder.store(builder.constant(attributes.real("value")));
    return builder.finish(0);
  });
  def.formula = "a scalar";
  def.attributes = {required("value", 0.0, "the value"), optional("dtype", DType::f32, "its element type")};
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    if (op.attributes.dtype("dtype") == DType::bytes) fail("constant", "a number is no byte string");
    return {{op.attributes.dtype("dtype"), Shape{}}};
  };
  return def;
}

OpDef dropout_op() {
  OpDef def = pointwise_op("dropout", {"x", "step"}, [](const Attributes& attributes) {
    const double keep = attributes.real("keep_prob");
    const auto key = static_cast<std::uint64_t>(attributes.integer("key"));
    // The threshold is rounded to f32, so that the mask is the same whatever the element type.
    return define<2>([&](Expr x, Expr step) {
      return select(uniform(step, key) < static_cast<double>(static_cast<float>(keep)), x / keep, 0);
    });
  });
  def.formula =
      "u < keep_prob ? x / keep_prob : 0 with u uniform in [0,1), a function of (key, step, element); also its own "
      "gradient, applied to dy";
  def.attributes = {required("keep_prob", 0.5, "probability that an element is kept, in (0, 1]"),
                    required("key", std::int64_t{0}, "Philox key, k0 in the low and k1 in the high 32 bits")};
  def.traits |= kRandom;
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    const ValueType& x = op.inputs[0];
    // The words of npu_ops.dropout (TensorFlow's adapter for Ascend, npu_ops.py), after the op's name.
    if (!is_floating(x.dtype)) fail("dropout", "x must be a floating point tensor. Got a " + x.to_string());
    expect_types("dropout", "x", x, kFloatingTypes);
    if (op.inputs[1] != ValueType{DType::i64, Shape{}})
      fail("dropout", "step is " + op.inputs[1].to_string() + "; i64[] is meant");
    const double keep = op.attributes.real("keep_prob");
    if (!(keep > 0.0 && keep <= 1.0)) {
      fail("dropout",
           "keep_prob must be a float value or a scalar tensor in the range (0, 1], got " + to_string(Attribute(keep)));
    }
    return {x};
  };
  return def;
}

OpDef loop_op() {
  OpDef def = pointwise_op("loop", {"x"},
                           [](const Attributes& attributes) { return loop::parse(attributes.string("expression")); });
  def.formula =
      "evaluates the expression element by element, in f32; each result is stored in the type that the expression "
      "gives";
  def.arithmetic = [](const OpInstance&, std::span<const ValueType>) { return Arithmetic::f32; };
  def.min_operands = 0;
  def.max_operands = -1;
  def.attributes = {required("expression", std::string("x0"), "loop expression (graph/loop/text.h)")};
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    const Expression expression = loop::parse(op.attributes.string("expression"), static_cast<int>(op.inputs.size()));
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueType& type = op.inputs[i];
      if (only_a_step(expression, static_cast<int>(i))) {
        if (type != ValueType{DType::i64, Shape{}})
          fail("loop", "step x" + std::to_string(i) + " is " + type.to_string() + "; i64[] is meant");
        continue;
      }
      expect_types("loop", "x" + std::to_string(i), type, kLoopTypes);
    }
    const Shape shape = broadcast_shape("loop", op.inputs);
    std::vector<ValueType> results;
    for (const loop::Result& result : expression.results) {
      results.push_back({result.type, result.ending == loop::Ending::sum ? Shape{} : shape});
    }
    return results;
  };
  return def;
}

}  // namespace

OpDef pointwise_op(std::string name, std::vector<std::string> operands,
                   std::function<Expression(const Attributes&)> expression) {
  OpDef def;
  def.name = std::move(name);
  def.operands = std::move(operands);
  def.min_operands = def.max_operands = static_cast<int>(def.operands.size());
  def.results = {"y"};
  def.traits = kPointwise;
  def.expression = std::move(expression);
  return def;
}

void finish_pointwise(OpDef& def) {
  if (!def.arithmetic) {
    def.arithmetic = [expression = def.expression](const OpInstance& op, std::span<const ValueType> results) {
      return exact_arithmetic(expression(op.attributes), op.inputs, results);
    };
  }
  const auto by_value = [bare = OpDef(def)](const OpInstance& op, std::span<const Tensor> inputs,
                                            std::span<Tensor> outputs) {
    std::vector<ValueType> results;
    for (const Tensor& t : outputs) results.push_back({t.dtype(), t.shape()});
    const Expression expression = bare.expression(op.attributes);
    loop::evaluate(expression, arithmetic_of(bare, op, results), broadcast_shape(bare.name, op.inputs), inputs,
                   outputs);
  };
  const auto cost = [bare = OpDef(def)](const OpInstance& op, std::span<const ValueType> results) {
    const Expression expression = bare.expression(op.attributes);
    const auto computed = std::count_if(expression.terms.begin(), expression.terms.end(),
                                        [](const loop::Term& t) { return loop::arity(t.kind) > 0; });
    const auto elements = static_cast<double>(broadcast_shape(bare.name, op.inputs).elements());
    return Cost{static_cast<double>(computed) * elements, rules::bytes_moved(op, results)};
  };
  def.reference = by_value;
  def.cost = cost;
}

void expect_types(const std::string& op, const std::string& what, const ValueType& type, DTypeSet types) {
  if (types.contains(type.dtype)) return;
  if (type.dtype == DType::bytes) fail(op, what + " is a column of byte strings");
  fail(op, what + " is " + type.to_string() + "; one of " + types.to_string() + " is meant");
}

Shape broadcast_shape(std::string_view op, std::span<const ValueType> inputs) {
  int rank = 0;
  for (const ValueType& type : inputs) rank = std::max(rank, type.shape.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (const ValueType& type : inputs) {
    for (int axis = 1; axis <= type.shape.rank(); ++axis) {
      std::int64_t& extent = dims[static_cast<std::size_t>(rank - axis)];
      const std::int64_t own = type.shape[-axis];
      if (own == 1 || own == extent) continue;
      if (extent != 1) {
        std::string all;
        for (const ValueType& t : inputs) all += (all.empty() ? "" : ", ") + t.to_string();
        fail(op, "operands of shapes " + all + " do not broadcast to one shape");
      }
      extent = own;
    }
  }
  return Shape(std::move(dims));
}

bool only_a_step(const loop::Expression& expression, int index) {
  bool step = false;
  for (const loop::Term& term : expression.terms) {
    const std::int32_t arguments[] = {term.a, term.b, term.c};
    for (int i = 0; i < loop::arity(term.kind); ++i) {
      const loop::Term& read = expression.terms[static_cast<std::size_t>(arguments[i])];
      if (read.kind != loop::Kind::operand || read.operand != index) continue;
      if (term.kind != loop::Kind::random_uniform) return false;
      step = true;
    }
  }
  for (const loop::Result& result : expression.results) {
    const loop::Term& term = expression.terms[static_cast<std::size_t>(result.term)];
    if (term.kind == loop::Kind::operand && term.operand == index) return false;
  }
  return step;
}

std::vector<OpDef> pointwise_ops() {
  std::vector<OpDef> ops = {
      arithmetic<2>("add", {"x", "y"}, kNumbers, [](Expr x, Expr y) { return x + y; }),
      arithmetic<2>("sub", {"x", "y"}, kNumbers, [](Expr x, Expr y) { return x - y; }),
      arithmetic<2>("mul", {"x", "y"}, kNumbers, [](Expr x, Expr y) { return x * y; }),
      arithmetic<2>("div", {"x", "y"}, kFloatingTypes, [](Expr x, Expr y) { return x / y; }),
      arithmetic<2>("maximum", {"x", "y"}, kNumbers, [](Expr x, Expr y) { return max(x, y); }),
      arithmetic<2>("minimum", {"x", "y"}, kNumbers, [](Expr x, Expr y) { return min(x, y); }),
      arithmetic<1>("neg", {"x"}, kNumbers, [](Expr x) { return -x; }),
      arithmetic<1>("abs", {"x"}, kNumbers, [](Expr x) { return abs(x); }),
      arithmetic<1>("exp", {"x"}, kFloatingTypes, [](Expr x) { return exp(x); }),
      arithmetic<1>("log", {"x"}, kFloatingTypes, [](Expr x) { return log(x); }),
      arithmetic<1>("sqrt", {"x"}, kFloatingTypes, [](Expr x) { return sqrt(x); }),
      arithmetic<1>("floor", {"x"}, kFloatingTypes, [](Expr x) { return floor(x); }),
      arithmetic<1>("cos", {"x"}, kFloatingTypes, [](Expr x) { return cos(x); }),
      arithmetic<1>("sin", {"x"}, kFloatingTypes, [](Expr x) { return sin(x); }),
      arithmetic<1>("relu", {"x"}, kFloatingTypes, [](Expr x) { return max(x, 0); }),
      arithmetic<2>("relu_grad", {"y", "dy"}, kFloatingTypes, [](Expr y, Expr dy) { return select(y <= 0, 0, dy); }),
      comparison("less", [](Expr x, Expr y) { return x < y; }),
      comparison("less_equal", [](Expr x, Expr y) { return x <= y; }),
      comparison("equal", [](Expr x, Expr y) { return x == y; }),
      select_op(),
      cast_op(),
      scale_op(),
      constant_op(),
      dropout_op(),
      loop_op(),
  };
  for (OpDef& op : ops) finish_pointwise(op);
  return ops;
}

}  // namespace ridgeline
