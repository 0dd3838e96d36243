// Images in files: class folders, files by pattern, CSV and JSON-lines manifests.
#include "ridgeline/core/file.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

// Manifests next to class folders, in the order of the folders.
void write_manifests(const TempDir& dir, const Dataset& folders) {
  std::string csv = "file,label,weight\n", json;
  for (std::int64_t i = 0; i < folders.size(); ++i) {
    const Sample sample = replay(folders.batch(1), 0, static_cast<std::uint64_t>(i));
    const std::string path = sample.origin.substr(sample.origin.find("] ") + 2);
    const std::string name = path.substr(dir.path().size() + 1);
    const auto label = std::to_string(static_cast<int>(sample.column("label").at(0)));
    csv += name + "," + label + ",0.1\r\n";
    json += R"({"file":")" + name + R"(","label":)" + label + R"(,"box":[)" + label + ",1.5]}\n";
  }
  write_text(dir / "rows.csv", csv);
  write_text(dir / "rows.jsonl", json);
}

TEST(ManifestSources, FilesCsvAndJsonLinesGiveTheImagesOfTheFolders) {
  const TempDir dir;
  const Dataset folders = ImageFolder(write_folders(dir / "train", 3, 4));
  write_manifests(dir, folders);
  const Dataset csv =
      Csv(dir / "rows.csv",
          {.manifest = {.columns = {"file", "label:i32", "weight:f64"}, .image = "file", .num_classes = 3}});
  const Dataset json = JsonLines(dir / "rows.jsonl", {.columns = {"label:i32", "file", "box:f32[]"}, .image = "file"});
  const Dataset files = Files({dir / "train/*/*.jpg"});
  for (const Dataset& source : {folders, csv, json, files}) expect_rules(source, 12);

  const std::uint64_t expected = digest(rows_of(folders), {"image", "label"});
  EXPECT_EQ(digest(rows_of(csv), {"image", "label"}), expected);
  EXPECT_EQ(digest(rows_of(json), {"image", "label"}), expected);
  EXPECT_EQ(digest(rows_of(files), {"image"}), digest(rows_of(folders), {"image"}));
  EXPECT_EQ(rows_of(csv)[3].at("weight").data<double>()[0], 0.1);
  EXPECT_EQ(rows_of(json)[11].at("box").data<float>()[1], 1.5f);
  EXPECT_EQ(text_of(rows_of(files)[1], "path"), dir / "train/class_a/101.jpg");
  EXPECT_EQ(to_string(csv.columns()), to_string(Schema{{"image", DType::bytes, Shape{}},
                                                       {"file", DType::bytes, Shape{}},
                                                       {"label", DType::i32, Shape{}},
                                                       {"weight", DType::f64, Shape{}}}));

  // Their images go through transforms like those of folders.
  Iterator a(folders.map(RandomResizedCrop(16)).batch(4), {.pull = true});
  Iterator b(csv.map(RandomResizedCrop(16)).project({"image", "label"}).batch(4), {.pull = true});
  const auto first = a.next(), second = b.next();
  EXPECT_EQ(digest(first->image()), digest(second->image()));
}

TEST(ManifestSources, UndeclaredColumnsAreFoundInTheFile) {
  const TempDir dir;
  write_text(dir / "a.csv", "x;label\n1;\"a;b\"\n2;\"say \"\"so\"\"\"\n");
  const std::vector<Row> csv = rows_of(Csv(dir / "a.csv", {.delimiter = ';'}));
  EXPECT_EQ(text_of(csv[0], "label"), "a;b");
  EXPECT_EQ(text_of(csv[1], "label"), "say \"so\"");
  EXPECT_EQ(text_of(csv[1], "x"), "2");
  const Dataset bare = Csv(dir / "a.csv", {.manifest = {.columns = {"p", "q"}}, .delimiter = ';', .header = false});
  EXPECT_EQ(text_of(rows_of(bare)[0], "p"), "x");

  write_text(dir / "a.jsonl",
             "{\"words\":[\"a\"],\"name\":\"n\",\"label\":2,\"real\":1.5}\n"
             "{\"words\":[],\"name\":\"m\",\"label\":-1,\"real\":3,\"more\":null}\n");
  const Dataset json = JsonLines(dir / "a.jsonl");
  EXPECT_EQ(to_string(json.columns()),
            to_string(Schema{
                {"name", DType::bytes, Shape{}}, {"label", DType::i64, Shape{}}, {"real", DType::f32, Shape{}}}));
  EXPECT_EQ(number_of(rows_of(json)[1], "label"), -1);
  EXPECT_EQ(rows_of(json)[1].at("real").at(0), 3);
  EXPECT_EQ(source_of(json.graph().output()).label_of(0), 2);
  EXPECT_ERROR(JsonLines(dir / "a.jsonl", {.columns = {"name"}, .num_classes = 3}), "num_classes needs a column label");
}

// As pandas writes the index, and with colons.
TEST(ManifestSources, NamesInAHeaderAreNoDeclarations) {
  const TempDir dir;
  write_text(dir / "a.csv", ",time:start,label:i32\n0,1.5,cat\n1,2.5,dog\n");
  const Dataset all = Csv(dir / "a.csv");
  EXPECT_EQ(to_string(all.columns()), to_string(Schema{{"", DType::bytes, Shape{}},
                                                       {"time:start", DType::bytes, Shape{}},
                                                       {"label:i32", DType::bytes, Shape{}}}));
  expect_rules(all, 2);
  EXPECT_EQ(text_of(rows_of(all)[1], "label:i32"), "dog");
  EXPECT_EQ(text_of(rows_of(all)[1], ""), "1");
  const Dataset declared = Csv(dir / "a.csv", {.manifest = {.columns = {"time:start:f32", "label:i32:bytes"}}});
  EXPECT_EQ(rows_of(declared)[0].at("time:start").at(0), 1.5);
  EXPECT_EQ(text_of(rows_of(declared)[0], "label:i32"), "cat");
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {":i32"}}}), "[csv] column ':i32' is not NAME:TYPE");
}

TEST(ManifestSources, ABadRowIsTheErrorOfItsOwnRow) {
  const TempDir dir;
  write_text(dir / "a.csv", "file,label\na.jpg,1\nb.jpg,2\nc.jpg,cat\nd.jpg,4\n");
  EXPECT_EQ(run_error(Csv(dir / "a.csv", {.manifest = {.columns = {"label:i32"}}}), 2),
            "[csv] " + (dir / "a.csv") + ": row 2, line 4, column 'label': 'cat' is no integer of 64 bits");
  EXPECT_EQ(run_error(Csv(dir / "a.csv", {.manifest = {.columns = {"label:i32"}, .num_classes = 2}}), 1),
            "[csv] " + (dir / "a.csv") + ": row 1, line 3: label 2 is outside the 2 classes");
  write_text(dir / "a.jpg", "x");
  const std::string missing = run_error(Csv(dir / "a.csv", {.manifest = {.columns = {"file"}, .image = "file"}}), 1);
  EXPECT_EQ(missing, "[csv] " + (dir / "a.csv") + ": row 1, line 3: cannot open " + (dir / "b.jpg") +
                         ": No such file or directory");

  write_text(dir / "a.jsonl", "{\"n\":1}\n\n{\"n\":3000000000}\n{\"n\":\"x\"}\n");
  EXPECT_EQ(run_error(JsonLines(dir / "a.jsonl", {.columns = {"n:i32"}}), 1),
            "[json_lines] " + (dir / "a.jsonl") + ": row 1, line 3: column 'n': 3000000000 does not fit i32");
  EXPECT_EQ(run_error(JsonLines(dir / "a.jsonl", {.columns = {"n:i64"}}), 2),
            "[json_rows] " + (dir / "a.jsonl") + ": row 2, line 4: key 'n' is text, an integer is wanted");
  write_text(dir / "b.jsonl", "{\"n\":1e300}\n");
  EXPECT_EQ(run_error(JsonLines(dir / "b.jsonl", {.columns = {"n:f32"}}), 0),
            "[json_lines] " + (dir / "b.jsonl") + ": row 0, line 1: column 'n': 1e+300 does not fit f32");

  const Dataset files = Files({dir / "*.jpg"});
  EXPECT_EQ(files.size(), 1);
  std::filesystem::remove(dir / "a.jpg");
  EXPECT_EQ(run_error(files, 0),
            "[files] " + (dir / "a.jpg") + ": cannot open " + (dir / "a.jpg") + ": No such file or directory");
}

// For samplers that choose by class.
TEST(ManifestSources, LabelsAreReadWithoutTheImages) {
  const TempDir dir;
  write_text(dir / "a.csv", "file,label\nno.jpg,1\nno.jpg,0\nno.jpg,1\n");
  write_text(dir / "a.jsonl", "{\"file\":\"no.jpg\",\"label\":1}\n{\"file\":\"no.jpg\",\"label\":0}\n");
  const ManifestOptions options{.columns = {"file", "label:i32"}, .image = "file", .num_classes = 2};
  const auto sum = [](const Dataset& data) {
    const Source& source = source_of(data.graph().output());
    std::int64_t all = 0;
    for (std::uint64_t i = 0; i < source.size(); ++i) all += read_label(source, i);
    return all;
  };
  EXPECT_EQ(sum(Csv(dir / "a.csv", {.manifest = options})), 2);
  EXPECT_EQ(sum(JsonLines(dir / "a.jsonl", options)), 1);
  write_text(dir / "b.csv", "file,label\nno.jpg,1\nno.jpg,2\n");
  write_text(dir / "b.jsonl", "{\"file\":\"no.jpg\",\"label\":3}\n");
  EXPECT_ERROR(sum(Csv(dir / "b.csv", {.manifest = options})),
               "[csv] " + (dir / "b.csv") + ": row 1, line 3: label 2 is outside the 2 classes");
  EXPECT_ERROR(sum(JsonLines(dir / "b.jsonl", options)),
               "[json_lines] " + (dir / "b.jsonl") + ": row 0, line 1: label 3 is outside the 2 classes");
  EXPECT_ERROR(sum(Files({dir / "a.csv"})), "[files] " + (dir / "a.csv") + ": the source has no labels");
}

TEST(ManifestSources, ContradictionsAreErrorsAtTheCall) {
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {"a:i16"}}}), "[csv] column 'a:i16' is not NAME:TYPE");
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {"a:i32[]"}}}), "a field holds one value, no list");
  EXPECT_ERROR(Csv("absent", {.header = false}), "a file without a header needs columns");
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {"a"}, .image = "b"}}), "image is 'b', which is no column");
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {"a", "a"}}}), "there are two columns 'a'");
  EXPECT_ERROR(Csv("absent", {.manifest = {.columns = {"a"}, .num_classes = 2}}), "num_classes needs a column label");
  EXPECT_ERROR(JsonLines("absent", {.columns = {"label:f32"}, .num_classes = 2}), "num_classes needs a column label");
  EXPECT_ERROR(JsonLines("absent", {.columns = {"label:i32"}, .num_classes = -2}), "num_classes is -2");
}

TEST(ManifestSources, FingerprintsFollowManifestsAndImages) {
  const TempDir dir;
  write_manifests(dir, ImageFolder(write_folders(dir / "train", 1, 3)));
  const auto csv = [&] { return Csv(dir / "rows.csv", {.manifest = {.columns = {"file"}, .image = "file"}}); };
  const auto json = [&] { return JsonLines(dir / "rows.jsonl", {.columns = {"file"}, .image = "file"}); };
  const auto files = [&] { return Files({dir / "train/*/*.jpg"}); };
  const auto folders = [&] { return ImageFolder(dir / "train"); };
  const std::string picture = dir / "train/class_a/101.jpg";
  expect_fingerprint_follows(csv, [&] { touch(picture); });
  expect_fingerprint_follows(json, [&] { touch(picture); });
  expect_fingerprint_follows(files, [&] { touch(picture); });
  expect_fingerprint_follows(folders, [&] { touch(picture); });
  expect_fingerprint_follows(json, [&] { touch(dir / "rows.jsonl"); });
  expect_fingerprint_follows(csv, [&] { touch(dir / "rows.csv"); });
  expect_fingerprint_follows(csv, [&] { write_text(dir / "rows.csv", "file\n"); });
}

TEST(ImageFolderClasses, LabelsOfTheUsersOwnMayLeaveGaps) {
  const TempDir dir;
  write_folders(dir / "train", 3, 2);
  const Dataset all = ImageFolder(dir / "train");
  EXPECT_EQ(all.num_classes(), 3);
  EXPECT_EQ(all.class_names(), (std::vector<std::string>{"class_a", "class_b", "class_c"}));
  EXPECT_EQ(all.class_indexing()[2], (std::pair<std::string, std::int64_t>{"class_c", 2}));
  const Dataset some = ImageFolder(dir / "train", {.classes = {"class_c", "class_a"}, .labels = {7, 3}});
  EXPECT_EQ(some.num_classes(), 8);
  EXPECT_TRUE(some.class_names().empty());
  EXPECT_EQ(some.class_indexing(), (std::vector<std::pair<std::string, std::int64_t>>{{"class_a", 3}, {"class_c", 7}}));
  const std::vector<Row> rows = rows_of(some);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(number_of(rows[0], "label"), 7);
  EXPECT_EQ(number_of(rows[3], "label"), 3);
  EXPECT_EQ(source_of(some.graph().output()).class_indexing(), some.class_indexing());
  EXPECT_EQ(ImageFolder(dir / "train", {.classes = {"class_c", "class_a"}}).class_names(),
            (std::vector<std::string>{"class_c", "class_a"}));
  EXPECT_ERROR(ImageFolder(dir / "train", {.classes = {"class_a"}, .labels = {-1}}), "label -1 is no i32 from 0 on");
  EXPECT_ERROR(ImageFolder(dir / "train", {.classes = {"clas_a"}}).size(), "did you mean 'class_a'?");
}

}  // namespace
}  // namespace ridgeline::data::testing
