// Sources that read only the columns that a project above them keeps.
#include "helpers.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data::testing {
namespace {

std::string ops_of(const DataGraph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " | ") + node.op;
  return text;
}

Dataset three_columns() {
  return InMemory({{"a", Tensor::of<std::int32_t>({1, 2, 3}, Shape{3})},
                   {"b", Tensor::of<std::int32_t>({4, 5, 6}, Shape{3})},
                   {"c", Tensor::of<std::int32_t>({7, 8, 9}, Shape{3})}});
}

TEST(ProjectSource, LetsTheSourceGiveFewerColumns) {
  const Dataset data = three_columns();
  const auto after = [](const Dataset& d) { return project_source(d.graph()); };
  DataGraph graph = after(data.shuffle().map_columns({"b"}, {TypeCast(DType::i64)}).project({"b", "c"}).batch(2));
  EXPECT_EQ(ops_of(graph), "in_memory | shuffle | map | batch");
  EXPECT_EQ(arg<Tensors>(graph.nodes[0].args, "columns").size(), 2u);
  EXPECT_EQ(to_string(schema_of(graph)), "b i64[2], c i32[2], mask u8[2]");
  graph = after(data.project({"c", "a"}));  // needed for the order
  EXPECT_EQ(ops_of(graph), "in_memory | project");
  EXPECT_EQ(to_string(schema_of(graph)), "c i32[], a i32[]");
  EXPECT_EQ(arg<Tensors>(graph.nodes[0].args, "columns").size(), 2u);
}

TEST(ProjectSource, LeavesAloneWhatLooksAtOtherColumns) {
  const Dataset data = three_columns();
  for (const Dataset& kept :
       {data.filter(compare("a", "less", 3)).project({"b"}),
        data.map_columns({"a"}, {TypeCast(DType::i64)}).project({"b"}), data.rename({"a"}, {"x"}).project({"b"}),
        zip({data.project({"a"}), data.project({"b"})}),  // two nodes read the source
        ImageFolder("folder").project({"label"})}) {
    EXPECT_TRUE(project_source(kept.graph()) == kept.graph()) << kept.to_json(1);
  }
  const Dataset filtered = data.filter(compare("b", "less", 6)).project({"b"});
  EXPECT_EQ(ops_of(project_source(filtered.graph())), "in_memory | filter");
}

TEST(ProjectSource, KeepsTheSamples) {
  const Dataset data = three_columns();
  for (const Dataset& projected : {data.shuffle().project({"b", "c"}).batch(2), data.project({"c", "a"}).batch(2)}) {
    Iterator whole(projected, {.pull = true, .disabled_passes = {"project_source"}}), less(projected, {.pull = true});
    EXPECT_EQ(digest(less), digest(whole));
    Iterator again(data.batch(3), {.pull = true});  // shares nothing that the pass created
    EXPECT_EQ(again.next()->column("a").data<std::int32_t>()[2], 3);
  }
}

std::string write_examples(const std::string& path) {
  TFRecordWriter writer(path, Compression::gzip);
  for (int i = 0; i < 6; ++i)
    writer.write(ExampleBuilder().int64s("image/class/label", i % 4).floats("x", {static_cast<float>(i)}).serialize());
  writer.close();
  return path;
}

TEST(ProjectSource, KnowsTheLabelOfExamplesByItsStoredName) {
  const TempDir dir;
  const std::string file = write_examples(dir / "a");
  const Dataset data = Examples({file}, {.label = "image/class/label", .label_base = 0, .num_classes = 4});
  for (const Dataset& projected : {data.project({"label"}), data.project({"x"}), data.project({"x", "label"}),
                                   data.project({"label", "x"}), data.shuffle().project({"label"}).repeat(2)}) {
    Iterator whole(projected.batch(4), {.pull = true, .disabled_passes = {"project_source"}});
    Iterator less(projected.batch(4), {.pull = true});
    EXPECT_EQ(digest(less), digest(whole));
    EXPECT_NO_THROW(
        Dataset(prepare(projected.batch(4).graph(), false)));  // the result of the pass is an ordinary graph
  }
  DataGraph graph = project_source(data.project({"label"}).graph());
  EXPECT_EQ(ops_of(graph), "example");
  EXPECT_EQ(arg<Texts>(graph.nodes[0].args, "columns"), Texts{"image/class/label"});
  graph = project_source(data.project({"x"}).graph());
  EXPECT_EQ(arg<Texts>(graph.nodes[0].args, "columns"), Texts{"x"});
  EXPECT_EQ(arg<std::string>(graph.nodes[0].args, "label"), "");
}

TEST(ProjectSource, OpensTheFilesOfExamplesOnce) {
  const TempDir dir;
  const Dataset data = Examples({write_examples(dir / "a")}, {.label = "image/class/label"}).project({"x"}).batch(2);
  std::filesystem::remove(dir / "a");  // the graph keeps it open, to know its columns
  Iterator it(data, {.pull = true});
  EXPECT_EQ(it.next()->column("x").data<float>()[1], 1);
}

}  // namespace
}  // namespace ridgeline::data::testing
