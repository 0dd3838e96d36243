// Each pass before and after, and samples that do not change if any pass is left out.
#include "ridgeline/data/pass/passes.h"

#include "helpers.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/batch_plan.h"
#include "ridgeline/image/resample/filter.h"

namespace ridgeline::data::testing {
namespace {

// "resize, resize_write(resize, write)"
std::string list_of(const std::vector<Transform>& operations) {
  std::string text;
  for (const Transform& t : operations) {
    text += (text.empty() ? "" : ", ") + t.op;
    if (!t.operations.empty()) text += "(" + list_of(t.operations) + ")";
  }
  return text;
}

// "image_folder | shuffle | map(decode, resize) | batch"
std::string shape_of(const DataGraph& graph) {
  std::string text;
  const std::vector<const Node*> trunk = trunk_of(graph);
  for (auto at = trunk.rbegin(); at != trunk.rend(); ++at) {
    const Node* node = *at;
    text += (text.empty() ? "" : " | ") + node->op;
    if (node->op == "take" || node->op == "skip") text += " " + std::to_string(arg<std::int64_t>(node->args, "count"));
    if (node->op == "map") text += "(" + list_of(node->operations) + ")";
  }
  return text;
}

const Dataset kFolder = ImageFolder("folder");

TEST(DropNoOps, TakesOutNodesThatDoNothing) {
  const Dataset data =
      kFolder.repeat(1).skip(0).take(-1).shard(1, 0).map(std::vector<Transform>{}).take(3).repeat(2).batch(2);
  EXPECT_EQ(shape_of(drop_no_ops(data.graph())), "image_folder | take 3 | repeat | batch");
}

TEST(PushDown, BringsOrderToTheSource) {
  const Dataset data =
      kFolder.map(Resize({8, 8})).shuffle().map(RandomHorizontalFlip()).shard(2, 0).batch(4).take(3).skip(1).repeat(2);
  EXPECT_EQ(
      shape_of(push_down(data.graph())),
      "image_folder | shuffle | shard | take 12 | skip 4 | map(resize) | map(random_horizontal_flip) | batch | repeat");
}

TEST(PushDown, LeavesShardsOfBatchesAboveTheBatch) {
  EXPECT_EQ(shape_of(push_down(kFolder.batch(4).shard(2, 1).take(2).graph())), "image_folder | batch | shard | take 2");
}

TEST(ResolveSchema, WritesDownTheDecodeWherePixelsAreFirstNeeded) {
  EXPECT_EQ(shape_of(resolve_schema(kFolder.map(Resize({8, 8}), RandomHorizontalFlip()).graph())),
            "image_folder | map(decode, resize, random_horizontal_flip)");
  EXPECT_EQ(shape_of(resolve_schema(rows_in_memory(2).map(Resize({8, 8})).graph())), "in_memory | map(resize)");
}

TEST(FuseChains, JoinsAdjacentMaps) {
  const Dataset data = kFolder.map(Resize({8, 8})).map(RandomHorizontalFlip()).map(Normalize::imagenet()).batch(2);
  EXPECT_EQ(shape_of(fuse_chains(data.graph())),
            "image_folder | map(resize, random_horizontal_flip, normalize) | batch");
}

TEST(FuseDecodeCrop, MakesRegionDecodes) {
  const Dataset crop = kFolder.map(RandomResizedCrop(8), Normalize::imagenet()),
                center = kFolder.map(Resize(10), CenterCrop(8));
  EXPECT_EQ(shape_of(fuse_decode_crop(resolve_schema(crop.graph()))),
            "image_folder | map(decode_random_resized_crop, normalize)");
  const DataGraph fused = fuse_decode_crop(resolve_schema(center.graph()));
  EXPECT_EQ(shape_of(fused), "image_folder | map(decode_resize_center_crop)");
  const Transform& t = fused.output().operations[0];
  EXPECT_EQ(arg<Integers>(t.args, "size"), Integers{8});
  EXPECT_EQ(arg<Integers>(t.args, "resize"), Integers{10});
}

TEST(FuseDecodeCrop, KeepsTheNameThatKeysTheDraws) {
  const Dataset data = kFolder.map(RandomResizedCrop(8));
  EXPECT_EQ(fuse_decode_crop(resolve_schema(data.graph())).output().operations[0].name, "random_resized_crop");
}

TEST(FuseWrite, JoinsTheTrailingFlipAndNormalizeInAnyOrder) {
  for (const Dataset& data : {kFolder.map(Resize({8, 8}), RandomHorizontalFlip(0.3), Normalize::imagenet()),
                              kFolder.map(Resize({8, 8}), Normalize::imagenet(), RandomHorizontalFlip(0.3))}) {
    const DataGraph fused = fuse_write(data.graph());
    EXPECT_EQ(shape_of(fused), "image_folder | map(resize, write)");
    const Transform& write = fused.output().operations[1];
    EXPECT_EQ(write.name, "random_horizontal_flip");
    EXPECT_EQ(arg<double>(write.args, "p"), 0.3);
    EXPECT_EQ(arg<Reals>(write.args, "mean"), (Reals{0.485, 0.456, 0.406}));
  }
  EXPECT_EQ(shape_of(fuse_write(kFolder.map(RandomHorizontalFlip(), Resize({8, 8})).graph())),
            "image_folder | map(random_horizontal_flip, resize)");
}

TEST(FuseWrite, TakesAChangeOfLayoutAtTheEnd) {
  const Dataset data = kFolder.map(Resize({8, 8}), RandomHorizontalFlip(0.3), Normalize::imagenet(), HWC2CHW());
  const DataGraph fused = fuse_write(data.graph());
  EXPECT_EQ(shape_of(fused), "image_folder | map(resize, write)");
  EXPECT_EQ(arg<std::string>(fused.output().operations[1].args, "layout"), "chw");
  EXPECT_EQ(to_string(schema_of(fused)), to_string(schema_of(data.graph())));
  EXPECT_EQ(to_string(schema_of(fused)), "image f32[3,8,8], label i32[]");
  EXPECT_EQ(shape_of(fuse_write(kFolder.map(Resize({8, 8}), HWC2CHW()).graph())), "image_folder | map(resize, write)");
  // One in the middle stays, with everything before it.
  const Dataset middle = kFolder.map(Resize({8, 8}), Normalize::imagenet(), HWC2CHW(), TypeCast(DType::bf16));
  EXPECT_EQ(shape_of(fuse_write(middle.graph())), "image_folder | map(resize, normalize, hwc_to_chw, type_cast)");
}

bool is_f32(const Tensor& image) { return image.dtype() == DType::f32; }

// A filter by the image: its input tells whether a pass moved a transform past it.
Filter by_f32_images() {
  static const bool registered = [] {
    register_predicate("f32_images", is_f32);
    return true;
  }();
  (void)registered;
  return passes("image", "f32_images");
}

TEST(FuseWrite, StopsAtAFilterThatLooksAtTheImage) {
  const Dataset mapped = rows_in_memory(6).map(Resize({8, 8}), RandomHorizontalFlip(), Normalize::imagenet());
  const Dataset data = mapped.filter(by_f32_images()).map(HWC2CHW()).batch(4);
  EXPECT_EQ(shape_of(fuse_write(data.graph())),
            "in_memory | map(resize, random_horizontal_flip, normalize) | filter | map(write) | batch");
  Iterator reference(data, {.pull = true, .disabled_passes = {"fuse_write"}}), it(data, {.pull = true});
  EXPECT_EQ(digest(it), digest(reference));
  // For a filter by the label it does not matter.
  EXPECT_EQ(shape_of(fuse_write(mapped.filter(compare("label", "less", 3)).map(HWC2CHW()).batch(4).graph())),
            "in_memory | map(resize) | filter | map(write) | batch");
  for (const Dataset& raw : {data, mapped.filter(by_f32_images()).batch(4)})
    EXPECT_ERROR(Iterator(raw, {.raw_images = true}), "raw images need Normalize and RandomHorizontalFlip at the end");
}

TEST(FuseResize, JoinsAResizeAndTheWriteAfterIt) {
  const auto fused = [](const Dataset& data) {
    return shape_of(fuse_resize(fuse_write(fuse_decode_crop(resolve_schema(data.graph())))));
  };
  EXPECT_EQ(fused(kFolder.map(RandomResizedCrop(8), RandomHorizontalFlip(), Normalize::imagenet())),
            "image_folder | map(resize_write(decode_random_resized_crop, write))");
  EXPECT_EQ(fused(kFolder.map(Resize(10), CenterCrop(8), Normalize::imagenet(), HWC2CHW())),
            "image_folder | map(resize_write(decode_resize_center_crop, write))");
  EXPECT_EQ(fused(kFolder.map(Resize({8, 8}), Normalize::imagenet())),
            "image_folder | map(decode, resize_write(resize, write))");
  EXPECT_EQ(fused(kFolder.map(Resize({8, 8}), RandomInvert(), Normalize::imagenet())),
            "image_folder | map(decode, resize, random_invert, write)");
}

TEST(FuseResize, GivesTheSameBitsForEveryFilterLayoutAndChannel) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 6)), rows = rows_in_memory(6);
  std::vector<Dataset> all;
  for (const image::Filter filter : image::all_filters()) {
    const std::string name(image::name_of(filter));
    for (const bool planes : {false, true}) {
      std::vector<Transform> tail{RandomHorizontalFlip(), Normalize::imagenet()};
      if (planes) tail.push_back(HWC2CHW());
      all.push_back(folder.map(RandomResizedCrop(16, {.interpolation = name})).map(tail));
      all.push_back(folder.map(Resize({30, 25}, {.interpolation = name})).map(tail));
      tail.erase(tail.begin() + 1);  // bytes
      all.push_back(folder.map(Resize(20, {.interpolation = name}), CenterCrop({18, 17})).map(tail));
      all.push_back(folder.map(Resize(20, {.interpolation = name}), CenterCrop({30, 9})).map(tail));  // padded
    }
  }
  const Dataset grey = folder.map(Resize({30, 25}), Grayscale());
  all.push_back(grey.map(Resize({8, 9}), RandomHorizontalFlip(), Normalize({0.5}, {0.25}), HWC2CHW()));
  all.push_back(grey.map(Resize({8, 9}), RandomHorizontalFlip(), HWC2CHW()));
  all.push_back(folder.map(Resize({8, 9}), HWC2CHW()));
  all.push_back(rows.map(Resize({9, 7}), RandomHorizontalFlip()));
  all.push_back(rows.map(Normalize::imagenet(), RandomHorizontalFlip(), HWC2CHW()));
  all.push_back(rows.map(Rescale(0.5, 1), RandomHorizontalFlip(), HWC2CHW()));
  for (const Dataset& data : all) {
    const Dataset batches = data.batch(4);
    Iterator plain(batches, {.epochs = 2, .pull = true, .disabled_passes = {"fuse_write", "fuse_decode_crop"}});
    Iterator written(batches, {.epochs = 2, .pull = true, .disabled_passes = {"fuse_resize"}});
    Iterator by_rows(batches, {.epochs = 2, .pull = true});
    const std::uint64_t expected = digest(plain);
    EXPECT_EQ(digest(written), expected) << data.to_json(1);
    EXPECT_EQ(digest(by_rows), expected) << data.to_json(1);
  }
}

TEST(FuseResize, CarriesBoxesAsBefore) {
  const Tensor pixels = Tensor::of<std::uint8_t>(std::vector<std::uint8_t>(4 * 6 * 8 * 3, 9), Shape{4, 6, 8, 3});
  const Tensor boxes =
      Tensor::of<float>({0, .1f, .5f, .6f, 0, .2f, .4f, .9f, .3f, 0, 1, 1, .5f, .5f, .7f, .8f}, Shape{4, 1, 4});
  const Dataset data = InMemory({{"image", pixels}, {"boxes", boxes}})
                           .map(RandomResizedCrop(5), RandomHorizontalFlip(), Normalize::imagenet())
                           .batch(2);
  Iterator plain(data, {.epochs = 3, .pull = true, .disabled_passes = {"fuse_resize"}}),
      by_rows(data, {.epochs = 3, .pull = true});
  EXPECT_EQ(digest(by_rows), digest(plain));
}

// The ids of the nodes with the hint.
std::vector<std::string> marked(const DataGraph& graph) {
  std::vector<std::string> ids;
  for (const Node& node : graph.nodes) {
    if (node.hints.contains("write_slots")) ids.push_back(node.id);
  }
  return ids;
}

TEST(WriteSlots, MarksTheLastMapOfEveryColumnOfFixedSize) {
  using Ids = std::vector<std::string>;
  const auto after = [](const Dataset& data) { return marked(write_slots(data.graph())); };
  const Dataset sized = kFolder.map(Resize({8, 8}));
  EXPECT_EQ(after(sized.shuffle().map_columns({"label"}, {TypeCast(DType::i64)}).batch(2)), (Ids{"map_1", "map_3"}));
  EXPECT_EQ(after(sized.map(RandomHorizontalFlip()).batch(2)), Ids{"map_2"});
  EXPECT_EQ(after(sized.rename({"image"}, {"pixels"}).project({"pixels"}).batch(2)), Ids{"map_1"});
  EXPECT_EQ(after(sized.project({"label"}).batch(2)), Ids{});
  EXPECT_EQ(after(kFolder.map(Resize(8)).batch(2, {.pad = true})), Ids{});  // the widths differ
  EXPECT_EQ(after(sized), Ids{});                                           // no batch node
  EXPECT_EQ(after(concat({sized, kFolder.map(Resize({8, 8}))}).batch(2)), (Ids{"map_1", "map_2"}));
  // Both inputs of zip read the map, which keeps its row for them.
  EXPECT_EQ(after(zip({sized.project({"image"}), sized.project({"label"})}).batch(2)), Ids{});
  DataGraph stale = sized.map(RandomHorizontalFlip()).batch(2).graph();
  stale.node("map_1").hints["write_slots"] = 1;
  EXPECT_EQ(marked(write_slots(stale)), Ids{"map_2"});
}

TEST(WriteSlots, KeepsTheSamples) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 6));
  const Dataset sized = folder.map(Resize({8, 8}));
  for (const Dataset& data :
       {sized.batch(3), sized.rename({"image"}, {"pixels"}).batch(3), sized.cache().shuffle().batch(3),
        zip({sized.project({"image"}), sized.rename({"image", "label"}, {"again", "number"})}).batch(3),
        concat({sized, folder.map(Resize({8, 8}), RandomInvert())}).batch(3),
        sized.map_columns({"label"}, {TypeCast(DType::i64), OneHot(5)}).batch(3)}) {
    Iterator copied(data, {.epochs = 2, .pull = true, .disabled_passes = {"write_slots"}});
    Iterator in_place(data, {.workers = 2, .epochs = 2});
    EXPECT_EQ(digest(in_place), digest(copied)) << data.to_json(1);
  }
}

std::int64_t hint(const DataGraph& graph, const char* name) { return batch_node(graph)->hints.at(name); }

TEST(PlanMemory, SaysHowManyBatchesFit) {
  const Dataset data = rows_in_memory(100).batch(10);
  Iterator it(data, {.pull = true});
  const std::int64_t bytes = it.slot_bytes();
  const auto slots = [&](Hints hints) { return hint(plan_memory(data.with_hints(hints).graph()), "slots"); };
  EXPECT_EQ(slots({}), 8);
  EXPECT_EQ(slots({.memory_limit = 3 * bytes}), 3);
  EXPECT_EQ(slots({.memory_limit = 4 * bytes - 1}), 3);
  EXPECT_EQ(slots({.memory_limit = 3 * bytes, .slots = 2}), 2);
  EXPECT_EQ(slots({.slots = 20}), 20);
  // Two batches are planned whatever their size, six if memory allows, unless a limit is given.
  const Dataset large = kFolder.map(Resize({1024, 1024})).batch(200);
  const std::int64_t fit = available_memory() / 16 / (std::int64_t{200} * 1024 * 1024 * 3);
  const std::int64_t planned = hint(plan_memory(large.graph()), "slots");
  EXPECT_TRUE(planned == std::clamp<std::int64_t>(fit, 2, 6) || planned == std::clamp<std::int64_t>(fit - 1, 2, 6))
      << planned << ", " << fit << " fit";
  const Dataset huge = kFolder.map(Resize({16384, 16384})).batch(200);
  EXPECT_EQ(hint(plan_memory(huge.graph()), "slots"), 2);
  EXPECT_ERROR(plan_memory(large.with_hints({.memory_limit = std::int64_t{512} << 20}).graph()),
               "[batch] one batch takes 629");
  EXPECT_EQ(slots({.memory_limit = 3 * bytes, .slots = 20}), 3);
  EXPECT_ERROR(slots({.memory_limit = bytes - 1}), "[batch] one batch takes " + std::to_string(bytes) +
                                                       " bytes, memory_limit is " + std::to_string(bytes - 1));
  const DataGraph rows = rows_in_memory(3).graph();
  EXPECT_TRUE(plan_memory(rows) == rows);
  Iterator unplanned(data, {.disabled_passes = {"plan_memory"}}), told(data, {.slots = 5});
  EXPECT_EQ(unplanned.slots(), 2);
  EXPECT_EQ(told.slots(), 5);
}

TEST(ChooseWorkers, GoesByTheCostOfARowAndThePiecesOfWork) {
  const auto plan = [](const Dataset& data) { return choose_workers(plan_memory(resolve_schema(data.graph()))); };
  const DataGraph cheap = plan(rows_in_memory(100).batch(10));
  EXPECT_EQ(hint(cheap, "rows_at_once"), 64);
  EXPECT_EQ(hint(cheap, "workers"), std::min(8, available_cores()));  // a batch is one piece of work
  EXPECT_EQ(hint(plan(rows_in_memory(100).batch(10).with_hints({.slots = 1})), "workers"), 1);
  EXPECT_EQ(hint(plan(rows_in_memory(100).batch(10).with_hints({.workers = 7, .slots = 1})), "workers"), 7);
  // A decode is expensive even if its result is small, and so is a large result.
  for (const Dataset& costly :
       {kFolder.map(Resize({4, 4})).batch(100), rows_in_memory(3).map(Resize({64, 64})).batch(2),
        rows_in_memory(3).map_columns({"label"}, {Function("of_pass_test")}).batch(2)})
    EXPECT_EQ(hint(plan(costly), "rows_at_once"), 1) << costly.to_json(1);
  Iterator unplanned(rows_in_memory(100).batch(10), {.disabled_passes = {"choose_workers"}});
  EXPECT_EQ(unplanned.workers(), 1);
  Iterator told(rows_in_memory(100).batch(10), {.workers = 3, .disabled_passes = {"choose_workers"}});
  EXPECT_EQ(told.workers(), 3);
}

TEST(Hints, BelongToTheirKindOfNode) {
  DataGraph graph = kFolder.map(Resize({8, 8})).batch(2).graph();
  graph.node("map_1").hints["workers"] = 2;
  EXPECT_ERROR(validate(graph), "[map] cannot have the hint workers: it is one of batch and bucket");
  graph = kFolder.batch(2).graph();
  graph.node("batch_1").hints["worker"] = 2;
  EXPECT_ERROR(validate(graph), "[batch] unknown hint 'worker': did you mean 'workers'?");
}

TEST(SplitTail, LeavesFlipAndNormalizeToTheConsumer) {
  const Dataset data = kFolder.map(Resize({8, 8}), RandomHorizontalFlip(0.3), Normalize::imagenet()).batch(2);
  const DataGraph split = split_tail(resolve_schema(data.graph()));
  EXPECT_EQ(shape_of(split), "image_folder | map(decode, resize, draw_flip) | batch");
  EXPECT_EQ(to_string(schema_of(split)), "image u8[2,8,8,3], label i32[2], flip u8[2], mask u8[2]");
  EXPECT_EQ(shape_of(split_tail(rows_in_memory(4).shuffle().batch(2).shard(2, 1).graph())),
            "in_memory | shuffle | map(draw_flip) | batch | shard");
}

TEST(SplitTail, DecodesWhatNothingElseDoes) {
  register_function("bytes_as_they_are", [](const Tensor& x) { return x.clone(); });
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 1, 4));
  for (const Dataset& data : {folder, folder.map(Function("bytes_as_they_are")), folder.map(RandomHorizontalFlip())}) {
    Iterator raw(data.batch(4, {.pad = true}), {.raw_images = true, .pull = true});
    const Batch images = *raw.next();
    EXPECT_EQ(images.column("image").dtype(), DType::u8);
    EXPECT_EQ(images.column("image").shape()[3], 3);
    EXPECT_GE(images.column("image").shape()[1], 20);
  }
}

TEST(WriteSlots, ColumnsMayBeRenamedBelowTheMapThatDrawsFlips) {
  const Dataset renamed = rows_in_memory(6).rename({"label"}, {"kind"});
  const Dataset data = renamed.map(Resize({8, 8}), RandomHorizontalFlip(), Normalize::imagenet()).batch(4);
  const IteratorOptions raw{.raw_images = true, .pull = true};
  IteratorOptions copied = raw;
  copied.disabled_passes = {"write_slots"};
  Iterator it(data, raw), reference(data, copied);
  EXPECT_EQ(to_string(it.columns()), "image u8[4,8,8,3], kind i32[4], flip u8[4], mask u8[4]");
  EXPECT_EQ(digest(it), digest(reference));
}

TEST(NameOps, NamesByOpAndCountAndKeepsGivenNames) {
  DataGraph graph = kFolder.shuffle().shuffle().map(RandomHorizontalFlip(), RandomHorizontalFlip()).graph();
  EXPECT_EQ(graph.nodes[2].name, "shuffle_1");
  EXPECT_EQ(graph.output().operations[1].name, "random_horizontal_flip_1");
  graph.nodes[2].name = "mine";
  graph.nodes[1].name.clear();
  const DataGraph named = name_ops(graph);
  EXPECT_EQ(named.nodes[1].name, "shuffle");
  EXPECT_EQ(named.nodes[2].name, "mine");
}

TEST(Validate, ChecksEveryArgumentAgain) {
  DataGraph graph = kFolder.batch(2).graph();
  graph.nodes[1].args["size"] = std::int64_t{-1};
  EXPECT_ERROR(validate(graph), "[batch] size is -1");
  graph.nodes[1].args["size"] = 2.0;
  EXPECT_ERROR(validate(graph), "argument 'size' is a real, it must be an integer");
}

TEST(CacheLegality, RefusesWhatIsNotTheSameInEveryEpoch) {
  const Dataset sized = kFolder.map(Resize({8, 8}));
  EXPECT_NO_THROW(sized.skip(1).cache().shuffle().map(RandomHorizontalFlip()).repeat(2).batch(2));
  EXPECT_NO_THROW(kFolder.sample(DistributedSampler(2, 0, {.shuffle = false})).cache());
  EXPECT_ERROR(sized.shuffle().cache(), "[cache] 'cache_3' cannot keep what lies below it: 'shuffle_2' (shuffle)");
  EXPECT_ERROR(kFolder.sample(RandomSampler()).map(Resize({8, 8})).cache(), "gives other rows in every epoch");
  EXPECT_ERROR(kFolder.sample(DistributedSampler(2, 0)).cache(), "gives other rows in every epoch");
  EXPECT_ERROR(sized.repeat(2).cache(), "'repeat_2' repeats rows");
  EXPECT_ERROR(sized.map(RandomHorizontalFlip()).skip(1).cache(), "'random_horizontal_flip' of 'map_2' draws random");
  EXPECT_ERROR(sized.cache().cache(), "'cache_2' is a cache already");
  EXPECT_ERROR(mix({sized, sized}, {1, 1}).cache(), "(mix) gives other rows");
  EXPECT_ERROR(concat({sized, sized.map(RandomHorizontalFlip())}).cache(), "draws random numbers");
  const DataGraph graph = sized.cache().graph();
  EXPECT_TRUE(cache_legality(graph) == graph);
}

TEST(Passes, HaveAPageWithAnExampleForAllThatChangeSomething) {
  const std::string page = passes_page();
  for (const Pass& pass : passes(true)) {
    EXPECT_NE(page.find(pass.name + (pass.required ? ": " : " (can be left out): ")), std::string::npos) << page;
    EXPECT_FALSE(pass.doc.empty()) << pass.name;
    EXPECT_EQ(pass.before.empty(), pass.name == "validate" || pass.name == "cache_legality") << pass.name;
  }
}

TEST(Prepare, RefusesToLeaveOutWhatItDoesNotKnowOrCannotDoWithout) {
  const DataGraph graph = kFolder.batch(2).graph();
  EXPECT_ERROR(prepare(graph, false, {"fuse_writ"}), "unknown data pass 'fuse_writ': did you mean 'fuse_write'?");
  EXPECT_ERROR(prepare(graph, false, {"validate"}), "'validate' cannot be left out");
}

TEST(Prepare, WorksOnACopy) {
  const Dataset data = kFolder.map(RandomResizedCrop(8)).take(5).batch(2);
  const std::string before = data.to_json();
  prepare(data.graph(), true);
  EXPECT_EQ(data.to_json(), before);
}

TEST(Prepare, GivesTheSameSamplesWithAnyPassLeftOut) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 8));
  Tensor boxes(DType::f32, Shape{16, 1, 4});
  for (std::int64_t i = 0; i < boxes.elements(); ++i)
    boxes.data<float>()[i] = (i % 4 < 2 ? 0.1f : 0.5f) + static_cast<float>(i % 13) * 0.03f;
  Tensor images(DType::u8, Shape{16, 20, 30, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 + i / 90 * 5);
  const Dataset boxed =
      InMemory({{"image", images}, {"boxes", boxes}, {"label", Tensor::zeros(DType::i32, Shape{16})}});
  const std::vector<Dataset> all{
      boxed.map(RandomResizedCrop(8)).project({"image", "label"}).batch(2),  // boxes guide the crop
      boxed.map(ClipBoxes()).project({"label", "image"}).batch(3),
      folder.repeat(1)
          .map(RandomResizedCrop(16))
          .shuffle()
          .map(RandomHorizontalFlip())
          .skip(1)
          .map(Normalize::imagenet())
          .batch(3)
          .take(4)
          .skip(1)
          .repeat(2),
      folder.map(Resize(20), CenterCrop(18), Normalize::imagenet(), RandomHorizontalFlip()).batch(4).shuffle(),
      folder.map(Resize({20, 30}), CenterCrop({40, 20})).shuffle().batch(4),  // padded
      folder.map(Resize({24, 24}), RandomCropWithPadding(24, 4), RandomHorizontalFlip()).batch(4).shard(2, 1)};
  for (const Dataset& data : all) {
    for (const bool raw : {false, true}) {
      Iterator reference(data, {.epochs = 2, .raw_images = raw, .pull = true});
      const std::uint64_t expected = digest(reference);
      std::vector<std::string> every;
      for (const Pass& pass : passes(raw)) {
        if (pass.required) continue;
        every.push_back(pass.name);
        Iterator it(data, {.epochs = 2, .raw_images = raw, .pull = true, .disabled_passes = {pass.name}});
        EXPECT_EQ(digest(it), expected) << "without " << pass.name;
      }
      Iterator plain(data, {.epochs = 2, .raw_images = raw, .pull = true, .disabled_passes = every});
      EXPECT_EQ(digest(plain), expected);
      Iterator threads(data, {.workers = 3, .epochs = 2, .raw_images = raw, .disabled_passes = every});
      EXPECT_EQ(digest(threads), expected);
    }
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
