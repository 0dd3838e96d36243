// `ridgeline graph` from the command line.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::expect;
using testing::Outcome;

Outcome graph(const std::string& arguments) { return testing::run_shell(testing::program() + " graph " + arguments); }

// A file in this test's own folder.
std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::temporary_directory() + "/" + name;
  write_file_atomically(path, text);
  return path;
}

const char* const kSum = R"(graph @sum_of_products(%x: f32[1024], %y: f32[1024], %z: f32[1024]) {
  %0 = mul(%y, %z) : f32[1024]
  %1 = add(%x, %0) : f32[1024]
  %2 = reduce_sum(%1) : f32[]
  return %2
}
)";

// A step with a parameter, a counter, a function and several results.
const char* const kStep = R"(func @half(%a: f32[4,8]) {
  %0 = scale(%a) {factor=0.5} : f32[4,8]
  return %0
}
graph @step(%x: f32[4,3], %labels: i32[4], %w: param f32[8,3], %n: state i64[]) {
  %0 = dense(%x, %w) : f32[4,8]
  %1 = call(%0) {function="half"} : f32[4,8]
  %2, %3 = softmax_cross_entropy(%1, %labels) : f32[4], f32[4,8]
  %4 = reduce_mean(%2) : f32[]
  %5 = constant() {value=1.0, dtype=i64} : i64[]
  %6 = add(%n, %5) : i64[]
  %7 = scale(%w) {factor=0.99} : f32[8,3]
  update %w = %7
  update %n = %6
  return %4 "loss", %3 "p"
}
)";

TEST(GraphRun, CountsLaunchesAndBytesWithAndWithoutFusion) {
  const std::string file = written("sum.rdg", kSum);
  const Outcome fused = graph("run " + file);
  expect(fused, 0, {"launches 1 (3 without fusion), bytes read 12,288 (20,480), written 4 (8,196)\n%2 = "});
  const Outcome apart = graph("run " + file + " --fusion=off");
  expect(apart, 0, {"launches 3, bytes read 20,480, written 8,196\n%2 = "});
  const auto value = [](const Outcome& o) { return std::stod(o.text.substr(o.text.find("%2 = ") + 5)); };
  EXPECT_NE(value(fused), 0);
  EXPECT_NEAR(value(fused), value(apart), 1e-5 * std::abs(value(apart)));
  EXPECT_EQ(graph("run " + file).text, fused.text) << "the same seed gives the same values";
  EXPECT_NE(value(graph("run " + file + " --seed=2")), value(fused));
}

TEST(GraphRun, PrintsResultsAndUpdatesAndComparesThemWithTheReference) {
  const std::string file = written("step.rdg", kStep);
  const Outcome run = graph("run " + file + " --reference --values=2");
  expect(run, 0,
         {"%4 \"loss\" = ", "%3 \"p\" f32[4,8] = [", ", ... 32 in all, ", "next %n = ", "next %w f32[8,3] = ["});
  const Outcome json = graph("run " + file + " --reference --json");
  expect(json, 0, {"\"graph\":\"step\"", "\"launches\":", "\"name\":\"loss\"", "\"hash\":\"", "\"shape\":[4,8]"});
  // Every result is near that of the reference.
  std::size_t at = 0;
  int results = 0;
  const std::string key = "\"reference_difference\":";
  while ((at = json.text.find(key, at + 1)) != std::string::npos) {
    EXPECT_LT(std::stod(json.text.substr(at + key.size())), 1e-5) << json.text;
    ++results;
  }
  EXPECT_EQ(results, 4);
}

TEST(GraphRun, GivesTheSameOnAnotherDeviceAndWithoutAPass) {
  const std::string file = written("step.rdg", kStep);
  const auto digest = [&](const std::string& flags) {
    const Outcome o = graph("run " + file + " --json " + flags);
    EXPECT_EQ(o.code, 0) << o.text;
    return o.text.substr(o.text.find("\"results\":"));
  };
  const std::string plain = digest("");
  EXPECT_EQ(digest("--disable_pass=schedule --disable_pass=simplify"), plain);
  EXPECT_EQ(digest("--fusion=off"), plain);
  expect(graph("run " + file + " --device=simulated --log_device_placement"), 0, {"%4 \"loss\" = "});
}

// The NaN that the processor generates has its sign bit set.
TEST(GraphRun, PrintsAnyNanAlike) {
  const std::string path = written("nan.rdg", R"(graph @none(%x: f32[3]) {
  %0 = sub(%x, %x) : f32[3]
  %1 = div(%0, %0) : f32[3]
  %2 = neg(%1) : f32[3]
  %3 = reduce_sum(%1) : f32[]
  return %1 "some", %2 "others", %3 "sum"
}
)");
  const Outcome outcome = graph("run " + path + " --values=2");
  expect(outcome, 0,
         {"%1 \"some\" f32[3] = [nan, nan, ... 3 in all, nan to nan, mean nan]",
          "%2 \"others\" f32[3] = [nan, nan, ... 3 in all, nan to nan, mean nan]", "%3 \"sum\" = nan"});
  EXPECT_EQ(outcome.text.find("-nan"), std::string::npos) << outcome.text;
}

TEST(GraphRun, TakesValuesFromAFileAndWritesResultsIntoOne) {
  const std::string file = written("sum.rdg", kSum);
  const std::string dir = testing::temporary_directory();
  Tensor ones(DType::f32, Shape{1024});
  for (float& v : ones.span<float>()) v = 1;
  write_safetensors(dir + "/in.safetensors", {{"x", ones}, {"y", ones}, {"z", ones}});
  expect(graph("run " + file + " --inputs=" + dir + "/in.safetensors --save=" + dir + "/out.safetensors"), 0,
         {"%2 = 2048\n"});
  EXPECT_EQ(SafetensorsFile(dir + "/out.safetensors").tensor("%2").at(0), 2048);
  write_safetensors(dir + "/in.safetensors", {{"q", ones}});
  expect(graph("run " + file + " --inputs=" + dir + "/in.safetensors"), 1, {"has no argument q"});
  write_safetensors(dir + "/in.safetensors", {{"x", ones.reshaped({2, 512})}});
  expect(graph("run " + file + " --inputs=" + dir + "/in.safetensors"), 1, {"x is f32[2,512] instead of f32[1024]"});
}

TEST(GraphShow, PrintsEveryForm) {
  const std::string file = written("step.rdg", kStep);
  const Outcome text = graph("show " + file);
  EXPECT_EQ(text.text, kStep);
  expect(graph("show " + file + " --locations"), 0, {"loc(\"" + file + "\":6 \"step\")"});
  expect(graph("show " + file + " --format=let"), 0, {"let half = lambda (a)\n", "  let %1 = half(%0) in\n", " end\n"});
  expect(graph("show " + file + " --format=ir"), 0,
         {"#IR entry      : @step.1", "# In file " + file + "(6)/  %0 = dense("});
  expect(graph("show " + file + " --format=svg"), 0, {"<svg ", ">dense<", "</svg>"});
  expect(graph("show " + file + " --json"), 0, {"\"name\": \"step\"", "\"flops\": 192.0", "\"functions\": ["});
  const std::string sum = written("sum.rdg", kSum);
  expect(graph("show " + sum + " --after"), 0, {"loop(%x, %y, %z) { sum(x0 + x1 * x2) }"});
  EXPECT_EQ(graph("show " + sum + " --after --device=simulated --disable_pass=fuse_pointwise").text, kSum);
  const std::string out = testing::temporary_directory() + "/step.svg";
  EXPECT_EQ(graph("show " + file + " --format=svg --out=" + out).text, "");
  EXPECT_TRUE(read_file(out).ends_with("</svg>\n"));
}

// --after shows what compilation would run: a convolution and the pool after it are not merged if the kernel for both
// is not the one chosen for the convolution. `graph bench` counts the same launches.
TEST(GraphShow, AfterIsWhatCompilationLeavesForTheDevice) {
  const std::string file = written("pooled.rdg", R"(
graph @pooled(%x: f32[2,16,16,8], %w: param f32[8,3,3,8], %b: param f32[8], %p: f32[2,8]) {
  %0 = conv2d(%x, %w, %b) {pad=[1,1,1,1]} : f32[2,16,16,8]
  %1, %2 = max_pool(%0) {kernel=[2,2], stride=[2,2]} : f32[2,8,8,8], u8[2,8,8,8]
  %3 = softmax(%p) : f32[2,8]
  return %1, %3
}
)");
  for (const std::string device : {"cpu", "simulated"}) {
    SCOPED_TRACE(device);
    Session session({.device = device});
    const auto program = compile(parse_graph(read_file(file), file), session);
    EXPECT_EQ(graph("show " + file + " --after --device=" + device).text,
              to_text(program->graph(), {.locations = false}));
  }
}

TEST(GraphCheck, NamesFileLineAndOpAndMarksIt) {
  const std::string good = written("step.rdg", kStep);
  expect(graph("check " + good), 0,
         {"graph @step is valid: 4 arguments, 7 ops, 2 updates, 2 returned values, 1 function"});
  expect(graph("check " + good + " --json"), 0, {"\"ops\":7"});
  const std::string wrong = written("wrong.rdg",
                                    "graph @g(%x: f32[2,3], %w: f32[4,5]) {\n  %0 = relu(%x) : f32[2,3]\n"
                                    "  %1 = dense(%0, %w) : f32[2,4]\n  return %1\n}\n");
  const std::string marked = testing::temporary_directory() + "/marked.rdg";
  const Outcome refused = graph("check " + wrong + " --marked=" + marked);
  expect(refused, 1, {"graph @g: node \"dense\" (dense) at " + wrong + ":3: [dense] "});
  EXPECT_EQ(std::count(refused.text.begin(), refused.text.end(), '\n'), 1) << refused.text;
  EXPECT_NE(read_file(marked).find("\n#------------------------> [verify] "), std::string::npos) << read_file(marked);
  expect(graph("check " + written("syntax.rdg", "graph @g(%x: f32[2]) {\n  %0 = relu(%y) : f32[2]\n}\n")), 1,
         {"syntax.rdg line 2: expected a value that is defined above, not %y"});
  expect(graph("run " + wrong), 1, {":3: [dense] "});
  expect(graph("check " + testing::temporary_directory() + "/none.rdg"), 1, {"none.rdg"});
}

TEST(GraphBench, TellsTheMachinesLimit) {
  const std::string file = written("sum.rdg", kSum);
  expect(graph("bench " + file + " --runs=3 --layers"), 0,
         {"reduce_sum", " ms (", "3 runs), 1 launches, ", "the machine's limit, measured ("});
  expect(graph("bench " + file + " --runs=1 --json --fusion=off"), 0,
         {"\"launches\":3", "\"share_of_limit\":", "\"peak_gigabytes_per_second\":"});
}

TEST(Graph, SaysWhatIsWrongWithACall) {
  const std::string file = written("sum.rdg", kSum);
  expect(graph(""), 2, {"graph"});
  expect(graph("run"), 2, {"FILE is required"});
  expect(graph("shwo " + file), 2, {"did you mean show?"});
  expect(graph("run " + file + " --fusoin=off"), 2, {"did you mean --fusion?"});
  expect(graph("run " + file + " --device=gpu0"), 2,
         {"unknown device 'gpu0' (allowed: cpu, cuda, simulated, simulated_unfused)"});
  expect(graph("run " + file + " --disable_pass=inline"), 2, {"cannot be left out"});
  expect(graph("run " + file + " --disable_pass=simplfy"), 2, {"did you mean 'simplify'?"});
  expect(graph("run " + file + " --values=-1"), 2, {"--values must be 0 or more"});
  expect(graph("bench " + file + " --runs=0"), 2, {"--runs must be 1 or more"});
  expect(graph("show " + file + " --format=xml"), 2, {"allowed: rdg, let, ir, svg, json"});
  expect(graph("show " + file + " --device=cpu"), 2, {"--device has no effect without --after"});
  expect(graph("show " + file + " --json --format=let"), 2, {"one of --json and --format"});
}

// Impossible sizes are refused before anything is allocated.
TEST(Graph, RefusesWhatDoesNotFitIntoMemory) {
  const std::string large = written("large.rdg", "graph @g(%x: f32[1000000,1000000]) {\n  return %x\n}\n");
  expect(graph("run " + large), 1, {"[memory] ", "inputs 4.0 TB"});
  expect(graph("bench " + large), 1, {"[memory] "});
  const std::string result = written("result.rdg",
                                     "graph @g(%x: f32[1000000,1], %y: f32[1,1000000]) {\n"
                                     "  %0 = add(%x, %y) : f32[1000000,1000000]\n  return %0\n}\n");
  expect(graph("run " + result), 1, {"op add (add)", "result.rdg:2", "makes f32[1000000,1000000]"});
}

}  // namespace
}  // namespace ridgeline
