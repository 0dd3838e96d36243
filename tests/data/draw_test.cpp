// Drawings of data graphs: their text, and that nothing overlaps.
#include "ridgeline/data/draw/draw.h"

#include <algorithm>
#include <regex>

#include "helpers.h"
#include "ridgeline/data/ir/callback.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data::testing {
namespace {

// Two branches from one folder, joined by rows and by columns, with a long edge.
Dataset diamond() {
  const Dataset folder = ImageFolder("flowers/train");
  const Dataset images = folder.map(Resize({8, 9}), RandomHorizontalFlip()), ids = folder.project({"label"});
  const Dataset renamed = ids.rename({"label"}, {"again"});
  return zip({images, renamed.shuffle({.seed = 7}), rows_in_memory(5).project({"label"}).rename({"label"}, {"third"})})
      .batch(2, {.drop_remainder = true});
}

TEST(DrawText, TellsArgumentsColumnsAndSharing) {
  EXPECT_EQ(
      to_text(diamond().graph()),
      R"(batch_9: batch(size=2, drop_remainder) -> image u8[2,8,9,3], label i32[2], again i32[2], third i32[2], mask u8[2]
  zip_8: zip -> image u8[8,9,3], label i32[], again i32[], third i32[]
    map_1: map -> image u8[8,9,3], label i32[]
        resize(size=[8, 9])
        random_horizontal_flip
      image_folder_0: image_folder(dir="flowers/train") -> image bytes[], label i32[]
    shuffle_3: shuffle(seed=7) -> again i32[]
      rename_2: rename(from=["label"], to=["again"]) -> again i32[]
        project_1: project(columns=["label"]) -> label i32[]
          image_folder_0: image_folder, as above
    rename_7: rename(from=["label"], to=["third"]) -> third i32[]
      project_6: project(columns=["label"]) -> label i32[]
        in_memory_0: in_memory(columns=[image u8[5,4,6,3], label i32[5]]) -> image u8[4,6,3], label i32[]
)");
}

TEST(DrawText, OpensFilesOnlyIfItMay) {
  const TempDir dir;
  const Dataset data = ImageFolder(write_folders(dir / "train", 2, 3)).map(Resize({8, 8})).batch(4);
  EXPECT_EQ(to_text(data.graph()).find("rows"), std::string::npos);
  const std::string open = to_text(data.graph(), {.open_files = true});
  EXPECT_NE(open.find("label i32[]; 6 rows"), std::string::npos) << open;
  EXPECT_NE(open.find("mask u8[4]; 2 batches"), std::string::npos) << open;
  // Columns that are known only from files are not drawn.
  DataGraph idx;
  idx.add({.op = "idx", .args = {{"images", std::string("/none")}, {"labels", std::string("/none")}}});
  idx.add({.op = "take", .inputs = {idx.output().id}, .args = {{"count", std::int64_t{3}}}});
  EXPECT_EQ(to_text(idx), "take_1: take(count=3)\n  idx_0: idx(images=\"/none\", labels=\"/none\")\n");
  EXPECT_ERROR(to_text(idx, {.open_files = true}), "/none");
}

TEST(DrawText, ReadsNoSchemaFileUnlessItMay) {
  DataGraph graph;
  graph.add({.op = "example", .args = {{"files", Texts{"x"}}, {"schema", std::string("/none.json")}}});
  EXPECT_EQ(to_text(graph), "example_0: example(files=[\"x\"], schema=\"/none.json\")\n");
  EXPECT_ERROR(to_text(graph, {.open_files = true}), "cannot open x");
}

TEST(DrawText, CutsLongListsAndNamesStreams) {
  const auto callback = std::make_shared<DataCallback>(5);
  const Dataset data = ImageFolder("x")
                           .sample(SubsetSampler({1, 2, 3, 4, 5, 6, 7, 8}))
                           .map(RandomHorizontalFlip(), RandomHorizontalFlip(0.25))
                           .with_callbacks({callback});
  const std::string text = to_text(data.graph());
  EXPECT_NE(text.find("indices=[1, 2, 3, 4, 5, 6, ... 8 in all]"), std::string::npos) << text;
  EXPECT_NE(text.find("random_horizontal_flip(p=0.25) named random_horizontal_flip_1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("callback every 5 steps"), std::string::npos) << text;
  EXPECT_NE(to_text(rows_in_memory(3).repeat().graph()).find("; endless"), std::string::npos);
}

TEST(DrawSvg, ShowsEveryNodeOperationAndColumnAndEscapes) {
  const Dataset data = ImageFolder("a<b>&\"c\"\x01\xff").map(Resize({8, 9}), Normalize::imagenet()).batch(2);
  const DataGraph after = prepare(data.graph(), false);
  const std::string svg = to_svg({{.title = "before", .graph = data.graph()},
                                  {.title = "after", .graph = after, .notes = {"changed by fuse_write"}}});
  for (const char* part :
       {"image_folder", ">map<", "· resize(size=[8, 9])", "· normalize(mean=[0.485, 0.456, 0.406]",
        "image f32[2,8,9,3]", "mask u8[2]", ">before<", ">after<", "changed by fuse_write", "· decode"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c&quot;??"), std::string::npos) << svg;
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
  // Every opened element is closed.
  for (const std::string name : {"g", "text", "svg", "defs", "marker"}) {
    const auto count = [&](const std::regex& what) {
      return std::distance(std::sregex_iterator(svg.begin(), svg.end(), what), std::sregex_iterator());
    };
    EXPECT_EQ(count(std::regex("<" + name + "[ >]")), count(std::regex("</" + name + ">"))) << name;
  }
}

TEST(DrawSvg, HoldsOnlyCharactersThatXmlTakes) {
  const std::string svg = to_svg(ImageFolder("\xed\xa0\x80|\xe0\x80\x80|\xef\xbf\xbe|\xc3\xa9").graph());
  EXPECT_NE(svg.find("???|???|?|\xc3\xa9"), std::string::npos) << svg;
}

}  // namespace
}  // namespace ridgeline::data::testing
