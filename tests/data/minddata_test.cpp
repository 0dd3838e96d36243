// Reading and writing MindData's JSON format.
#include "ridgeline/data/minddata/json.h"

#include <map>
#include <nlohmann/json.hpp>

#include "helpers.h"
#include "ridgeline/data/minddata/forms.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data::testing {
namespace {

using nlohmann::json;

const MindDataOptions kPillow{.pixels = MindDataPixels::pillow};

Transform decode() { return {"decode", {}, ""}; }

// Class folders as MindData reads them: files directly in a class folder.
Dataset folder_at(const std::string& dir) { return ImageFolder(dir, {.recursive = false}); }

// The example of the talk on MindData's architecture: Repeat over an ImageFolder with weights, below two maps.
Dataset sample_of_the_talk() {
  return folder_at("./data/dataset/testPK/data")
      .sample(SequentialSampler())
      .sample(WeightedRandomSampler({1.0, 0.1, 0.02, 0.3, 0.4, 0.05, 1.2, 0.13, 0.14, 0.015, 0.16, 1.1}, {.count = 11}))
      .repeat(1)
      .map(decode())
      .map(Resize({224, 224}), Rescale(1.0 / 255))
      .batch(2);
}

// The JSON of the slide, with the keys that MindData wrote in those releases.
constexpr const char* kTalk = R"({
  "batch_size": 2,
  "children": [
    {
      "callback": [],
      "children": [
        {
          "callback": [],
          "children": [
            {
              "children": [
                {
                  "children": [],
                  "class_indexing": {},
                  "dataset_dir": "./data/dataset/testPK/data",
                  "decode": false,
                  "extensions": [],
                  "num_parallel_workers": 8,
                  "op_type": "ImageFolderDataset",
                  "sampler": {
                    "child_sampler": [
                      {
                        "num_samples": 0,
                        "sampler_name": "SequentialSampler",
                        "start_index": 0
                      }
                    ],
                    "num_samples": 11,
                    "replacement": true,
                    "sampler_name": "WeightedRandomSampler",
                    "weights": [
                      1.0,
                      0.1,
                      0.02,
                      0.3,
                      0.4,
                      0.05,
                      1.2,
                      0.13,
                      0.14,
                      0.015,
                      0.16,
                      1.1
                    ]
                  }
                }
              ],
              "count": 1,
              "op_type": "Repeat"
            }
          ],
          "input_columns": [
            "image"
          ],
          "num_parallel_workers": 8,
          "op_type": "Map",
          "operations": [
            {
              "tensor_op_name": "Decode",
              "tensor_op_params": {
                "rgb": true
              }
            }
          ],
          "output_columns": [
            "image"
          ]
        }
      ],
      "input_columns": [
        "image"
      ],
      "num_parallel_workers": 8,
      "op_type": "Map",
      "operations": [
        {
          "tensor_op_name": "Resize",
          "tensor_op_params": {
            "interpolation": 0,
            "size": [
              224,
              224
            ]
          }
        },
        {
          "tensor_op_name": "Rescale",
          "tensor_op_params": {
            "rescale": 0.00392156862745098,
            "shift": 0.0
          }
        }
      ],
      "output_columns": [
        "image"
      ]
    }
  ],
  "drop_remainder": false,
  "input_columns": [],
  "num_parallel_workers": 8,
  "op_type": "Batch",
  "output_columns": []
})";

TEST(MindDataJson, WritesTheSampleOfTheTalkFieldForField) {
  const Dataset data = sample_of_the_talk();
  EXPECT_EQ(to_minddata_json(data.graph(), 2, {.pixels = MindDataPixels::pillow, .release = MindDataRelease::r1_3}),
            kTalk);
}

TEST(MindDataJson, ReadsTheSampleOfTheTalk) {
  const DataGraph graph = from_minddata_json(kTalk, kPillow);
  EXPECT_TRUE(graph == sample_of_the_talk().graph()) << to_json(graph, 1);
  // Today's releases write two more keys.
  json now = json::parse(to_minddata_json(graph, -1, kPillow));
  const json& folder = now["children"][0]["children"][0]["children"][0]["children"][0];
  EXPECT_EQ(folder["connector_queue_size"], 16);
  EXPECT_EQ(folder["recursive"], false);
}

// ---- a table of everything that can be written

struct Files {
  TempDir dir;
  std::string folders = write_folders(dir / "in/train", 2, 5);
  std::string records;
  Files() {
    write_folders(dir / "in/val", 2, 1);
    make_tfrecord(dir / "in", dir / "records", {.train_shards = 1, .validation_shards = 1});
    for (const auto& entry : std::filesystem::directory_iterator(dir / "records")) {
      if (entry.path().filename().string().starts_with("train-")) records = entry.path().string();
    }
    const std::vector<char> rows(2 * 3073, 1);
    for (const std::string& file : cifar10_files(dir / "cifar", "all")) write_bytes(file, rows.data(), rows.size());
    idx("train-images-idx3-ubyte", 3, {7, 4, 4});
    idx("train-labels-idx1-ubyte", 1, {7});
    idx("t10k-images-idx3-ubyte", 3, {5, 4, 4});
    idx("t10k-labels-idx1-ubyte", 1, {5});
  }
  void idx(const std::string& name, int rank, const std::vector<int>& dims) {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(rank)};
    int count = 1;
    for (const int extent : dims) {
      bytes += std::string{'\0', '\0', '\0', static_cast<char>(extent)};
      count *= extent;
    }
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(i * 11 % 10);
    write_bytes(dir / name, bytes.data(), bytes.size());
  }
  Dataset cifar(const std::string& usage) const { return Cifar(cifar10_files(dir / "cifar", usage)); }
  Dataset mnist(const std::string& part) const {
    return Idx(dir / (part + "-images-idx3-ubyte"), dir / (part + "-labels-idx1-ubyte"));
  }
};

std::vector<std::pair<std::string, Dataset>> writable(const Files& files) {
  const Dataset folder = folder_at(files.folders), sized = folder.map(Resize({8, 9}));
  const Dataset records = TFRecord(files.records, {.label_base = LabelBase::zero});
  const Dataset labels = folder_at(files.folders).project({"label"}).rename({"label"}, {"other"});
  const RandomResizedCropOptions cubic{.scale = {0.3, 0.9}, .ratio = {0.5, 2.0}, .interpolation = "bicubic"};
  RandomResizedCropOptions without_boxes = cubic;
  without_boxes.min_object_covered = 0;
  return {
      {"folder", sized.batch(3)},
      {"explicit decode", folder.map(decode(), Resize(30, {.size_rule = "mindata"}), CenterCrop({12, 10})).batch(3)},
      {"extensions",
       ImageFolder(files.folders, {.extensions = {".jpg"}, .recursive = false}).map(Resize({8, 9})).batch(3)},
      {"class indexing",
       ImageFolder(files.folders, {.recursive = false, .classes = {"class_a", "class_b"}, .labels = {4, 2}})
           .map(Resize({8, 9}))
           .batch(3)},
      {"batch", sized.batch(3, {.drop_remainder = true})},
      {"repeat, skip, take", sized.repeat(3).skip(2).take(13).batch(4).repeat(2)},
      {"take all", sized.take(-1).batch(3)},
      {"shuffle", sized.shuffle({.buffer = 4}).batch(4)},
      {"project and rename", sized.rename({"image", "label"}, {"x", "y"}).project({"y", "x"}).batch(3)},
      {"zip", zip({sized, labels}).batch(3)},
      {"concat", concat({sized, folder_at(files.folders).map(Resize({8, 9}), RandomHorizontalFlip())}).batch(3)},
      {"concat of concat",
       concat({concat({folder_at(files.folders).map(Resize({8, 9})), files.mnist("train").map(Resize({8, 9}))})
                   .map(CenterCrop(8)),
               sized.map(CenterCrop(8))})
           .take(10)
           .project({"label"})
           .batch(3)},
      {"sequential", folder.sample(SequentialSampler(2, 5)).map(Resize({8, 9})).batch(2)},
      {"random", folder.sample(RandomSampler()).map(Resize({8, 9})).batch(2)},
      {"random with replacement",
       folder.sample(RandomSampler({.replacement = true, .count = 17})).map(Resize({8, 9})).batch(2)},
      {"subset", folder.sample(SubsetSampler({7, 2, 2})).map(Resize({8, 9})).batch(2)},
      {"subset random", folder.sample(SubsetRandomSampler({7, 2, 5, 1})).map(Resize({8, 9})).batch(2)},
      {"weighted", folder.sample(SubsetSampler({9, 0, 4}))
                       .sample(WeightedRandomSampler({1, 0, 2.5}, {.replacement = false}))
                       .map(Resize({8, 9}))
                       .batch(2)},
      {"pk", folder.sample(PKSampler(3)).map(Resize({8, 9})).batch(2)},
      {"pk of one class", folder.sample(PKSampler(3, {.classes = 1})).map(Resize({8, 9})).batch(2)},
      {"distributed", folder.sample(DistributedSampler(3, 1, {.count = 3, .offset = 2, .seed = 4000000000u}))
                          .map(Resize({8, 9}))
                          .batch(2)},
      {"distributed in order",
       folder.sample(DistributedSampler(3, 2, {.shuffle = false, .even = false})).map(Resize({8, 9})).batch(2)},
      {"three samplers", folder.sample(RandomSampler())
                             .sample(SequentialSampler(1))
                             .sample(WeightedRandomSampler({1, 2, 3, 4, 5, 6, 7, 8, 9}))
                             .map(Resize({8, 9}))
                             .batch(2)},
      {"training", folder.sample(RandomSampler())
                       .map(RandomResizedCrop(16, cubic), RandomHorizontalFlip(0.3), Normalize::imagenet(), HWC2CHW())
                       .map_columns({"label"}, {OneHot(5)})
                       .batch(4)},
      {"two streams",
       sized.map(RandomHorizontalFlip(), RandomHorizontalFlip(0.2)).map(RandomHorizontalFlip()).batch(3)},
      {"random crop", folder.map(Resize({24, 24}), RandomCropWithPadding({20, 22}, 4)).batch(3)},
      {"coloured padding", folder
                               .map(RandomCrop({90, 150}, {.padding = 2, .pad_if_needed = true, .fill = {9, 0, 200}}),
                                    RandomCrop({80, 140}, {.fill = {7}}))
                               .batch(3)},
      {"rescale and cast", sized.map(Rescale(1.0 / 255, -0.5), TypeCast(DType::f64)).batch(3)},
      {"mnist", files.mnist("train").map(Resize({8, 8})).batch(2)},
      {"mnist test", files.mnist("t10k").sample(RandomSampler()).batch(2)},
      {"cifar", files.cifar("train").batch(2)},
      {"cifar test", files.cifar("test").sample(RandomSampler()).batch(2)},
      {"cifar all", files.cifar("all").batch(2)},
      {"records", records.map(RandomResizedCrop(8, without_boxes)).batch(3)},
      {"shuffled records", records.shuffle().map(Resize({8, 9})).batch(3)},
      {"renamed records", records.rename({"image", "label"}, {"x", "y"}).map_columns({"x"}, {Resize({8, 9})}).batch(3)},
  };
}

TEST(MindDataJson, GivesTheSameGraphAndSamplesBack) {
  const Files files;
  std::string all;
  for (const auto& [name, data] : writable(files)) {
    SCOPED_TRACE(name);
    const std::string text = to_minddata_json(data.graph(), -1, kPillow);
    all += text;
    const Dataset back(from_minddata_json(text, kPillow));
    EXPECT_EQ(to_minddata_json(back.graph(), -1, kPillow), text);
    Iterator a(data, {.epochs = 2, .pull = true}), b(back, {.epochs = 2, .pull = true});
    EXPECT_EQ(digest(a), digest(b));
    // Can also be read in the format of 2021.
    const Dataset old(from_minddata_json(
        to_minddata_json(data.graph(), 1, {.pixels = MindDataPixels::pillow, .release = MindDataRelease::r1_3}),
        kPillow));
    EXPECT_TRUE(old.graph() == back.graph());
  }
  for (const auto* forms : {&minddata_nodes(), &minddata_samplers(), &minddata_operations()}) {
    for (const MindDataForm& form : *forms) {
      if (form.name == "RandomCropDecodeResize") continue;  // can be read, but is written as two operations
      EXPECT_NE(all.find('"' + form.name + '"'), std::string::npos) << "write a " << form.name << " in this test";
    }
  }
}

TEST(MindDataJson, GivesAnEqualGraphWhereDecodeIsWrittenOut) {
  const Files files;
  for (const auto& [name, data] : writable(files)) {
    // Joins number their nodes in another order; a sampler that takes all rows is left out; boxes come from TFRecords.
    if (name.starts_with("concat") || name == "zip" || name == "distributed in order") continue;
    SCOPED_TRACE(name);
    const DataGraph back = from_minddata_json(to_minddata_json(data.graph(), -1, kPillow), kPillow);
    DataGraph graph = resolve_schema(data.graph());
    EXPECT_TRUE(back == graph) << to_json(back, 1) << to_json(graph, 1);
  }
}

TEST(MindDataJson, ScalesMeanAndDeviationBothWays) {
  const DataGraph graph = folder_at("x").map(Resize({8, 8}), Normalize::imagenet()).graph();
  const json tree = json::parse(to_minddata_json(graph, -1, kPillow));
  const json& params = tree["operations"][2]["tensor_op_params"];
  EXPECT_EQ(params["mean"], json({0.485 * 255, 0.456 * 255, 0.406 * 255}));
  const DataGraph back = from_minddata_json(tree.dump(), kPillow);
  EXPECT_EQ(back.output().operations[2].args, graph.output().operations[1].args);
  // MindData writes floats: 123.675 as 123.67500305175781.
  json floats = tree;
  for (const char* key : {"mean", "std"}) {
    for (json& v : floats["operations"][2]["tensor_op_params"][key]) v = static_cast<double>(v.get<float>());
  }
  EXPECT_EQ(from_minddata_json(floats.dump(), kPillow).output().operations[2].args, graph.output().operations[1].args);
  for (int i = 1; i < 1000; ++i) EXPECT_EQ(share_of_255(i / 1000.0 * 255), i / 1000.0);
  EXPECT_EQ(share_of_255(85.0), 1.0 / 3);
  EXPECT_EQ(share_of_255(static_cast<double>(123.675f)), 0.485);
  EXPECT_EQ(shortest_of_float(static_cast<double>(0.08f)), 0.08);
  EXPECT_EQ(shortest_of_float(0.08), 0.08);
  EXPECT_EQ(shortest_of_float(1.0 / 3), 1.0 / 3);
}

TEST(MindDataJson, ReadsRandomCropDecodeResizeAsTwoOperations) {
  const std::string text = R"({"callback":[],"children":[{"children":[],"class_indexing":{},"dataset_dir":"d",
      "decode":false,"extensions":[],"op_type":"ImageFolderDataset",
      "sampler":{"num_samples":0,"sampler_name":"SequentialSampler","start_index":0}}],
      "input_columns":[],"num_parallel_workers":8,"op_type":"Map","operations":[{"tensor_op_name":
      "RandomCropDecodeResize","tensor_op_params":{"size":[224,224],"scale":[0.07999999821186066,1.0],
      "ratio":[0.75,1.3333333730697632],"interpolation":4,"max_attempts":10}}],"output_columns":[]})";
  const DataGraph graph = from_minddata_json(text);
  ASSERT_EQ(graph.output().operations.size(), 2u);
  EXPECT_EQ(graph.output().operations[0].op, "decode");
  EXPECT_EQ(arg<Reals>(graph.output().operations[1].args, "scale"), (Reals{0.08, 1.0}));
  EXPECT_EQ(arg<std::string>(graph.output().operations[1].args, "interpolation"), "bicubic");
  EXPECT_EQ(arg<Texts>(graph.output().args, "columns"), Texts{"image"});  // the first column
  EXPECT_TRUE(from_minddata_json("{\"tree\":" + text + ",\"summary\":[],\"remark\":\"\"}") == graph);
}

TEST(MindDataJson, ReadsWhatOurGraphSaysInOtherWords) {
  const std::string folder =
      R"({"children":[],"class_indexing":{},"dataset_dir":"d","decode":true,"extensions":[".JPEG",
      ".jpeg"],"op_type":"ImageFolderDataset","sampler":SAMPLER})";
  const auto with = [&](const std::string& sampler) {
    std::string text = folder;
    return from_minddata_json(text.replace(text.find("SAMPLER"), 7, sampler));
  };
  const DataGraph decoded = with(R"({"num_samples":0,"sampler_name":"SequentialSampler","start_index":0})");
  ASSERT_EQ(decoded.nodes.size(), 2u);
  EXPECT_EQ(decoded.output().operations[0].op, "decode");
  EXPECT_EQ(arg<Texts>(decoded.nodes[0].args, "extensions"), Texts{".jpeg"});
  EXPECT_EQ(arg<Integers>(with(R"({"indices":[4,5,6],"num_samples":2,"sampler_name":"SubsetSampler"})").nodes[1].args,
                          "indices"),
            (Integers{4, 5}));
  const DataGraph first = with(R"({"indices":[4,5,6],"num_samples":2,"sampler_name":"SubsetRandomSampler"})");
  EXPECT_EQ(first.nodes[2].op, "sequential_sampler");
  EXPECT_EQ(arg<std::int64_t>(first.nodes[2].args, "count"), 2);
}

TEST(MindDataJson, WritesStepSizesOfCallbacksAndReadsThemAway) {
  const auto callback = std::make_shared<DataCallback>(3);
  const Dataset data = folder_at("x").map(Resize({8, 8}, {.interpolation = "bicubic"})).with_callbacks({callback});
  const json tree = json::parse(to_minddata_json(data.graph()));
  EXPECT_EQ(tree["callback"], json({3}));
  EXPECT_TRUE(from_minddata_json(tree.dump()).output().callbacks.empty());
}

TEST(MindDataJson, SaysWhatIsWrongWithATree) {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = kTalk;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return [=] { return from_minddata_json(std::string(text).replace(at, from.size(), to), kPillow); };
  };
  EXPECT_ERROR(with("\"Repeat\"", "\"Repaet\"")(), "unknown op_type 'Repaet': did you mean 'Repeat'?");
  EXPECT_ERROR(with("\"WeightedRandomSampler\"", "\"WeightedRandSampler\"")(),
               "unknown sampler_name 'WeightedRandSampler': did you mean 'WeightedRandomSampler'?");
  EXPECT_ERROR(with("\"Resize\"", "\"Resise\"")(), "unknown tensor_op_name 'Resise': did you mean 'Resize'?");
  EXPECT_ERROR(with("\"count\"", "\"coutn\"")(), "Repeat: unknown key 'coutn': did you mean 'count'?");
  EXPECT_ERROR(with("\"count\": 1,", "")(), "Repeat: Failed to find count");
  EXPECT_ERROR(with("\"dataset_dir\": \"./data/dataset/testPK/data\",", "")(), "Failed to find dataset_dir");
  EXPECT_ERROR(with("\"num_samples\": 11,", "")(), "WeightedRandomSampler: Failed to find num_samples");
  EXPECT_ERROR(with("\"rgb\": true", "")(), "Decode: Failed to find rgb");
  EXPECT_ERROR(with("\"children\": [],", "")(), "Failed to find children");
  EXPECT_ERROR(with("\"op_type\": \"Repeat\"", "\"op\": 1")(), "Failed to find op_type");
  EXPECT_ERROR(with("\"rgb\": true", "\"rgb\": false")(), "rgb is false: images are decoded to RGB here");
  EXPECT_ERROR(with("\"rgb\": true", "\"rgb\": 1")(), "rgb is 1, it must be a boolean");
  EXPECT_ERROR(with("\"interpolation\": 0", "\"interpolation\": 7")(), "interpolation 7 is none of 0 (LINEAR)");
  EXPECT_ERROR(with("\"num_samples\": 11", "\"num_samples\": -1")(),
               "num_samples must be greater than or equal to 0, but got: -1");
  EXPECT_ERROR(with("1.0,", "-1.0,")(), "weights vector must not contain negative numbers");
  EXPECT_ERROR(with("\"class_indexing\": {}", "\"class_indexing\": {\"cat\": -1}")(), "label -1 is no i32");
  EXPECT_ERROR(with("\"class_indexing\": {}", "\"class_indexing\": {\"cat\": \"1\"}")(), "cat is \"1\", it must be");
  EXPECT_ERROR(with("\"decode\": false", "\"decode\": false, \"recursive\": true")(),
               "recursive is true: folders in a class folder would be classes of their own");
  EXPECT_ERROR(with("\"output_columns\": [\n            \"image\"", "\"output_columns\": [\n            \"pixels\"")(),
               "output_columns is [pixels]");
  EXPECT_ERROR(with("\"callback\": []", "\"callback\": [0]")(), "step size 0");
  EXPECT_ERROR(with("\"num_parallel_workers\": 8", "\"num_parallel_workers\": 0")(), "it must be positive");
  EXPECT_ERROR(
      with("\"tensor_op_name\": \"Decode\"", "\"python_module\": \"py_transforms\", \"tensor_op_name\": \"X\"")(),
      "is Python");
  EXPECT_ERROR(with("\"op_type\": \"Repeat\"", "\"op_type\": \"GeneratorDataset\"")(), "runs a Python generator");
  EXPECT_ERROR(with("\"op_type\": \"Repeat\"", "\"op_type\": \"Zip\"")(), "has 1 children, it must have 2 or more");
  EXPECT_ERROR(with("\"batch_size\": 2", "\"batch_size\": 0")(), "[batch] size is 0");
  EXPECT_ERROR(with("\"count\": 1,", "\"count\": 18446744073709551615,")(), "it must be an integer");
  std::string deep = kTalk;
  for (int i = 0; i < 520; ++i) deep = "{\"children\":[" + deep + "],\"count\":1,\"op_type\":\"Repeat\"}";
  EXPECT_ERROR(from_minddata_json(deep, kPillow), "the tree is too deep");
  const std::string brackets = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_ERROR(from_minddata_json(brackets), "[MindData JSON] nests deeper than");
  EXPECT_ERROR(from_minddata_json("{\"tree\":" + brackets + "}"), "[MindData JSON] nests deeper than");
  EXPECT_ERROR(from_minddata_json("{"), "[MindData JSON]");
  EXPECT_ERROR(from_minddata_json("[]"), "must be an object");
}

TEST(MindDataJson, RefusesWhatMindDataCannotSay) {
  const Dataset folder = folder_at("x"), sized = folder.map(Resize({8, 8}, {.interpolation = "bicubic"}));
  const auto write = [](const Dataset& data) { return to_minddata_json(data.graph()); };
  EXPECT_NO_THROW(write(sized.batch(2)));
  EXPECT_ERROR(write(folder.map(Resize({8, 8})).batch(2)), "no interpolation with the rule of 'bilinear'");
  EXPECT_ERROR(to_minddata_json(folder.map(Resize({8, 8}, {.interpolation = "lanczos"})).graph(), -1, kPillow),
               "no interpolation with the rule of 'lanczos'");
  EXPECT_ERROR(write(folder.shuffle()), "MindData's Shuffle has a buffer");
  EXPECT_ERROR(write(folder.shuffle({.seed = 3, .buffer = 8})), "does not write the seed of a shuffle down");
  EXPECT_ERROR(write(folder.sample(RandomSampler({.seed = 3}))), "does not write the seed of this sampler down");
  EXPECT_ERROR(write(folder.sample(RandomSampler({.count = 0}))), "count is 0, which means all in MindData");
  EXPECT_ERROR(write(folder.take(0)), "count is 0, which means all");
  EXPECT_ERROR(write(folder.shard(2, 0)), "use DistributedSampler");
  EXPECT_ERROR(write(folder.sample(DistributedSampler(2, 0))), "a seed of its own of 32 bits");
  EXPECT_ERROR(write(folder.sample(PKSampler(2, {.shuffle = false}))), "MindData's draws them");
  EXPECT_ERROR(write(folder.sample(PKSampler(2, {.replacement = false}))), "with replacement");
  EXPECT_ERROR(write(sized.sample(RandomSampler())), "samplers belong to a source, this one lies above map");
  EXPECT_ERROR(write(folder.filter(compare("label", "less", 3))), "Python functions");
  EXPECT_ERROR(write(sized.cache()), "cache");
  EXPECT_ERROR(write(sized.batch(2, {.pad = true})), "pad is true");
  EXPECT_ERROR(write(rows_in_memory(3).batch(2)), "columns in memory");
  EXPECT_ERROR(write(folder.map(std::vector<Transform>{})), "has no operation");
  EXPECT_ERROR(write(folder.map(Function("mine"))), "no operation like it");
  EXPECT_ERROR(write(folder.map_columns({"label"}, {OneHot(5, 0.1)})), "smoothing");
  EXPECT_ERROR(to_minddata_json(prepare(sized.batch(2).map(std::vector<Transform>{}).graph(), true)), "samples");
  EXPECT_ERROR(write(zip({sized, sized.project({"label"}).rename({"label"}, {"other"})})), "two nodes read it");
  EXPECT_ERROR(write(mix({sized, folder.map(Resize({8, 8}))}, {1, 1})), "mixes inputs");
  EXPECT_ERROR(write(TFRecord("a-*", {.label_base = LabelBase::zero})), "not the pattern a-*");
  EXPECT_ERROR(write(TFRecord("a", {.label_base = LabelBase::one})), "labels as they are stored");
  EXPECT_ERROR(write(TFRecord("a", {.label_base = LabelBase::zero, .num_classes = 5})), "has no num_classes");
  EXPECT_ERROR(
      write(TFRecord("a", {.label_base = LabelBase::zero}).map(RandomResizedCrop(8, {.interpolation = "bicubic"}))),
      "ignores bounding boxes: set min_object_covered to 0");
  EXPECT_ERROR(write(TFRecord("a", {.label_base = LabelBase::zero}).sample(RandomSampler())), "takes none");
  DataGraph named = sized.map(RandomHorizontalFlip()).graph();
  named.nodes.back().operations[0].name = "mine";
  EXPECT_ERROR(to_minddata_json(named), "the random stream 'mine' as 'random_horizontal_flip' would come back");
  const DataGraph passed = prepare(folder.map(RandomResizedCrop(8, {.interpolation = "bicubic"})).graph(), false);
  EXPECT_ERROR(to_minddata_json(passed), "passes make it");
}

TEST(MindDataJson, LeavesOutTheSeedOfTheGraphAndHints) {
  const Dataset data = folder_at("x").map(Resize({8, 8}, {.interpolation = "bicubic"})).batch(2);
  EXPECT_EQ(to_minddata_json(data.with_seed(5).with_hints({.workers = 3}).graph()), to_minddata_json(data.graph()));
}

}  // namespace
}  // namespace ridgeline::data::testing
