// Every op of the op test table with other extents, attributes, element types and operand layouts than in the table,
// compiled alone and compared with its reference: one element, none, odd sizes, extents around the lengths of vectors
// and blocks. RIDGELINE_OP_VARIANTS=N tries N of each row instead of a few, RIDGELINE_RANDOM_SEED=S begins at S,
// RIDGELINE_OP_VARIANTS_LOG prints each before it runs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/compile/support.h"
#include "tests/graph/op_rows.h"
#include "tests/support/environment.h"

namespace ridgeline {
namespace {

using test::OperandSpec;
using test::OpRow;
using Integers = std::vector<std::int64_t>;

constexpr double kMostFlops = 2e6;
constexpr std::int64_t kMostElements = 1 << 16;

template <class T>
const T& one_of(SampleRandom& random, const std::vector<T>& list) {
  return list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
}
bool chance(SampleRandom& random, double share) { return random.uniform() < share; }

std::int64_t extent(SampleRandom& random) {
  static const Integers small = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13},
                        large = {15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 100, 130};
  if (chance(random, 0.04)) return 0;
  return one_of(random, chance(random, 0.7) ? small : large);
}

// All extents of one size become another size, in operands and in attributes that are shapes.
void exchange_extent(OpRow& row, SampleRandom& random) {
  Integers known;
  for (const OperandSpec& operand : row.operands) known.insert(known.end(), operand.shape.begin(), operand.shape.end());
  if (known.empty()) return;
  const std::int64_t from = one_of(random, known), to = extent(random);
  const bool attributes = chance(random, 0.8);
  const double share = chance(random, 0.6) ? 1 : 0.5;
  const auto exchange = [&](std::int64_t& value) {
    if (value == from && chance(random, share)) value = to;
  };
  for (OperandSpec& operand : row.operands) {
    for (int axis = 0; axis < operand.shape.rank(); ++axis) exchange(operand.shape[axis]);
    if (operand.limit == from && chance(random, share)) operand.limit = std::max<std::int64_t>(1, to);
  }
  for (const char* name : {"input", "shape", "size", "sizes"}) {
    const Attribute* given = row.attributes.find(name);
    if (!attributes || given == nullptr || !std::holds_alternative<Integers>(*given)) continue;
    Integers list = std::get<Integers>(*given);
    for (std::int64_t& value : list) exchange(value);
    row.attributes.set(name, list);
  }
}

void change_attribute(OpRow& row, SampleRandom& random) {
  const OpDef& def = op_def(row.op);
  if (def.attributes.empty()) return;
  const AttributeSpec& spec = one_of(random, def.attributes);
  if (spec.name == "expression" || spec.name == "key" || spec.name == "to" || spec.name == "dtype") return;
  const auto numbers = [&](std::size_t count, std::int64_t least, std::int64_t most) {
    Integers list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(random.integer(least, most));
    return list;
  };
  if (spec.name == "stride" && row.op.find("slice") == std::string::npos) {
    row.attributes.set(spec.name, numbers(2, 1, 4));
  } else if (spec.name == "pad") {
    row.attributes.set(spec.name, numbers(4, 0, 3));
  } else if (spec.name == "dilation") {
    row.attributes.set(spec.name, numbers(2, 1, 3));
  } else if (spec.name == "kernel") {
    row.attributes.set(spec.name, numbers(2, 1, 5));
  } else if (spec.name == "axes") {
    Integers axes;
    for (int axis = 0; axis < row.operands[0].shape.rank(); ++axis) {
      if (chance(random, 0.5)) axes.push_back(axis);
    }
    row.attributes.set(spec.name, axes);
  } else if (spec.name == "axis") {
    const std::int64_t rank = row.operands[0].shape.rank();
    row.attributes.set(spec.name, random.integer(-rank, std::max<std::int64_t>(rank, 1) - 1));
  } else if (spec.name == "groups") {
    row.attributes.set(spec.name, random.integer(1, 8));
  } else if (spec.name == "activation") {
    row.attributes.set(spec.name, std::string(chance(random, 0.5) ? "relu" : "none"));
  } else if (std::holds_alternative<bool>(spec.example) && spec.name != "addend" && spec.name != "passed" &&
             spec.name != "conditional") {
    row.attributes.set(spec.name, chance(random, 0.5));
  }
}

const Integers& integers_of(const OpRow& row, const char* name) { return row.attributes.integers(name); }

// The gradient operand of the backward op of a window has the shape of the forward op's result.
void fit_gradient(OpRow& row) {
  const auto forward = [&](const char* op, std::vector<ValueType> inputs) {
    const OpDef& def = op_def(op);
    Attributes attributes;
    for (const AttributeSpec& spec : def.attributes) {
      if (const Attribute* given = row.attributes.find(spec.name)) attributes.set(spec.name, *given);
    }
    return infer_types(def, inputs, complete_attributes(def, attributes), "forward")[0].shape;
  };
  const auto f32 = [](Shape shape) { return ValueType{DType::f32, std::move(shape)}; };
  if (row.op == "conv2d_bwd_data") {
    const Shape image(integers_of(row, "input"));
    row.operands[0].shape = forward("conv2d", {f32(image), f32(row.operands[1].shape)});
    if (row.operands.size() == 3) row.operands[2].shape = image;
  } else if (row.op == "conv2d_bwd_weights") {
    const Integers& kernel = integers_of(row, "kernel");
    const Attribute* groups = row.attributes.find("groups");
    const Shape &x = row.operands[0].shape, &dy = row.operands[1].shape;
    const std::int64_t share = groups == nullptr ? 1 : std::get<std::int64_t>(*groups);
    row.operands[1].shape = forward("conv2d", {f32(x), f32({dy[3], kernel[0], kernel[1], x[3] / share})});
  } else if (row.op == "max_pool_bwd" || row.op == "avg_pool_bwd") {
    const Shape y =
        forward(row.op == "max_pool_bwd" ? "max_pool" : "avg_pool", {f32(Shape(integers_of(row, "input")))});
    for (OperandSpec& operand : row.operands) operand.shape = y;
    if (row.operands.size() == 2) row.operands[1].limit = integers_of(row, "kernel")[0] * integers_of(row, "kernel")[1];
  }
}

struct Variant {
  OpRow row;
  bool has_nan = false;  // one element of the operands is NaN
  DType floating = DType::f32;
  std::vector<Tensor> operands;
  std::vector<ValueType> types;
  std::vector<Tensor> expected;
};

// Into one of the first two operands: later ones may be a mask or a factor, for which ops do not define NaN.
void put_nan(Variant& v, SampleRandom& random) {
  if (v.operands.empty()) return;
  Tensor& t = v.operands[static_cast<std::size_t>(random.integer(0, v.operands.size() > 1 ? 1 : 0))];
  if (!is_floating(t.dtype()) || t.elements() == 0) return;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  t.set(random.integer(0, t.elements() - 1), chance(random, 0.5) ? nan : -nan);
  v.has_nan = true;
}

// Nothing if the op does not accept these operands, or its reference would take too long.
std::optional<Variant> variant_of(OpRow row, SampleRandom& random) {
  Variant v;
  const double kind = random.uniform();
  v.floating = kind < 0.6 ? DType::f32 : kind < 0.75 ? DType::bf16 : kind < 0.85 ? DType::f16 : DType::f64;
  if (row.f32_only) v.floating = DType::f32;
  for (std::int64_t changes = random.integer(1, 4); changes > 0; --changes) {
    chance(random, 0.6) ? exchange_extent(row, random) : change_attribute(row, random);
  }
  try {
    fit_gradient(row);
    const OpDef& def = op_def(row.op);
    const Attributes attributes = complete_attributes(def, row.attributes);
    for (const OperandSpec& operand : row.operands) {
      v.types.push_back({operand.fill == test::Fill::integers ? operand.dtype : v.floating, operand.shape});
      if (operand.shape.elements() > kMostElements) return std::nullopt;
    }
    const std::vector<ValueType> results = infer_types(def, v.types, attributes, row.op);
    for (const ValueType& type : results) {
      if (type.shape.elements() > kMostElements) return std::nullopt;
    }
    if (def.cost && def.cost({v.types, attributes, row.op}, results).flops > kMostFlops) return std::nullopt;
    for (std::size_t i = 0; i < row.operands.size(); ++i)
      v.operands.push_back(test::make_operand(row.operands[i], v.floating, i + 1));
    if (chance(random, 0.2)) put_nan(v, random);
    v.expected = run_reference(def, v.operands, attributes, row.op);
  } catch (const Error&) {
    return std::nullopt;
  }
  v.row = std::move(row);
  return v;
}

// The first result that differs too much, or "". Elements of a result are sums of terms of the size of the largest.
std::string difference(const Variant& v, Program& program) {
  for (std::size_t r = 0; r < v.expected.size(); ++r) {
    const Tensor given = program.output(r), &wanted = v.expected[r];
    if (given.shape() != wanted.shape() || given.dtype() != wanted.dtype()) return "another type";
    double largest = 0;
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      if (std::isfinite(wanted.at(i))) largest = std::max(largest, std::abs(wanted.at(i)));
    }
    // The transforms of some convolutions turn more results into NaN than those that read one.
    const bool spreads = v.has_nan && v.row.op.starts_with("conv2d");
    if (spreads && !is_floating(wanted.dtype())) continue;  // the position of the maximum, which may be such a NaN
    const double share = wanted.dtype() == DType::bf16 ? 1e-2 : wanted.dtype() == DType::f16 ? 2e-3 : 2e-4;
    const double tolerance = is_floating(wanted.dtype()) ? share * std::max(largest, 1e-3) : 0;
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      const double a = given.at(i), b = wanted.at(i);
      if (a == b || (std::isnan(a) && (std::isnan(b) || spreads)) || std::abs(a - b) <= tolerance) continue;
      return "result " + std::to_string(r) + " element " + std::to_string(i) + " is " + std::to_string(a) +
             " instead of " + std::to_string(b);
    }
  }
  return "";
}

std::string describe(const Variant& v) {
  std::string text = v.row.op + "(";
  for (const ValueType& type : v.types) text += " " + type.to_string();
  text += v.has_nan ? " ) with NaN" : " )";
  for (const auto& [name, value] : v.row.attributes) text += " " + name + "=" + to_string(value);
  return text;
}

// Twice, and from the store if an operand is a parameter, whose layout the kernel then chooses.
std::string run(const Variant& v, SampleRandom& random) {
  GraphBuilder b("variant");
  std::vector<Value> operands;
  const auto level = static_cast<Reproducibility>(random.integer(0, 2));
  Session session({.compute_threads = static_cast<int>(random.integer(1, 3)),
                   .promise = {.bits = level, .high_precision = chance(random, 0.3)}});
  for (std::size_t i = 0; i < v.types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    const bool stored = chance(random, 0.5);
    operands.push_back(stored ? b.param(name, v.types[i]) : b.input(name, v.types[i]));
    if (stored) session.parameters().set(name, v.operands[i]);
  }
  const std::vector<Value> results = b.apply_all(v.row.op, operands, v.row.attributes, {});
  for (std::size_t r = 0; r < results.size(); ++r) b.returns("y" + std::to_string(r), results[r]);
  const Graph graph = b.finish();
  const auto program = compile(graph, session, {.fusion = chance(random, 0.5), .verify = true});
  for (std::size_t i = 0; i < v.types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    if (graph.value(graph.find_argument(name)).kind == ValueKind::input) program->bind(name, v.operands[i]);
  }
  for (int round = 0; round < 2; ++round) {
    program->run();
    if (const std::string d = difference(v, *program); !d.empty()) return d;
  }
  return "";
}

TEST(OpVariants, GiveTheReferencesResultsThroughCompile) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_OP_VARIANTS", 6);
  const bool log = std::getenv("RIDGELINE_OP_VARIANTS_LOG") != nullptr;
  std::set<std::string> compared;
  int failed = 0;
  for (std::size_t r = 0; r < test::op_rows().size() && failed < 20; ++r) {
    const OpDef& def = op_def(test::op_rows()[r].op);
    if (def.has(kStart) || def.has(kDone)) continue;  // halves of an exchange, which cannot run alone
    for (std::int64_t seed = first; seed < first + count; ++seed) {
      SampleRandom random(philox_key(static_cast<std::uint64_t>(seed), "op variants"), 0, r);
      std::optional<Variant> variant;
      for (int draws = 0; draws < 30 && !variant; ++draws) variant = variant_of(test::op_rows()[r], random);
      if (!variant) continue;
      if (log) std::cerr << "row " << r << " seed " << seed << ": " << describe(*variant) << std::endl;
      std::string d;
      try {
        d = run(*variant, random);
      } catch (const std::exception& error) {
        d = error.what();
      }
      compared.insert(variant->row.op);
      if (d.empty()) continue;
      ++failed;
      ADD_FAILURE() << "row " << r << " seed " << seed << ": " << describe(*variant) << "\n" << d;
      break;
    }
  }
  EXPECT_GT(compared.size(), 70u);
}

}  // namespace
}  // namespace ridgeline
