#include "ridgeline/graph/ir/builder.h"

#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {

const ValueType& Value::type() const { return builder_->graph().value(id_).type; }

std::string numbered_name(const std::string& base, int n) { return n == 0 ? base : base + "_" + std::to_string(n); }

GraphBuilder::GraphBuilder(std::string name) { graph_.name = std::move(name); }

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  for (const Node& node : graph_.nodes) ++name_counts_[node.name];
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
  return {this, id};
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

std::vector<Value> GraphBuilder::apply_all(std::string_view op, std::span<const Value> inputs,
                                           const Attributes& attributes, const Location& where) {
  const std::string wanted_name = std::exchange(next_name_, {});  // of this op, be it added or refused
  const OpDef& def = op_def(op);
  Node node;
  node.op = def.name;
  if (where.known()) node.where.push_back(where);
  node.where.insert(node.where.end(), frames_.rbegin(), frames_.rend());
  try {
    std::vector<ValueType> types;
    for (const Value& v : inputs) {
      RIDGELINE_CHECK(v.defined() && &v.builder() == this, "operand of another builder");
      node.inputs.push_back(v.id());
      types.push_back(v.type());
    }
    node.attributes = complete_attributes(def, attributes);
    node.name = unique_name(prefix_ + (wanted_name.empty() ? def.name : wanted_name));
    std::vector<ValueType> results;
    if (def.has(kCall)) {
      const Graph& callee = graph_.functions.at(node.attributes.string("function"));
      for (const Return& r : callee.returns) results.push_back(callee.value(r.value).type);
    } else {
      results = infer_types(def, types, node.attributes, node.name);
    }
    std::vector<Value> values;
    for (ValueType& type : results) {
      node.outputs.push_back(graph_.add_value({std::move(type), result_kind_, ""}));
      values.emplace_back(this, node.outputs.back());
    }
    graph_.nodes.push_back(node);
    if (added_) added_(graph_.nodes.back());
    return values;
  } catch (const Error& error) {
    if (node.where.empty()) throw;
    throw Error(std::string(error.what()) + " (" + node.where.front().to_string() + ")", error.kind());
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
                std::to_string(arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueInfo& parameter = body.value(body.arguments[i]);
    if (parameter.type != arguments[i].type()) {
      throw Error("[call] argument " + parameter.name + " of function " + name + " is " + parameter.type.to_string() +
                  ", not " + arguments[i].type().to_string());
    }
  }
  const auto [known, is_new] = graph_.functions.try_emplace(name, body);
  if (!is_new && to_text(known->second, {.locations = false}) != to_text(body, {.locations = false})) {
    throw Error("[call] graph " + graph_.name + " has another function named " + name +
                ": each body needs a name of its own");
  }
  return apply_all("call", arguments, {{"function", name}}, where);
}

void GraphBuilder::update(Value current, Value next) {
  const ValueInfo& target = graph_.value(current.id());
  RIDGELINE_CHECK(is_stored(target.kind), "update of no parameter or state");
  if (target.type != next.type()) {
    throw Error("update of " + target.name + " " + target.type.to_string() + " by a value of type " +
                next.type().to_string());
  }
  for (const Update& update : graph_.updates) {
    if (update.current == current.id()) throw Error(target.name + " is updated twice in one step");
  }
  graph_.updates.push_back({current.id(), next.id()});
}

void GraphBuilder::returns(std::string name, Value value) { graph_.returns.push_back({std::move(name), value.id()}); }

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
  return x.value.builder().apply_at(x.where, op, {x.value, y.value});
}

Value number_like(const Located& x, double number) {
  return x.value.builder().constant(number, x.value.dtype(), x.where);
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
  return y.value.builder().apply_at(y.where, "sub", {number_like(y, x), y.value});
}
Value operator*(double x, const Located& y) {
  return y.value.builder().apply_at(y.where, "mul", {number_like(y, x), y.value});
}
Value operator-(const Located& x) { return x.value.builder().apply_at(x.where, "neg", {x.value}); }

}  // namespace ridgeline
