// `dataset show` from the command line.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::Outcome;

Outcome show(const std::string& arguments) {
  return testing::run_shell(testing::program() + " dataset show " + arguments);
}

bool says(const Outcome& outcome, const std::string& part) { return outcome.text.find(part) != std::string::npos; }

// One graph in two formats: the engine's and MindData's.
struct Graphs {
  std::string dir = testing::temporary_directory();
  data::Dataset dataset = data::ImageFolder("no/such/folder", {.recursive = false})
                              .map(data::Resize({8, 9}, {.interpolation = "bicubic"}))
                              .map(data::RandomHorizontalFlip(), data::Normalize::imagenet())
                              .repeat(1)
                              .batch(4);
  std::string own = dir + "/own.json", minddata = dir + "/minddata.json";
  Graphs() {
    std::filesystem::create_directories(dir);
    write_file_atomically(own, dataset.to_json());
    write_file_atomically(minddata, data::to_minddata_json(dataset.graph(), 4));
  }
};

TEST(DatasetShow, PrintsTheGraphBeforeAndAfterThePasses) {
  const Graphs graphs;
  for (const std::string& file : {graphs.own, graphs.minddata}) {
    const Outcome both = show("--graph " + file);
    EXPECT_EQ(both.code, 0) << both.text;
    EXPECT_TRUE(says(both, "before the passes\nbatch_4: batch(size=4) -> image f32[4,8,9,3]")) << both.text;
    EXPECT_TRUE(says(both,
                     "drop_no_ops, fuse_chains, fuse_write, fuse_resize, write_slots, plan_memory, "
                     "choose_workers\n"))
        << both.text;
    EXPECT_TRUE(
        says(both, "      resize_write\n      > resize(size=[8, 9], interpolation=\"bicubic\")\n      > write("))
        << both.text;
    EXPECT_TRUE(says(both, "    hint slots=8\n")) << both.text;
    EXPECT_TRUE(says(both, "repeat(count=1)"));
  }
  const Outcome after =
      show("--graph " + graphs.own + " --after --disable_pass fuse_chains --disable_pass fuse_write " +
           "--disable_pass write_slots --disable_pass plan_memory --disable_pass choose_workers");
  EXPECT_TRUE(says(after, "after the passes: changed by resolve_schema, drop_no_ops\n")) << after.text;
  EXPECT_FALSE(says(after, "hint"));
  EXPECT_FALSE(says(after, "before the passes"));
  EXPECT_FALSE(says(after, "repeat("));
  const Outcome before = show("--graph " + graphs.own + " --before");
  EXPECT_FALSE(says(before, "after the passes")) << before.text;
  EXPECT_TRUE(says(show("--graph " + graphs.own + " --after --raw"), "draw_flip")) << before.text;
}

TEST(DatasetShow, DrawsAndTranslates) {
  const Graphs graphs;
  const std::string svg = graphs.dir + "/graph.svg";
  EXPECT_EQ(show("--graph " + graphs.own + " --svg " + svg).code, 0);
  const std::string drawing = read_file(svg);
  EXPECT_TRUE(drawing.starts_with("<svg ")) << drawing;
  for (const char* part : {"before the passes", "after the passes", "changed by resolve_schema", "no/such/folder"})
    EXPECT_NE(drawing.find(part), std::string::npos) << part;
  const Outcome tree = show("--graph " + graphs.own + " --minddata");
  EXPECT_TRUE(says(tree, "\"op_type\": \"ImageFolderDataset\"")) << tree.text;
  // Both formats give the same graph.
  const Outcome own = show("--graph " + graphs.minddata + " --json");
  EXPECT_TRUE(data::graph_from_json(own.text) ==
              data::from_minddata_json(data::to_minddata_json(graphs.dataset.graph())))
      << own.text;
}

TEST(DatasetShow, ShowsTheGraphOfATraining) {
  const Graphs graphs;
  data::make_shapes(graphs.dir + "/shown_shapes", {.seed = 1, .train = 20, .val = 10});
  const Outcome train = show("--data_dir " + graphs.dir + "/shown_shapes --batch_size 6 --image_size 32");
  EXPECT_TRUE(says(train, "batch(size=6, drop_remainder) -> image f32[6,32,32,3], label i32[6], mask u8[6]; 3 batches"))
      << train.text;
  const Outcome evaluation = show("--data_dir " + graphs.dir + "/shown_shapes --batch_size 6 --eval");
  EXPECT_TRUE(says(evaluation, "decode_resize_center_crop")) << evaluation.text;
  EXPECT_TRUE(says(evaluation, "10 rows")) << evaluation.text;
  EXPECT_FALSE(says(show("--data_dir " + graphs.dir + "/shown_shapes --open_files=False"), "20 rows"));
}

TEST(DatasetShow, TranslatesWithoutTheFilesOfTheGraph) {
  const Graphs graphs;
  const std::string mnist = graphs.dir + "/mnist.json";
  write_file_atomically(mnist, R"({"children":[],"dataset_dir":"nowhere","usage":"train","op_type":"MnistDataset",
      "sampler":{"num_samples":0,"sampler_name":"SequentialSampler","start_index":0}})");
  testing::expect(show("--graph " + mnist + " --json"), 0, {"nowhere/train-images-idx3-ubyte"});
  testing::expect(show("--graph " + graphs.own + " --minddata"), 0, {"connector_queue_size"});
  EXPECT_FALSE(says(show("--graph " + graphs.own + " --minddata --release 1.3"), "connector_queue_size"));
}

TEST(DatasetShow, OtherToolsReadMindDatasTrees) {
  const Graphs graphs;
  data::make_shapes(graphs.dir + "/drawn", {.seed = 1, .train = 20, .val = 10});
  const std::string words = " --data_dir " + graphs.dir + "/drawn --graph ";
  const auto bench = [&](const std::string& graph) {
    return testing::run_shell(testing::program() + " dataset bench --json --hash" + words + graph);
  };
  const auto digest = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    const std::size_t at = outcome.text.find("\"hash\":");
    return outcome.text.substr(at, 25);
  };
  EXPECT_EQ(digest(bench(graphs.minddata)), digest(bench(graphs.own)));
  testing::expect(show("--after" + words + graphs.minddata), 0, {"drawn/train", "20 rows"});
}

TEST(DatasetShow, RefusesFlagsWithoutEffect) {
  const Graphs graphs;
  const std::string own = "--graph " + graphs.own, folder = "--data_dir " + graphs.dir;
  for (const char* flag : {"--model=alexnet", "--batch_size=9", "--eval"})
    testing::expect(show(own + " " + std::string(flag)), 2, {"has no effect with --graph"});
  testing::expect(show(folder + " --pixels=foo"), 2, {"--pixels=foo (allowed: exact, pillow)"});
  testing::expect(show(folder + " --pixels=pillow"), 2, {"--pixels has no effect"});
  testing::expect(show(own + " --pixels=pillow"), 2, {"--pixels has no effect"});
  testing::expect(show("--pixels=pillow --graph " + graphs.minddata), 0, {});
  testing::expect(show(own + " --json --raw"), 2, {"--raw has no effect", "--after"});
  testing::expect(show(own + " --before --disable_pass fuse_chains"), 2, {"--disable_pass has no effect"});
  testing::expect(show(own + " --json --open_files"), 2, {"--open_files has no effect"});
  testing::expect(show(own + " --release=1.3"), 2, {"--release has no effect"});
  testing::expect(show(own + " --both"), 2, {"--both"});
  testing::expect(show(folder + " --eval --seed=3"), 2, {"--seed has no effect with --eval"});
  testing::expect(show(folder + " --eval --min_area=0.5"), 2, {"--min_area has no effect with --eval"});
}

TEST(DatasetShow, SaysWhatIsWrongWithACall) {
  const Graphs graphs;
  EXPECT_EQ(show("").code, 2);
  EXPECT_TRUE(says(show(""), "--data_dir or --graph is needed"));
  EXPECT_TRUE(says(show("--graph " + graphs.own + " --before --after"), "--before and --after exclude each other"));
  EXPECT_TRUE(says(show("--graph " + graphs.own + " --pixels opencv --minddata"), "allowed: exact, pillow"));
  EXPECT_TRUE(says(show("--graph " + graphs.own + " --disable_pass fuse_chain"), "did you mean 'fuse_chains'?"));
  EXPECT_TRUE(says(show("--graph " + graphs.dir + "/none.json"), "none.json"));
  EXPECT_TRUE(says(show("--graph " + graphs.own + " --open_files"), "no such directory: no/such/folder"));
  write_file_atomically(graphs.dir + "/bad.json", "{\"op_type\":\"Bacth\",\"children\":[]}");
  const Outcome bad = show("--graph " + graphs.dir + "/bad.json");
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(says(bad, "bad.json: [MindData JSON] unknown op_type 'Bacth': did you mean 'Batch'?")) << bad.text;
}

}  // namespace
}  // namespace ridgeline
