// The graph representation: tables, JSON, hash, columns and sizes, without a run.
#include <cmath>
#include <limits>
#include <map>

#include "helpers.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"
#include "transform_rows.h"

namespace ridgeline::data::testing {
namespace {

Tensors sample_tensors() {
  return {{"image", Tensor::of<std::uint8_t>({0, 1, 2, 3, 4, 5, 6, 255}, Shape{2, 2, 2, 1})},
          {"label", Tensor::of<std::int32_t>({-1, 70000}, Shape{2})},
          {"name", Tensor::strings({"", std::string("a\0\xff", 3)})}};
}

// For every node in the table, arguments that differ from the defaults.
std::map<std::string, Args> node_args() {
  return {
      {"image_folder",
       {{"dir", std::string("some/dir \"q\"")},
        {"extensions", Texts{".png"}},
        {"recursive", false},
        {"classes", Texts{"b", "a"}},
        {"labels", Integers{7, 3}}}},
      {"tfrecord",
       {{"files", Texts{"a-*", "b"}},
        {"label_base", std::string("1")},
        {"num_classes", std::int64_t{10}},
        {"file_shards", std::int64_t{3}},
        {"file_shard", std::int64_t{2}},
        {"inflate_limit", std::int64_t{100}}}},
      {"idx",
       {{"images", std::string("i.gz")},
        {"labels", std::string("l.gz")},
        {"label_base", std::int64_t{1}},
        {"transposed", true},
        {"class_names", Texts{"x", "y"}}}},
      {"files", {{"files", Texts{"*.jpg"}}}},
      {"example",
       {{"files", Texts{"a"}},
        {"schema", std::string("s.json")},
        {"columns", Texts{"x"}},
        {"label", std::string("x")},
        {"label_base", std::int64_t{1}},
        {"num_classes", std::int64_t{10}},
        {"file_shards", std::int64_t{3}},
        {"file_shard", std::int64_t{2}},
        {"inflate_limit", std::int64_t{100}}}},
      {"csv",
       {{"file", std::string("a.csv")},
        {"columns", Texts{"file", "label:class"}},
        {"image", std::string("file")},
        {"root", std::string("r")},
        {"num_classes", std::int64_t{10}},
        {"class_names", Texts{"cat", "dog"}},
        {"delimiter", std::string(";")},
        {"header", false}}},
      {"json_lines",
       {{"file", std::string("a.jsonl")},
        {"columns", Texts{"file", "box:f32[]", "label:class"}},
        {"num_classes", std::int64_t{10}},
        {"class_names", Texts{"cat", "dog"}},
        {"image", std::string("file")},
        {"root", std::string("r")}}},
      {"cifar", {{"files", Texts{"a.bin"}}, {"kind", std::string("cifar100")}, {"coarse", true}}},
      {"tar",
       {{"files", Texts{"a.tar"}},
        {"image", Texts{"png"}},
        {"label", std::string("class")},
        {"fields", Texts{"json"}},
        {"num_classes", std::int64_t{4}},
        {"class_names", Texts{"cat", "dog"}},
        {"tries", std::int64_t{2}},
        {"stall_seconds", std::int64_t{3}}}},
      {"packed", {{"files", Texts{"a.ridge"}}, {"columns", Texts{"image"}}}},
      {"generator", {{"name", std::string("mine")}, {"stream", true}}},
      {"named",
       {{"set", std::string("voc")}, {"split", std::string("train")}, {"root", std::string("r")}, {"boxes", true}}},
      {"in_memory", {{"columns", sample_tensors()}}},
      {"shuffle", {{"seed", std::int64_t{12345678901234}}, {"buffer", std::int64_t{7}}}},
      {"repeat", {{"count", std::int64_t{3}}}},
      {"take", {{"count", std::int64_t{4}}}},
      {"skip", {{"count", std::int64_t{2}}}},
      {"shard", {{"count", std::int64_t{8}}, {"index", std::int64_t{5}}}},
      {"sequential_sampler", {{"start", std::int64_t{1}}, {"count", std::int64_t{1}}}},
      {"random_sampler", {{"replacement", true}, {"count", std::int64_t{9}}, {"seed", std::int64_t{3}}}},
      {"subset_sampler", {{"indices", Integers{1, 0, 1}}}},
      {"subset_random_sampler", {{"indices", Integers{1, 0}}, {"seed", std::int64_t{4}}}},
      {"weighted_sampler",
       {{"weights", Reals{0.25, 3}}, {"replacement", false}, {"count", std::int64_t{1}}, {"seed", std::int64_t{5}}}},
      {"pk_sampler",
       {{"per_class", std::int64_t{2}},
        {"classes", std::int64_t{1}},
        {"shuffle", false},
        {"replacement", true},
        {"seed", std::int64_t{6}}}},
      {"distributed_sampler",
       {{"num_shards", std::int64_t{2}},
        {"index", std::int64_t{1}},
        {"shuffle", false},
        {"count", std::int64_t{1}},
        {"seed", std::int64_t{7}},
        {"offset", std::int64_t{1}},
        {"even", false}}},
      {"map", {{"columns", Texts{"image", "name"}}}},
      {"filter",
       {{"column", std::string("name")},
        {"test", std::string("in")},
        {"values", Reals{}},
        {"texts", Texts{"a", "b"}},
        {"function", std::string()}}},
      {"project", {{"columns", Texts{"label", "image"}}}},
      {"rename", {{"from", Texts{"label"}}, {"to", Texts{"target"}}}},
      {"zip", {}},
      {"concat", {}},
      {"mix", {{"weights", Reals{1, 2.5}}, {"count", std::int64_t{11}}, {"seed", std::int64_t{8}}}},
      {"cache", {{"memory_limit", std::int64_t{123}}, {"directory", std::string("some/dir")}}},
      {"batch", {{"size", std::int64_t{32}}, {"drop_remainder", true}, {"pad", true}}},
      {"bucket",
       {{"column", std::string("name")},
        {"boundaries", Integers{2, 5}},
        {"sizes", Integers{3, 2, 1}},
        {"drop_remainder", true},
        {"pad", true}}}};
}

TEST(DataGraphJson, EveryRegisteredNodeComesBackEqual) {
  for (const NodeEntry& entry : node_table()) {
    ASSERT_TRUE(node_args().contains(entry.op)) << "give arguments for " << entry.op << " in this test";
    DataGraph graph;
    graph.seed = 0xffffffffffffffffull;
    if (entry.kind != NodeKind::source) graph.add({.op = "in_memory", .args = {{"columns", sample_tensors()}}});
    Node node{.op = entry.op, .args = node_args().at(entry.op)};
    if (entry.kind != NodeKind::source) node.inputs = {graph.output().id};
    if (entry.kind == NodeKind::join) {
      graph.add({.op = "in_memory", .args = {{"columns", sample_tensors()}}});
      node.inputs.push_back(graph.output().id);
    }
    for (const HintSpec& hint : hint_table()) {
      if (hint.kind == entry.kind) node.hints[hint.name] = 1000;
    }
    graph.add(std::move(node));
    const DataGraph back = graph_from_json(to_json(graph));
    EXPECT_EQ(back, graph) << to_json(graph, 1);
    EXPECT_EQ(to_json(back), to_json(graph));
    EXPECT_EQ(graph_hash(back), graph_hash(graph));
    EXPECT_EQ(graph_from_json(to_json(graph, 2)), graph);
  }
}

TEST(DataGraphJson, EveryRegisteredTransformComesBackEqual) {
  for (const TransformEntry& entry : transform_table()) {
    const TransformRow* row = transform_row(entry.op);
    ASSERT_TRUE(row) << "give " << entry.op << " a row in transform_rows.h";
    DataGraph graph;
    graph.add({.op = "in_memory", .args = {{"columns", sample_tensors()}}});
    Node map{.op = "map", .inputs = {graph.output().id}};
    if (entry.whole_batch) map = {.op = "batch", .inputs = {graph.output().id}, .args = {{"size", std::int64_t{2}}}};
    Transform t{entry.op, row->args, ""}, named{entry.op, t.args, "my_name"};
    if (entry.op == "resize_write") {
      t.operations = named.operations = {Resize(8), {"write", transform_row("write")->args, ""}};
    } else if (entry.nests) {
      t.operations = named.operations = {RandomInvert(), Compose({RandomInvert()})};
    }
    map.operations = {t, named};
    graph.add(std::move(map));
    EXPECT_EQ(graph.output().operations[0].name, entry.op);
    // Every argument differs from its default, so that losing one is noticed.
    for (const ArgSpec& spec : entry.args)
      EXPECT_TRUE(!spec.fallback || graph.output().operations[0].args.at(spec.name) != *spec.fallback)
          << entry.op << " " << spec.name;
    const DataGraph back = graph_from_json(to_json(graph));
    EXPECT_EQ(back, graph);
    EXPECT_EQ(graph_hash(back), graph_hash(graph));
  }
}

TEST(DataGraphJson, GivesTheSameBatches) {
  const Dataset data =
      rows_in_memory(20).shuffle().map(RandomCropWithPadding({4, 4}, 1), RandomHorizontalFlip()).batch(3).with_seed(4);
  const Dataset back = Dataset::from_json(data.to_json());
  Iterator a(data, {.pull = true}), b(back, {.pull = true});
  EXPECT_EQ(digest(a), digest(b));
}

TEST(DataGraphJson, LeavesOutDefaultsOnReadingAndNamesWhatIsMissing) {
  const std::string text = R"({"schema":"data-graph","version":1,"nodes":[
      {"id":"a","op":"image_folder","args":{"dir":"d"}},
      {"id":"b","op":"map","inputs":["a"],"args":{"operations":[{"op":"resize","args":{"size":[8,8]}}]}},
      {"id":"c","op":"batch","inputs":["b"],"args":{"size":4}}],"outputs":["c"]})";
  const Dataset data = Dataset::from_json(text);
  EXPECT_EQ(to_string(data.columns()), "image u8[4,8,8,3], label i32[4], mask u8[4]");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_ERROR(Dataset::from_json(with("\"version\":1", "\"version\":7")),
               "version is 7, this program reads version 1");
  EXPECT_ERROR(Dataset::from_json(with("data-graph", "data-grape")), "schema is \"data-grape\"");
  const std::string brackets = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_ERROR(Dataset::from_json(with("\"data-graph\"", brackets)), "[data graph JSON] nests deeper than");
  EXPECT_ERROR(Dataset::from_json(with("\"nodes\"", "\"node\"")), "unknown key 'node': did you mean 'nodes'?");
  EXPECT_ERROR(Dataset::from_json(with("image_folder", "image_foldr")),
               "unknown node 'image_foldr': did you mean 'image_folder'?");
  EXPECT_ERROR(Dataset::from_json(with("resize", "resise")), "unknown transform 'resise': did you mean 'resize'?");
  EXPECT_ERROR(Dataset::from_json(with("\"dir\"", "\"dirr\"")), "unknown key 'dirr': did you mean 'dir'?");
  EXPECT_ERROR(Dataset::from_json(with("\"dir\":\"d\"", "")), "argument 'dir' is missing");
  EXPECT_ERROR(Dataset::from_json(with("\"size\":4", "\"size\":\"4\"")),
               "'size' of node 'c' is \"4\", it must be an integer");
  EXPECT_ERROR(Dataset::from_json(with("\"size\":4", "\"size\":0")), "[batch] size is 0");
  EXPECT_ERROR(Dataset::from_json(with("\"size\":4", "\"size\":18446744073709551615")),
               "'size' of node 'c' is 18446744073709551615, it must be an integer");
  EXPECT_ERROR(Dataset::from_json(with("\"inputs\":[\"b\"]", "\"hints\":{\"workers\":1.5},\"inputs\":[\"b\"]")),
               "hint 'workers' of node 'c' is 1.5, it must be an integer");
  EXPECT_ERROR(Dataset::from_json(with("[\"b\"]", "[\"bb\"]")), "reads 'bb', which is no node above it");
  EXPECT_ERROR(Dataset::from_json(with("\"outputs\":[\"c\"]", "\"outputs\":[\"b\"]")), "does not lead to its output");
  EXPECT_ERROR(Dataset::from_json(with("[8,8]", "[8,8],\"interpolation\":\"bilinar\"")),
               "unknown interpolation 'bilinar': did you mean 'bilinear'?");
  EXPECT_ERROR(Dataset::from_json(text.substr(0, 50)), "[data graph JSON]");
}

TEST(DataGraphHash, LeavesOutHintsPlacesAndTheRank) {
  const auto make = [](const std::string& dir, int rank, int batch) {
    return ImageFolder(dir).shuffle().shard(4, rank).map(Resize({8, 8})).batch(batch);
  };
  const std::uint64_t hash = make("a", 0, 4).hash();
  EXPECT_EQ(make("b", 0, 4).hash(), hash);
  EXPECT_EQ(make("a", 3, 4).hash(), hash);
  EXPECT_EQ(make("a", 0, 4).with_hints({.workers = 5, .memory_limit = 9}).hash(), hash);
  EXPECT_EQ(make("a", 0, 4).with_seed(9).hash(), hash);
  EXPECT_NE(make("a", 0, 5).hash(), hash);
  EXPECT_NE(ImageFolder("a").shuffle().shard(4, 0).map(Resize({8, 9})).batch(4).hash(), hash);
  EXPECT_NE(rows_in_memory(3).hash(), rows_in_memory(4).hash());
  // For a distributed sampler, the rows of the rank, without padding.
  const auto part = [&](const std::string& dir, int rank) {
    return graph_hash(make(dir, rank, 4).graph(), HashOf::part);
  };
  EXPECT_EQ(part("a", 1), part("b", 1));
  EXPECT_NE(part("a", 1), part("a", 2));
}

TEST(DataGraphHash, TakesTheBytesOfWhatIsNoUtf8) {
  const Dataset rows = InMemory({{"key", Tensor::strings({"a", "b"})}});
  const auto hash = [&](const std::string& key) {
    return rows.filter(is_in("key", std::vector<std::string>{key})).hash();
  };
  EXPECT_EQ(hash("\xff"), hash("\xff"));
  EXPECT_NE(hash("\xff"), hash("\xfe"));
  EXPECT_NO_THROW(ImageFolder("x", {.classes = {"caf\xe9"}}).hash());
  const Dataset written = rows.filter(is_in("key", std::vector<std::string>{"\xff", "plain"}));
  EXPECT_NE(written.to_json().find(R"({"base64":"/w=="},"plain")"), std::string::npos) << written.to_json();
  EXPECT_EQ(Dataset::from_json(written.to_json()).hash(), written.hash());
  const Dataset folder = ImageFolder("fl\xe9urs", {.classes = {"caf\xe9"}});
  EXPECT_EQ(graph_from_json(folder.to_json()), folder.graph());
}

TEST(DataGraph, RefusesNumbersThatAreNotFinite) {
  const Dataset rows = rows_in_memory(3);
  EXPECT_ERROR(rows.filter(compare("label", "less", INFINITY)), "[filter] values must be finite, it is inf");
  EXPECT_ERROR(rows.map(Rescale(NAN, 0)), "[rescale] scale must be finite, it is nan");
  EXPECT_ERROR(rows.map(Rescale(1, -INFINITY)), "[rescale] shift must be finite, it is -inf");
}

TEST(DataGraph, RefusesWhatCannotBeCounted) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Dataset two = rows_in_memory(2);
  EXPECT_ERROR(two.repeat(kMost).size(), "[repeat] has more rows than can be counted");
  EXPECT_ERROR(two.repeat(kMost).repeat(3).repeat_count(), "[repeat] has more rows than can be counted");
  const Dataset half = two.repeat(kMost / 3);
  EXPECT_ERROR(concat({half, half}).size(), "[concat] has more rows than can be counted");
  EXPECT_ERROR(mix({half, half}, {1, 1}).size(), "[mix] has more rows than can be counted");
  EXPECT_EQ(half.shard(2, 0).batch(kMost).size(), 1);
  const Dataset labels = two.map_columns({"label"}, {OneHot(7)}).project({"label"});
  EXPECT_ERROR(Iterator(labels.batch(std::int64_t{1} << 61), {.pull = true}), "more bytes than can be counted: label");
  EXPECT_ERROR(two.map_columns({"label"}, {OneHot(std::int64_t{1} << 62)}), "[one_hot] classes is 4611686018427387904");
  EXPECT_ERROR(two.map(Function("f", {.shape = std::vector<std::int64_t>{kMost / 2, 100}})),
               "[function] shape has more values than can be counted");
}

TEST(DataGraph, IsWalkedOnceHoweverManyWaysThereAre) {
  Dataset data = rows_in_memory(1).map(Invert());
  for (int i = 0; i < 40; ++i) data = concat({data, data});
  EXPECT_EQ(data.size(), std::int64_t{1} << 40);
  EXPECT_NO_THROW(prepare(data.cache().batch(2).graph(), false));
}

TEST(Dataset, CountsTheSamplesOfThisRank) {
  const Dataset nine = rows_in_memory(9);
  EXPECT_EQ(nine.shard(2, 1).batch(4).size(), 2);  // like rank 0
  EXPECT_EQ(nine.shard(2, 1).batch(4).take(5).num_samples(), 4);
  EXPECT_EQ(nine.shard(2, 0).batch(4).take(5).num_samples(), 5);
  EXPECT_EQ(rows_in_memory(10).batch(4).repeat(1).num_samples(), 10);
  EXPECT_EQ(rows_in_memory(8).batch(4).repeat(3).num_samples(), 24);
  EXPECT_ERROR(rows_in_memory(10).batch(4).shuffle().num_samples(), "are not counted");
  EXPECT_EQ(rows_in_memory(10).batch(4).shuffle().num_samples_if_known(), kUnknown);
  EXPECT_EQ(rows_in_memory(8).batch(4).shuffle().num_samples_if_known(), 8);
}

TEST(Dataset, AnswersFromTheGraph) {
  const Dataset data = rows_in_memory(23).shuffle().repeat(2).map(Resize({5, 7})).batch(4);
  EXPECT_EQ(data.size(), 12);
  EXPECT_EQ(data.num_samples(), 46);
  EXPECT_EQ(data.batch_size(), 4);
  EXPECT_EQ(data.repeat_count(), 2);
  EXPECT_EQ(data.num_classes(), 23);
  EXPECT_EQ(to_string(data.columns()), "image u8[4,5,7,3], label i32[4], mask u8[4]");
  EXPECT_EQ(rows_in_memory(23).batch(4, {.drop_remainder = true}).size(), 5);
  EXPECT_EQ(rows_in_memory(23).batch(4, {.drop_remainder = true}).num_samples(), 20);
  EXPECT_EQ(rows_in_memory(23).batch(4).skip(2).num_samples(), 15);
  EXPECT_EQ(rows_in_memory(23).repeat().batch(4).size(), kForever);
  EXPECT_EQ(rows_in_memory(23).repeat().take(5).repeat_count(), kForever);
  EXPECT_EQ(ImageFolder("nowhere").map(RandomResizedCrop(9), Normalize::imagenet()).batch(2).columns()[0],
            (Column{"image", DType::f32, Shape{2, 9, 9, 3}}));  // no file is opened for this
}

TEST(Dataset, IsAValueThatCallsDoNotChange) {
  const Dataset base = rows_in_memory(10);
  const Dataset batched = base.batch(3);
  EXPECT_EQ(base.size(), 10);
  EXPECT_EQ(batched.size(), 4);
  EXPECT_EQ(base.graph().nodes.size(), 1u);
  Iterator a(batched, {.pull = true}), b(batched, {.pull = true});
  EXPECT_EQ(digest(a), digest(b));
}

TEST(Dataset, RefusesWhatCannotWorkWhereItIsWritten) {
  const Dataset data = rows_in_memory(10);
  EXPECT_ERROR(data.batch(0), "[batch] size is 0, it must be at least 1");
  EXPECT_ERROR(data.batch(2).batch(2), "its input is batched already");
  EXPECT_ERROR(data.batch(2).map(Resize({2, 2})), "[map] works on samples: put it before batch");
  EXPECT_ERROR(data.shard(2, 2), "index is 2, it must be below count, which is 2");
  EXPECT_ERROR(data.take(-2), "[take] count is -2");
  EXPECT_ERROR(data.repeat(0), "[repeat] count is 0");
  EXPECT_ERROR(data.map(Resize(0)), "[resize] size is 0");
  EXPECT_ERROR(data.map(RandomHorizontalFlip(1.5)), "p is 1.5");
  EXPECT_ERROR(data.map(RandomResizedCrop(8, {.interpolation = "cubic"})),
               "unknown interpolation 'cubic': did you mean 'bicubic'?");
  EXPECT_ERROR(data.map(Normalize({0.5}, {0.5})), "mean has 1 numbers, the image has 3 channels");
  EXPECT_ERROR(data.map(Normalize({0.5, 0.5, 0.5}, {0.5, 0, 0.5})), "std is 0");
  EXPECT_ERROR(data.map(Normalize::imagenet(), Resize({2, 2})), "put it before Normalize");
  EXPECT_ERROR(ImageFolder("x").map(Resize(8)).batch(2), "samples have no common shape: image u8[?,?,3]");
  EXPECT_ERROR(InMemory({{"x", Tensor::zeros(DType::u8, Shape{3})}}).map(Resize({2, 2})), "there is no column 'image'");
  EXPECT_ERROR(InMemory({{"x", Tensor::zeros(DType::u8, Shape{3})}, {"y", Tensor::zeros(DType::u8, Shape{4})}}),
               "first extent must be 3");
  EXPECT_ERROR(InMemory({{"x", Tensor::strings({"a"})}}).map_columns({"x"}, {TypeCast(DType::f32)}),
               "[type_cast] byte strings have no element type: x bytes[]");
  EXPECT_ERROR(InMemory({{"x", Tensor::strings({"a"})}}).map_columns({"x"}, {Rescale(1, 0)}), "takes u8 or f32");
  EXPECT_NO_THROW(ImageFolder("x").map(TypeCast(DType::f32)));  // an image is decoded for this
  EXPECT_ERROR(Iterator(data), "end it with batch");
  EXPECT_ERROR(Iterator(data.batch(20, {.drop_remainder = true})), "no batch to deliver: 10 samples, batches of 20");
  EXPECT_ERROR(ImageFolder("/no/such/place").size(), "no such directory: /no/such/place");
  EXPECT_ERROR(TFRecord("/no/such/train-*").size(), "no file matches /no/such/train-*");
  EXPECT_ERROR(parse_label_base("2"), "unknown label_base '2' (allowed: auto, 0, 1)");
}

TEST(Registry, DocumentsEveryArgument) {
  const std::string page = reference_page();
  for (const NodeEntry& entry : node_table())
    EXPECT_NE(page.find("\n" + entry.op + ": "), std::string::npos) << entry.op;
  for (const TransformEntry& entry : transform_table())
    EXPECT_NE(page.find("\n" + entry.op + ": "), std::string::npos) << entry.op;
  EXPECT_NE(page.find("interpolation (text, default \"bilinear\"): resampling filter (one of "), std::string::npos)
      << page;
}

}  // namespace
}  // namespace ridgeline::data::testing
