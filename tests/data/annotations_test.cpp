// The readers of annotations: VOC, COCO, manifests, Flowers-102.
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/data/set/coco.h"
#include "ridgeline/data/set/dataset_recipes.h"
#include "ridgeline/data/set/manifest.h"
#include "ridgeline/data/set/voc.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"

namespace ridgeline {
namespace {

using Labels = std::vector<std::int32_t>;

class Annotations : public ::testing::Test {
 protected:
  // Writes a file below the folder and creates folders on its way.
  std::string put(const std::string& name, std::string_view content) {
    const std::filesystem::path path = folder_.file(name);
    std::filesystem::create_directories(path.parent_path());
    put_file(path.string(), content);
    return path.string();
  }
  TempFolder folder_;
};

std::string voc_object(const std::string& name, const std::string& box, const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<part><name>head</name></part><bndbox>" + box +
         "</bndbox></object>";
}
const std::string kBox = "<xmin>1</xmin><ymin>22</ymin><xmax>445.5</xmax><ymax>297</ymax>";

TEST_F(Annotations, VocListsFilesWithLabelsAndBoxes) {
  put("ImageSets/Main/train.txt", "2007_1\n2007_2  1\n\n");
  put("Annotations/2007_1.xml",
      "<annotation><size><width>500</width><height>375</height></size>" + voc_object("dog", kBox) +
          voc_object("aeroplane", kBox, "<difficult>1</difficult>") + voc_object("dog", kBox) + "</annotation>");
  put("Annotations/2007_2.xml", "<annotation></annotation>");
  const AnnotatedFiles voc = read_voc(folder_.path(), "train");
  EXPECT_EQ(voc.class_names.size(), 20u);
  ASSERT_EQ(voc.files.size(), 2u);
  const AnnotatedFile& first = voc.files[0];
  EXPECT_EQ(first.path, folder_.file("JPEGImages/2007_1.jpg"));
  EXPECT_EQ(first.labels, (Labels{0, 11}));
  EXPECT_EQ(first.width, 500);
  EXPECT_EQ(first.height, 375);
  ASSERT_EQ(first.boxes.size(), 3u);
  EXPECT_EQ(first.boxes[0], (AnnotatedBox{.ymin = 21, .xmin = 0, .ymax = 297, .xmax = 445.5f, .label = 11}));
  EXPECT_TRUE(first.boxes[1].difficult);
  const std::string zero = "<xmin>0</xmin><ymin>0</ymin><xmax>4</xmax><ymax>9</ymax>";
  const auto from_zero =
      parse_voc_annotation("<annotation>" + voc_object("cat", zero) + "</annotation>", voc.class_names, "[voc] f:");
  EXPECT_EQ(from_zero.boxes.at(0), (AnnotatedBox{.ymin = 0, .xmin = 0, .ymax = 9, .xmax = 4, .label = 7}));
  EXPECT_TRUE(voc.files[1].labels.empty());
  EXPECT_EQ(read_voc(folder_.path(), "train", {.leave_out_difficult = true}).files[0].labels, Labels{11});
  const auto own = read_voc(folder_.path(), "train", {.class_names = {"dog", "aeroplane"}});
  EXPECT_EQ(own.files[0].labels, (Labels{0, 1}));
}

TEST_F(Annotations, VocFaultsAreNamedWithFileAndByte) {
  const auto error = [&](const std::string& objects) {
    const std::string path = put("Annotations/x.xml", "<annotation>" + objects + "</annotation>");
    put("ImageSets/Main/val.txt", "x\n");
    const std::string message = error_of([&] { read_voc(folder_.path(), "val"); });
    EXPECT_TRUE(message.empty() || message.starts_with("[voc] " + path + ": byte ")) << message;
    return message.substr(std::min(message.size(), ("[voc] " + path + ": ").size()));
  };
  EXPECT_EQ(error(voc_object("cat", kBox)), "");
  EXPECT_EQ(error(voc_object("katze", kBox)), "byte 20: unknown class 'katze'");
  EXPECT_EQ(error(voc_object("horze", kBox)), "byte 20: unknown class 'horze': did you mean 'horse'?");
  EXPECT_EQ(error("<object><name>cat</name></object>"), "byte 12: <object> has no <bndbox>");
  EXPECT_EQ(error("<object><bndbox>" + kBox + "</bndbox></object>"), "byte 12: <object> has no <name>");
  EXPECT_EQ(error(voc_object("cat", "<xmin>1</xmin>")), "byte 66: <bndbox> has no <ymin>");
  EXPECT_EQ(error(voc_object("cat", "<xmin>5</xmin><ymin>1</ymin><xmax>4</xmax><ymax>9</ymax>")),
            "byte 66: a box without area");
  EXPECT_EQ(error(voc_object("cat", "<xmin>x</xmin><ymin>1</ymin><xmax>4</xmax><ymax>9</ymax>")),
            "byte 74: <xmin> holds 'x', which is no number");
  EXPECT_EQ(error("<size><width>-3</width></size>"), "byte 12: <size> is no size of an image");
  EXPECT_EQ(error("<object>"), "byte 22: Start-end tags mismatch");
  put("ImageSets/Main/val.txt", "missing\n");
  EXPECT_TRUE(contains(error_of([&] { read_voc(folder_.path(), "val"); }), "missing.xml: No such file"));
  put("ImageSets/Main/val.txt", "\n");
  EXPECT_TRUE(contains(error_of([&] { read_voc(folder_.path(), "val"); }), "the list is empty"));
  const std::string whole = "<annotation>" + voc_object("cat", kBox) + "</annotation>";
  const std::string path = folder_.file("f.xml");
  const auto use = [&] { parse_voc_annotation(read_file(path), known_class_names("voc"), "[voc] f:"); };
  expect_cuts_are_errors(path, whole, "[voc] f: byte ", use, [](std::size_t) { return false; });
  EXPECT_GT(expect_flips_are_survived(path, whole, use), 1000);
}

TEST_F(Annotations, VocFilesAreAnyXmlWithOneAnnotation) {
  const auto parse = [](const std::string& xml) {
    return parse_voc_annotation(xml, {"cat & \u00e9", "dog"}, "[voc] f:");
  };
  const std::string object = voc_object(" <!-- a > b -->cat &amp; &#xe9;\n", kBox);
  const AnnotatedFile file = parse(
      "\xef\xbb\xbf<?xml version='1.0'?>\n<!DOCTYPE annotation [<!ENTITY dog 'cat'>]>\n"
      "<annotation verified='<yes>'>" +
      object + "<segmented/></annotation>\n");
  EXPECT_EQ(file.labels, Labels{0});
  EXPECT_EQ(parse("<annotation>" + voc_object("<![CDATA[cat & \u00e9]]>", kBox) + "</annotation>").labels, Labels{0});
  const auto error = [&](const std::string& xml) { return error_of([&] { parse(xml); }); };
  EXPECT_EQ(error(""), "[voc] f: byte 0: No document element found");
  EXPECT_EQ(error("<annotations/>"), "[voc] f: byte 0: <annotations> is no <annotation>");
  EXPECT_EQ(error("<annotation/><annotation/>"), "[voc] f: byte 13: a second <annotation>");
  // Nothing expands.
  EXPECT_EQ(error("<!DOCTYPE annotation [<!ENTITY a 'dog'>]><annotation>" + voc_object("&a;", kBox) + "</annotation>"),
            "[voc] f: byte 61: unknown class '&a;'");
  std::string deep = "<annotation>";
  for (int i = 0; i < 100'000; ++i) deep += "<object>";
  EXPECT_TRUE(error(deep).ends_with(": Start-end tags mismatch"));
  for (int i = 0; i < 100'000; ++i) deep += "</object>";
  EXPECT_EQ(error(deep + "</annotation>"), "[voc] f: byte 12: <object> has no <bndbox>");
}

const std::string kCoco = R"({"info":{"images":[1]},
"images":[{"id":7,"file_name":"b.jpg","width":640,"height":480},{"id":3,"file_name":"a.jpg"},{"id":9,"file_name":"c.jpg"}],
"annotations":[{"image_id":3,"category_id":90,"bbox":[10,20.5,30,40],"iscrowd":0,"segmentation":[[1,2,3]]},
{"image_id":3,"category_id":1,"bbox":[1,2,0,4],"iscrowd":0,"segmentation":{"counts":[1,2],"size":[3,4]}},
{"image_id":7,"category_id":90,"bbox":[1,2,3,4],"iscrowd":1},{"image_id":3,"category_id":90,"bbox":[0,0,1,1]}],
"categories":[{"id":90,"name":"toothbrush"},{"id":1,"name":"person"}]})";

TEST_F(Annotations, CocoJoinsImagesAndAnnotations) {
  const std::string path = put("instances.json", kCoco);
  const AnnotatedFiles coco = read_coco(path, "/images");
  EXPECT_EQ(coco.class_names, (std::vector<std::string>{"person", "toothbrush"}));
  ASSERT_EQ(coco.files.size(), 3u);
  EXPECT_EQ(coco.files[0].path, "/images/b.jpg");
  EXPECT_EQ(coco.files[0].width, 640);
  EXPECT_EQ(coco.files[0].labels, Labels{1});
  EXPECT_TRUE(coco.files[0].boxes[0].difficult);
  EXPECT_EQ(coco.files[1].labels, (Labels{0, 1}));
  ASSERT_EQ(coco.files[1].boxes.size(), 2u);  // one has no width
  EXPECT_EQ(coco.files[1].boxes[0], (AnnotatedBox{.ymin = 20.5f, .xmin = 10, .ymax = 60.5f, .xmax = 40, .label = 1}));
  EXPECT_TRUE(coco.files[2].labels.empty());
  const auto fewer = read_coco(path, "", {.leave_out_unlabelled = true, .leave_out_crowds = true});
  ASSERT_EQ(fewer.files.size(), 1u);
  EXPECT_EQ(fewer.files[0].path, "a.jpg");
}

TEST_F(Annotations, CocoFaultsAreNamedWithTheirPlace) {
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = kCoco;
    text.replace(text.find(from), from.size(), to);
    const std::string path = put("instances.json", text);
    const std::string message = error_of([&] { read_coco(path, ""); });
    EXPECT_TRUE(message.starts_with("[coco] " + path + ": ")) << message;
    return message.substr(std::min(message.size(), ("[coco] " + path + ": ").size()));
  };
  EXPECT_EQ(error("\"image_id\":7", "\"image_id\":8"), "annotations[2]: 'image_id' 8 is no image's id");
  EXPECT_EQ(error("\"category_id\":1", "\"category_id\":2"), "annotations[1]: 'category_id' 2 is no category's id");
  EXPECT_EQ(error("\"id\":9", "\"id\":3"), "images[2]: id 3 again");
  EXPECT_EQ(error("\"id\":1,", "\"id\":90,"), "categories[1]: id 90 again");
  EXPECT_EQ(error("\"file_name\":\"c.jpg\"", "\"file_name\":1"), "images[2]: there is no text 'file_name'");
  EXPECT_EQ(error("[0,0,1,1]", "[0,0,1]"), "annotations[3]: 'bbox' is no [x, y, width, height]");
  EXPECT_EQ(error("[0,0,1,1]", "[0,0,-1,1]"), "annotations[3]: 'bbox' is no [x, y, width, height]");
  EXPECT_EQ(error("\"width\":640", "\"width\":-1"), "images[0]: 'width' is no size of an image");
  EXPECT_EQ(error("\"categories\"", "\"category\""), "there is no array 'categories'");
  EXPECT_TRUE(error("[0,0,1,1]", "[0,0,1,1}").starts_with("the file is no valid JSON at byte "));
  const std::string path = folder_.file("cut.json");
  expect_cuts_are_errors(
      path, kCoco, "[coco] " + path + ": ", [&] { read_coco(path, ""); }, [](std::size_t) { return false; });
  EXPECT_GT(expect_flips_are_survived(path, kCoco, [&] { read_coco(path, ""); }), 1000);
}

std::string line(const std::string& source, const std::string& usage, const std::vector<std::string>& names) {
  std::string text = R"({"source":")" + source + R"(", "usage":")" + usage + R"(","id":"0162","annotation": [)";
  for (const std::string& name : names) {
    text += std::string(text.back() == '[' ? "" : ",") + R"({"type": "modelarts/image_classification","name": ")" +
            name + R"(","property": {"color":"white"}})";
  }
  return text + "],\"inference-loc\":\"/path\"}\n";
}

TEST_F(Annotations, ManifestsAreReadByUsage) {
  const std::string path = put(
      "m.manifest", line("./train/1.jpg", "TRAIN", {"dog"}) + "\n" + line("/abs/2.jpg", "train", {"cat", "flower"}) +
                        line("eval/1.jpg", "EVAL", {"cat"}) + R"({"source":"x.jpg","usage":"inference"})");
  const AnnotatedFiles train = read_manifest(path);
  EXPECT_EQ(train.class_names, (std::vector<std::string>{"cat", "dog", "flower"}));
  ASSERT_EQ(train.files.size(), 2u);
  EXPECT_EQ(train.files[0].path, "./train/1.jpg");
  EXPECT_EQ(train.files[0].labels, Labels{1});
  EXPECT_EQ(train.files[1].labels, (Labels{0, 2}));
  const AnnotatedFiles eval = read_manifest(path, {.usage = "Eval", .class_names = {"dog", "cat"}, .root = "/data"});
  ASSERT_EQ(eval.files.size(), 1u);
  EXPECT_EQ(eval.files[0].path, "/data/eval/1.jpg");
  EXPECT_EQ(eval.files[0].labels, Labels{1});
  const AnnotatedFiles some = read_manifest(path, {.class_names = {"flower"}, .root = "/data"});
  ASSERT_EQ(some.files.size(), 1u);
  EXPECT_EQ(some.files[0].path, "/abs/2.jpg");
  EXPECT_EQ(some.files[0].labels, Labels{0});
  EXPECT_TRUE(read_manifest(path, {.usage = "inference"}).files[0].labels.empty());
  EXPECT_TRUE(
      contains(error_of([&] { read_manifest(path, {.usage = "test"}); }), "none of 4 lines has the usage 'test'"));
  EXPECT_TRUE(contains(error_of([&] { read_manifest(path, {.class_names = {"a", "a"}}); }), "named twice"));
}

TEST_F(Annotations, ManifestFaultsAreNamedWithLineAndKey) {
  const auto error = [&](const std::string& second) {
    const std::string path = put("m.manifest", line("1.jpg", "train", {"dog"}) + "\n" + second + "\n");
    const std::string message = error_of([&] { read_manifest(path); });
    EXPECT_TRUE(message.starts_with("[manifest] " + path + ": ")) << message;
    return message.substr(std::min(message.size(), ("[manifest] " + path + ": ").size()));
  };
  EXPECT_EQ(error(R"({"usage":"train","annotation":[]})"), "line 3: key 'source' is missing");
  EXPECT_EQ(error(R"({"source":"a","annotation":[]})"), "line 3: key 'usage' is missing");
  EXPECT_EQ(error(R"({"source":"a","usage":"train"})"), "line 3: key 'annotation' is missing");
  EXPECT_EQ(error(R"({"source":"a","usage":"train","annotation":[]})"), "line 3: key 'annotation' is an empty array");
  EXPECT_EQ(error(R"({"source":"a","usage":"train","annotation":{}})"), "line 3: key 'annotation' is no array");
  EXPECT_EQ(error(R"({"source":"a","usage":"train","annotation":[{"name":"x"},{}]})"),
            "line 3: annotation 1: key 'name' is missing");
  EXPECT_EQ(error(R"({"source":1,"usage":"train"})"), "line 3: key 'source' is no text, or an empty one");
  EXPECT_EQ(error("[]"), "line 3: it is no object");
  EXPECT_TRUE(error("{\"source\"").starts_with("line 3: it is no valid JSON at byte "));
  const std::string whole = line("1.jpg", "train", {"dog"});
  const std::string path = folder_.file("cut");
  expect_cuts_are_errors(
      path, whole, "[manifest] " + path + ": ", [&] { read_manifest(path); },
      [&](std::size_t n) { return n == whole.size() - 1; });
  EXPECT_GT(expect_flips_are_survived(path, whole, [&] { read_manifest(path); }), 1000);
}

TEST_F(Annotations, FlowersAreListedByTheScript) {
  const char* python = std::getenv("RIDGELINE_PYTHON");
  const auto run = [&](const std::string& arguments) {
    return std::system(("'" + std::string(python ? python : "python3") + "' " + arguments).c_str());
  };
  if (run("-c 'import scipy' 2>/dev/null") != 0) GTEST_SKIP() << "no Python with SciPy (set RIDGELINE_PYTHON to one)";
  const DatasetRecipe& recipe = dataset_recipe("flowers102");
  const auto read = [&](const char* split) { return read_annotated_split(recipe, split, folder_.path()); };
  std::filesystem::create_directories(folder_.file("jpg"));
  EXPECT_EQ(error_of([&] { read("train"); }), "[recipe] flowers102: " + folder_.path() +
                                                  " has no flowers102.manifest (split train; scripts/flowers102.py "
                                                  "writes flowers102.manifest)");
  const std::string files = "'" + folder_.path() + "'";
  ASSERT_EQ(run("-c 'import sys; from numpy import uint8, uint16; from scipy.io import savemat; "
                "savemat(sys.argv[1] + \"/imagelabels.mat\", {\"labels\": uint8([[77, 102, 1, 5]])}); "
                "savemat(sys.argv[1] + \"/setid.mat\", {\"trnid\": uint16([[3, 1]]), \"valid\": uint16([[2]]), "
                "\"tstid\": uint16([[4]])})' " +
                files),
            0);
  ASSERT_EQ(run("'" + testing::source_directory() + "/scripts/flowers102.py' " + files), 0);
  const AnnotatedFiles train = read("train");
  EXPECT_EQ(train.class_names, known_class_names("flowers102"));
  ASSERT_EQ(train.files.size(), 2u);
  EXPECT_EQ(train.files[0].path, folder_.file("jpg/image_00003.jpg"));
  EXPECT_EQ(train.files[0].labels, Labels{0});
  EXPECT_EQ(train.files[1].path, folder_.file("jpg/image_00001.jpg"));
  EXPECT_EQ(train.files[1].labels, Labels{76});
  EXPECT_EQ(read("val").files.at(0).labels, Labels{101});
  EXPECT_EQ(read("test").files.at(0).labels, Labels{4});
}

}  // namespace
}  // namespace ridgeline
