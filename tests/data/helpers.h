// tests/data/helpers.h
//
// Small data sets and digests for the tests of the data graph.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/data/data.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "tests/support/error_of.h"

namespace ridgeline::data::testing {

// The number of threads of this process: the smallest of a few counts, since a joined thread may stay in the list for a
// moment. A sanitizer starts a thread with the program's first one, so one is created before the first count.
inline int threads_now() {
  std::thread([] {}).join();
  int least = std::numeric_limits<int>::max();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    int count = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
    least = std::min(least, count);
  }
  return least;
}

// Waits until `done()`, at most a minute, which is long enough on any machine.
inline void wait_until(const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(done());
}

// A folder that is removed at the end.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "ridgeline-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::string& path, const void* data, std::size_t size) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// An image with structure in both directions, different for every `seed`.
inline image::Image picture(int height, int width, std::uint64_t seed) {
  image::Image image(height, width, 3);
  SampleRandom random(philox_key(seed, "picture"), 0, 0);
  const auto base = static_cast<int>(random.integer(0, 255));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.row(y)[x * 3 + c] =
            static_cast<std::uint8_t>(base + 3 * y + 5 * x + 40 * c + static_cast<int>(random.bits() % 24));
      }
    }
  }
  return image;
}

// DIR/<class>/<n>.jpg: `classes` folders with `each` images with sides between 20 and 60.
inline std::string write_folders(const std::string& dir, int classes, int each, std::uint64_t seed = 1) {
  for (int c = 0; c < classes; ++c) {
    for (int i = 0; i < each; ++i) {
      const std::uint64_t id = static_cast<std::uint64_t>(c * each + i);
      SampleRandom random(philox_key(seed, "sides"), 0, id);
      const auto height = static_cast<int>(random.integer(20, 60)), width = static_cast<int>(random.integer(20, 60));
      const std::vector<std::uint8_t> jpeg = image::encode_jpeg(picture(height, width, seed + id), 90);
      write_bytes(dir + "/class_" + std::string(1, static_cast<char>('a' + c)) + "/" + std::to_string(100 + i) + ".jpg",
                  jpeg.data(), jpeg.size());
    }
  }
  return dir;
}

// n rows, image u8 [4,6,3] and label i32, all different.
inline Dataset rows_in_memory(std::int64_t n) {
  Tensor images(DType::u8, Shape{n, 4, 6, 3}), labels(DType::i32, Shape{n});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 + i / 72);
  for (std::int64_t i = 0; i < n; ++i) labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  return InMemory({{"image", images}, {"label", labels}});
}

inline std::uint64_t digest(const Tensor& t, std::uint64_t seed = 0) {
  if (t.dtype() == DType::bytes) {
    for (const std::string& s : t.string_values()) seed = hash64(s, seed);
    return seed;
  }
  return hash64({static_cast<const char*>(t.raw()), t.byte_size()}, seed);
}

// A digest of every column of every remaining batch, in order.
inline std::uint64_t digest(Iterator& it, std::int64_t most = -1) {
  std::uint64_t seed = 0;
  for (std::int64_t i = 0; i != most; ++i) {
    const std::optional<Batch> batch = it.next();
    if (!batch) break;
    for (const Column& column : batch->columns()) seed = digest(batch->column(column.name), seed);
  }
  return seed;
}

inline std::vector<std::uint64_t> digests(Iterator& it) {
  std::vector<std::uint64_t> all;
  while (const std::optional<Batch> batch = it.next()) {
    std::uint64_t seed = 0;
    for (const Column& column : batch->columns()) seed = digest(batch->column(column.name), seed);
    all.push_back(seed);
  }
  return all;
}

#define EXPECT_ERROR(expression, part)                                                        \
  EXPECT_NE(::ridgeline::error_of([&] { (void)(expression); }).find(part), std::string::npos) \
      << ::ridgeline::error_of([&] { (void)(expression); })

// The folder that contains packA, or "".
inline std::string pack() {
  const char* dir = std::getenv("RIDGELINE_TEST_DATA");
  if (!dir) return "";
  const std::string path = std::string(dir) + "/packA";
  return std::filesystem::exists(path) ? path : "";
}
#define REQUIRE_PACK()                            \
  if (::ridgeline::data::testing::pack().empty()) \
  GTEST_SKIP() << "RIDGELINE_TEST_DATA does not name a folder with packA"

}  // namespace ridgeline::data::testing
