#include "ridgeline/format/tensor/safetensors.h"

#include <cstring>

#include "ridgeline/core/random.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::vector<NamedTensor> sample_tensors() {
  return {{"weight", Tensor::of<float>({1, -2, 3.5f, 4, 5, 6}, {2, 3})},
          {"flags", Tensor::of<bool>({true, false, true}, {3})},
          {"bytes", Tensor::of<std::uint8_t>({0, 255, 7}, {3, 1})},
          {"step", Tensor::scalar<std::int64_t>(-9000000000)},
          {"nothing", Tensor(DType::f32, {0, 4})},
          {"half", Tensor::of<float16>({{0x3c00}, {0xc000}}, {2})},
          {"brain", Tensor::of<bfloat16>({{0x3f80}}, {1})},
          {"double", Tensor::of<double>({0.1, -0.1}, {1, 2})},
          {"int", Tensor::of<std::int32_t>({-1, 2147483647}, {2})}};
}

// A file with the given header and `data_bytes` zero bytes.
std::string with_header(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file + std::string(header) + std::string(data_bytes, '\0');
}

std::string error_of_bytes(std::string_view bytes) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  put_file(path, bytes);
  const std::string message = error_of([&] { SafetensorsFile{path}; });
  const std::string prefix = "[safetensors] " + path + ": ";
  EXPECT_TRUE(message.empty() || message.starts_with(prefix)) << message;
  return message.empty() ? "" : message.substr(prefix.size());
}

std::string error_of_header(std::string_view header, std::size_t data_bytes) {
  return error_of_bytes(with_header(header, data_bytes));
}

TEST(Safetensors, ReadsWhatItWrites) {
  const TempFolder folder;
  const std::string path = folder.file("all.safetensors");
  const std::map<std::string, std::string> metadata{
      {"format", "1"}, {"text", "line\n\"quoted\" \xc3\xa9"}, {"empty", ""}};
  write_safetensors(path, sample_tensors(), metadata);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.tensors().size(), sample_tensors().size());
  for (const auto& [name, tensor] : sample_tensors()) {
    SCOPED_TRACE(name);
    const Tensor& read = file.tensor(name);
    EXPECT_EQ(read.dtype(), tensor.dtype());
    EXPECT_EQ(read.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(read.raw(), tensor.raw(), tensor.byte_size()), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.raw()) % size_of(read.dtype()), 0u);
  }
  EXPECT_FALSE(file.has("absent"));
}

TEST(Safetensors, KeepsTheOrderGiven) {
  const TempFolder folder;
  const std::string path = folder.file("order.safetensors");
  write_safetensors(path, {{"z", Tensor::scalar(1.0f)}, {"a", Tensor::scalar(2.0f)}, {"m", Tensor::scalar(3.0f)}});
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "z");
  EXPECT_EQ(file.tensors()[1].name, "a");
  EXPECT_EQ(file.tensors()[2].name, "m");
}

TEST(Safetensors, WritesTheseBytes) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  write_safetensors(path, {{"x", Tensor::of<float>({1, 2}, {2})}, {"n", Tensor::scalar<std::int64_t>(3)}},
                    {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("n":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string bytes = read_file(path);
  EXPECT_EQ(bytes.substr(0, 8 + padded.size()), with_header(padded, 0));
  EXPECT_EQ(bytes.size(), 8 + padded.size() + 16);
  EXPECT_EQ(bytes.substr(bytes.size() - 16), std::string("\0\0\x80\x3f\0\0\0\x40\3\0\0\0\0\0\0\0", 16));
  write_safetensors(path, {{"x", Tensor::of<float>({1, 2}, {2})}, {"n", Tensor::scalar<std::int64_t>(3)}},
                    {{"k", "v"}});
  EXPECT_EQ(read_file(path), bytes);
}

TEST(Safetensors, TensorsOutliveTheFileObject) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  write_safetensors(path, sample_tensors());
  Tensor weight;
  {
    const SafetensorsFile file(path);
    weight = file.tensor("weight");
  }
  EXPECT_EQ(weight.at(2), 3.5);
}

TEST(Safetensors, WriterRefusesWhatTheFormatCannotHold) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  const Tensor t = Tensor::scalar(1.0f);
  const auto error = [&](const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& metadata) {
    return error_of([&] { write_safetensors(path, tensors, metadata); });
  };
  EXPECT_TRUE(contains(error({{"a", t}, {"a", t}}, {}), "two tensors are named 'a'"));
  EXPECT_TRUE(contains(error({{"__metadata__", t}}, {}), "cannot be named __metadata__"));
  EXPECT_TRUE(contains(error({{"a", Tensor::strings({"x"})}}, {}), "type bytes cannot be stored"));
  EXPECT_TRUE(contains(error({{"a", Tensor()}}, {}), "has no memory"));
  EXPECT_TRUE(contains(error({{"\xff", t}}, {}), "no valid UTF-8"));
  EXPECT_TRUE(contains(error({{"a", t}}, {{"k", "\xff"}}), "no valid UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, EveryTruncationIsCalledCutShort) {
  const TempFolder folder;
  write_safetensors(folder.file("whole"), sample_tensors(), {{"k", "v"}});
  const std::string whole = read_file(folder.file("whole"));
  EXPECT_EQ(error_of_bytes(whole), "");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string message = error_of_bytes(std::string_view(whole).substr(0, n));
    ASSERT_TRUE(contains(message, "cut short")) << n << ": " << message;
  }
  EXPECT_TRUE(contains(error_of_bytes(whole + "x"), "1 bytes after the last tensor belong to no tensor"));
}

TEST(Safetensors, FlippedBytesAreAnErrorOrAnotherValueAndNeverACrash) {
  const TempFolder folder;
  write_safetensors(folder.file("whole"), sample_tensors(), {{"k", "v"}});
  const std::string whole = read_file(folder.file("whole"));
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (const int flip : {0x01, 0x20, 0x80}) {
      std::string bad = whole;
      bad[n] = static_cast<char>(bad[n] ^ flip);
      const std::string message = error_of_bytes(bad);
      // The length must match its header, which is protected by JSON and its own sums; the data has no checksum.
      if (n < 8 || (n < 8 + header && flip == 0x80)) {
        ASSERT_NE(message, "") << n;
      }
    }
  }
}

TEST(Safetensors, RefusesBadHeaders) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return "{\"a\":{\"dtype\":" + std::string(dtype) + ",\"shape\":" + std::string(shape) +
           ",\"data_offsets\":" + std::string(offsets) + "}}";
  };
  EXPECT_EQ(error_of_header(one("\"F32\"", "[2]", "[0,8]"), 8), "");
  EXPECT_EQ(error_of_header("{}", 0), "");
  EXPECT_EQ(error_of_header("{}   ", 0), "");
  EXPECT_TRUE(contains(error_of_header("", 0), "does not start with '{'"));
  EXPECT_TRUE(contains(error_of_header(" {}", 0), "does not start with '{'"));
  EXPECT_TRUE(contains(error_of_header("{", 0), "no valid JSON"));
  EXPECT_TRUE(contains(error_of_header("{}x", 0), "no valid JSON"));
  EXPECT_TRUE(contains(error_of_header("{\"a\":[[[[[[1]]]]]]}", 0), "nests deeper"));
  EXPECT_TRUE(contains(error_of_header("{\"a\":3}", 0), "'a' is not described by an object"));
  EXPECT_TRUE(contains(error_of_header("{\"a\":{}}", 0), "tensor 'a' has no dtype"));
  for (const char* type : {"I8", "I16", "U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "C64", "nonsense"}) {
    const std::string message = error_of_header(one("\"" + std::string(type) + "\"", "[1]", "[0,1]"), 1);
    EXPECT_EQ(message, "tensor 'a' has type " + std::string(type) +
                           ", which is not supported (supported: F64, F32, BF16, F16, U8, I32, I64, BOOL)");
  }
  EXPECT_TRUE(contains(error_of_header(one("4", "[1]", "[0,4]"), 4), "dtype is no string"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "2", "[0,8]"), 8), "shape is no list"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[-2]", "[0,8]"), 8), "no whole number"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[2.0]", "[0,8]"), 8), "no whole number"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0), "overflows"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[0,18446744073709551615]", "[0,0]"), 0), "overflows"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[2]", "[0]"), 8), "data_offsets are not two"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[2]", "[8,0]"), 8), "run backwards"));
  EXPECT_EQ(error_of_header(one("\"F32\"", "[2]", "[0,4]"), 4),
            "tensor 'a': [2] of F32 takes 8 bytes, its data_offsets span 4");
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[2]", "[4,12]"), 12), "bytes 0 to 4 of the data belong to no"));
  EXPECT_TRUE(contains(error_of_header(one("\"F32\"", "[2]", "[0,8]"), 4), "cut short: tensor 'a' ends at byte 8"));
  EXPECT_TRUE(contains(error_of_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1),
                       "unknown field 'x'"));
  EXPECT_TRUE(contains(error_of_header("{\"__metadata__\":{\"a\":1}}", 0), "__metadata__ 'a' is no string"));
  EXPECT_TRUE(contains(error_of_header("{\"__metadata__\":[]}", 0), "no object of strings"));
}

TEST(Safetensors, RefusesDuplicatesOverlapsAndHoles) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_TRUE(contains(error_of_header("{" + a + "," + a + "}", 4), "has the key 'a' twice"));
  EXPECT_TRUE(contains(error_of_header(R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4),
                       "has the key 'dtype' twice"));
  EXPECT_TRUE(contains(error_of_header("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6),
                       "tensors 'a' and 'b' overlap"));
  EXPECT_TRUE(contains(error_of_header("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4),
                       "tensors 'a' and 'b' overlap"));
  EXPECT_TRUE(contains(error_of_header("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})", 10),
                       "bytes 4 to 6 of the data belong to no tensor"));
}

TEST(Safetensors, HeaderLengthIsBounded) {
  std::string bytes = with_header("{}", 0);
  const std::uint64_t length = kSafetensorsHeaderLimit + 1;
  std::memcpy(bytes.data(), &length, sizeof(length));
  EXPECT_TRUE(contains(error_of_bytes(bytes), "at most 100000000 are allowed"));
  std::memset(bytes.data(), 0xff, 8);
  EXPECT_TRUE(contains(error_of_bytes(bytes), "the header claims 18446744073709551615 bytes"));
}

TEST(Safetensors, BooleansAreZeroOrOne) {
  std::string bytes = with_header(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  EXPECT_EQ(error_of_bytes(bytes), "");
  bytes.back() = 2;
  EXPECT_TRUE(contains(error_of_bytes(bytes), "neither 0 nor 1"));
}

TEST(Safetensors, MisalignedTensorsAreCopied) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  write_safetensors(path, {{"odd", Tensor::of<std::uint8_t>({1}, {1})}, {"f", Tensor::of<float>({1.25f, -2}, {2})}});
  const SafetensorsFile file(path);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensor("f").raw()) % 4, 0u);
  EXPECT_EQ(file.tensor("f").at(0), 1.25);
  EXPECT_EQ(file.tensor("f").at(1), -2);
}

TEST(Safetensors, MissingNameSuggestsTheNearest) {
  const TempFolder folder;
  const std::string path = folder.file("f.safetensors");
  write_safetensors(path, sample_tensors());
  EXPECT_TRUE(contains(error_of([&] { SafetensorsFile(path).tensor("wieght"); }), "did you mean 'weight'?"));
}

double sum_of(const Tensor& t) {
  double sum = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) sum += t.at(i);
  return sum;
}

// Sums and first values from the official library.
TEST(SafetensorsRealData, MnistModelHasTheOfficialReadersValues) {
  const std::string path =
      pack_path("golden/burn-pt-safetensors/examples/import-model-weights/weights/mnist.safetensors");
  SKIP_WITHOUT(path);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 20u);
  EXPECT_EQ(file.tensor("conv3.weight").shape(), (Shape{24, 16, 3, 3}));
  EXPECT_NEAR(sum_of(file.tensor("conv3.weight")), -61.46941277656151, 1e-9);
  EXPECT_NEAR(sum_of(file.tensor("fc1.weight")), -335.3114262489783, 1e-8);
  EXPECT_EQ(file.tensor("norm1.num_batches_tracked").shape(), Shape{});
  EXPECT_EQ(*file.tensor("norm1.num_batches_tracked").data<std::int64_t>(), 7504);
  EXPECT_FLOAT_EQ(file.tensor("norm2.weight").data<float>()[0], 3.9468203f);
}

TEST(SafetensorsRealData, SmallModelHasTheOfficialReadersValues) {
  const std::string path = pack_path(
      "golden/burn-pt-safetensors/crates/burn-store/safetensors-tests/tests/multi_layer/multi_layer.safetensors");
  SKIP_WITHOUT(path);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 9u);
  EXPECT_NEAR(sum_of(file.tensor("fc1.weight")), -3.8182605504989624, 1e-10);
  EXPECT_NEAR(sum_of(file.tensor("norm1.running_var")), 3.6108431220054626, 1e-10);
  EXPECT_EQ(*file.tensor("norm1.num_batches_tracked").data<std::int64_t>(), 1);
}

TEST(SafetensorsRealData, ResNetHasItsMetadataAndSurvivesRewriting) {
  const std::string path = pack_path("derived/resnet20-cifar10.safetensors");
  SKIP_WITHOUT(path);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("best_prec1"), "91.78");
  EXPECT_NEAR(sum_of(file.tensor("layer1.0.conv2.weight")), -32.68181776982419, 1e-9);
  const TempFolder folder;
  write_safetensors(folder.file("again"), file.tensors(), file.metadata());
  const SafetensorsFile again(folder.file("again"));
  ASSERT_EQ(again.tensors().size(), file.tensors().size());
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const auto& [name, tensor] = file.tensors()[i];
    EXPECT_EQ(again.tensors()[i].name, name);
    EXPECT_EQ(again.tensors()[i].tensor.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(again.tensors()[i].tensor.raw(), tensor.raw(), tensor.byte_size()), 0) << name;
  }
}

}  // namespace
}  // namespace ridgeline
