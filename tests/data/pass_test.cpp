// Each pass before and after, and the samples unchanged with every pass left out.
#include "ridgeline/data/pass/passes.h"

#include "helpers.h"
#include "ridgeline/data/ir/analysis.h"

namespace ridgeline::data::testing {
namespace {

// "image_folder | shuffle | map(decode, resize) | batch"
std::string shape_of(const DataGraph& graph) {
  std::string text;
  const std::vector<const Node*> trunk = trunk_of(graph);
  for (auto at = trunk.rbegin(); at != trunk.rend(); ++at) {
    const Node* node = *at;
    text += (text.empty() ? "" : " | ") + node->op;
    if (node->op == "take" || node->op == "skip") text += " " + std::to_string(arg<std::int64_t>(node->args, "count"));
    if (node->op != "map") continue;
    text += "(";
    for (const Transform& t : node->operations) text += (text.back() == '(' ? "" : ", ") + t.op;
    text += ")";
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

TEST(SplitTail, LeavesFlipAndNormalizeToTheConsumer) {
  const Dataset data = kFolder.map(Resize({8, 8}), RandomHorizontalFlip(0.3), Normalize::imagenet()).batch(2);
  const DataGraph split = split_tail(data.graph());
  EXPECT_EQ(shape_of(split), "image_folder | map(resize, draw_flip) | batch");
  EXPECT_EQ(to_string(schema_of(split)), "image u8[2,8,8,3], label i32[2], flip u8[2], mask u8[2]");
  EXPECT_EQ(shape_of(split_tail(rows_in_memory(4).shuffle().batch(2).shard(2, 1).graph())),
            "in_memory | shuffle | map(draw_flip) | batch | shard");
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
  EXPECT_ERROR(validate(graph), "argument 'size' is a real, it must be a integer");
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

Dataset three_columns() {
  return InMemory({{"a", Tensor::of<std::int32_t>({1, 2, 3}, Shape{3})},
                   {"b", Tensor::of<std::int32_t>({4, 5, 6}, Shape{3})},
                   {"c", Tensor::of<std::int32_t>({7, 8, 9}, Shape{3})}});
}

TEST(ProjectSource, LetsTheSourceGiveFewerColumns) {
  const Dataset data = three_columns();
  const auto after = [](const Dataset& d) { return project_source(d.graph()); };
  DataGraph graph = after(data.shuffle().map_columns({"b"}, {TypeCast(DType::i64)}).project({"b", "c"}).batch(2));
  EXPECT_EQ(shape_of(graph), "in_memory | shuffle | map(type_cast) | batch");
  EXPECT_EQ(arg<Tensors>(graph.nodes[0].args, "columns").size(), 2u);
  EXPECT_EQ(to_string(schema_of(graph)), "b i64[2], c i32[2], mask u8[2]");
  graph = after(data.project({"c", "a"}));  // stays for the order
  EXPECT_EQ(shape_of(graph), "in_memory | project");
  EXPECT_EQ(to_string(schema_of(graph)), "c i32[], a i32[]");
  EXPECT_EQ(arg<Tensors>(graph.nodes[0].args, "columns").size(), 2u);
}

TEST(ProjectSource, LeavesAloneWhatLooksAtOtherColumns) {
  const Dataset data = three_columns();
  for (const Dataset& kept :
       {data.filter(compare("a", "less", 3)).project({"b"}),
        data.map_columns({"a"}, {TypeCast(DType::i64)}).project({"b"}), data.rename({"a"}, {"x"}).project({"b"}),
        zip({data.project({"a"}), data.project({"b"})}),  // two read the source
        kFolder.project({"label"})}) {
    EXPECT_TRUE(project_source(kept.graph()) == kept.graph()) << kept.to_json(1);
  }
  const Dataset filtered = data.filter(compare("b", "less", 6)).project({"b"});
  EXPECT_EQ(shape_of(project_source(filtered.graph())), "in_memory | filter");
}

TEST(ProjectSource, KeepsTheSamples) {
  const Dataset data = three_columns();
  for (const Dataset& projected : {data.shuffle().project({"b", "c"}).batch(2), data.project({"c", "a"}).batch(2)}) {
    Iterator whole(projected, {.pull = true, .disabled_passes = {"project_source"}}), less(projected, {.pull = true});
    EXPECT_EQ(digest(less), digest(whole));
    Iterator again(data.batch(3), {.pull = true});  // shares nothing that the pass made
    EXPECT_EQ(again.next()->column("a").data<std::int32_t>()[2], 3);
  }
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
  const std::vector<Dataset> all{
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
    }
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
