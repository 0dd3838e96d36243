// Step graphs in the text formats of other systems.
#include "ridgeline/graph/ir/forms.h"

#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/trace.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

// The standard example of these formats.
Graph test_f() {
  const auto func = [](Value x, Value y) { return x / y; };
  return trace("test_f", {f32({2, 3}), f32({2, 3})}, [&](Value x, Value y) {
    Value a = x - 1;
    Value b = a + y;
    return b * call("func", func, a, b);
  });
}

TEST(LetForm, ShowsTwoFunctionsAndACall) {
  EXPECT_EQ(to_let_text(test_f()), R"(let test_f = lambda (x0, x1)
  let %1 = x0 - 1 in
  let %2 = %1 + x1 in
  let func = lambda (x0, x1)
    let %0 = x0 / x1 in
    %0 end in
  let %3 = func(%1, %2) in
  let %4 = %2 * %3 in
  %4 end
)");
}

TEST(LetForm, WritesOpsOfSeveralOperationsByNameAndTellsUpdates) {
  const Graph graph = parse_graph(R"(graph @step(%x: f32[2,3], %0: f32[2,3], %w: param f32[4,3]) {
  %1 = dense(%x, %w) : f32[2,4]
  %2 = relu_grad(%1, %1) : f32[2,4]
  %3 = relu(%2) : f32[2,4]
  %4 = scale(%w) {factor=0.5} : f32[4,3]
  %5 = add(%x, %0) : f32[2,3]
  update %w = %4
  return %3, %5
})");
  EXPECT_EQ(to_let_text(graph), R"(let step = lambda (x, %0, w)
  let %1 = dense(x, w) in
  let %2 = relu_grad(%1, %1) in
  let %3 = max(%2, 0) in
  let %4 = w * 0.5 in
  let %5 = x + %0 in
  let w' = %4 in
  (%3, %5) end
)");
}

TEST(EntryForm, NamesParametersTypesAndTheUsersLines) {
  const std::string file = testing::temporary_directory() + "/demo.cpp";
  write_file_atomically(file, "\n\n    Value a = x - 1;\r\n    Value b = a + y;  \n");
  Graph graph = test_f();
  ASSERT_EQ(graph.nodes[1].op, "sub");
  graph.nodes[1].where = {{file, 3, "main"}, {file, 4, "main"}};
  const std::string text = to_entry_text(graph);
  EXPECT_TRUE(
      text.starts_with("#IR entry      : @test_f.1\n#attrs         :\n#Total params  : 2\n\n"
                       "%para1_x0 : <Tensor[Float32]x[const vector][2, 3]>\n"
                       "%para2_x1 : <Tensor[Float32]x[const vector][2, 3]>\n\n"
                       "#Total subgraph : 2\n\nsubgraph attr:\nsubgraph @test_f.1() {\n"))
      << text;
  const std::string type = "<Tensor[Float32]x[const vector][2, 3]>";
  for (const std::string& part :
       {std::string("  %1([CNode]2) = Sub(%para1_x0, %0) primitive_attrs: {output_names: [y], input_names: [x, y]}\n"),
        "      : (" + type + ", <Tensor[Float32]x[const vector][]>) -> (" + type + ")\n",
        // Every stack frame with the text of its line and its indentation.
        "      # In file " + file + "(3)/    Value a = x - 1;/\n      # In file " + file +
            "(4)/    Value b = a + y;/\n",
        std::string("  %3([CNode]4) = call @func.2(%1, %2)\n"),
        "subgraph @func.2(%para3_x0 : " + type + ", %para4_x1 : " + type + ") {\n",
        "  return(%0)\n      : (" + type + ")\n}\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(EntryForm, TellsStoredValuesUpdatesAndLinesOfFilesThatAreGone) {
  const Graph graph = parse_graph(R"(graph @step(%w: param bf16[4], %n: state i64[]) {
  %0 = relu(%w) : bf16[4] name "layer/relu" loc("gone.cpp":14 "main")
  update %w = %0
  return %0 "y"
})");
  const std::string text = to_entry_text(graph);
  for (const char* part :
       {"%para1_w : <Ref[Tensor[BFloat16]]x[const vector][4]>\n", "%para2_n : <Ref[Tensor[Int64]]x[const vector][]>\n",
        "      # fullname_with_scope: (layer/relu)\n", "      # In file gone.cpp(14)//\n", "  Assign(%para1_w, %0)\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

}  // namespace
}  // namespace ridgeline
