// Classes given by name: in a column of a manifest, a member of a JSON object or the folder of a sample in an archive;
// and a column called image that has file names.
#include "ridgeline/format/record/tar.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

std::vector<std::int64_t> labels_of(const Dataset& source) {
  std::vector<std::int64_t> labels;
  for (const Row& row : rows_of(source)) labels.push_back(number_of(row, "label"));
  return labels;
}

std::string reason_of(const Dataset& source) {
  return error_of([&] { rows_of(source); });
}

std::size_t one_of_each(const Dataset& source) {
  Iterator rows(source.sample(PKSampler(1, {.classes = 3, .shuffle = false})).batch(1, {.pad = true}), {.pull = true});
  return digests(rows).size();
}

using Labels = std::vector<std::int64_t>;

TEST(ClassNamesOfRows, AColumnOfAManifestMayNameTheClass) {
  const TempDir dir;
  write_text(dir / "a.csv", "file,label\na,owl\nb,cat\nc,dog\nd,cat\n");
  write_text(dir / "a.jsonl", "{\"label\":\"owl\"}\n{\"label\":\"cat\"}\n{\"label\":\"dog\"}\n{\"label\":\"cat\"}\n");
  const std::vector<std::string> sorted{"cat", "dog", "owl"};
  for (const Dataset& source : {Csv(dir / "a.csv", {.manifest = {.columns = {"file", "label:class"}}}),
                                JsonLines(dir / "a.jsonl", {.columns = {"label:class"}})}) {
    EXPECT_EQ(labels_of(source), (Labels{2, 0, 1, 0}));
    EXPECT_EQ(source.class_names(), sorted);
    EXPECT_EQ(source.num_classes(), 3);
    EXPECT_EQ(source.batch(4).columns()[source.columns().size() - 1].dtype, DType::i32);
    expect_rules(source, 4);
    EXPECT_EQ(one_of_each(source), 3u);  // the labels without that row
  }
  const ManifestOptions given{.columns = {"label:class"}, .class_names = {"owl", "dog", "cat"}};
  EXPECT_EQ(labels_of(Csv(dir / "a.csv", {.manifest = given})), (Labels{0, 2, 1, 2}));
  EXPECT_EQ(labels_of(JsonLines(dir / "a.jsonl", given)), (Labels{0, 2, 1, 2}));
  const ManifestOptions short_of{.columns = {"label:class"}, .class_names = {"owl", "dogs"}};
  EXPECT_NE(reason_of(Csv(dir / "a.csv", {.manifest = short_of})).find("column 'label': 'cat' is no class"),
            std::string::npos);
  EXPECT_ERROR(Csv(dir / "a.csv", {.manifest = {.columns = {"file:class", "label:class"}}}), "both name classes");
  EXPECT_ERROR(Csv(dir / "a.csv", {.manifest = {.columns = {"label"}, .class_names = {"cat"}}}),
               "class_names needs a column of type class");
}

TEST(ClassNamesOfRows, AColumnCalledImageNamesTheFile) {
  const TempDir dir;
  write_folders(dir / "train", 2, 3);
  std::string csv = "image,label\n", json;
  for (const char* place : {"class_b/100", "class_a/102", "class_b/101"}) {
    const std::string path = std::string("train/") + place + ".jpg", name(place, 7);
    csv += path + "," + name + "\n";
    json += "{\"image\":\"" + path + "\",\"label\":\"" + name + "\"}\n";
  }
  write_text(dir / "a.csv", csv);
  write_text(dir / "a.jsonl", json);
  const std::vector<Row> folders = rows_of(ImageFolder(dir / "train"));
  const std::vector<Row> expected{folders[3], folders[2], folders[4]};
  const ManifestOptions options{.columns = {"image", "label:class"}, .image = "image"};
  for (const Dataset& source : {Csv(dir / "a.csv", {.manifest = options}), JsonLines(dir / "a.jsonl", options)}) {
    EXPECT_EQ(to_string(source.columns()),
              to_string(Schema{{"image", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}}));
    EXPECT_EQ(digest(rows_of(source), {"image", "label"}), digest(expected, {"image", "label"}));
    expect_rules(source, 3);
  }
  const Dataset undeclared = Csv(dir / "a.csv", {.manifest = {.image = "image"}});
  EXPECT_EQ(text_of(rows_of(undeclared)[1], "label"), "class_a");
  EXPECT_EQ(digest(rows_of(undeclared), {"image"}), digest(expected, {"image"}));
}

TEST(ClassNamesOfRows, AnArchivesLabelsComeFromJsonOrTheFolder) {
  const TempDir dir;
  TarWriter tar(dir / "a.tar");
  int row = 0;
  for (const char* name : {"owl", "cat", "dog", "cat"}) {
    const std::string key = std::string("x/") + name + "/" + std::to_string(row++);
    tar.add(key + ".jpg", "picture");
    tar.add(key + ".json", std::string("{\"name\": \"") + name + "\", \"label\": " + std::to_string(row) + "}");
  }
  tar.finish();
  const std::vector<std::string> files{dir / "a.tar"}, sorted{"cat", "dog", "owl"};
  const Dataset folder = Tar(files, {.label = "/"});
  EXPECT_EQ(labels_of(folder), (Labels{2, 0, 1, 0}));
  EXPECT_EQ(folder.class_names(), sorted);
  EXPECT_EQ(labels_of(Tar(files, {.label = "json:label"})), (Labels{1, 2, 3, 4}));
  const Dataset named = Tar(files, {.label = "json:name", .class_names = sorted});
  EXPECT_EQ(labels_of(named), (Labels{2, 0, 1, 0}));
  EXPECT_EQ(named.num_classes(), 3);
  for (const Dataset& source : {folder, named}) {
    expect_rules(source, 4);
    EXPECT_EQ(one_of_each(source), 3u);
  }
}

TEST(ClassNamesOfRows, AnArchivesErrorsListWhatIsThere) {
  const TempDir dir;
  TarWriter tar(dir / "a.tar");
  tar.add("0.tiff", "picture");
  tar.add("0.json", R"({"name": "cat", "ids": [1]})");
  tar.finish();
  const std::vector<std::string> files{dir / "a.tar"};
  const auto says = [&](TarOptions options, const std::string& text) {
    const std::string reason = reason_of(Tar(files, std::move(options)));
    EXPECT_NE(reason.find(text), std::string::npos) << reason;
  };
  says({.label = ""}, "none of its fields is an image (looked for jpg, jpeg, ");
  says({.label = ""}, "it has tiff, json)");
  says({.image = {}}, "has no field 'cls' (it has: tiff json); label= names the field of the class, FIELD:KEY");
  says({.image = {}, .label = "json:class"}, "field 'json' has no member 'class' (it has: name, ids)");
  says({.image = {}, .label = "json:ids"}, "member 'ids' of field 'json' is of kind array, which is no class");
  says({.image = {}, .label = "json:name"}, "holds 'cat', which is no class (class_names= tells the names");
  EXPECT_ERROR(Tar(files, {.label = ":x"}), "label is ':x' (allowed: a field, FIELD:KEY");
}

}  // namespace
}  // namespace ridgeline::data::testing
