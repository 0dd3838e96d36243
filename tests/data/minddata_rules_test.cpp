// Rules of MindData that are similar to ours, but not equal.
#include <nlohmann/json.hpp>

#include "helpers.h"
#include "ridgeline/data/minddata/json.h"
#include "ridgeline/image/png/png.h"

namespace ridgeline::data::testing {
namespace {

using nlohmann::json;

const MindDataOptions kPillowFilters{.pixels = MindDataPixels::pillow};

Dataset folder_of_rules(const std::string& dir) { return ImageFolder(dir, {.recursive = false}); }

// MindData truncates the longer side; here it is rounded as in torchvision, unless size_rule says otherwise.
TEST(MindDataRules, ReadsResizeOfOneNumberByMindDatasRule) {
  const DataGraph square = folder_of_rules("d").map(Resize({224, 224})).graph();
  json tree = json::parse(to_minddata_json(square, -1, kPillowFilters));
  const auto resize_of = [](const DataGraph& graph) { return graph.output().operations.back(); };
  EXPECT_EQ(arg<std::string>(resize_of(from_minddata_json(tree.dump(), kPillowFilters)).args, "size_rule"),
            "torchvision");
  tree["operations"][1]["tensor_op_params"]["size"] = {224};
  const DataGraph graph = from_minddata_json(tree.dump(), kPillowFilters);
  EXPECT_EQ(arg<std::string>(resize_of(graph).args, "size_rule"), "mindata");
  const std::vector<std::uint8_t> png = image::encode_png(picture(112, 117, 3));
  const TempDir dir;
  write_bytes(dir / "c/a.png", png.data(), png.size());
  const Sample sample = replay(folder_of_rules(dir / "").map(resize_of(graph)), 0, 0);
  EXPECT_EQ(sample.column("image").shape(), (Shape{224, 233, 3}));
  EXPECT_ERROR(to_minddata_json(folder_of_rules("x").map(Resize(224)).graph(), -1, kPillowFilters),
               "set size_rule to mindata");
  EXPECT_NO_THROW(
      to_minddata_json(folder_of_rules("x").map(Resize({8, 8}, {.size_rule = "mindata"})).graph(), -1, kPillowFilters));
}

TEST(MindDataRules, WritesFoldersThatHoldNoFoldersOfImages) {
  const TempDir dir;
  const std::string folders = write_folders(dir / "set", 2, 3);
  const auto write = [&](const ImageFolderOptions& options = {}) {
    return to_minddata_json(ImageFolder(folders, options).graph());
  };
  EXPECT_EQ(write(), write({.recursive = false}));
  EXPECT_EQ(json::parse(write())["recursive"], false);
  write_bytes(folders + "/class_a/more/notes.txt", "x", 1);
  EXPECT_NO_THROW(write());
  write_bytes(folders + "/class_a/more/1.jpg", "x", 1);
  EXPECT_ERROR(write(), "class_a/more/1.jpg lies in a folder in a class folder");
  EXPECT_EQ(json::parse(write({.recursive = false}))["recursive"], false);
  EXPECT_ERROR(to_minddata_json(ImageFolder("no/such").graph()), "there is no no/such here to see");
}

TEST(MindDataRules, ReadsFilesOfATreeWithoutOpeningThem) {
  const std::string mnist = R"({"children":[],"dataset_dir":"no/such","usage":"train","op_type":"MnistDataset",
      "sampler":{"num_samples":0,"sampler_name":"SequentialSampler","start_index":0}})";
  const auto map = [](const std::string& child) {
    return R"({"callback":[],"children":[)" + child + R"(],"input_columns":[],"op_type":"Map","operations":[
        {"tensor_op_name":"HwcToChw","tensor_op_params":{}}],"output_columns":[]})";
  };
  const auto column = [](const std::string& text) {
    return arg<Texts>(from_minddata_json(text).output().args, "columns");
  };
  EXPECT_EQ(column(map(mnist)), Texts{"image"});
  EXPECT_EQ(column(map(R"({"children":[)" + mnist +
                       R"(],"input_columns":["label","image"],"output_columns":["y","x"],"op_type":"Rename"})")),
            Texts{"x"});
  EXPECT_EQ(column(map(R"({"children":[)" + mnist + R"(],"columns":["label"],"op_type":"Project"})")), Texts{"label"});
}

TEST(MindDataRules, ReadsCompressedRecords) {
  json tree = json::parse(to_minddata_json(TFRecord("a", {.label_base = LabelBase::zero}).graph()));
  const DataGraph plain = from_minddata_json(tree.dump());
  for (const char* type : {"", "GZIP", "ZLIB"}) {
    tree["children"][0]["compression_type"] = type;
    EXPECT_TRUE(from_minddata_json(tree.dump()) == plain) << type;
  }
  tree["children"][0]["compression_type"] = "BZ2";
  EXPECT_ERROR(from_minddata_json(tree.dump()), "compression_type is 'BZ2'");
}

}  // namespace
}  // namespace ridgeline::data::testing
