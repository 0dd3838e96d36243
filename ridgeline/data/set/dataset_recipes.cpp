#include "ridgeline/data/set/dataset_recipes.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/data/set/coco.h"
#include "ridgeline/data/set/manifest.h"
#include "ridgeline/data/set/voc.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

// Each file of MNIST and its kin may be named with a dot or a dash, packed or not.
std::string idx_name(const std::string& set, const std::string& kind, int rank) {
  const std::string digit = std::to_string(rank);
  const std::string dash = set + "-" + kind + "-idx" + digit + "-ubyte";
  const std::string dot = set + "-" + kind + ".idx" + digit + "-ubyte";
  return dash + "|" + dash + ".gz|" + dot + "|" + dot + ".gz";
}

RecipeSplit idx_split(const std::string& name, const std::string& files, std::int64_t records) {
  return {name, {idx_name(files, "images", 3), idx_name(files, "labels", 1)}, records};
}

DatasetRecipe mnist_like(const std::string& name) {
  return {.name = name,
          .reader = RecipeReader::idx,
          .class_names = name,
          .subfolders = {"raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw"},
          .splits = {idx_split("train", "train", 60000), idx_split("test", "t10k", 10000)}};
}

DatasetRecipe emnist(const std::string& name, const std::string& kind, const std::string& class_names,
                     std::int64_t train, std::int64_t test, int label_base = 0) {
  return {.name = name,
          .reader = RecipeReader::idx,
          .class_names = class_names,
          .subfolders = {"gzip", "raw", "EMNIST/raw"},
          .splits = {idx_split("train", "emnist-" + kind + "-train", train),
                     idx_split("test", "emnist-" + kind + "-test", test)},
          .label_base = label_base,
          .transposed = true};
}

std::vector<DatasetRecipe> make_table() {
  std::vector<DatasetRecipe> table;
  table.push_back({.name = "imagenet",
                   .reader = RecipeReader::class_folders,
                   .class_names = "",
                   .subfolders = {},
                   .splits = {{"train", {"train"}}, {"val", {"val|validation|test"}}}});
  table.push_back(
      {.name = "cifar10",
       .reader = RecipeReader::cifar10,
       .class_names = "cifar10",
       .subfolders = {"cifar-10-batches-bin"},
       .splits = {{"train",
                   {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                   50000},
                  {"test", {"test_batch.bin"}, 10000}}});
  table.push_back({.name = "cifar100",
                   .reader = RecipeReader::cifar100,
                   .class_names = "cifar100",
                   .subfolders = {"cifar-100-binary"},
                   .splits = {{"train", {"train.bin"}, 50000}, {"test", {"test.bin"}, 10000}}});
  table.push_back(mnist_like("mnist"));
  table.push_back(mnist_like("fashion_mnist"));
  table.push_back(mnist_like("kmnist"));
  table.push_back(emnist("emnist", "balanced", "emnist", 112800, 18800));
  table.push_back(emnist("emnist_bymerge", "bymerge", "emnist", 697932, 116323));
  table.push_back(emnist("emnist_byclass", "byclass", "emnist_byclass", 697932, 116323));
  table.push_back(emnist("emnist_letters", "letters", "emnist_letters", 124800, 20800, 1));
  table.push_back(emnist("emnist_digits", "digits", "mnist", 240000, 40000));
  const std::vector<std::string> flowers{"flowers102.manifest", "jpg"};
  table.push_back({.name = "flowers102",
                   .reader = RecipeReader::flowers102,
                   .class_names = "flowers102",
                   .subfolders = {"flowers-102"},
                   .hint = "scripts/flowers102.py writes flowers102.manifest",
                   .splits = {{"train", flowers, 1020}, {"val", flowers, 1020}, {"test", flowers, 6149}}});
  table.push_back({.name = "manifest",
                   .reader = RecipeReader::manifest,
                   .class_names = "",
                   .subfolders = {},
                   .splits = {{"train", {}}, {"eval", {}}, {"inference", {}}}});
  const auto voc_split = [](const std::string& name) {
    return RecipeSplit{name, {"ImageSets/Main/" + name + ".txt", "Annotations", "JPEGImages"}};
  };
  table.push_back({.name = "voc",
                   .reader = RecipeReader::voc,
                   .class_names = "voc",
                   .subfolders = {"VOC2012", "VOCdevkit/VOC2012", "VOC2007", "VOCdevkit/VOC2007"},
                   .splits = {voc_split("train"), voc_split("val"), voc_split("trainval"), voc_split("test")}});
  table.push_back({.name = "coco",
                   .reader = RecipeReader::coco,
                   .class_names = "",
                   .subfolders = {},
                   .splits = {{"train", {"annotations/instances_train2017.json", "train2017"}, 118287},
                              {"val", {"annotations/instances_val2017.json", "val2017"}, 5000}}});
  return table;
}

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::optional<std::string> first_of(const fs::path& folder, std::string_view alternatives) {
  for (std::size_t at = 0; at <= alternatives.size();) {
    const std::size_t end = std::min(alternatives.find('|', at), alternatives.size());
    const fs::path path = folder / alternatives.substr(at, end - at);
    if (there(path)) return path.string();
    at = end + 1;
  }
  return std::nullopt;
}

const RecipeSplit& split_of(const DatasetRecipe& recipe, std::string_view name) {
  std::string all;
  for (const RecipeSplit& split : recipe.splits) {
    if (split.name == name) return split;
    all += (all.empty() ? "" : ", ") + split.name;
  }
  throw Error("[recipe] " + recipe.name + " has no split '" + std::string(name) + "' (" + all + ")", ErrorKind::usage);
}

// The files in one folder; missing ones go to `missing`, under their first name.
std::vector<std::string> look_in(const fs::path& folder, const RecipeSplit& split, std::vector<std::string>& missing) {
  std::vector<std::string> files;
  for (const std::string& names : split.files) {
    if (auto path = first_of(folder, names)) {
      files.push_back(std::move(*path));
    } else {
      missing.push_back(names.substr(0, names.find('|')));
    }
  }
  return files;
}

// The manifest's classes are numbers from 1.
AnnotatedFiles read_flowers102(const RecipeFiles& files, const std::string& split, const std::string& class_names) {
  const std::vector<std::string> names = known_class_names(class_names);
  ManifestOptions options{.usage = split, .root = files.directory};
  for (std::size_t i = 1; i <= names.size(); ++i) options.class_names.push_back(std::to_string(i));
  AnnotatedFiles found = read_manifest(files.files[0], options);
  found.class_names = names;
  return found;
}

}  // namespace

const std::vector<DatasetRecipe>& dataset_recipes() {
  static const std::vector<DatasetRecipe> table = make_table();
  return table;
}

const DatasetRecipe& dataset_recipe(std::string_view name) {
  std::vector<std::string> names;
  for (const DatasetRecipe& recipe : dataset_recipes()) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  std::string message = "[recipe] unknown data set '" + std::string(name) + "'";
  message += did_you_mean(name, names);
  message += " (known are:";
  for (const std::string& n : names) message += " " + n;
  throw Error(message + ")", ErrorKind::usage);
}

RecipeFiles find_recipe_files(const DatasetRecipe& recipe, std::string_view split, const std::string& root) {
  const RecipeSplit& wanted = split_of(recipe, split);
  if (!there(root)) throw Error("[recipe] " + recipe.name + ": there is no " + root);
  if (recipe.reader == RecipeReader::manifest) return {fs::path(root).parent_path().string(), {root}};
  std::vector<std::string> missing;
  const fs::path folder(root);
  std::vector<std::string> files = look_in(folder, wanted, missing);
  if (missing.empty()) return {root, std::move(files)};
  // The folder that holds the most of the files is the one whose missing files are reported.
  fs::path nearest = folder;
  for (const std::string& subfolder : recipe.subfolders) {
    std::vector<std::string> missing_here;
    files = look_in(folder / subfolder, wanted, missing_here);
    if (missing_here.empty()) return {(folder / subfolder).string(), std::move(files)};
    if (missing_here.size() >= missing.size()) continue;
    missing = std::move(missing_here);
    nearest = folder / subfolder;
  }
  std::string message = "[recipe] " + recipe.name + ": " + nearest.string() + " has no";
  for (std::size_t i = 0; i < missing.size(); ++i) message += (i > 0 ? ", " : " ") + missing[i];
  throw Error(message + " (split " + wanted.name + (recipe.hint.empty() ? "" : "; " + recipe.hint) + ")");
}

AnnotatedFiles read_annotated_split(const DatasetRecipe& recipe, std::string_view split, const std::string& root) {
  const RecipeFiles found = find_recipe_files(recipe, split, root);
  switch (recipe.reader) {
    case RecipeReader::flowers102: return read_flowers102(found, std::string(split), recipe.class_names);
    case RecipeReader::manifest: return read_manifest(found.files[0], {.usage = std::string(split)});
    case RecipeReader::voc: return read_voc(found.directory, std::string(split));
    case RecipeReader::coco: return read_coco(found.files[0], found.files[1]);
    default: throw Error("[recipe] " + recipe.name + " has no annotations that name files", ErrorKind::usage);
  }
}

}  // namespace ridgeline
