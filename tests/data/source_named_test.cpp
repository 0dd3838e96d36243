// Standard data sets: each reader with files written here; MNIST and CIFAR-10 as published.
#include "ridgeline/core/file.h"
#include "ridgeline/image/png/png.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

std::string write_jpeg(const std::string& path, int height, int width, std::uint64_t seed) {
  const std::vector<std::uint8_t> jpeg = image::encode_jpeg(picture(height, width, seed), 90);
  write_bytes(path, jpeg.data(), jpeg.size());
  return {jpeg.begin(), jpeg.end()};
}

TEST(NamedSets, ClassFoldersAreImageNets) {
  const TempDir dir;
  write_folders(dir / "train", 2, 3);
  write_folders(dir / "validation", 2, 2, 9);
  const Dataset train = NamedSet("imagenet", "train", dir.path()), val = NamedSet("imagenet", "val", dir.path());
  expect_rules(train, 6);
  expect_rules(val, 4);
  EXPECT_EQ(digest(rows_of(train), {"image", "label"}),
            digest(rows_of(ImageFolder(dir / "train")), {"image", "label"}));
  EXPECT_EQ(train.num_classes(), 2);
  EXPECT_EQ(train.class_names()[1], "class_b");
  EXPECT_ERROR(NamedSet("imagenet", "test", dir.path()).size(), "has no split 'test'");
  EXPECT_ERROR(NamedSet("imagenet", "train", dir.path(), true).size(), "imagenet has no boxes");
  EXPECT_ERROR(NamedSet("imagenett", "train", dir.path()), "did you mean 'imagenet'?");
}

TEST(NamedSets, IdxFilesMayLieOnTheirSideAndCountFromOne) {
  const TempDir dir;
  // Two letters of 2 x 3 pixels, stored by columns, with labels 1 and 26.
  write_text(dir / "emnist-letters-train-images-idx3-ubyte",
             big_endian(0x803) + big_endian(2) + big_endian(3) + big_endian(2) + "adbecfADBECF");
  write_text(dir / "emnist-letters-train-labels-idx1-ubyte", big_endian(0x801) + big_endian(2) + "\x01\x1a");
  const Dataset data = NamedSet("emnist_letters", "train", dir.path());
  expect_rules(data, 2);
  const std::vector<Row> rows = rows_of(data);
  EXPECT_EQ(rows[1].at("image").shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(std::string(static_cast<const char*>(rows[1].at("image").raw()), 6), "ABCDEF");
  EXPECT_EQ(number_of(rows[0], "label"), 0);
  EXPECT_EQ(number_of(rows[1], "label"), 25);
  EXPECT_EQ(data.num_classes(), 26);
  const auto make = [&] { return NamedSet("emnist_letters", "train", dir.path()); };
  expect_fingerprint_follows(make, [&] {
    write_text(dir / "emnist-letters-train-labels-idx1-ubyte", big_endian(0x801) + big_endian(2) + "\x01\x02\x03");
    std::filesystem::resize_file(dir / "emnist-letters-train-labels-idx1-ubyte", 10);
    touch(dir / "emnist-letters-train-labels-idx1-ubyte");
  });
  EXPECT_ERROR(Idx(dir / "emnist-letters-train-images-idx3-ubyte", dir / "emnist-letters-train-labels-idx1-ubyte",
                   {.label_base = 2}),
               "record 0 has the label 1, below the label base 2");
  const auto based = [&](std::int64_t base) { return Idx(dir / "i", dir / "l", {.label_base = base}); };
  EXPECT_ERROR(based(std::int64_t{1} << 32), "[idx] label_base is 4294967296, labels have 32 bits");
  EXPECT_ERROR(based(-1), "[idx] label_base is -1, it must be at least 0");
}

TEST(NamedSets, CifarsRecordsBothWays) {
  const TempDir dir;
  std::string pixels(3072, '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i % 251);
  write_text(dir / "cifar-100-binary/train.bin", "\x13\x63" + pixels + "\x01\x02" + pixels);
  const Dataset fine = NamedSet("cifar100", "train", dir.path());
  const Dataset coarse = Cifar({dir / "cifar-100-binary/train.bin"}, CifarKind::cifar100_coarse);
  expect_rules(fine, 2);
  EXPECT_EQ(number_of(rows_of(fine)[0], "label"), 99);
  EXPECT_EQ(number_of(rows_of(coarse)[0], "label"), 19);
  EXPECT_EQ(fine.num_classes(), 100);
  EXPECT_EQ(coarse.num_classes(), 20);
  EXPECT_EQ(fine.class_names()[99], "worm");
  EXPECT_EQ(coarse.class_names().size(), 20u);
  const Tensor image = rows_of(fine)[1].at("image");
  EXPECT_EQ(image.data<std::uint8_t>()[3 * 33 + 1], (1024 + 33) % 251);  // row 1, column 1, green
  write_text(dir / "bad.bin", std::string("\x01") + pixels + "\x0b" + pixels);
  EXPECT_EQ(run_error(Cifar({dir / "bad.bin"}), 1),
            "[cifar] " + (dir / "bad.bin") + ": record 1 at byte 3073 has the label 11 (0 to 9)");
  expect_fingerprint_follows([&] { return Cifar({dir / "bad.bin"}); },
                             [&] { write_text(dir / "bad.bin", std::string("\x01") + pixels); });
}

TEST(NamedSets, FlowersAreListedInAManifest) {
  const TempDir dir;
  write_text(dir / "flowers102.manifest",
             R"({"source": "jpg/image_00003.jpg", "usage": "train", "annotation": [{"name": "102"}]})"
             "\n"
             R"({"source": "jpg/image_00001.jpg", "usage": "train", "annotation": [{"name": "5"}]})"
             "\n"
             R"({"source": "jpg/image_00002.jpg", "usage": "val", "annotation": [{"name": "6"}]})"
             "\n");
  const std::string first = write_jpeg(dir / "jpg/image_00001.jpg", 20, 20, 1);
  write_jpeg(dir / "jpg/image_00003.jpg", 20, 20, 3);
  const Dataset data = NamedSet("flowers102", "train", dir.path());
  expect_rules(data, 2);
  const std::vector<Row> rows = rows_of(data);
  EXPECT_EQ(number_of(rows[0], "label"), 101);
  EXPECT_EQ(number_of(rows[1], "label"), 4);
  EXPECT_EQ(text_of(rows[1], "image"), first);
  EXPECT_EQ(data.class_names(), source_of(data.graph().output()).class_names());
  const auto make = [&] { return NamedSet("flowers102", "train", dir.path()); };
  expect_fingerprint_follows(make, [&] { write_jpeg(dir / "jpg/image_00001.jpg", 21, 20, 1); });
  expect_fingerprint_follows(make, [&] { touch(dir / "flowers102.manifest"); });
  std::filesystem::remove(dir / "jpg/image_00001.jpg");
  const std::string path = dir / "jpg/image_00001.jpg";
  EXPECT_EQ(run_error(data, 1), "[flowers102] " + path + ": cannot open " + path + ": No such file or directory");
}

TEST(NamedSets, ManifestsChooseByUsage) {
  const TempDir dir;
  write_jpeg(dir / "a.jpg", 20, 20, 1);
  const auto line = [](const std::string& file, const std::string& usage, const std::string& name) {
    return R"({"source":")" + file + R"(","usage":")" + usage + R"(","annotation":[{"name":")" + name + "\"}]}\n";
  };
  write_text(dir / "m.manifest", line(dir / "a.jpg", "train", "dog") + line(dir / "a.jpg", "eval", "cat") +
                                     line(dir / "a.jpg", "train", "cat"));
  const Dataset data = NamedSet("manifest", "train", dir / "m.manifest");
  expect_rules(data, 2);
  EXPECT_EQ(number_of(rows_of(data)[0], "label"), 1);
  EXPECT_EQ(data.class_names(), (std::vector<std::string>{"cat", "dog"}));
  expect_fingerprint_follows([&] { return NamedSet("manifest", "train", dir / "m.manifest"); },
                             [&] { touch(dir / "m.manifest"); });
}

TEST(NamedSets, BoxesOfVocAndCocoAreFractions) {
  const TempDir dir;
  write_text(dir / "voc/ImageSets/Main/train.txt", "x\ny\n");
  const std::string box = "<bndbox><xmin>1</xmin><ymin>11</ymin><xmax>20</xmax><ymax>40</ymax></bndbox>";
  write_text(dir / "voc/Annotations/x.xml",
             "<annotation><size><width>40</width><height>80</height></size><object><name>dog</name>" + box +
                 "</object></annotation>");
  // Without a size: taken from the image.
  write_text(dir / "voc/Annotations/y.xml", "<annotation><object><name>cat</name>" + box +
                                                "</object><object><name>dog</name>" + box + "</object></annotation>");
  write_jpeg(dir / "voc/JPEGImages/x.jpg", 80, 40, 1);
  write_jpeg(dir / "voc/JPEGImages/y.jpg", 40, 20, 2);
  const Dataset voc = NamedSet("voc", "train", dir / "voc", true);
  expect_rules(voc, 2);
  const std::vector<Row> rows = rows_of(voc);
  const float expected[2][4] = {{10.f / 80, 0, 40.f / 80, 20.f / 40}, {10.f / 40, 0, 1, 1}};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows[i].at("boxes").shape(), (Shape{static_cast<std::int64_t>(i) + 1, 4}));
    for (std::size_t k = 0; k < 4; ++k) EXPECT_FLOAT_EQ(rows[i].at("boxes").data<float>()[k], expected[i][k]);
  }
  EXPECT_EQ(number_of(rows[0], "label"), 11);
  EXPECT_EQ(rows[1].at("box_labels").data<std::int32_t>()[1], 11);
  EXPECT_EQ(voc.num_classes(), 20);
  EXPECT_EQ(voc.class_names(), source_of(voc.graph().output()).class_names());
  for (const char* file : {"ImageSets/Main/train.txt", "Annotations/y.xml", "JPEGImages/x.jpg"}) {
    expect_fingerprint_follows([&] { return NamedSet("voc", "train", dir / "voc"); },
                               [&] { touch(dir / ("voc/" + std::string(file))); });
  }

  write_text(dir / "coco/annotations/instances_val2017.json",
             R"({"images":[{"id":1,"file_name":"a.jpg","width":40,"height":80},{"id":2,"file_name":"b.jpg"}],
"annotations":[{"image_id":1,"category_id":7,"bbox":[10,20,20,40],"iscrowd":0}],
"categories":[{"id":7,"name":"train"},{"id":3,"name":"car"}]})");
  write_jpeg(dir / "coco/val2017/a.jpg", 80, 40, 1);
  write_jpeg(dir / "coco/val2017/b.jpg", 80, 40, 1);
  const Dataset coco = NamedSet("coco", "val", dir / "coco", true);
  EXPECT_EQ(coco.num_classes(), 2);
  EXPECT_EQ(coco.class_names(), (std::vector<std::string>{"car", "train"}));
  EXPECT_EQ(run_error(coco, 1), "[coco] " + (dir / "coco/val2017/b.jpg") + ": the annotation has no label");
  EXPECT_FLOAT_EQ(rows_of(coco.take(1))[0].at("boxes").data<float>()[2], 60.f / 80);
  expect_fingerprint_follows([&] { return NamedSet("coco", "val", dir / "coco"); },
                             [&] { touch(dir / "coco/annotations/instances_val2017.json"); });
}

TEST(NamedSets, MnistAsItIsPublished) {
  REQUIRE_PACK();
  const Dataset data = NamedSet("mnist", "test", pack() + "/mnist-idx");
  EXPECT_EQ(data.size(), 10000);
  EXPECT_EQ(data.columns()[0].shape, (Shape{28, 28, 1}));
  EXPECT_EQ(data.num_classes(), 10);
  const std::int64_t first[] = {7, 2, 1, 0, 4, 1, 4, 9, 5, 9};
  const std::vector<Row> rows = rows_of(data.take(10));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(number_of(rows[i], "label"), first[i]);
  std::vector<std::int64_t> count(10);
  Iterator it(data.batch(1000), {.workers = 2});
  while (const auto batch = it.next()) {
    for (std::int64_t i = 0; i < 1000; ++i) ++count[static_cast<std::size_t>(batch->label().data<std::int32_t>()[i])];
  }
  EXPECT_EQ(count, (std::vector<std::int64_t>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
}

// Records in the binary layout, written from published lossless images, are read pixel by pixel.
TEST(NamedSets, CifarTenFromLosslessPixels) {
  REQUIRE_PACK();
  const std::string folder = pack() + "/cifar10/lossless";
  std::string text = read_file(folder + "/cifar10_labels.js");
  text = text.substr(text.find('[') + 1);
  std::vector<std::int64_t> labels;
  for (std::size_t at = 0; labels.size() < 51000; at = text.find(',', at) + 1)
    labels.push_back(std::stol(text.substr(at, 8)));
  const std::string png = read_file(folder + "/cifar10_batch_50.png");
  const image::Image pixels = image::decode_png({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()});
  std::string file;
  for (int n = 0; n < 1000; ++n) {
    file += static_cast<char>(labels[50000 + static_cast<std::size_t>(n)]);
    for (int channel = 0; channel < 3; ++channel) {
      for (int i = 0; i < 1024; ++i) file += static_cast<char>(pixels.row(n)[3 * i + channel]);
    }
  }
  const TempDir dir;
  write_text(dir / "cifar-10-batches-bin/test_batch.bin", file);
  const Dataset data = NamedSet("cifar10", "test", dir.path());
  ASSERT_EQ(data.size(), 1000);
  EXPECT_EQ(data.num_classes(), 10);
  EXPECT_EQ(data.class_names()[3], "cat");
  Iterator it(data.batch(1000), {.workers = 2});
  const auto batch = it.next();
  EXPECT_EQ(batch->label().data<std::int32_t>()[0], 3);  // the first test image is a cat
  EXPECT_EQ(batch->image().data<std::uint8_t>()[0], 158);
  for (int n = 0; n < 1000; ++n)
    ASSERT_EQ(std::memcmp(batch->image().data<std::uint8_t>() + 3072 * n, pixels.row(n), 3072), 0) << n;
  expect_rules(data.take(20), 20);
}

}  // namespace
}  // namespace ridgeline::data::testing
