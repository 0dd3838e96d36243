#include "ridgeline/graph/op/collective.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

constexpr std::size_t kPieceAlignment = 64;

constexpr std::array kRules = {
    CollectiveRule{"all_reduce", CollectiveKind::all_reduce, true, false, false, true, true, false, 0,
                   "y = the sum (or mean) of x over the ranks of the group, on every rank"},
    CollectiveRule{"reduce", CollectiveKind::reduce, true, true, false, true, false, false, 0,
                   "y = the sum (or mean) of x over the ranks of the group on rank root, and 0 on the others"},
    CollectiveRule{"broadcast", CollectiveKind::broadcast, false, true, false, true, true, false, 0,
                   "y = x of rank root, on every rank"},
    CollectiveRule{"all_gather", CollectiveKind::all_gather, false, false, false, false, true, true, 1,
                   "y = the x of all ranks, concatenated along the first axis in the order of ranks"},
    CollectiveRule{
        "reduce_scatter", CollectiveKind::reduce_scatter, true, false, false, false, false, true, -1,
        "y = on rank r, part r of all_reduce(x), which is divided into `ranks` equal parts along the first axis"},
    CollectiveRule{"all_to_all", CollectiveKind::all_to_all, false, false, false, false, false, false, 0,
                   "y = on rank r, part r of the x of every rank, concatenated in the order of ranks; each x is "
                   "divided into `ranks` equal parts along the first axis"},
    CollectiveRule{"transfer", CollectiveKind::transfer, false, false, true, true, false, false, 0,
                   "sends x from rank `from` to rank `to`: y = x of rank `from`, on both; other ranks must not run it"},
};

const CollectiveRule* find_rule(std::string_view name) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const CollectiveRule& r) { return r.name == name; });
  return found == kRules.end() ? nullptr : &*found;
}

std::int64_t ranks_of(std::string_view op, const Attributes& attributes) {
  const std::int64_t ranks = attributes.integer("ranks");
  if (ranks < 1) fail(op, "ranks=" + std::to_string(ranks) + "; at least 1 is meant");
  return ranks;
}

void check_settings(std::string_view op, const CollectiveRule& rule, const Attributes& attributes) {
  const std::int64_t ranks = ranks_of(op, attributes);
  if (rule.combines) {
    const std::string& how = attributes.string("reduction");
    if (how != "sum" && how != "mean") fail(op, "reduction '" + how + "' (allowed: sum, mean)");
  }
  if (rule.has_root) {
    const std::int64_t root = attributes.integer("root");
    if (root < 0 || root >= ranks) fail(op, "root=" + std::to_string(root) + " is no rank of " + std::to_string(ranks));
  }
  if (!rule.between_two) return;
  const std::int64_t from = attributes.integer("from"), to = attributes.integer("to");
  for (const std::int64_t rank : {from, to}) {
    if (rank < 0 || rank >= ranks)
      fail(op, "rank " + std::to_string(rank) + " is none of " + std::to_string(ranks) + " (from and to are meant)");
  }
  if (from == to && ranks > 1) fail(op, "from and to are both rank " + std::to_string(from));
}

ValueType result_type(std::string_view op, const CollectiveRule& rule, const ValueType& x, std::int64_t ranks) {
  ValueType y = x;
  if (rule.grows == 0 && rule.kind != CollectiveKind::all_to_all) return y;
  if (x.shape.rank() == 0) fail(op, "x is a scalar; it needs a first axis");
  if (rule.grows > 0) {
    if (__builtin_mul_overflow(x.shape[0], ranks, &y.shape[0]))
      fail(op, "the result of x " + x.to_string() + " is too large");
    return y;
  }
  if (x.shape[0] % ranks != 0)
    fail(op, "the first extent of x " + x.to_string() + " is no multiple of " + std::to_string(ranks) + " ranks");
  if (rule.grows < 0) y.shape[0] = x.shape[0] / ranks;
  return y;
}

void expect_one_rank(std::string_view op, const Attributes& attributes) {
  const std::int64_t ranks = attributes.integer("ranks");
  if (ranks == 1) return;
  fail(op, "the group '" + attributes.string("group") + "' has " + std::to_string(ranks) +
               " ranks, and the reference knows one");
}

void copy_elements(const Tensor& from, std::int64_t first_from, Tensor& to, std::int64_t first_to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to.set(first_to + i, from.at(first_from + i));
}

AttributeSpec group() { return optional("group", std::string("world"), "name of the group of ranks"); }
AttributeSpec ranks() { return required("ranks", std::int64_t{1}, "number of ranks of the group"); }
AttributeSpec reduction() { return optional("reduction", std::string("sum"), "sum or mean"); }
AttributeSpec from_rank() { return optional("from", std::int64_t{0}, "transfer: the rank that sends x"); }
AttributeSpec to_rank() { return optional("to", std::int64_t{0}, "transfer: the rank that receives it"); }
AttributeSpec root() {
  return optional("root", std::int64_t{0}, "the rank of the group that sends (broadcast) or receives (reduce)");
}

OpDef whole_op(const CollectiveRule& rule) {
  OpDef def;
  def.name = rule.name;
  def.formula = rule.formula;
  def.operands = {"x"};
  def.min_operands = def.max_operands = 1;
  def.results = {"y"};
  def.attributes = {group(), ranks()};
  if (rule.combines) def.attributes.push_back(reduction());
  if (rule.has_root) def.attributes.push_back(root());
  if (rule.between_two) def.attributes.insert(def.attributes.end(), {from_rank(), to_rank()});
  def.traits = kCollective;
  def.infer = [&rule](const OpInstance& op) -> std::vector<ValueType> {
    expect_floating(rule.name, "x", op.inputs[0]);
    check_settings(rule.name, rule, op.attributes);
    return {result_type(rule.name, rule, op.inputs[0], ranks_of(rule.name, op.attributes))};
  };
  def.reference = [&rule](const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    expect_one_rank(rule.name, op.attributes);
    copy_elements(inputs[0], 0, outputs[0], 0, inputs[0].elements());
  };
  return def;
}

const CollectiveRule& rule_named(std::string_view op, const std::string& name) {
  if (const CollectiveRule* rule = find_rule(name)) return *rule;
  std::vector<std::string> names;
  for (const CollectiveRule& rule : kRules) names.emplace_back(rule.name);
  fail(op, "unknown collective '" + name + "'" + did_you_mean(name, names));
}

Packing packing_of(std::span<const ValueType> types) {
  std::vector<std::size_t> bytes;
  for (const ValueType& type : types) bytes.push_back(type.bytes());
  return pack(bytes);
}

std::span<const ValueType> values_of(const OpInstance& op) {
  return op.inputs.first(op.inputs.size() - (op.attributes.boolean("conditional") ? 1 : 0));
}

std::vector<ValueType> infer_start(const OpInstance& op) {
  constexpr std::string_view name = "collective_start";
  const CollectiveRule& rule = rule_named(name, op.attributes.string("collective"));
  check_settings(name, rule, op.attributes);
  if (op.attributes.boolean("conditional") && op.inputs.back() != ValueType{DType::boolean, Shape{}})
    fail(name, "conditional, but its last operand is " + op.inputs.back().to_string() + " instead of bool[]");
  const std::span<const ValueType> values = values_of(op);
  if (values.empty()) fail(name, "has no value to exchange");
  for (const ValueType& type : values) {
    expect_floating(name, "every value", type);
    if (type.dtype != values[0].dtype)
      fail(name, "exchanges " + values[0].to_string() + " together with " + type.to_string() + ": one type is meant");
  }
  if (!rule.packed) {
    if (op.inputs.size() != 1) fail(name, std::string(rule.name) + " takes one value, and no condition");
    return {result_type(name, rule, values[0], ranks_of(name, op.attributes))};
  }
  const auto element = static_cast<std::int64_t>(size_of(values[0].dtype));
  return {{values[0].dtype, {static_cast<std::int64_t>(packing_of(values).bytes) / element}}};
}

// What the ranks exchange, before the exchange: the values at their offsets, zeros between them.
void reference_start(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const CollectiveRule& rule = rule_named("collective_start", op.attributes.string("collective"));
  if (!rule.packed) {
    expect_one_rank("collective_start", op.attributes);
    return copy_elements(inputs[0], 0, outputs[0], 0, inputs[0].elements());
  }
  const std::span<const ValueType> values = values_of(op);
  const Packing packing = packing_of(values);
  const auto element = static_cast<std::int64_t>(size_of(outputs[0].dtype()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(packing.offsets[i]) / element;
    const std::int64_t end =
        i + 1 < values.size() ? static_cast<std::int64_t>(packing.offsets[i + 1]) / element : outputs[0].elements();
    const std::int64_t count = inputs[i].elements();
    copy_elements(inputs[i], 0, outputs[0], begin, count);
    for (std::int64_t gap = begin + count; gap < end; ++gap) outputs[0].set(gap, 0);
  }
}

std::vector<ValueType> infer_done(const OpInstance& op) {
  constexpr std::string_view name = "collective_done";
  expect_floating(name, "pending", op.inputs[0]);
  ranks_of(name, op.attributes);
  const Integers& list = op.attributes.integers("shapes");
  std::vector<ValueType> types;
  for (std::size_t at = 0; at < list.size();) {
    const std::int64_t rank = list[at++];
    if (rank < 0 || static_cast<std::size_t>(rank) > list.size() - at)
      fail(name, "shapes " + Shape(list).to_string() + " does not list ranks, each with its extents");
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(at);
    const Shape shape(Integers(from, from + rank));
    if (std::any_of(from, from + rank, [](std::int64_t extent) { return extent < 0; }))
      fail(name, "shapes lists " + shape.to_string() + ", which has an extent below 0");
    shape.elements();  // an Error where they are too many
    types.push_back({op.inputs[0].dtype, shape});
    at += static_cast<std::size_t>(rank);
  }
  if (types.empty()) fail(name, "shapes is empty");
  const auto element = static_cast<std::int64_t>(size_of(op.inputs[0].dtype));
  const bool whole = types.size() == 1 && types[0] == op.inputs[0];
  const std::int64_t wanted = static_cast<std::int64_t>(packing_of(types).bytes) / element;
  if (!whole && (op.inputs[0].shape.rank() != 1 || op.inputs[0].shape[0] != wanted))
    fail(name,
         "pending is " + op.inputs[0].to_string() + ", and the results take " + std::to_string(wanted) + " elements");
  return types;
}

void reference_done(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (op.attributes.integer("ranks") != 1)
    fail("collective_done",
         "of " + std::to_string(op.attributes.integer("ranks")) + " ranks, and the reference knows one");
  std::vector<ValueType> types;
  for (const Tensor& t : outputs) types.push_back({t.dtype(), t.shape()});
  const Packing packing = packing_of(types);
  const auto element = static_cast<std::int64_t>(size_of(inputs[0].dtype()));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    copy_elements(inputs[0], static_cast<std::int64_t>(packing.offsets[i]) / element, outputs[i], 0,
                  outputs[i].elements());
}

}  // namespace

std::span<const CollectiveRule> collective_rules() { return kRules; }

const CollectiveRule& collective_rule(const Node& node) {
  if (const CollectiveRule* rule = find_rule(node.op)) return *rule;
  return rule_named(node.op, node.attributes.string("collective"));
}

Packing pack(std::span<const std::size_t> bytes) {
  Packing packing;
  for (const std::size_t b : bytes) {
    packing.offsets.push_back(packing.bytes);
    packing.bytes += (b + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  }
  return packing;
}

Attributes start_attributes(const Node& node) {
  Attributes attributes = node.attributes;
  attributes.set("collective", std::string(collective_rule(node).name));
  return complete_attributes(op_def("collective_start"), attributes);
}

Attributes done_attributes(std::span<const ValueType> results, std::int64_t ranks) {
  Integers shapes;
  for (const ValueType& type : results) {
    shapes.push_back(type.shape.rank());
    for (int axis = 0; axis < type.shape.rank(); ++axis) shapes.push_back(type.shape[axis]);
  }
  return complete_attributes(op_def("collective_done"), {{"shapes", shapes}, {"ranks", ranks}});
}

std::vector<OpDef> collective_ops() {
  std::vector<OpDef> ops;
  for (const CollectiveRule& rule : kRules) ops.push_back(whole_op(rule));

  OpDef start;
  start.name = "collective_start";
  start.formula =
      "starts the collective on x1, x2, ... and does not wait for it; pending is its memory, which only "
      "collective_done may read. If apply is false, nothing is exchanged";
  start.operands = {"x"};
  start.min_operands = 1;
  start.max_operands = -1;
  start.results = {"pending"};
  start.attributes = {
      required("collective", std::string("all_reduce"), "name of the op of the collective"),
      group(),
      ranks(),
      reduction(),
      root(),
      from_rank(),
      to_rank(),
      optional("conditional", false, "whether there is an operand apply, the last one: false: nothing is exchanged")};
  start.traits = kCollective | kStart;
  start.infer = infer_start;
  start.reference = reference_start;
  ops.push_back(std::move(start));

  OpDef done;
  done.name = "collective_done";
  done.formula =
      "waits for the collective whose collective_start gave pending; y1, y2, ... = its results for x1, x2, ...";
  done.operands = {"pending"};
  done.min_operands = done.max_operands = 1;
  done.results = {"y"};
  done.attributes = {
      required("shapes", Integers{1, 16}, "shapes of the results: for each its number of axes, then its extents"),
      ranks()};
  done.traits = kCollective | kDone;
  done.infer = infer_done;
  done.reference = reference_done;
  ops.push_back(std::move(done));
  return ops;
}

}  // namespace ridgeline
