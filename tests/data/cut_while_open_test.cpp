// Files that are truncated while a run reads them are handled by the policy for bad samples and never end the process.
#include <filesystem>
#include <functional>
#include <utility>

#include "ridgeline/core/file.h"
#include "ridgeline/data/tool/pack.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

constexpr int kRecords = 24;

std::string jpeg_of(int i) {
  const std::vector<std::uint8_t> jpeg = image::encode_jpeg(picture(120, 120, static_cast<std::uint64_t>(i)), 95);
  return {jpeg.begin(), jpeg.end()};
}

std::string write_records(const std::string& path) {
  TFRecordWriter writer(path);
  for (int i = 0; i < kRecords; ++i)
    writer.write(
        ExampleBuilder().bytes("image/encoded", jpeg_of(i)).int64s("image/class/label", 1 + i % 3).serialize());
  writer.close();
  return path;
}

// Reads a batch, truncates the file to half, and reads on. Returns the exception of the run and the number of bad
// samples.
std::pair<std::string, std::int64_t> run(const Dataset& source, const std::string& path, BadSamplePolicy policy) {
  Iterator it(source.map(Resize({8, 8})).batch(4), {.workers = 2, .slots = 2, .bad_samples = {.policy = policy}});
  it.next();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const std::string message = error_of([&] {
    while (it.next()) {
    }
  });
  return {message, it.bad_samples()};
}

void expect_errors_of_records(const std::function<std::string()>& write,
                              const std::function<Dataset(const std::string&)>& open) {
  std::string path = write();
  const auto [raised, none] = run(open(path), path, BadSamplePolicy::raise);
  EXPECT_NE(raised.find("cannot be read: the file has been cut short"), std::string::npos) << raised;
  EXPECT_NE(raised.find(path), std::string::npos) << raised;
  for (const BadSamplePolicy policy : {BadSamplePolicy::skip, BadSamplePolicy::replace}) {
    path = write();
    const auto [message, bad] = run(open(path), path, policy);
    EXPECT_EQ(message, "");
    EXPECT_GE(bad, kRecords / 3);
  }
}

TEST(CutWhileOpen, ATFRecordFileIsAnErrorOfItsRecords) {
  const TempDir dir;
  expect_errors_of_records([&] { return write_records(dir / "train-0"); },
                           [](const std::string& path) { return TFRecord(path); });
}

TEST(CutWhileOpen, APackedFileIsAnErrorOfItsRows) {
  const TempDir dir;
  write_folders(dir / "set", 2, kRecords / 2);
  const auto write = [&] {
    std::filesystem::remove(dir / "all.ridge");
    data::pack(dir / "set", dir / "all.ridge");
    return dir / "all.ridge";
  };
  expect_errors_of_records(write, [](const std::string& path) { return Packed({path}); });
}

TEST(CutWhileOpen, AnArchiveIsAnErrorOfItsSamples) {
  const TempDir dir;
  const auto write = [&] {
    TarWriter writer(dir / "a.tar");
    for (int i = 0; i < kRecords; ++i) {
      writer.add(std::to_string(100 + i) + ".jpg", jpeg_of(i));
      writer.add(std::to_string(100 + i) + ".cls", std::to_string(i % 3));
    }
    writer.finish();
    return dir / "a.tar";
  };
  expect_errors_of_records(write, [](const std::string& path) { return Tar({path}); });
}

}  // namespace
}  // namespace ridgeline::data::testing
