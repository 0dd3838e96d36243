// Getters work without a run, and without opening files if the arguments are sufficient.
#include "ridgeline/data/ir/generators.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

const std::string kAbsent = "/nowhere/at/all";
using Names = std::vector<std::string>;

Names names_of(const Schema& schema) {
  Names names;
  for (const Column& column : schema) names.push_back(column.name);
  return names;
}

TEST(SourceGetters, ColumnsAndClassesComeFromTheArgumentsAlone) {
  struct Case {
    Dataset data;
    Names columns;
    std::int64_t classes;  // 0: unknown
  };
  const Case cases[] = {
      {ImageFolder(kAbsent, {.classes = {"b", "a"}}), {"image", "label"}, 2},
      {ImageFolder(kAbsent, {.classes = {"b", "a"}, .labels = {4, 2}}), {"image", "label"}, 5},
      {TFRecord(kAbsent, {.label_base = LabelBase::one, .num_classes = 10}), {"image", "label"}, 10},
      {Files({kAbsent}), {"image", "path"}, 0},
      {Csv(kAbsent, {.manifest = {.columns = {"f", "label:i32"}, .image = "f", .num_classes = 4}}),
       {"image", "f", "label"},
       4},
      {JsonLines(kAbsent, {.columns = {"f", "box:f32[]"}}), {"f", "box"}, 0},
      {Tar({kAbsent}, {.fields = {"json"}, .num_classes = 6}), {"image", "label", "json", "key"}, 6},
      {NamedSet("voc", "train", kAbsent, true), {"image", "label", "boxes", "box_labels"}, 20},
      {NamedSet("flowers102", "train", kAbsent), {"image", "label"}, 102},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.data.to_json());
    const Dataset data = one.data.shuffle().repeat(2).batch(4, {.drop_remainder = true, .pad = true});
    EXPECT_EQ(names_of(one.data.columns()), one.columns);
    EXPECT_EQ(data.batch_size(), 4);
    EXPECT_EQ(data.repeat_count(), 2);
    EXPECT_EQ(data.label_base(), one.classes == 10 ? 1 : 0);
    if (one.classes == 0) {
      EXPECT_ERROR(data.num_classes(), "the number of classes is not known");
    } else {
      EXPECT_EQ(data.num_classes(), one.classes);
    }
    EXPECT_NO_THROW(data.class_names());
    EXPECT_NO_THROW(data.class_indexing());
    // Files given by name are counted without opening them.
    if (one.data.graph().output().op != "files") {
      EXPECT_ERROR(data.size(), kAbsent);
    }
  }
  EXPECT_EQ(Cifar({kAbsent}).columns()[0].shape, (Shape{32, 32, 3}));
  EXPECT_EQ(NamedSet("cifar10", "train", kAbsent).columns()[0].dtype, DType::u8);
}

TEST(SourceGetters, SourcesWhoseFilesHoldTheColumnsSayWhatIsMissing) {
  for (const auto& make : std::vector<std::function<Dataset()>>{
           [] { return Csv(kAbsent); }, [] { return JsonLines(kAbsent); }, [] { return Packed({kAbsent}); },
           [] { return Idx(kAbsent, kAbsent); }, [] { return Examples({kAbsent}); },
           [] { return Examples({"x"}, {.schema = kAbsent}); }, [] { return NamedSet("mnist", "test", kAbsent); }})
    EXPECT_NE(error_of([&] { make(); }).find(kAbsent), std::string::npos);
}

TEST(SourceGetters, AnExampleSchemaIsAllThatIsRead) {
  const TempDir dir;
  write_text(dir / "s.json",
             R"({"datasetType":"TF","columns":{"x":{"type":"float32","shape":[2,3]},"y":{"type":"int64","rank":0}}})");
  const Dataset data = Examples({kAbsent}, {.schema = dir / "s.json", .label = "y", .label_base = 1, .num_classes = 5});
  std::filesystem::remove(dir / "s.json");  // read once
  EXPECT_EQ(to_string(data.shuffle().columns()),
            to_string(Schema{{"x", DType::f32, Shape{2, 3}}, {"label", DType::i32, Shape{}}}));
  EXPECT_EQ(data.num_classes(), 5);
  EXPECT_EQ(data.label_base(), 1);
  EXPECT_ERROR(data.size(), kAbsent);
}

TEST(SourceGetters, TheImageTailIsThatOfTheTransforms) {
  const Dataset folder = ImageFolder(kAbsent);
  const ImageTail both = folder.shuffle()
                             .map(RandomResizedCrop(24), RandomHorizontalFlip())
                             .map(Normalize({0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}))
                             .batch(4)
                             .image_tail();
  EXPECT_TRUE(both.normalize && both.flip);
  EXPECT_EQ(both.mean, (std::vector{0.1, 0.2, 0.3}));
  EXPECT_EQ(both.std, (std::vector{0.4, 0.5, 0.6}));
  const ImageTail none = folder.map(Resize(24)).image_tail();
  EXPECT_FALSE(none.normalize || none.flip);
  const Dataset erased = folder.map(Resize({24, 24}), Normalize::imagenet(), RandomErasing());
  EXPECT_ERROR(erased.image_tail(), "raw images need Normalize");
}

TEST(SourceGetters, ShapesTypesAndSizesFollowTheGraph) {
  const Dataset data = rows_in_memory(10).repeat(3).batch(4);
  EXPECT_EQ(data.size(), 8);
  EXPECT_EQ(data.num_samples(), 30);
  EXPECT_EQ(data.repeat_count(), 3);
  EXPECT_EQ(data.num_classes(), 10);
  EXPECT_EQ(to_string(data.columns()), to_string(Schema{{"image", DType::u8, Shape{4, 4, 6, 3}},
                                                        {"label", DType::i32, Shape{4}},
                                                        {"mask", DType::u8, Shape{4}}}));
  EXPECT_EQ(rows_in_memory(2).repeat().repeat_count(), kForever);
}

}  // namespace
}  // namespace ridgeline::data::testing
