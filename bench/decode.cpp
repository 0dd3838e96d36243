// bench/decode.cpp
//
// Times the processing of a training image in one thread, on files in memory: libjpeg against our decoder, whole images
// and random-resized-crop regions, with one stream and with a second one ahead, with and without an index, then resize
// and final conversion. A folder without a JPEG: whole images, regions and samples of its PNG, WebP and BMP files, and
// the numbers of PNG masks. Prints processor time per image in microseconds: the median of the passes over all files,
// and the shortest.
//
//   build/bench_decode FOLDER [passes, 7] [crop side, 224] [only rows that begin with this text]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/image/resample/resample.h"

namespace {

using namespace ridgeline;
using namespace ridgeline::image;

struct Photo {
  std::vector<std::uint8_t> bytes;
  Size size;
  Box box;
  bool flip = false;
  JpegIndex index;
  Image region, resized;
};

// The JPEGs of the folder, or its files in other formats.
std::vector<Photo> read_photos(const std::string& folder, bool jpegs) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Photo> photos;
  for (const std::string& path : paths) {
    const std::string content = read_file(path);
    Photo photo;
    photo.bytes.assign(content.begin(), content.end());
    if (const Format format = sniff(photo.bytes).format; format == Format::other || (format == Format::jpeg) != jpegs)
      continue;
    photo.size = read_header(photo.bytes).size();
    SampleRandom random(philox_key(1, "bench/decode"), 0, photos.size());
    photo.box = random_resized_crop(photo.size, {}, random);
    photo.flip = random.integer(0, 1) == 1;
    Decoder decoder;
    decoder.decode(photo.bytes, nullptr, &photo.index);
    photo.region = copy(decoder.decode_region(photo.bytes, photo.box));
    photos.push_back(std::move(photo));
  }
  return photos;
}

std::string only;

// Processor time of this thread in microseconds, so that other processes on the machine do not count.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// `before` is not timed: it puts into the cache what the previous stage would have left there.
void measure(const char* name, std::vector<Photo>& photos, int passes, const std::function<void(Photo&)>& work,
             const std::function<void(Photo&)>& before = {}) {
  if (!std::string_view(name).starts_with(only)) return;
  std::vector<double> took;
  for (int pass = 0; pass < passes; ++pass) {
    double total = 0;
    for (Photo& photo : photos) {
      if (before) before(photo);
      const double begin = processor_time();
      work(photo);
      total += processor_time() - begin;
    }
    took.push_back(total / static_cast<double>(photos.size()));
  }
  std::sort(took.begin(), took.end());
  std::printf("%-56s %8.1f %8.1f\n", name, took[took.size() / 2], took[0]);
  std::fflush(stdout);
}

void print_heading() { std::printf("%-56s %8s %8s\n", "us an image", "median", "shortest"); }

int run_others(const std::string& folder, int passes, int side) {
  std::vector<Photo> photos = read_photos(folder, false);
  if (photos.empty()) throw Error("no JPEG, PNG, WebP or BMP in " + folder);
  std::printf("%zu files\n", photos.size());
  print_heading();
  Decoder decoder;
  Resizer resizer;
  const NormalizeTable table(kImagenetMean, kImagenetStd);
  std::vector<float> batch(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3);
  measure("whole image", photos, passes, [&](Photo& p) { decoder.decode(p.bytes); });
  measure("region", photos, passes, [&](Photo& p) { decoder.decode_region(p.bytes, p.box); });
  measure("sample: region, resize, tail", photos, passes, [&](Photo& p) {
    const ImageView region = decoder.decode_region(p.bytes, p.box);
    p.resized.reset(side, side);
    resizer.resize(region, {{region.height, region.width}, {side, side}}, p.resized.data(), p.resized.stride());
    table.tail(p.resized, p.flip, batch.data());
  });
  std::erase_if(photos, [](const Photo& p) {
    return sniff(p.bytes).format != Format::png || read_header(p.bytes).components != 1;
  });
  if (!photos.empty()) measure("numbers of masks", photos, passes, [](Photo& p) { decode_png_values(p.bytes); });
  return 0;
}

int run(const std::string& folder, int passes, int side) {
  std::vector<Photo> photos = read_photos(folder, true);
  if (photos.empty()) return run_others(folder, passes, side);
  double bytes = 0, pixels = 0, region = 0, index = 0;
  std::size_t own = 0;
  for (const Photo& photo : photos) {
    bytes += static_cast<double>(photo.bytes.size());
    pixels += static_cast<double>(photo.size.height) * photo.size.width;
    region += static_cast<double>(photo.box.height) * photo.box.width;
    if (photo.index.empty()) continue;
    ++own;
    index += static_cast<double>(photo.index.serialize().size());
  }
  const auto n = static_cast<double>(photos.size());
  std::printf("%zu files, %zu with an index of %.0f bytes; mean %.1f KB, %.0f pixels, region %.0f pixels (%.0f %%)\n",
              photos.size(), own, own ? index / static_cast<double>(own) : 0.0, bytes / n / 1e3, pixels / n, region / n,
              100 * region / pixels);
  print_heading();

  Decoder libjpeg({}, JpegPath::libjpeg), one({}, JpegPath::one_stream), decoder({}, JpegPath::own);
  // One pixel in the last row of the region: everything before it must be entropy-decoded, but almost nothing else.
  const auto corner = [](const Photo& p) { return Box{p.box.top + p.box.height - 1, p.box.left, 1, 1}; };
  const auto last = [](const Photo& p) { return Box{p.size.height - 1, 0, 1, 1}; };
  measure("libjpeg, whole image", photos, passes, [&](Photo& p) { libjpeg.decode(p.bytes); });
  measure("own, whole image", photos, passes, [&](Photo& p) { decoder.decode(p.bytes); });
  measure("own, whole image, makes the index", photos, passes,
          [&](Photo& p) { decoder.decode(p.bytes, nullptr, &p.index); });
  measure("own, whole image, with the index", photos, passes, [&](Photo& p) { decoder.decode(p.bytes, &p.index); });
  measure("libjpeg, region", photos, passes, [&](Photo& p) { libjpeg.decode_region(p.bytes, p.box); });
  measure("own, one stream, region", photos, passes, [&](Photo& p) { one.decode_region(p.bytes, p.box); });
  measure("own, region", photos, passes, [&](Photo& p) { decoder.decode_region(p.bytes, p.box); });
  measure("own, region, makes the index", photos, passes, [&](Photo& p) {
    JpegIndex made;
    decoder.decode_region(p.bytes, p.box, nullptr, &made);
  });
  measure("own, region, with the index", photos, passes,
          [&](Photo& p) { decoder.decode_region(p.bytes, p.box, &p.index); });
  measure("libjpeg, bits alone, whole image", photos, passes,
          [&](Photo& p) { libjpeg.decode_region(p.bytes, last(p)); });
  measure("own, bits alone, whole image", photos, passes, [&](Photo& p) { decoder.decode_region(p.bytes, last(p)); });
  measure("libjpeg, bits alone, to the region's end", photos, passes,
          [&](Photo& p) { libjpeg.decode_region(p.bytes, corner(p)); });
  measure("own, one stream, bits alone, to the region's end", photos, passes,
          [&](Photo& p) { one.decode_region(p.bytes, corner(p)); });
  measure("own, bits alone, to the region's end", photos, passes,
          [&](Photo& p) { decoder.decode_region(p.bytes, corner(p)); });

  Resizer resizer;
  const auto resize_one = [&](const ImageView& from, Image& to) {
    to.reset(side, side);
    resizer.resize(from, {{from.height, from.width}, {side, side}}, to.data(), to.stride());
  };
  Image near;
  const auto bring = [&near](const Image& image) {
    near.reset(image.height(), image.width());
    std::copy_n(image.data(), image.byte_size(), near.data());
  };
  measure(
      "resize (weights and pixels)", photos, passes, [&](Photo& p) { resize_one(near, p.resized); },
      [&](Photo& p) { bring(p.region); });
  const NormalizeTable table(kImagenetMean, kImagenetStd);
  std::vector<float> batch(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3);
  measure(
      "tail (flip and normalise to f32)", photos, passes, [&](Photo& p) { table.tail(near, p.flip, batch.data()); },
      [&](Photo& p) {
        if (p.resized.byte_size() == 0) resize_one(p.region, p.resized);
        bring(p.resized);
      });
  const auto sample = [&](Photo& p, Decoder& with, const JpegIndex* known) {
    resize_one(with.decode_region(p.bytes, p.box, known), p.resized);
    table.tail(p.resized, p.flip, batch.data());
  };
  measure("sample: libjpeg region, resize, tail", photos, passes, [&](Photo& p) { sample(p, libjpeg, nullptr); });
  measure("sample: own region, one stream, resize, tail", photos, passes, [&](Photo& p) { sample(p, one, nullptr); });
  measure("sample: own region, resize, tail", photos, passes, [&](Photo& p) { sample(p, decoder, nullptr); });
  measure("sample: own region with the index, resize, tail", photos, passes,
          [&](Photo& p) { sample(p, decoder, &p.index); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int passes = argc > 2 ? std::atoi(argv[2]) : 7, side = argc > 3 ? std::atoi(argv[3]) : 224;
  if (argc < 2 || passes < 1 || side < 1) {
    std::fprintf(stderr, "usage: bench_decode FOLDER [passes, 7] [crop side, 224] [row]\n");
    return 2;
  }
  if (argc > 4) only = argv[4];
  try {
    return run(argv[1], passes, side);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
