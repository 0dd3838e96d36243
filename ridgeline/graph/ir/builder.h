// ridgeline/graph/ir/builder.h
//
// Builds a step graph op by op. Every op is checked, its types inferred, its name fixed and the user's line recorded
// when it is added. A Value is a handle into one builder, which it finds by a link, not by an address: using a value
// after its builder is destroyed or finished is an Error that names the user's line.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/core/location.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

class GraphBuilder;

// The link by which a value finds its builder. The builder owns it, its values share it.
struct BuilderLink {
  GraphBuilder* builder = nullptr;  // null: the builder is destroyed, or its graph was taken
  std::string graph;                // its name
};

class Value {
 public:
  Value() = default;
  Value(std::shared_ptr<const BuilderLink> link, ValueId id) : link_(std::move(link)), id_(id) {}
  bool defined() const { return link_ != nullptr; }
  ValueId id() const { return id_; }
  bool is_of(const GraphBuilder& builder) const { return link_ != nullptr && link_->builder == &builder; }
  // Each of these is an Error with the line if the value is empty or its builder is destroyed.
  GraphBuilder& builder(const std::source_location& at = std::source_location::current()) const;
  GraphBuilder& builder(const Location& where) const;
  const ValueType& type(const std::source_location& at = std::source_location::current()) const;
  const Shape& shape(const std::source_location& at = std::source_location::current()) const { return type(at).shape; }
  DType dtype(const std::source_location& at = std::source_location::current()) const { return type(at).dtype; }
  // For messages about a value that is not of `builder`: "an empty Value", "a value of graph ...".
  std::string foreign_text(const GraphBuilder& builder) const;

 private:
  std::shared_ptr<const BuilderLink> link_;
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
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Value input(std::string name, ValueType type);
  Value param(std::string name, ValueType type);
  Value state(std::string name, ValueType type);
  Value constant(double value, DType dtype = DType::f32, const Location& where = {});
  Value value(ValueId id) { return {link_, id}; }

  // Adds one op and returns its results. Optional operands that are absent are left out of `inputs`, or are empty
  // values at its end.
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
  void update(const Value& current, const Value& next,
              const std::source_location& at = std::source_location::current()) {
    update(current, next, Location::of(at));
  }
  void update(const Value& current, const Value& next, const Location& where);
  void returns(std::string name, const Value& value, const std::source_location& at = std::source_location::current()) {
    returns(std::move(name), value, Location::of(at));
  }
  void returns(std::string name, const Value& value, const Location& where);

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

  // While alive, the location of ops is this line of a program in another language, not the C++ line that adds them.
  class UserLine {
   public:
    UserLine(GraphBuilder& builder, Location line);
    ~UserLine();
    UserLine(const UserLine&) = delete;
    UserLine& operator=(const UserLine&) = delete;

   private:
    GraphBuilder& builder_;
    Location outer_;
  };

  // The next op is named exactly so (after the scope), made unique by a suffix if taken.
  void name_next(std::string name) { next_name_ = std::move(name); }
  // Called with every op that is added from here on, once it is part of the graph.
  void observe(std::function<void(const Node&)> added) { added_ = std::move(added); }
  // Results of ops added from here on have this kind.
  void set_result_kind(ValueKind kind) { result_kind_ = kind; }

  const Graph& graph() const { return graph_; }
  // The graph; the values of this builder are no longer valid.
  Graph finish();

 private:
  // An Error unless the value is one of this builder.
  void check_own(const Value& value, const std::string& what) const;
  Value add_argument(std::string name, ValueType type, ValueKind kind);
  std::string unique_name(const std::string& base);
  const Location& line_of(const Location& where) const { return user_line_.known() ? user_line_ : where; }

  std::shared_ptr<BuilderLink> link_;
  Graph graph_;
  std::map<std::string, int> name_counts_;
  std::string prefix_;
  LocationStack frames_;
  Location user_line_;
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
