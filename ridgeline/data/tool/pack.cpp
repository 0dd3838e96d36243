#include "ridgeline/data/tool/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/core/version.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data {
namespace {

constexpr std::int64_t kAtATime = 256;  // records held in memory

struct Packed {
  std::vector<std::uint8_t> image;
  std::int32_t label = 0;
  std::size_t bytes_in = 0;
  bool resized = false, objects = false, turned = false;
  std::string reason;  // why it cannot be read; empty if it is fine
};

// What one worker reuses.
struct Tools {
  Record record;
  image::Decoder decoder;
  image::Resizer resizer;
  image::Image smaller;
};

class Packer {
 public:
  Packer(const Dataset& dataset, const PackOptions& options)
      : options_(options),
        source_(source_of(*sources_of(dataset.graph()).front())),
        tools_(static_cast<std::size_t>(worker_count(options.workers))) {}

  PackReport run(PackedWriter& writer) {
    const auto total = static_cast<std::int64_t>(source_.size());
    std::vector<Packed> packed;
    for (std::int64_t begin = 0; begin < total; begin += kAtATime) {
      const std::int64_t count = std::min(kAtATime, total - begin);
      packed.assign(static_cast<std::size_t>(count), {});
      for_each(count, options_.workers, [&](std::int64_t i, int worker) {
        make(static_cast<std::uint64_t>(begin + i), packed[static_cast<std::size_t>(i)],
             tools_[static_cast<std::size_t>(worker)]);
      });
      for (std::int64_t i = 0; i < count; ++i)
        write(writer, static_cast<std::uint64_t>(begin + i), packed[static_cast<std::size_t>(i)]);
      if (options_.progress) options_.progress(begin + count, total);
    }
    return std::move(report_);
  }

 private:
  void make(std::uint64_t index, Packed& out, Tools& tools) const {
    try {
      source_.read(index, tools.record);
      const Cell& cell = tools.record.cells.at(0);
      const std::span<const std::uint8_t> bytes(cell.data, cell.bytes);
      out.label = tools.record.label;
      out.objects = !tools.record.objects.empty();
      out.bytes_in = bytes.size();
      const image::ImageView pixels = tools.decoder.decode(bytes, nullptr, nullptr, options_.exif_orientation);
      if (options_.short_side == 0 || std::min(pixels.height, pixels.width) <= options_.short_side) {
        out.image.assign(bytes.begin(), bytes.end());
        return;
      }
      const image::Size in{pixels.height, pixels.width};
      const image::Size to = image::resized_short_side(in, static_cast<int>(options_.short_side));
      tools.smaller.reset(to.height, to.width, 3);
      tools.resizer.resize(pixels, {.in = in, .out = to}, tools.smaller.data(), tools.smaller.stride());
      out.image = image::encode_jpeg(tools.smaller, options_.quality);
      out.resized = true;
      out.turned = image::exif_orientation(bytes) != 1;
    } catch (const Error& e) {
      out.reason = e.what();
    }
  }

  void write(PackedWriter& writer, std::uint64_t index, const Packed& packed) {
    if (!packed.reason.empty()) {
      report_.unreadable.push_back({source_.origin(index), packed.reason});
      return;
    }
    const auto* label = reinterpret_cast<const std::uint8_t*>(&packed.label);
    const std::array<PackedValue, 2> values{PackedValue{.bytes = packed.image},
                                            PackedValue{.bytes = {label, sizeof packed.label}}};
    writer.add(values);
    ++report_.records;
    report_.resized += packed.resized;
    report_.orientations_dropped += packed.turned && options_.exif_orientation == image::ExifOrientation::ignore;
    report_.objects_dropped += packed.objects;
    report_.bytes_in += static_cast<std::int64_t>(packed.bytes_in);
    report_.bytes_out += static_cast<std::int64_t>(packed.image.size());
  }

  const PackOptions& options_;
  const Source& source_;
  std::vector<Tools> tools_;
  PackReport report_;
};

void check(const std::string& out, const PackOptions& options) {
  if (options.short_side < 0 || options.short_side > 65500)
    throw Error(fmt::format("--short_side={} is out of range (allowed: 0 (as is) to 65500)", options.short_side),
                ErrorKind::usage);
  if (options.quality < 1 || options.quality > 100)
    throw Error(fmt::format("--quality={} is out of range (allowed: 1 to 100)", options.quality), ErrorKind::usage);
  if (!out.ends_with(".ridge")) throw Error("--out=" + out + ": the name must end in .ridge", ErrorKind::usage);
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored)) throw Error("[pack] " + out + " is there already");
}

}  // namespace

PackReport pack(const std::string& dir, const std::string& out, const PackOptions& options) {
  check(out, options);
  const FoundData found = find_data(dir);
  const DataPart& part = find_part(found, options.split);
  std::error_code ignored;  // from a folder that was removed: the path as it was given
  if (part.layout == Layout::packed) throw Error("[pack] " + part.files[0] + " is packed already");
  const Dataset dataset = open_source(found, part, options.source);
  PackedSchema schema;
  schema.columns = {{.name = kImageColumn, .dtype = DType::bytes, .extents = {}},
                    {.name = kLabelColumn, .dtype = DType::i32, .extents = {}}};
  schema.class_names = dataset.class_names();
  nlohmann::ordered_json metadata{{"program", std::string("ridgeline ") + std::string(kVersion)},
                                  {"from", std::filesystem::absolute(dir, ignored).string()},
                                  {"split", part.name},
                                  {"layout", name_of(part.layout)},
                                  {"label_base", dataset.label_base()},
                                  {"short_side", options.short_side}};
  if (options.short_side > 0) {
    metadata["quality"] = options.quality;
    metadata["exif_orientation"] = image::name_of(options.exif_orientation);
  }
  PackedWriter writer(out, schema, metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  PackReport report = Packer(dataset, options).run(writer);
  if (report.records == 0) {
    throw Error(fmt::format("[pack] none of the {} images can be read; the first: {}: {}", report.unreadable.size(),
                            report.unreadable[0].file, report.unreadable[0].reason));
  }
  writer.finish();
  return report;
}

}  // namespace ridgeline::data
