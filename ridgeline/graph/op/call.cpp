#include "ridgeline/graph/op/call.h"

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {

OpDef call_op() {
  OpDef def;
  def.name = "call";
  def.formula = "calls a function of the graph on the operands; inlined before all other passes";
  def.operands = {"argument"};
  def.min_operands = 0;
  def.max_operands = -1;
  def.results = {"result"};
  def.attributes = {rules::required("function", std::string("block"), "name of the function")};
  def.traits = kCall;
  def.infer = [](const OpInstance& op) -> std::vector<ValueType> {
    rules::fail("call", "the types of \"" + std::string(op.name) + "\" are those of function " +
                            op.attributes.string("function") + ": ask the graph that holds it");
  };
  return def;
}

}  // namespace ridgeline
