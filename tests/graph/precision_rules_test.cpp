#include "ridgeline/graph/pass/precision_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "ridgeline/graph/ir/op_def.h"
#include "tests/graph/generated_page.h"

namespace ridgeline {
namespace {

TEST(PrecisionRules, EveryOpThatAUserCanBuildHasARow) {
  std::set<std::string_view> rows;
  for (const PrecisionRule& rule : precision_rules()) {
    EXPECT_NE(find_op(rule.op), nullptr) << rule.op;
    EXPECT_TRUE(rows.insert(rule.op).second) << rule.op << " has two rows";
  }
  for (const OpDef& def : all_ops()) {
    if (def.has(kCall) || def.name == "loop") continue;  // inlined before, fused after
    EXPECT_TRUE(rows.contains(def.name)) << "add a row for " << def.name << " to graph/pass/precision_rules.cpp";
  }
}

TEST(PrecisionRules, MatrixOpsCanGiveF32AndUpdatesAreNeverChanged) {
  for (const PrecisionRule& rule : precision_rules()) {
    const OpDef& def = op_def(rule.op);
    bool f32_results = false;
    for (const AttributeSpec& spec : def.attributes) f32_results = f32_results || spec.name == "f32_results";
    EXPECT_EQ(f32_results, rule.role == PrecisionRole::matrix) << rule.op;
    EXPECT_TRUE(!def.has(kUpdate) || rule.role == PrecisionRole::fixed) << rule.op;
    EXPECT_TRUE(!rule.master_gradient || f32_results) << rule.op;
    EXPECT_TRUE(!rule.original.empty() || !rule.reason.empty()) << rule.op << ": where is its list from?";
    EXPECT_LT(rule.wide, 1u << def.operands.size()) << rule.op;
  }
}

TEST(PrecisionRules, NamesOfTheOriginalStandForOurs) {
  EXPECT_EQ(ops_called("Conv2D"), std::vector<std::string>{"conv2d"});
  EXPECT_EQ(ops_called("Conv2DBackpropFilterD"), std::vector<std::string>{"conv2d_bwd_weights"});
  EXPECT_EQ(ops_called("MatMulV2"), (std::vector<std::string>{"dense", "dense_bwd_data", "dense_bwd_weights"}));
  EXPECT_EQ(ops_called("relu"), std::vector<std::string>{"relu"});
  EXPECT_TRUE(ops_called("Softplus").empty());
}

TEST(PrecisionDocs, ThePageIsMadeFromTheTable) { expect_page("precision-lists.md", describe_precision_rules()); }

}  // namespace
}  // namespace ridgeline
