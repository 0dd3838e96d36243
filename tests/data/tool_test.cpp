// The tools: standard pipelines, bench, preview, pack. Data directories and inspection have test files of their own.
#include <algorithm>
#include <atomic>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/standard_pipeline.h"
#include "ridgeline/data/tool/bench.h"
#include "ridgeline/data/tool/caption.h"
#include "ridgeline/data/tool/pack.h"
#include "ridgeline/data/tool/preview.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data::testing {
namespace {

using Names = std::vector<std::string>;

TEST(StandardPipeline, IsTheGraphThatTheCallsOfTheApiMake) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "plain", 2, 4);
  const Dataset source = ImageFolder(folder);
  EXPECT_EQ(training_pipeline(open_source(folder), {.image_size = 32, .batch_size = 4, .seed = 9}).to_json(),
            source.with_seed(9)
                .shuffle()
                .map(RandomResizedCrop(32), RandomHorizontalFlip(), Normalize::imagenet())
                .batch(4, {.drop_remainder = true})
                .to_json());
  EXPECT_EQ(training_pipeline(source, {.image_size = 32, .batch_size = 4, .flip = false}).to_json(),
            source.with_seed(1)
                .shuffle()
                .map(RandomResizedCrop(32), Normalize::imagenet())
                .batch(4, {.drop_remainder = true})
                .to_json());
  EXPECT_EQ(evaluation_pipeline(open_source(folder), {.image_size = 224, .batch_size = 4}).to_json(),
            source.map(Resize(256), CenterCrop(224), Normalize::imagenet()).batch(4).to_json());
  EXPECT_EQ(evaluation_pipeline(source, {.image_size = 8, .normalize = false, .resize = {10, 12}}).to_json(),
            source.map(Resize({10, 12}), CenterCrop(8)).batch(128).to_json());
}

TEST(StandardPipeline, AGraphFromAFileRunsOverOtherData) {
  const TempDir dir;
  const std::string first = write_folders(dir / "a", 2, 4), second = write_folders(dir / "b", 2, 6, 5);
  const StandardPipeline options{.image_size = 16, .batch_size = 4};
  const Dataset pipeline = training_pipeline(ImageFolder(first), options);
  write_file_atomically(dir / "graph.json", pipeline.to_json(2));
  const Dataset read(read_graph(dir / "graph.json"));
  EXPECT_EQ(read.to_json(), pipeline.to_json());
  const Dataset other = with_source(read.graph(), ImageFolder(second));
  EXPECT_EQ(other.to_json(), training_pipeline(ImageFolder(second), options).to_json());
  EXPECT_EQ(other.num_samples(), 12);
  EXPECT_EQ(read.num_samples(), 8);
  EXPECT_ERROR(read_graph(dir / "none.json"), dir / "none.json");
  write_file_atomically(dir / "bad.json", R"({"schema":"data-graph","version":1,"nodez":[]})");
  EXPECT_ERROR(read_graph(dir / "bad.json"), "bad.json: [data graph JSON]");
  EXPECT_ERROR(read_graph(dir / "bad.json"), "nodez");
  const Dataset two = concat({rows_in_memory(3), rows_in_memory(4)});
  EXPECT_ERROR(with_source(two.graph(), ImageFolder(second)), "2 sources");
}

TEST(Bench, TheDigestIsThatOfTheBatchesWhateverTheWorkers) {
  const TempDir dir;
  const Dataset data =
      training_pipeline(ImageFolder(write_folders(dir / "a", 2, 9)), {.image_size = 16, .batch_size = 4});
  std::uint64_t hash = 0;
  Iterator iterator(data, {.epochs = 2, .pull = true});
  while (const auto batch = iterator.next()) {
    for (const Column& column : batch->columns()) {
      const Tensor& values = batch->column(column.name);
      hash = hash64({static_cast<const char*>(values.raw()), values.byte_size()}, hash);
    }
  }
  const std::string expected = fmt::format("{:016x}", hash);
  const BenchReport pulled = bench(data, {.iterator = {.epochs = 2, .pull = true}, .hash = true});
  EXPECT_EQ(pulled.hash, expected);
  EXPECT_EQ(pulled.workers, 0);
  for (const int workers : {1, 3}) {
    const BenchReport report = bench(data, {.iterator = {.workers = workers, .epochs = 2}, .hash = true});
    EXPECT_EQ(report.hash, expected);
    EXPECT_EQ(report.workers, workers);
    EXPECT_EQ(report.batches, 8);
    EXPECT_EQ(report.samples, 32);
    EXPECT_GT(report.seconds, 0);
    EXPECT_DOUBLE_EQ(report.images_per_second, 32 / report.seconds);
    EXPECT_GE(report.slot_bytes, 4 * 16 * 16 * 3 * 4);
    EXPECT_GT(report.rss_bytes, report.slot_bytes);
  }
  EXPECT_EQ(bench(data, {}).hash, "");
  EXPECT_NE(bench(data.with_seed(2), {.hash = true}).hash, bench(data, {.hash = true}).hash);
}

TEST(Bench, CountsWhatIsTimedAndWhatIsReal) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "a", 2, 5);
  const Dataset data = evaluation_pipeline(ImageFolder(folder), {.image_size = 16, .batch_size = 4});
  EXPECT_EQ(bench(data, {}).samples, 10);
  const BenchReport warm = bench(data, {.iterator = {.epochs = 2}, .warmup = 3});
  EXPECT_EQ(warm.batches, 3);
  EXPECT_EQ(warm.samples, 10);
  EXPECT_EQ(warm.stats.batches, 6u);
  EXPECT_ERROR(bench(data, {.warmup = 3}), "only 3 batches");
  EXPECT_ERROR(bench(data, {.warmup = -1}), "--warmup=-1");
  EXPECT_ERROR(bench(data.repeat(), {}), "no end");
  EXPECT_ERROR(bench(data, {.iterator = {.epochs = kForever}}), "--epochs=-1");
  EXPECT_ERROR(bench(training_pipeline(ImageFolder(folder), {.image_size = 16, .batch_size = 40}), {}), "no batch");
  // Batches in another order, with an incomplete one: remaining samples are not counted.
  std::int64_t of = 0;
  const BenchOptions watched{.progress = [&](std::int64_t, std::int64_t total) { of = total; }};
  EXPECT_EQ(bench(data.shuffle(), watched).samples, 10);
  EXPECT_EQ(of, kUnknown);
  bench(data, watched);
  EXPECT_EQ(of, 10);

  write_bytes(folder + "/class_a/101.jpg", "GIF89a", 6);
  EXPECT_ERROR(bench(data, {}), "101.jpg");
  const BenchReport skipped = bench(data, {.iterator = {.bad_samples = {.policy = BadSamplePolicy::skip}}});
  EXPECT_EQ(skipped.samples, 9);
  EXPECT_EQ(skipped.bad_samples, 1);
  const BenchReport replaced = bench(data, {.iterator = {.bad_samples = {.policy = BadSamplePolicy::replace}}});
  EXPECT_EQ(replaced.samples, 10);
  EXPECT_EQ(replaced.bad_samples, 1);
}

TEST(Bench, AQuarantineThatCannotBeWrittenIsRefusedAtOnce) {
  const TempDir dir;
  const Dataset data = evaluation_pipeline(ImageFolder(write_folders(dir / "a", 1, 4)), {.image_size = 16});
  const auto with = [&](BadSamplePolicy policy) {
    return BenchOptions{.iterator = {.bad_samples = {.policy = policy, .quarantine = dir / "no/such/list.jsonl"}}};
  };
  EXPECT_ERROR(bench(data, with(BadSamplePolicy::skip)), "cannot write " + (dir / "no/such/list.jsonl"));
  EXPECT_EQ(bench(data, with(BadSamplePolicy::raise)).samples, 4);
}

TEST(ForEach, DoesEachOnceAndThrowsTheFirstError) {
  std::vector<std::atomic<int>> seen(500);
  std::int64_t last = 0;
  for_each(
      500, 4, [&](std::int64_t i, int worker) { seen[static_cast<std::size_t>(i)] += 1 + (worker > 3); },
      [&](std::int64_t done, std::int64_t of) {
        EXPECT_EQ(of, 500);
        last = std::max(last, done);
      });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  EXPECT_EQ(last, 500);
  for_each(0, 4, [](std::int64_t, int) { FAIL(); });
  EXPECT_ERROR(for_each(100, 1,
                        [](std::int64_t i, int) {
                          if (i >= 7) throw Error("at " + std::to_string(i));
                        }),
               "at 7");
  EXPECT_ERROR(
      for_each(64, 3, [](std::int64_t, int) {}, [](std::int64_t, std::int64_t) { throw Error("enough"); }), "enough");
}

// The pixels of the cell whose upper left corner is there.
image::Image part_of(const image::Image& sheet, int top, int left, int height, int width) {
  image::Image part(height, width, 3);
  for (int y = 0; y < height; ++y) std::copy_n(sheet.row(top + y) + 3 * left, 3 * width, part.row(y));
  return part;
}

image::Image sample_pixels(const Dataset& data, std::uint64_t epoch, std::uint64_t index) {
  const Sample sample = replay(data, epoch, index);
  const Tensor& pixels = sample.column("image");
  image::Image out(static_cast<int>(pixels.shape()[0]), static_cast<int>(pixels.shape()[1]), 3);
  std::copy_n(pixels.data<std::uint8_t>(), out.byte_size(), out.data());
  return out;
}

TEST(Preview, ShowsTheSamplesOfThePlaceThatIsAskedFor) {
  const TempDir dir;
  const Dataset source = ImageFolder(write_folders(dir / "a", 2, 6));
  const StandardPipeline options{.image_size = 20, .batch_size = 1};
  StandardPipeline bytes = options;
  bytes.normalize = false;
  const Dataset normalized = training_pipeline(source, options), plain = training_pipeline(source, bytes);
  const Preview sheet = preview(normalized, {.rows = 2, .columns = 2, .epoch = 3, .start = 5});
  EXPECT_FALSE(sheet.stretched);
  ASSERT_EQ(sheet.cells.size(), 4u);
  EXPECT_EQ(part_of(sheet.sheet, 4, 4, 20, 20), sample_pixels(plain, 3, 5));
  EXPECT_EQ(part_of(sheet.sheet, 4, 28, 20, 20), sample_pixels(plain, 3, 6));
  EXPECT_EQ(part_of(sheet.sheet, 4 + 20 + 11 + 4, 28, 20, 20), sample_pixels(plain, 3, 8));
  EXPECT_EQ(sheet.cells[1].origin, replay(plain, 3, 6).origin);
  EXPECT_TRUE(sheet.cells[1].caption.starts_with("#6 class_")) << sheet.cells[1].caption;
  EXPECT_EQ(preview(normalized, {.rows = 2, .columns = 2, .epoch = 3, .start = 5}).sheet, sheet.sheet);
  EXPECT_NE(preview(normalized, {.rows = 2, .columns = 2, .epoch = 4, .start = 5}).sheet, sheet.sheet);
  // There are fewer at the end of the epoch.
  EXPECT_EQ(preview(normalized, {.rows = 2, .columns = 2, .start = 10}).cells.size(), 2u);
  EXPECT_ERROR(preview(normalized, {.start = 12}), "there is no sample 12");
  EXPECT_ERROR(preview(normalized, {.rows = 0}), "--rows=0");
}

TEST(Preview, ShowsOriginalsBrokenOnesAndNumbers) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "a", 1, 3);
  write_bytes(folder + "/class_a/101.jpg", "GIF89a", 6);
  const Dataset data = evaluation_pipeline(ImageFolder(folder), {.image_size = 30, .batch_size = 1});
  const Preview sheet = preview(data, {.rows = 1, .columns = 3, .original = true});
  ASSERT_EQ(sheet.cells.size(), 3u);
  EXPECT_EQ(sheet.cells[0].problem, "");
  EXPECT_NE(sheet.cells[1].problem.find("101.jpg"), std::string::npos);
  EXPECT_EQ(sheet.sheet.width(), 4 + 3 * (30 + 1 + 30 + 4));
  const image::Image grey = part_of(sheet.sheet, 4, 4 + 65 + 31, 30, 30);
  EXPECT_TRUE(std::all_of(grey.data(), grey.data() + grey.byte_size(), [](std::uint8_t v) { return v == 90; }))
      << "a broken cell is grey";

  const std::string file = read_file(folder + "/class_a/100.jpg");
  const image::Image whole = image::decode({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  const double scale = std::min(30.0 / whole.height(), 30.0 / whole.width());
  const int height = static_cast<int>(whole.height() * scale), width = static_cast<int>(whole.width() * scale);
  EXPECT_EQ(part_of(sheet.sheet, 4, 4, height, width), image::resize(whole, image::Size{height, width}));

  const Preview numbers = preview(rows_in_memory(4).map(Rescale(2.0, -7.0), HWC2CHW()).batch(2), {.columns = 2});
  EXPECT_TRUE(numbers.stretched);
  EXPECT_EQ(numbers.cells.size(), 4u);
  EXPECT_ERROR(preview(concat({rows_in_memory(3), rows_in_memory(4)}).batch(2), {.original = true}), "several sources");
  EXPECT_ERROR(preview(rows_in_memory(4).project({"label"}).batch(2)), "no column 'image'");
}

TEST(Preview, RefusesASheetThatWouldBeTooLargeBeforeItIsMade) {
  const Dataset data = rows_in_memory(4000).map(Resize({300, 300}));
  EXPECT_ERROR(preview(data, {.rows = 1000, .columns = 1000}), "more than 2^28 pixels");
  EXPECT_ERROR(preview(data, {.rows = 1000, .columns = 4}), "more than 2^28 pixels");
  // Only cells with samples count.
  EXPECT_EQ(preview(data.take(6), {.rows = 1000, .columns = 1000}).cells.size(), 6u);
}

TEST(Caption, WritesWhatFitsAndMarksWhatDoesNot) {
  const auto drawn = [](const char* text, int width) {
    image::Image image(9, 64, 3);
    draw_text(image, 1, 1, width, text, {255, 0, 9});
    return image;
  };
  EXPECT_EQ(drawn("abc1", 60), drawn("ABC1", 60));
  EXPECT_NE(drawn("abc1", 60), drawn("abc7", 60));
  EXPECT_EQ(drawn("abcdef", 18), drawn("ab~", 60));
  EXPECT_EQ(drawn("", 60), drawn("x", 4));
  EXPECT_EQ(drawn("1", 60).row(1)[3 * 3], 255);  // the tip of the one object, in its colour
  EXPECT_EQ(drawn("1", 60).row(1)[3 * 3 + 2], 9);
  image::Image small(3, 3, 3);
  draw_text(small, -2, -2, 40, "8888", {1, 1, 1});  // clipped at the borders
}

TEST(Pack, KeepsImagesLabelsAndNames) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "set/train", 2, 3);
  write_folders(dir / "set/val", 2, 1);
  write_bytes(folder + "/class_a/101.jpg", "GIF89a", 6);
  std::int64_t last = 0;
  const PackReport report =
      data::pack(dir / "set", dir / "train.ridge", {.progress = [&](std::int64_t done, std::int64_t) { last = done; }});
  EXPECT_EQ(report.records, 5);
  EXPECT_EQ(report.resized, 0);
  EXPECT_EQ(report.bytes_in, report.bytes_out);
  EXPECT_EQ(last, 6);
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_NE(report.unreadable[0].file.find("101.jpg"), std::string::npos);
  const PackedFile file(dir / "train.ridge");
  ASSERT_EQ(file.size(), 5u);
  EXPECT_EQ(file.schema().class_names, (Names{"class_a", "class_b"}));
  EXPECT_NE(file.metadata().find(R"("split":"train")"), std::string::npos);
  const std::vector<std::string> files{"class_a/100", "class_a/102", "class_b/100", "class_b/101", "class_b/102"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string bytes = read_file(folder + "/" + files[i] + ".jpg");
    const PackedRow row = file.row(i);
    EXPECT_TRUE(std::equal(row[0].bytes.begin(), row[0].bytes.end(), bytes.begin(), bytes.end(),
                           [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
    EXPECT_EQ(row[1].bytes[0], i < 2 ? 0 : 1);
  }
  EXPECT_ERROR(data::pack(dir / "set", dir / "train.ridge"), "is there already");
  EXPECT_ERROR(data::pack(dir / "set", dir / "no/such/a.ridge"), "no/such");
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.bin"), "must end in .ridge");
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.ridge", {.split = "tset"}), "unknown split");
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.ridge", {.split = "test"}), "has no part 'test'");
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.ridge", {.short_side = -1}), "--short_side=-1");
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.ridge", {.quality = 101}), "--quality=101");
  EXPECT_FALSE(std::filesystem::exists(dir / "a.ridge"));
}

TEST(Pack, StoresLargeImagesSmallerByTheRuleOfResize) {
  const TempDir dir;
  const auto write = [&](const char* name, int height, int width) {
    const std::vector<std::uint8_t> png = image::encode_png(picture(height, width, 3));
    write_bytes(dir / ("set/c/" + std::string(name)), png.data(), png.size());
  };
  write("a.png", 60, 90);
  write("b.png", 30, 200);
  EXPECT_EQ(data::pack(dir / "set", dir / "x.ridge", {.short_side = 30, .quality = 80, .workers = 2}).resized, 1);
  const PackedFile file(dir / "x.ridge");
  const image::Image smaller = image::resize(picture(60, 90, 3), image::Size{30, 45});
  const std::vector<std::uint8_t> expected = image::encode_jpeg(smaller, 80);
  const PackedRow first = file.row(0), second = file.row(1);
  EXPECT_TRUE(std::equal(first[0].bytes.begin(), first[0].bytes.end(), expected.begin(), expected.end()));
  EXPECT_EQ(image::sniff(second[0].bytes).format, image::Format::png) << "small ones stay as they are";
}

}  // namespace
}  // namespace ridgeline::data::testing
