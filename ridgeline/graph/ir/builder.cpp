#include "ridgeline/graph/ir/builder.h"

#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {

std::string Value::foreign_text(const GraphBuilder& builder) const {
  if (!link_) return "an empty Value";
  const std::string text = "a value of graph " + link_->graph;
  if (link_->builder == nullptr) return text + ", which is no longer built";
  return text + ", not of " + builder.graph().name + ", which is built here";
}

GraphBuilder& Value::builder(const Location& where) const {
  if (!link_) throw Error("an empty Value is used: nothing was computed into it" + behind_message(where));
  if (link_->builder == nullptr) {
    throw Error("a value of graph " + link_->graph +
                " is used, which is no longer built: values last until their builder ends, finishes or forgets" +
                behind_message(where));
  }
  return *link_->builder;
}

GraphBuilder& Value::builder(const std::source_location& at) const { return builder(Location::of(at)); }

const ValueType& Value::type(const std::source_location& at) const { return builder(at).graph().value(id_).type; }

std::string numbered_name(const std::string& base, int n) { return n == 0 ? base : base + "_" + std::to_string(n); }

GraphBuilder::GraphBuilder(std::string name) : link_(std::make_shared<BuilderLink>(this, name)) {
  graph_.name = std::move(name);
}

GraphBuilder::GraphBuilder(Graph graph)
    : link_(std::make_shared<BuilderLink>(this, graph.name)), graph_(std::move(graph)) {
  for (const Node& node : graph_.nodes) ++name_counts_[node.name];
}

GraphBuilder::~GraphBuilder() { link_->builder = nullptr; }

Graph GraphBuilder::finish() {
  link_->builder = nullptr;
  return std::move(graph_);
}

void GraphBuilder::check_own(const Value& value, const std::string& what) const {
  if (!value.is_of(*this)) throw Error(what + " is " + value.foreign_text(*this));
}

Value GraphBuilder::add_argument(std::string name, ValueType type, ValueKind kind) {
  if (graph_.find_argument(name) != kNoValue) throw Error("graph " + graph_.name + " has two arguments named " + name);
  try {
    type.bytes();
  } catch (const Error& error) {
    throw Error("argument " + name + ": " + error.what());
  }
  const ValueId id = graph_.add_value({std::move(type), kind, std::move(name)});
  graph_.arguments.push_back(id);
  return {link_, id};
}

Value GraphBuilder::input(std::string name, ValueType type) {
  return add_argument(std::move(name), std::move(type), ValueKind::input);
}
Value GraphBuilder::param(std::string name, ValueType type) {
  return add_argument(std::move(name), std::move(type), ValueKind::param);
}
Value GraphBuilder::state(std::string name, ValueType type) {
  return add_argument(std::move(name), std::move(type), ValueKind::state);
}

Value GraphBuilder::constant(double value, DType dtype, const Location& where) {
  return apply_at(where, "constant", {}, {{"value", value}, {"dtype", dtype}});
}

std::string GraphBuilder::unique_name(const std::string& base) {
  int& count = name_counts_[base];
  std::string name = numbered_name(base, count++);
  while (name != base && name_counts_.contains(name)) name = numbered_name(base, count++);
  if (name != base) name_counts_[name] = 1;
  return name;
}

namespace {

// "[dense] operand 1 (weights)"
std::string operand_text(const OpDef& def, std::size_t i) {
  const std::string name = i < def.operands.size() ? " (" + def.operands[i] + ")" : "";
  return "[" + def.name + "] operand " + std::to_string(i) + name;
}

// The operands without empty optional ones at the end.
std::span<const Value> without_absent(const OpDef& def, std::span<const Value> inputs) {
  const auto least = static_cast<std::size_t>(def.min_operands);
  while (def.max_operands >= 0 && inputs.size() > least && !inputs.back().defined())
    inputs = inputs.first(inputs.size() - 1);
  return inputs;
}

}  // namespace

std::vector<Value> GraphBuilder::apply_all(std::string_view op, std::span<const Value> inputs,
                                           const Attributes& attributes, const Location& where) {
  const std::string wanted_name = std::exchange(next_name_, {});  // of this op, be it added or refused
  const OpDef& def = op_def(op);
  Node node;
  node.op = def.name;
  if (const Location& line = line_of(where); line.known()) node.where.push_back(line);
  node.where.insert(node.where.end(), frames_.rbegin(), frames_.rend());
  try {
    std::vector<ValueType> types;
    for (const Value& v : without_absent(def, inputs)) {
      check_own(v, operand_text(def, node.inputs.size()));
      node.inputs.push_back(v.id());
      types.push_back(graph_.value(v.id()).type);
    }
    node.attributes = complete_attributes(def, attributes);
    node.name = unique_name(prefix_ + (wanted_name.empty() ? def.name : wanted_name));
    std::vector<ValueType> results;
    if (def.has(kCall)) {
      const std::string& function = node.attributes.string("function");
      const auto callee = graph_.functions.find(function);
      if (callee == graph_.functions.end())
        throw Error("[call] graph " + graph_.name + " has no function named " + function);
      for (const Return& r : callee->second.returns) results.push_back(callee->second.value(r.value).type);
    } else {
      results = infer_types(def, types, node.attributes, node.name);
    }
    std::vector<Value> values;
    for (ValueType& type : results) {
      node.outputs.push_back(graph_.add_value({std::move(type), result_kind_, ""}));
      values.emplace_back(link_, node.outputs.back());
    }
    graph_.nodes.push_back(node);
    try {
      if (added_) added_(graph_.nodes.back());
    } catch (...) {
      graph_.nodes.pop_back();  // what its observer cannot run is no part of the graph
      throw;
    }
    return values;
  } catch (const Error& error) {
    if (node.where.empty()) throw;
    throw Error(error.what() + behind_message(node.where.front()), error.kind());
  }
}

Value GraphBuilder::apply_at(const Location& where, std::string_view op, std::initializer_list<Value> inputs,
                             const Attributes& attributes) {
  return apply_all(op, std::span<const Value>(inputs.begin(), inputs.size()), attributes, where).front();
}

Value GraphBuilder::apply(std::string_view op, std::initializer_list<Value> inputs, const Attributes& attributes,
                          const std::source_location& at) {
  return apply_at(Location::of(at), op, inputs, attributes);
}

std::vector<Value> GraphBuilder::call(const std::string& name, const Graph& body, std::span<const Value> arguments,
                                      const Location& where) {
  if (body.arguments.size() != arguments.size()) {
    throw Error("[call] function " + name + " takes " + std::to_string(body.arguments.size()) + " arguments, not " +
                std::to_string(arguments.size()) + behind_message(where));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueInfo& parameter = body.value(body.arguments[i]);
    const std::string what = "[call] argument " + parameter.name + " of function " + name;
    if (!arguments[i].is_of(*this))
      throw Error(what + " is " + arguments[i].foreign_text(*this) + behind_message(where));
    const ValueType& type = graph_.value(arguments[i].id()).type;
    if (parameter.type != type) {
      throw Error(what + " is " + parameter.type.to_string() + ", not " + type.to_string() + behind_message(where));
    }
  }
  const auto [known, is_new] = graph_.functions.try_emplace(name, body);
  if (!is_new && to_text(known->second, {.locations = false}) != to_text(body, {.locations = false})) {
    throw Error("[call] graph " + graph_.name + " has another function named " + name +
                ": each body needs a name of its own" + behind_message(where));
  }
  return apply_all("call", arguments, {{"function", name}}, where);
}

void GraphBuilder::update(const Value& current, const Value& next, const Location& where) {
  const std::string line = behind_message(line_of(where));
  if (!current.is_of(*this)) throw Error("what is updated is " + current.foreign_text(*this) + line);
  const ValueInfo& target = graph_.value(current.id());
  if (!is_stored(target.kind)) {
    throw Error("a value of kind " + std::string(name_of(target.kind)) +
                " is updated; only parameters and states are kept from step to step" + line);
  }
  if (!next.is_of(*this)) throw Error("the update of " + target.name + " is " + next.foreign_text(*this) + line);
  const ValueType& type = graph_.value(next.id()).type;
  if (target.type != type) {
    throw Error("update of " + target.name + " " + target.type.to_string() + " by a value of type " + type.to_string() +
                line);
  }
  for (const Update& update : graph_.updates) {
    if (update.current == current.id()) throw Error(target.name + " is updated twice in one step" + line);
  }
  graph_.updates.push_back({current.id(), next.id()});
}

void GraphBuilder::returns(std::string name, const Value& value, const Location& where) {
  if (!value.is_of(*this)) {
    throw Error("what graph " + graph_.name + " returns as " + name + " is " + value.foreign_text(*this) +
                behind_message(line_of(where)));
  }
  graph_.returns.push_back({std::move(name), value.id()});
}

GraphBuilder::UserLine::UserLine(GraphBuilder& builder, Location line)
    : builder_(builder), outer_(std::exchange(builder.user_line_, std::move(line))) {}

GraphBuilder::UserLine::~UserLine() { builder_.user_line_ = std::move(outer_); }

GraphBuilder::Scope::Scope(GraphBuilder& builder, std::string_view name, const Location& where)
    : builder_(builder), prefix_size_(builder.prefix_.size()), framed_(where.known()) {
  if (!name.empty()) builder_.prefix_ += std::string(name) + "/";
  if (framed_) builder_.frames_.push_back(where);
}

GraphBuilder::Scope::~Scope() {
  builder_.prefix_.resize(prefix_size_);
  if (framed_) builder_.frames_.pop_back();
}

namespace {

Value binary(std::string_view op, const Located& x, const Located& y) {
  return x.value.builder(x.where).apply_at(x.where, op, {x.value, y.value});
}

Value number_like(const Located& x, double number) {
  return x.value.builder(x.where).constant(number, x.value.dtype(), x.where);
}

}  // namespace

Value operator+(const Located& x, const Located& y) { return binary("add", x, y); }
Value operator-(const Located& x, const Located& y) { return binary("sub", x, y); }
Value operator*(const Located& x, const Located& y) { return binary("mul", x, y); }
Value operator/(const Located& x, const Located& y) { return binary("div", x, y); }
Value operator+(const Located& x, double y) { return binary("add", x, {number_like(x, y)}); }
Value operator-(const Located& x, double y) { return binary("sub", x, {number_like(x, y)}); }
Value operator*(const Located& x, double y) { return binary("mul", x, {number_like(x, y)}); }
Value operator/(const Located& x, double y) { return binary("div", x, {number_like(x, y)}); }
Value operator-(double x, const Located& y) {
  return y.value.builder(y.where).apply_at(y.where, "sub", {number_like(y, x), y.value});
}
Value operator*(double x, const Located& y) {
  return y.value.builder(y.where).apply_at(y.where, "mul", {number_like(y, x), y.value});
}
Value operator-(const Located& x) { return x.value.builder(x.where).apply_at(x.where, "neg", {x.value}); }

}  // namespace ridgeline
