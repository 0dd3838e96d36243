#include "ridgeline/data/set/dataset_recipes.h"

#include <map>
#include <set>

#include "ridgeline/data/set/class_names.h"
#include "ridgeline/format/tensor/idx.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

void put(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  put_file(path.string(), content);
}

TEST(DatasetRecipes, TheTableIsConsistent) {
  std::set<std::string> names;
  for (const DatasetRecipe& recipe : dataset_recipes()) {
    SCOPED_TRACE(recipe.name);
    EXPECT_TRUE(names.insert(recipe.name).second);
    EXPECT_EQ(&dataset_recipe(recipe.name), &recipe);
    EXPECT_FALSE(recipe.splits.empty());
    if (!recipe.class_names.empty()) {
      const auto classes = known_class_names(recipe.class_names);
      EXPECT_EQ(std::set<std::string>(classes.begin(), classes.end()).size(), classes.size());
    }
    for (const RecipeSplit& split : recipe.splits) {
      EXPECT_EQ(split.files.empty(), recipe.reader == RecipeReader::manifest);
      EXPECT_TRUE(recipe.reader != RecipeReader::idx || split.files.size() == 2u);
    }
  }
  const std::map<std::string, std::size_t> counts{{"cifar10", 10}, {"cifar100", 100},   {"cifar100_coarse", 20},
                                                  {"mnist", 10},   {"emnist", 47},      {"emnist_byclass", 62},
                                                  {"voc", 20},     {"flowers102", 102}, {"emnist_letters", 26}};
  for (const auto& [set, count] : counts) EXPECT_EQ(known_class_names(set).size(), count) << set;
  EXPECT_TRUE(contains(error_of([] { static_cast<void>(dataset_recipe("cifar11")); }), "did you mean 'cifar10'?"));
  EXPECT_TRUE(contains(error_of([] { known_class_names("kmist"); }), "did you mean 'kmnist'?"));
}

TEST(DatasetRecipes, FilesAreFoundUnderTheRootOrWhereArchivesUnpackTo) {
  const TempFolder folder;
  const DatasetRecipe& recipe = dataset_recipe("cifar10");
  EXPECT_EQ(error_of([&] { find_recipe_files(recipe, "train", folder.path()); }),
            "[recipe] cifar10: " + folder.path() +
                " has no data_batch_1.bin, data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, data_batch_5.bin "
                "(split train)");
  const std::filesystem::path below = folder.file("cifar-10-batches-bin");
  for (int i = 1; i <= 4; ++i) put(below / ("data_batch_" + std::to_string(i) + ".bin"), "x");
  EXPECT_EQ(error_of([&] { find_recipe_files(recipe, "train", folder.path()); }),
            "[recipe] cifar10: " + below.string() + " has no data_batch_5.bin (split train)");
  put(below / "data_batch_5.bin", "x");
  const RecipeFiles found = find_recipe_files(recipe, "train", folder.path());
  EXPECT_EQ(found.directory, below.string());
  ASSERT_EQ(found.files.size(), 5u);
  EXPECT_EQ(found.files[4], (below / "data_batch_5.bin").string());
  EXPECT_EQ(find_recipe_files(recipe, "train", below.string()).files, found.files);
  EXPECT_TRUE(contains(error_of([&] { find_recipe_files(recipe, "val", folder.path()); }),
                       "cifar10 has no split 'val' (train, test)"));
  EXPECT_TRUE(contains(error_of([&] { find_recipe_files(recipe, "train", "/nowhere"); }), "there is no /nowhere"));
}

TEST(DatasetRecipes, EitherNameOfAFileWillDo) {
  const TempFolder folder;
  put(folder.file("raw/train-images.idx3-ubyte"), "");
  put(folder.file("raw/train-labels-idx1-ubyte.gz"), "");
  const auto found = find_recipe_files(dataset_recipe("fashion_mnist"), "train", folder.path());
  EXPECT_EQ(found.files, (std::vector<std::string>{folder.file("raw/train-images.idx3-ubyte"),
                                                   folder.file("raw/train-labels-idx1-ubyte.gz")}));
}

TEST(DatasetRecipes, AnnotatedSetsAreReadByTheirName) {
  const TempFolder folder;
  put(folder.file("VOCdevkit/VOC2012/ImageSets/Main/val.txt"), "1\n");
  put(folder.file("VOCdevkit/VOC2012/Annotations/1.xml"), "<annotation/>");
  put(folder.file("VOCdevkit/VOC2012/JPEGImages/1.jpg"), "");
  EXPECT_EQ(read_annotated_split(dataset_recipe("voc"), "val", folder.path()).files[0].path,
            folder.file("VOCdevkit/VOC2012/JPEGImages/1.jpg"));
  put(folder.file("coco/annotations/instances_val2017.json"),
      R"({"images":[{"id":1,"file_name":"1.jpg"}],"annotations":[],"categories":[]})");
  put(folder.file("coco/val2017/1.jpg"), "");
  EXPECT_EQ(read_annotated_split(dataset_recipe("coco"), "val", folder.file("coco")).files[0].path,
            folder.file("coco/val2017/1.jpg"));
  put(folder.file("m"), R"({"source":"1.jpg","usage":"EVAL","annotation":[{"name":"a"}]})");
  EXPECT_EQ(read_annotated_split(dataset_recipe("manifest"), "eval", folder.file("m")).class_names,
            std::vector<std::string>{"a"});
  EXPECT_TRUE(contains(error_of([&] { read_annotated_split(dataset_recipe("imagenet"), "train", folder.path()); }),
                       "imagenet: " + folder.path() + " has no train"));
  std::filesystem::create_directories(folder.file("train"));
  EXPECT_TRUE(contains(error_of([&] { read_annotated_split(dataset_recipe("imagenet"), "train", folder.path()); }),
                       "has no annotations that name files"));
}

TEST(DatasetRecipesRealData, MnistAndImageFoldersAreFound) {
  const std::string mnist = pack_path("mnist-idx");
  SKIP_WITHOUT(mnist);
  const DatasetRecipe& recipe = dataset_recipe("mnist");
  const auto found = find_recipe_files(recipe, "test", mnist);
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_EQ(read_idx(found.files[0]).shape()[0], recipe.splits[1].records);
  EXPECT_EQ(read_idx(found.files[1]).shape(), Shape{recipe.splits[1].records});
  const auto folders = find_recipe_files(dataset_recipe("imagenet"), "val", pack_path("imagenette224"));
  EXPECT_EQ(folders.files, std::vector<std::string>{pack_path("imagenette224/val")});
  EXPECT_EQ(find_recipe_files(dataset_recipe("imagenet"), "val", pack_path("flowers12-224")).files[0],
            pack_path("flowers12-224/test"));
}

}  // namespace
}  // namespace ridgeline
