#include "ridgeline/graph/op/describe.h"

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

constexpr const char* kOpening = R"(# Ops

The ops of the step graph. Values are row-major and logically NHWC; floating operands of one op have one dtype, and so
have its results, unless the rule says otherwise. `[x]` is an optional operand, `x...` any number of them. This page is
made from the definitions in `ridgeline/graph/op`: a test fails when it is stale, and
`RIDGELINE_UPDATE_DOCS=1 ctest -R OpDocs` rewrites it.

An op is one definition there (operands, attributes, shape rule, reference, cost), a line in `table.cpp`, a gradient
rule in `ridgeline/graph/grad`, a row in `tests/graph/op_rows.cpp`, and a kernel on each device that is to run it fast.
)";

std::string signature(const OpDef& def) {
  std::string text = def.name + "(";
  for (std::size_t i = 0; i < def.operands.size(); ++i) {
    const bool optional = static_cast<int>(i) >= def.min_operands && def.max_operands >= 0;
    std::string operand = optional ? "[" + def.operands[i] + "]" : def.operands[i];
    if (def.max_operands < 0 && i + 1 == def.operands.size()) operand += "...";
    text += (i ? ", " : "") + operand;
  }
  text += ") -> ";
  for (std::size_t i = 0; i < def.results.size(); ++i) text += (i ? ", " : "") + def.results[i];
  return text;
}

struct TypeName {
  std::string operator()(bool) const { return "bool"; }
  std::string operator()(std::int64_t) const { return "integer"; }
  std::string operator()(double) const { return "real"; }
  std::string operator()(const std::string&) const { return "string"; }
  std::string operator()(DType) const { return "dtype"; }
  std::string operator()(const std::vector<std::int64_t>&) const { return "integers"; }
  std::string operator()(const std::vector<double>&) const { return "reals"; }
};

std::string traits_of(const OpDef& def) {
  std::string text;
  const auto add = [&](OpTrait trait, const char* name) {
    if (def.has(trait)) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(kPointwise, "pointwise");
  add(kReduction, "reduction");
  add(kRandom, "random numbers by counter");
  add(kView, "a view of its operand");
  add(kUpdate, "results are the next versions of the first operands");
  add(kCall, "call");
  add(kCast, "converts its operand to another type");
  return text;
}

}  // namespace

std::string describe_ops() {
  std::string page = kOpening;
  for (const OpDef& def : all_ops()) {
    page += "\n## " + def.name + "\n\n`" + signature(def) + "`\n\n" + def.formula + "\n";
    if (const std::string traits = traits_of(def); !traits.empty()) page += "\nTraits: " + traits + ".\n";
    if (def.attributes.empty()) continue;
    page += "\n| attribute | type | default | meaning |\n|---|---|---|---|\n";
    for (const AttributeSpec& spec : def.attributes) {
      const std::string fallback = spec.fallback ? "`" + to_string(*spec.fallback) + "`" : "required";
      page += "| " + spec.name + " | " + std::visit(TypeName{}, spec.example) + " | " + fallback + " | " +
              spec.meaning + " |\n";
    }
  }
  return page;
}

}  // namespace ridgeline
