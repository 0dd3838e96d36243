// Mutated files of every format, read by the command that reads them: an error is right; a signal, a hang, an
// unexpected exception or using all memory is not.
#include <gtest/gtest.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>

#include <jpeglib.h>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/data/set/coco.h"
#include "ridgeline/data/set/manifest.h"
#include "ridgeline/data/set/voc.h"
#include "ridgeline/data/standard/standard_pipeline.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/image/png/png.h"
#include "tests/cli/fuzz.h"
#include "tests/infer/support.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using Input = testing::FuzzInput;
using testing::put;
using testing::run_command;
using testing::to;
using testing::try_inputs;

image::Image picture(int side) {
  image::Image image(side, side, 3);
  for (std::size_t i = 0; i < image.byte_size(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * 7 + i / 90);
  return image;
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string jpeg(bool progressive, bool arithmetic) {
  const image::Image image = picture(45);
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = info.image_height = 45;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  info.arith_code = arithmetic ? TRUE : FALSE;
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < 45; ++y) {
    auto* row = const_cast<JSAMPLE*>(image.row(y));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

std::string example_of(const std::string& image) {
  return ExampleBuilder()
      .bytes("image/encoded", image)
      .int64s("image/class/label", 1)
      .floats("image/object/bbox/ymin", {0.1f})
      .floats("image/object/bbox/xmin", {0.1f})
      .floats("image/object/bbox/ymax", {0.9f})
      .floats("image/object/bbox/xmax", {0.8f})
      .serialize();
}

std::string records_of(const std::vector<std::string>& payloads, Compression compression = Compression::none) {
  const std::string path = testing::temporary_directory() + "/sample.records";
  TFRecordWriter writer(path, compression);
  for (const std::string& payload : payloads) writer.write(payload);
  writer.close();
  return read_file(path);
}

// Images and records, inspected and read as in a training. The folder is "set".
int read_set() {
  return run_command({"dataset", "inspect", "--data_dir=set", "--deep", "--workers=1"}) +
         run_command({"dataset", "bench", "--data_dir=set", "--image_size=16", "--batch_size=1", "--warmup=0", "--pull",
                      "--bad_samples=skip"});
}

// A graph that reads files next to it.
std::function<int()> reads(const std::function<data::Dataset()>& open) {
  return [open] {
    put("graph.json", open().batch(1).to_json());
    return run_command({"dataset", "bench", "--graph=graph.json", "--warmup=0", "--pull", "--bad_samples=skip"});
  };
}

std::string big_endian(std::uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

// Corrects the checksums of the chunks, as far as there are chunks.
std::string with_png_checksums(std::string bytes) {
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    std::uint32_t length = 0;
    for (int i = 0; i < 4; ++i)
      length = length << 8 | static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)]);
    if (length > bytes.size() - at - 12) break;
    const auto* chunk = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    bytes.replace(at + 8 + length, 4, big_endian(static_cast<std::uint32_t>(::crc32(0, chunk, 4 + length))));
    at += 12 + std::size_t{length};
  }
  return bytes;
}

std::string webp(bool lossless) {
  const image::Image image = picture(40);
  std::uint8_t* out = nullptr;
  const std::size_t size = lossless ? WebPEncodeLosslessRGB(image.data(), 40, 40, 120, &out)
                                    : WebPEncodeRGB(image.data(), 40, 40, 120, 80, &out);
  std::string bytes(reinterpret_cast<const char*>(out), size);
  WebPFree(out);
  return bytes;
}

// 16x16 pixels of 8 bits with a palette, rows as one run each or uncompressed.
std::string bmp(bool runs) {
  const auto n = [](std::uint32_t value) {
    const std::string big = big_endian(value);
    return std::string(big.rbegin(), big.rend());
  };
  std::string palette, pixels;
  for (int i = 0; i < 256; ++i)
    palette += {static_cast<char>(i), static_cast<char>(3 * i), static_cast<char>(i / 2), '\0'};
  for (int y = 0; y < 16; ++y)
    pixels += runs ? std::string("\x10") + static_cast<char>(y) + std::string(2, '\0')
                   : std::string(16, static_cast<char>(9 * y));
  if (runs) pixels += std::string("\0\1", 2);
  return "BM" + n(0) + n(0) + n(14 + 40 + 1024) + n(40) + n(16) + n(16) + std::string("\1\0\x08\0", 4) +
         n(runs ? 1 : 0) + n(0) + n(2835) + n(2835) + n(0) + n(0) + palette + pixels;
}

std::vector<Input> pictures() {
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>{"baseline JPEG", jpeg(false, false)},
                                    {"progressive JPEG", jpeg(true, false)},
                                    {"arithmetic JPEG", jpeg(false, true)},
                                    {"arithmetic progressive JPEG", jpeg(true, true)}})
    inputs.push_back({name, bytes, to("set/c/x.jpg"), read_set});
  const std::string png = text_of(image::encode_png(picture(40)));
  inputs.push_back({"PNG", png, to("set/c/x.png"), read_set});
  inputs.push_back({"PNG with right checksums", png,
                    [](const std::string& bytes) { put("set/c/x.png", with_png_checksums(bytes)); }, read_set});
  // Any extension will do: formats are recognised by content.
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>{"lossy WebP", webp(false)},
                                    {"lossless WebP", webp(true)},
                                    {"BMP", bmp(false)},
                                    {"BMP in runs", bmp(true)}})
    inputs.push_back({name, bytes, to("set/c/x.png"), read_set});
  return inputs;
}

std::vector<Input> records() {
  const std::string image = text_of(image::encode_png(picture(20))), example = example_of(image);
  std::vector<Input> inputs{
      {"TFRecord", records_of({example, example, example}), to("set/train-0"), read_set},
      {"TFRecord in gzip", records_of({example, example}, Compression::gzip), to("set/train-0"), read_set},
      {"Example", example, [](const std::string& bytes) { put("set/train-0", records_of({bytes})); }, read_set},
      {"typed Example", example, [](const std::string& bytes) { put("records", records_of({bytes})); },
       reads([] { return data::Examples({"records"}); })}};
  const std::string schema = R"({"numRows":1,"columns":{"image/class/label":{"type":"int64","rank":1,"shape":[1]}}})";
  inputs.push_back({"schema of Examples", schema,
                    [example](const std::string& bytes) {
                      put("schema.json", bytes);
                      put("records", records_of({example}));
                    },
                    reads([] { return data::Examples({"records"}, {.schema = "schema.json"}); })});
  return inputs;
}

std::vector<Input> data_sets() {
  const std::string folder = testing::temporary_directory();
  const std::string image = text_of(image::encode_png(picture(12)));
  std::vector<Input> inputs;
  PackedWriter packed(folder + "/p.ridge", {{{"image", DType::bytes, {}}, {"label", DType::i32, {}}}, {"c", "d"}});
  for (std::int32_t label : {0, 1}) {
    const std::string bytes(reinterpret_cast<const char*>(&label), 4);
    const auto value = [](const std::string& text) {
      return PackedValue{{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, {}};
    };
    packed.add(std::array<PackedValue, 2>{value(image), value(bytes)});
  }
  packed.finish();
  inputs.push_back({"packed file", read_file(folder + "/p.ridge"), to("set/all.ridge"), read_set});

  TarWriter tar(folder + "/t.tar");
  for (const char* key : {"a", "b"}) {
    tar.add(std::string(key) + ".png", image);
    tar.add(std::string(key) + ".cls", "1");
  }
  tar.add(std::string(150, 'n') + ".png", image);
  tar.finish();
  inputs.push_back(
      {"tar archive", read_file(folder + "/t.tar"), to("t.tar"), reads([] { return data::Tar({"t.tar"}); })});

  inputs.push_back({"CIFAR", std::string(2 * 3073, '\3'), to("c.bin"), reads([] { return data::Cifar({"c.bin"}); })});
  const std::string idx =
      std::string("\0\0\x08\3", 4) + big_endian(2) + big_endian(5) + big_endian(5) + std::string(50, 'x');
  inputs.push_back({"idx", idx,
                    [](const std::string& bytes) {
                      put("images", bytes);
                      put("labels", std::string("\0\0\x08\1\0\0\0\2\1\0", 10));
                    },
                    reads([] { return data::Idx("images", "labels"); })});
  inputs.push_back({"CSV", "file,label,x\n\"x.png\",1,0.5\r\n\"a \"\"b\"\"\",2,-3e4\nx.png,0,7\n",
                    [image](const std::string& bytes) {
                      put("x.png", image);
                      put("m.csv", bytes);
                    },
                    reads([] {
                      return data::Csv("m.csv",
                                       {.manifest = {.columns = {"file", "label:i32", "x:f32"}, .image = "file"}});
                    })});
  inputs.push_back({"JSON lines",
                    R"({"file":"x.png","label":3,"t":2.5})"
                    "\n"
                    R"({"file":"\u00e4.png","label":0,"t":7})"
                    "\n",
                    to("m.jsonl"),
                    reads([] { return data::JsonLines("m.jsonl", {.columns = {"file", "label:i32", "t:f32"}}); })});
  return inputs;
}

std::vector<Input> annotations() {
  std::vector<Input> inputs;
  inputs.push_back(
      {"VOC annotation",
       "<?xml version=\"1.0\"?><annotation><size><width>40</width><height>30</height><depth>3</depth></size>"
       "<object><name>cat</name><difficult>0</difficult><bndbox><xmin>2</xmin><ymin>3</ymin><xmax>20</xmax>"
       "<ymax>25</ymax></bndbox></object><!-- &amp; --></annotation>",
       to("a.xml"), [] { return parse_voc_annotation(read_file("a.xml"), {"cat"}, "[voc] a.xml:"), 0; }});
  inputs.push_back(
      {"COCO annotations",
       R"({"images":[{"id":1,"file_name":"1.jpg","width":40,"height":30}],"categories":[{"id":7,"name":"cat"}],)"
       R"("annotations":[{"id":1,"image_id":1,"category_id":7,"bbox":[1,2,3.5,4],"iscrowd":0}]})",
       to("c.json"), [] { return read_coco("c.json", "images"), 0; }});
  inputs.push_back({"manifest",
                    R"({"source":"a/1.jpg","usage":"TRAIN","annotation":[{"name":"cat"}]})"
                    "\n",
                    to("m.manifest"), [] { return read_manifest("m.manifest"), 0; }});
  inputs.push_back(
      {"class names", "cat\ndog\nbird\n", to("names.txt"), [] { return read_class_names("names.txt", 3), 0; }});
  return inputs;
}

std::vector<Input> graphs() {
  const auto pipeline = [](const data::Dataset& source) {
    return source.map(data::RandomResizedCrop(16), data::RandomHorizontalFlip(), data::Normalize::imagenet())
        .batch(2, {.drop_remainder = true});
  };
  const data::Dataset source = data::ImageFolder("set", {.recursive = false});
  const data::Dataset dataset = pipeline(source.shuffle()), tree = pipeline(source);
  const auto show = [](const char* form) {
    return [form] {
      return run_command({"dataset", "show", "--graph=graph.json", "--svg=graph.svg"}) +
             run_command({"dataset", "show", "--graph=graph.json", form}) +
             run_command({"dataset", "bench", "--graph=graph.json", "--warmup=0", "--pull", "--bad_samples=skip"});
    };
  };
  const auto beside = [](const std::string& bytes) {
    put("set/c/x.png", text_of(image::encode_png(picture(20))));
    put("set/c/y.png", text_of(image::encode_png(picture(20))));
    put("graph.json", bytes);
  };
  std::vector<Input> inputs{
      {"data graph", dataset.to_json(1), beside, show("--json")},
      {"MindData tree", data::to_minddata_json(tree.graph(), 1, {.pixels = data::MindDataPixels::pillow}), beside,
       show("--minddata")}};
  Tensor numbers(DType::i32, Shape{4});
  std::fill_n(numbers.data<std::int32_t>(), 4, 7);
  const auto iterator = [numbers] { return data::Iterator(data::InMemory({{"x", numbers}}).batch(2), {.pull = true}); };
  inputs.push_back({"state of an iterator", iterator().state().to_json(), to("state.json"), [iterator] {
                      data::Iterator it = iterator();
                      it.restore("state.json");
                      return it.next(), 0;
                    }});
  const auto step = [] {
    return run_command({"graph", "show", "g.rdg", "--format=svg"}) +
           run_command({"graph", "show", "g.rdg", "--format=ir"}) +
           run_command({"graph", "show", "g.rdg", "--format=let", "--after"}) +
           run_command({"graph", "show", "g.rdg", "--json"}) + run_command({"graph", "run", "g.rdg", "--json"});
  };
  const std::string graph = read_file(testing::source_directory() + "/tests/graphs/fuse_relu_dropout.rdg");
  inputs.push_back({"step graph", graph.substr(0, graph.find("# expect")), to("g.rdg"), step});
  const std::string calls = read_file(testing::source_directory() + "/tests/graphs/inline_nested.rdg");
  inputs.push_back({"step graph with functions", calls.substr(0, calls.find("# expect")), to("g.rdg"), step});
  inputs.push_back({"convolutions", R"(graph @g(%x: f32[2,8,8,4], %w: param f32[8,3,3,4], %labels: i32[2]) {
  %0 = conv2d(%x, %w) {stride=[2,1], pad=[1,1,1,1]} : f32[2,4,8,8]
  %1 = avg_pool(%0) {kernel=[2,2], stride=[2,2]} : f32[2,2,4,8]
  %2 = flatten(%1) {order="chw"} : f32[2,64]
  %3, %4 = softmax_cross_entropy(%2, %labels) : f32[2], f32[2,64]
  %5, %6 = loop(%4) { x0; sum(x0 * 2) } : f32[2,64], f32[]
  return %3, %5, %6
}
)",
                    to("g.rdg"), step});
  return inputs;
}

std::vector<Input> results() {
  const std::string folder = testing::temporary_directory();
  write_safetensors(folder + "/s", {{"a.weight", Tensor(DType::f32, Shape{3, 4})}, {"b", Tensor(DType::i64, Shape{})}},
                    {{"step", "7"}});
  fs::remove(folder + "/events");
  {
    EventFileWriter events(folder + "/events", 1.0);
    events.add(1, 1.5, "loss", 0.5f);
    events.add(2, 2.5, "loss", 0.25f);
  }
  return {{"safetensors", read_file(folder + "/s"), to("s.safetensors"),
           [] { return run_command({"info", "s.safetensors"}); }},
          {"event file", read_file(folder + "/events"), to("events"), [] { return read_event_file("events"), 0; }},
          {"metrics", "{\"kind\":\"step\",\"loss\":0.5,\"step\":1}\n{\"kind\":\"step\",\"loss\":\"NaN\",\"step\":2}\n",
           to("metrics.jsonl"), [] { return read_json_lines("metrics.jsonl"), 0; }}};
}

// A model file with a mutated graph and correct checksums.
std::vector<Input> models() {
  const infer::Model model = infer::drawn_model("linear", 3, 4);
  const auto written = [model](const std::string& graph) {
    PackedSchema schema{.columns = {{"__graph__", DType::bytes, {}}}, .class_names = {"a", "b", "c"}};
    std::vector<PackedValue> values = {{as_bytes(graph)}};
    for (const NamedTensor& t : model.tensors) {
      schema.columns.push_back({t.name, t.tensor.dtype(), t.tensor.shape()});
      values.push_back({{static_cast<const std::uint8_t*>(t.tensor.raw()), t.tensor.byte_size()}});
    }
    put("x.png", text_of(image::encode_png(picture(20))));
    PackedWriter writer(
        "m.rdgm", schema,
        R"({"ridgeline_model":1,"name":"x","preprocessing":{"rule":"short_side","resize":5,"crop":4}})");
    writer.add(0, values);
    writer.finish(1);
  };
  return {{"graph of a model", to_text(model.graph, {.locations = false}), written,
           [] { return run_command({"predict", "m.rdgm", "x.png", "--format=json"}); }}};
}

TEST(FuzzInputs, Pictures) { try_inputs(pictures()); }
TEST(FuzzInputs, Records) { try_inputs(records()); }
TEST(FuzzInputs, DataSets) { try_inputs(data_sets()); }
TEST(FuzzInputs, Annotations) { try_inputs(annotations()); }
TEST(FuzzInputs, Graphs) { try_inputs(graphs()); }
TEST(FuzzInputs, Models) { try_inputs(models()); }
TEST(FuzzInputs, Results) { try_inputs(results()); }

}  // namespace
}  // namespace ridgeline
