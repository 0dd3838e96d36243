// pipeline_golden.txt: for each pipeline its graph, the result of each pass, the hash in its states, and a digest of
// two epochs of batches. A change of any of them changes behaviour: saved graphs, states from which runs resume, or
// samples. If the text differs, the new text is written to a temporary file, which the message names.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "ridgeline/core/file.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/runtime/save.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/record/tfrecord.h"
#include "source_rules.h"
#include "tests/support/paths.h"

namespace ridgeline::data::testing {
namespace {

constexpr std::string_view kTitle = "pipeline ";

// The text below each title.
std::map<std::string, std::string> golden() {
  std::ifstream file(ridgeline::testing::source_directory() + "/tests/data/pipeline_golden.txt");
  std::map<std::string, std::string> texts;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kTitle)) name = line.substr(kTitle.size());
    if (!name.empty()) texts[name] += line + "\n";
  }
  return texts;
}

// The folder of a run is not part of a pipeline.
std::string without(std::string text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) text.replace(at, folder.size(), "DIR");
  return text;
}

// One line per node: id, kind, inputs, arguments and hints. One more line per operation.
std::vector<std::string> nodes_of(const std::string& graph) {
  nlohmann::json json = nlohmann::json::parse(graph);
  std::vector<std::string> lines;
  for (nlohmann::json& node : json["nodes"]) {
    std::string inputs;
    for (const nlohmann::json& input : node["inputs"])
      inputs += (inputs.empty() ? "" : ", ") + input.get<std::string>();
    const std::string id = node["id"].get<std::string>();
    std::string line = fmt::format("{} = {}({})", id, node["op"].get<std::string>(), inputs);
    const nlohmann::json operations = node["args"].value("operations", nlohmann::json::array());
    node["args"].erase("operations");
    if (!node["args"].empty()) line += " " + node["args"].dump();
    for (const char* key : {"id", "op", "inputs", "args"}) node.erase(key);
    if (node["hints"].empty()) node.erase("hints");
    lines.push_back(line + " " + node.dump());
    for (nlohmann::json operation : operations) {
      const std::string op = operation["op"].get<std::string>();
      operation.erase("op");
      if (operation["name"] == op) operation.erase("name");
      lines.push_back(fmt::format("{}: {} {}", id, op, operation.dump()));
    }
  }
  json.erase("nodes");
  lines.push_back(json.dump());
  return lines;
}

// The lines that are not among `others`.
std::string apart_from(const std::vector<std::string>& lines, const std::vector<std::string>& others, char mark) {
  std::string text;
  for (const std::string& line : lines) {
    if (std::find(others.begin(), others.end(), line) == others.end()) text += fmt::format("    {} {}\n", mark, line);
  }
  return text;
}

std::string text_of(const std::string& name, const Dataset& data, const std::string& folder, bool raw) {
  std::string text = fmt::format("{}{}\n", kTitle, name);
  std::vector<std::string> before = nodes_of(without(data.to_json(), folder));
  for (const std::string& line : before) text += "  " + line + "\n";
  prepare(data.graph(), raw, {"choose_workers"}, [&](const std::string& pass, const DataGraph& graph) {
    std::vector<std::string> after = nodes_of(without(to_json(graph), folder));
    if (after != before)
      text += fmt::format("  {}\n{}{}", pass, apart_from(before, after, '-'), apart_from(after, before, '+'));
    before = std::move(after);
  });
  Iterator batches(data, {.epochs = 2, .raw_images = raw, .pull = true});
  return text + fmt::format("  hash {:016x}, batches {:016x}\n\n", data.hash(), digest(batches));
}

// Files for every source, the same ones in every run.
struct SourceFiles {
  TempDir dir;
  std::string folder = write_folders(dir / "train", 2, 6);

  static std::string big_endian(std::uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  }
  static std::string jpeg(std::uint64_t seed) {
    const std::vector<std::uint8_t> bytes = image::encode_jpeg(picture(20, 24, seed), 90);
    return {bytes.begin(), bytes.end()};
  }
  std::string write(const std::string& name, const std::string& text) const {
    write_bytes(dir / name, text.data(), text.size());
    return dir / name;
  }

  std::string records() const {
    TFRecordWriter writer(dir / "records");
    for (int i = 0; i < 5; ++i) {
      ExampleBuilder example;
      example.bytes("image/encoded", jpeg(static_cast<std::uint64_t>(i))).int64s("image/class/label", i % 3);
      for (const char* side : {"ymin", "xmin", "ymax", "xmax"}) {
        const bool low = std::string_view(side).ends_with("min");
        example.floats(std::string("image/object/bbox/") + side, {low ? 0.25F : 0.75F});
      }
      writer.write(example.serialize());
    }
    writer.close();
    return dir / "records";
  }
  std::string tar() const {
    TarWriter writer(dir / "a.tar");
    for (int i = 0; i < 4; ++i) {
      const std::string key = "s" + std::to_string(i);
      writer.add(key + ".jpg", jpeg(static_cast<std::uint64_t>(i)));
      writer.add(key + ".cls", std::to_string(i % 2));
      writer.add(key + ".txt", "text " + key);
    }
    writer.finish();
    return dir / "a.tar";
  }
  std::string csv() const {
    std::string text = "file,label,score\n";
    for (int i = 0; i < 5; ++i)
      text += fmt::format("{},{},{}\n", write(fmt::format("csv/{}.jpg", i), jpeg(7 + i)), i % 2, i * 0.5);
    return write("rows.csv", text);
  }
  std::string lines() const {
    std::string text;
    for (int i = 0; i < 5; ++i)
      text += fmt::format("{{\"label\":{},\"box\":[{},{}],\"name\":\"n{}\"}}\n", i, i, i + 1, i);
    return write("rows.jsonl", text);
  }
  Dataset idx() const {
    const std::string images =
        write("images", big_endian(0x803) + big_endian(3) + big_endian(2) + big_endian(3) + "abcdefghijklmnopqr");
    return Idx(images, write("labels", big_endian(0x801) + big_endian(3) + "\x01\x02\x01"),
               {.label_base = 1, .transposed = true, .class_names = {"x", "y"}});
  }
  std::string cifar() const {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      text += static_cast<char>(i);
      for (int k = 0; k < 3072; ++k) text += static_cast<char>(i * 31 + k * 7 + k / 32);
    }
    return write("data.bin", text);
  }
};

Dataset generated(bool stream) {
  const Schema schema{{"n", DType::i64, Shape{}}};
  const auto row = [](std::int64_t i) {
    Tensor n(DType::i64, Shape{});
    n.data<std::int64_t>()[0] = i * i;
    return std::vector<Tensor>{n};
  };
  if (!stream) {
    register_generator("golden", {.schema = schema, .rows = 7, .row = row});
    return FromGenerator("golden");
  }
  const auto open = [row] {
    return
        [row, next = std::make_shared<std::int64_t>(0)] { return *next < 7 ? row((*next)++) : std::vector<Tensor>{}; };
  };
  register_stream("golden", {.schema = schema, .rows = 7, .open = open});
  return FromStream("golden");
}

std::vector<std::pair<std::string, Transform>> transforms() {
  return {{"RandomResizedCrop", RandomResizedCrop(24, {.scale = {0.2, 0.9}, .interpolation = "bicubic"})},
          {"RandomHorizontalFlip", RandomHorizontalFlip()},
          {"RandomVerticalFlip", RandomVerticalFlip()},
          {"Resize", Resize({20, 22}, {.interpolation = "lanczos"})},
          {"CenterCrop", CenterCrop({18, 40})},
          {"Crop", Crop(-1, 2, {17, 19}, {.fill = {1, 2, 3}})},
          {"RandomCrop", RandomCrop(30, {.padding = 2, .pad_if_needed = true, .fill = 9})},
          {"Rotate", Rotate(10, {.interpolation = "bilinear", .center = {{3, 4}}})},
          {"RandomRotation", RandomRotation({-5, 20}, {.fill = 7})},
          {"Affine", Affine({.angle = 10, .translate = {1, 2}, .scale = 1.1, .shear = {3, 4}})},
          {"RandomAffine", RandomAffine(10, {.translate = {{0.1, 0.1}}, .scale = {{0.8, 1.2}}, .shear = {5}})},
          {"RandomPerspective", RandomPerspective()},
          {"Pad", Pad({1, 2, 3, 4}, {.padding_mode = "reflect"})},
          {"ColorJitter", ColorJitter({.brightness = 0.3, .contrast = {0.5, 2}, .saturation = 0.3, .hue = 0.1})},
          {"AdjustBrightness", AdjustBrightness(1.2)},
          {"AdjustContrast", AdjustContrast(0.7)},
          {"AdjustSaturation", AdjustSaturation(2)},
          {"AdjustSharpness", AdjustSharpness(2)},
          {"AdjustHue", AdjustHue(0.1)},
          {"RandomSharpness", RandomSharpness({0.5, 2})},
          {"Grayscale", Grayscale(3)},
          {"RandomGrayscale", RandomGrayscale(0.5)},
          {"Invert", Invert()},
          {"RandomInvert", RandomInvert()},
          {"Posterize", Posterize(3)},
          {"RandomPosterize", RandomPosterize(4)},
          {"Solarize", Solarize(100)},
          {"RandomSolarize", RandomSolarize(120)},
          {"AutoContrast", AutoContrast()},
          {"RandomAutoContrast", RandomAutoContrast()},
          {"Equalize", Equalize()},
          {"RandomEqualize", RandomEqualize()},
          {"GaussianBlur", GaussianBlur({3, 5})},
          {"RandomErasing", RandomErasing({.p = 0.8, .noise = true})},
          {"CutOut", CutOut(4, {.num_patches = 2, .law = "mindata"})},
          {"AutoAugment", AutoAugment({.policy = "svhn"})},
          {"RandAugment", RandAugment({.num_ops = 3})},
          {"TrivialAugmentWide", TrivialAugmentWide()},
          {"Compose", Compose({Pad({1}), Invert()})},
          {"RandomApply", RandomApply({RandomInvert(), RandomRotation(5)})},
          {"RandomChoice", RandomChoice({RandomInvert(), CutOut(3)}, {1, 2})},
          {"RandomOrder", RandomOrder({RandomInvert(), GaussianBlur(3)})},
          {"Normalize", Normalize::imagenet()},
          {"Rescale", Rescale(0.5, -1)},
          {"TypeCast", TypeCast(DType::f16)},
          {"HWC2CHW", HWC2CHW()}};
}

TEST(PipelineGolden, EveryPipelineIsWhatItWas) {
  const std::map<std::string, std::string> known = golden();
  const SourceFiles files;
  std::map<std::string, std::string> seen;
  std::string all = "# pipeline_golden_test.cpp tells what this is\n\n";
  const auto look = [&](const std::string& name, const Dataset& data, bool raw = false) {
    const std::string text = text_of(name, data, files.dir.path(), raw);
    ASSERT_TRUE(seen.emplace(name, text).second) << name << " twice";
    all += text;
    const auto found = known.find(name);
    EXPECT_EQ(text, found == known.end() ? "" : found->second);
  };
  const Dataset folder = ImageFolder(files.folder).with_seed(11);
  for (const auto& [name, transform] : transforms()) look(name, folder.map(transform).batch(4, {.pad = true}));

  // Chains that passes rewrite, and the boundary to the consumer.
  const Dataset standard =
      folder.shuffle().map(RandomResizedCrop(16), RandomHorizontalFlip(), Normalize::imagenet()).batch(5);
  look("training", standard);
  look("training_raw", standard, true);
  const Dataset evaluation = folder.map(Resize(20), CenterCrop(18), Normalize::imagenet(), HWC2CHW()).batch(5);
  look("evaluation", evaluation);
  look("raw_without_map", folder.map(Resize({9, 9})).batch(4), true);
  look("small_crop", folder.map(Resize(20), CenterCrop(40), RandomHorizontalFlip()).batch(5));
  look("two_maps", folder.map(Compose({Resize({12, 12}), RandomHorizontalFlip()}))
                       .shuffle()
                       .map(RandomVerticalFlip())
                       .batch(5)
                       .skip(1));
  look("shards", folder.shuffle().shard(2, 1).map(Resize({8, 8})).batch(2, {.drop_remainder = true}));
  look("mixed",
       folder.map(Resize({8, 8})).map_columns({"label"}, {OneHot(2, 0.1)}).batch(4, {.operations = {MixUp(0.4)}}));
  look("cut", folder.map(Resize({8, 8}))
                  .map_columns({"label"}, {OneHot(2)})
                  .batch(4, {.operations = {RandomChoice({MixUp(), CutMix(0.5)})}}));
  look("joined", mix({folder.map(Resize({8, 8})), folder.map(Resize({8, 8}), Invert()).repeat(2)}, {1, 2}).batch(3));
  look("filtered", folder.filter(compare("label", "less", 1)).map(Resize({8, 8})).take(4).batch(3));
  look("bucketed", folder.map(Resize(12)).bucket("image", {16, 20}, {2, 3, 4}));

  // Sources.
  look("files", Files({files.folder + "/class_a/*.jpg"}).map(Resize({8, 8})).project({"image"}).batch(2));
  const std::string records = files.records();
  look("tfrecord", TFRecord(records).map(RandomResizedCrop(8, {.min_object_covered = 0.5})).batch(2));
  look("example", Examples({records}, {.columns = {"image/class/label"}, .label = "image/class/label"}).batch(2));
  look("tar", Tar({files.tar()}, {.fields = {"txt"}, .num_classes = 2}).map(Resize({8, 8})).batch(3));
  look("csv", Csv(files.csv(), {.manifest = {.columns = {"file", "label:i32", "score:f32"}, .image = "file"}})
                  .project({"image", "label", "score"})
                  .map(Resize({8, 8}))
                  .batch(2));
  look("json_lines", JsonLines(files.lines()).batch(2, {.pad = true}));
  look("idx", files.idx().map(Resize({4, 4})).batch(2));
  look("cifar", Cifar({files.cifar()}).map(RandomCrop(32, {.padding = 4})).batch(2));
  look("in_memory", rows_in_memory(6).map(Rescale(2)).project({"image"}).batch(4));
  look("generator", generated(false).batch(3));
  look("stream", generated(true).shuffle({.buffer = 3}).batch(3));
  look("named", NamedSet("imagenet", "train", files.dir.path()).map(Resize({8, 8})).batch(4));
  save(folder.map(Resize({6, 6})), files.dir / "rows.ridge");
  look("packed", Packed({files.dir / "rows.ridge"}).shuffle().project({"label"}).batch(4));

  for (const auto& [name, text] : known) EXPECT_TRUE(seen.contains(name)) << name << " is no pipeline of this test";
  if (!HasFailure()) return;
  const std::string now = ::testing::TempDir() + "pipeline_golden.txt";
  write_file_atomically(now, all);
  ADD_FAILURE() << "what pipelines are now: " << now << " (beside tests/data/pipeline_golden.txt)";
}

}  // namespace
}  // namespace ridgeline::data::testing
