// ridgeline/graph/ir/builder.h
//
// Builds a step graph op by op. Every op is checked, its types inferred, its name fixed and the user's line recorded
// when it is added. A Value is a handle into one builder; it dies with it.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/core/location.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

class GraphBuilder;

class Value {
 public:
  Value() = default;
  Value(GraphBuilder* builder, ValueId id) : builder_(builder), id_(id) {}
  bool defined() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  GraphBuilder& builder() const { return *builder_; }
  const ValueType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }

 private:
  GraphBuilder* builder_ = nullptr;
  ValueId id_ = kNoValue;
};

// An operand that remembers the line on which it was passed: made implicitly from a Value, so operators have a
// location.
struct Located {
  Located(Value v, const std::source_location& at = std::source_location::current())  // NOLINT: implicit on purpose
      : value(v), where(Location::of(at)) {}
  Value value;
  Location where;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);
  // Continues a finished graph; existing values keep their ids.
  explicit GraphBuilder(Graph graph);
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Value input(std::string name, ValueType type);
  Value param(std::string name, ValueType type);
  Value state(std::string name, ValueType type);
  Value constant(double value, DType dtype = DType::f32, const Location& where = {});
  Value value(ValueId id) { return {this, id}; }

  // Adds one op and returns its results. Optional operands that are absent are left out of `inputs`.
  std::vector<Value> apply_all(std::string_view op, std::span<const Value> inputs, const Attributes& attributes,
                               const Location& where);
  // Adds an op and returns its first result.
  Value apply(std::string_view op, std::initializer_list<Value> inputs, const Attributes& attributes = {},
              const std::source_location& at = std::source_location::current());
  Value apply_at(const Location& where, std::string_view op, std::initializer_list<Value> inputs,
                 const Attributes& attributes = {});
  // Calls a named function of the graph, adding its body unless it is there already. Another body of the same name is
  // an Error.
  std::vector<Value> call(const std::string& name, const Graph& body, std::span<const Value> arguments,
                          const Location& where);

  // `next` replaces the parameter or state `current` when the step ends.
  void update(Value current, Value next);
  void returns(std::string name, Value value);

  // While alive, names of new ops start with "<name>/", and `where` (if known) is pushed on their locations.
  class Scope {
   public:
    Scope(GraphBuilder& builder, std::string_view name, const Location& where = {});
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t prefix_size_;
    bool framed_;
  };

  // The next op is named exactly so (after the scope), made unique by a suffix if taken.
  void name_next(std::string name) { next_name_ = std::move(name); }
  // Called with every op that is added from here on, once it is part of the graph.
  void observe(std::function<void(const Node&)> added) { added_ = std::move(added); }
  // Results of ops added from here on have this kind.
  void set_result_kind(ValueKind kind) { result_kind_ = kind; }

  const Graph& graph() const { return graph_; }
  Graph finish() { return std::move(graph_); }

 private:
  Value add_argument(std::string name, ValueType type, ValueKind kind);
  std::string unique_name(const std::string& base);

  Graph graph_;
  std::map<std::string, int> name_counts_;
  std::string prefix_;
  LocationStack frames_;
  std::string next_name_;
  std::function<void(const Node&)> added_;
  ValueKind result_kind_ = ValueKind::activation;
};

// The default name of the n-th op called `base`: base, base_1, base_2, ...
std::string numbered_name(const std::string& base, int n);

// Arithmetic on values; a number becomes a scalar constant of the other operand's type.
Value operator+(const Located& x, const Located& y);
Value operator-(const Located& x, const Located& y);
Value operator*(const Located& x, const Located& y);
Value operator/(const Located& x, const Located& y);
Value operator+(const Located& x, double y);
Value operator-(const Located& x, double y);
Value operator*(const Located& x, double y);
Value operator/(const Located& x, double y);
Value operator-(double x, const Located& y);
Value operator*(double x, const Located& y);
Value operator-(const Located& x);

}  // namespace ridgeline
