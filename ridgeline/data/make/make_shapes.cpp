#include "ridgeline/data/make/make_shapes.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/output_target.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/data/make/shapes.h"
#include "ridgeline/image/jpeg/jpeg.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

constexpr int kQuality = 90;
constexpr const char* kDescription = "shapes.json";

std::string description(const MakeShapesOptions& options) {
  return nlohmann::json{{"data_set", "shapes"},
                        {"version", 1},
                        {"seed", options.seed},
                        {"train", options.train},
                        {"val", options.val}}
             .dump() +
         "\n";
}

bool is_ours(const fs::path& dir) { return fs::exists(dir / kDescription); }

// True: OUT holds this very data set.
bool check_out(const fs::path& out, const MakeShapesOptions& options) {
  if (!fs::exists(out)) return false;
  if (!fs::is_directory(out)) throw Error("[make shapes] not a directory: " + out.string());
  if (fs::is_empty(out)) return false;
  if (!is_ours(out))
    throw Error("[make shapes] " + out.string() + " holds other files: choose a new or an empty folder");
  if (read_file((out / kDescription).string()) == description(options)) return true;
  throw Error("[make shapes] " + out.string() +
              " holds shapes of another seed or size: choose another folder, or remove it first");
}

void write_plain(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  // Not synced one by one: the rename of the whole folder is what makes it visible.
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error("[make shapes] cannot write " + path.string() + ": " + std::strerror(errno));
}

void draw_all(const fs::path& dir, const MakeShapesOptions& options) {
  const std::int64_t total = options.train + options.val;
  std::mutex mutex;
  std::int64_t done = 0;
  parallel_for(total, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const bool validation = i >= options.train;
      const std::int64_t index = validation ? i - options.train : i;
      int label = 0;
      const image::Image picture = draw_shape_sample(options.seed, validation, index, &label);
      const fs::path folder =
          dir / (validation ? "val" : "train") / shape_class_names()[static_cast<std::size_t>(label)];
      write_plain(folder / fmt::format("{:05}.jpg", index), image::encode_jpeg(picture, kQuality));
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(done, total);
    }
  });
}

}  // namespace

MakeShapesReport make_shapes(const std::string& out_dir, MakeShapesOptions options) {
  if (options.train < kShapeClasses || options.val < kShapeClasses) {
    throw Error(fmt::format("[make shapes] train is {} and val {}: each needs at least {} images, one a class",
                            options.train, options.val, kShapeClasses),
                ErrorKind::usage);
  }
  fs::path out(out_dir);
  if (!out.has_filename()) out = out.parent_path();  // "dir/"
  try {
    out = behind_links(out.string());  // a link stays
    fs::path partial = out;
    partial += ".partial";
    if (check_out(out, options)) return {.written = 0, .already_there = true};
    if (fs::exists(partial)) {
      if (!is_ours(partial)) throw Error("[make shapes] " + partial.string() + " is in the way");
      fs::remove_all(partial);  // of a run that was stopped
    }
    for (const char* split : {"train", "val"}) {
      for (const std::string& name : shape_class_names()) fs::create_directories(partial / split / name);
    }
    write_file_atomically((partial / kDescription).string(), description(options));
    try {
      draw_all(partial, options);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(partial, ignored);
      throw;
    }
    fs::rename(partial, out);
  } catch (const fs::filesystem_error& e) {
    throw Error(fmt::format("[make shapes] {}: {}", e.path1().string(), e.code().message()));
  }
  return {.written = options.train + options.val};
}

}  // namespace ridgeline::data
