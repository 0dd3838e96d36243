#include "ridgeline/data/make/make_tfrecord.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/permutation.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/data/standard/class_labels.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/image/decode.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kShardBytes = 64u << 20;
constexpr std::size_t kAtATime = 256;  // images held in memory

struct Packed {
  std::string record;
  std::string reason;  // why the image is unreadable; empty if it is fine
};

std::string in_capitals(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

Packed pack(const ClassFolders::File& file, const std::string& class_name, image::Decoder& decoder) {
  std::string bytes;
  image::Header header;
  try {
    bytes = read_file(file.path);
    const std::span<const std::uint8_t> view = as_bytes(bytes);
    header = image::read_header(view);
    decoder.decode(view);
  } catch (const Error& e) {
    return {"", e.what()};
  }
  const bool grey = header.components == 1, four = header.components == 4;
  ExampleBuilder example;
  example.bytes("image/encoded", bytes)
      .bytes("image/format", in_capitals(image::name_of(header.format)))
      .bytes("image/filename", fs::path(file.path).filename().string())
      .bytes("image/colorspace", grey                                           ? "Grayscale"
                                 : four && header.format == image::Format::jpeg ? "CMYK"
                                                                                : "RGB")
      .int64s("image/channels", header.components)
      .int64s("image/height", header.height)
      .int64s("image/width", header.width)
      .int64s("image/class/label", file.label + 1)
      .bytes("image/class/text", class_name)
      .bytes("image/class/synset", class_name);
  return {example.serialize(), ""};
}

std::int64_t shards_for(const ClassFolders& found, std::int64_t asked, std::int64_t most) {
  const auto files = static_cast<std::int64_t>(found.files.size());
  if (asked > files)
    throw Error(
        fmt::format("[make tfrecord] {} shards for {} images: there can be at most one for each", asked, files));
  if (asked > 0) return asked;
  std::uintmax_t bytes = 0;
  for (const ClassFolders::File& file : found.files) bytes += fs::file_size(file.path);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes / kShardBytes), 1, std::min(most, files));
}

// The shards are in a hidden folder of the output until publish(): a run that ends before leaves none.
class Maker {
 public:
  Maker(const fs::path& out, const MakeTFRecordOptions& options, MakeTFRecordReport& report, std::int64_t total)
      : out_(out), staged_(out / ".partial"), options_(options), report_(report), total_(total) {
    fs::remove_all(staged_);  // of a run that was killed
    fs::create_directories(staged_);
  }
  ~Maker() {
    std::error_code ignored;
    fs::remove_all(staged_, ignored);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  std::int64_t split(const ClassFolders& found, const std::string& name, std::int64_t shards, bool shuffled) {
    const auto count = static_cast<std::uint64_t>(found.files.size());
    const Permutation permutation(shuffled ? count : 0, philox_key(options_.seed, "make_tfrecord"), 0);
    std::vector<const ClassFolders::File*> order;
    for (std::uint64_t i = 0; i < count; ++i) order.push_back(&found.files[shuffled ? permutation.at(i) : i]);
    const std::size_t unreadable = report_.unreadable.size();
    std::int64_t records = 0;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
      const std::string file = fmt::format("{}-{:05}-of-{:05}", name, shard, shards);
      const auto begin = order.size() * static_cast<std::size_t>(shard) / static_cast<std::size_t>(shards);
      const auto end = order.size() * static_cast<std::size_t>(shard + 1) / static_cast<std::size_t>(shards);
      TFRecordWriter writer((staged_ / file).string());
      for (std::size_t at = begin; at < end; at += kAtATime) {
        write(writer, found, {order.data() + at, std::min(kAtATime, end - at)});
      }
      records += static_cast<std::int64_t>(writer.records());
      writer.close();
      files_.push_back(file);
    }
    if (records == 0) {
      const UnreadableImage& first = report_.unreadable.at(unreadable);
      throw Error(fmt::format("[make tfrecord] none of the {} images for {} can be read; the first: {}: {}", count,
                              name, first.file, first.reason));
    }
    return records;
  }

  void publish() {
    for (const std::string& file : files_) {
      report_.files.push_back((out_ / file).string());
      fs::rename(staged_ / file, out_ / file);
    }
  }

 private:
  void write(TFRecordWriter& writer, const ClassFolders& found, std::span<const ClassFolders::File* const> files) {
    std::vector<Packed> packed(files.size());
    parallel_for(static_cast<std::int64_t>(files.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      image::Decoder decoder;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        packed[i] = pack(*files[i], found.classes[static_cast<std::size_t>(files[i]->label)], decoder);
      }
    });
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (packed[i].reason.empty())
        writer.write(packed[i].record);
      else
        report_.unreadable.push_back({files[i]->path, packed[i].reason});
    }
    done_ += static_cast<std::int64_t>(files.size());
    if (options_.progress) options_.progress(done_, total_);
  }

  fs::path out_, staged_;
  std::vector<std::string> files_;
  const MakeTFRecordOptions& options_;
  MakeTFRecordReport& report_;
  std::int64_t total_, done_ = 0;
};

void check_out(const fs::path& out) {
  if (fs::exists(out) && !fs::is_directory(out)) throw Error("[make tfrecord] not a directory: " + out.string());
  make_directories(out.string());
  for (const char* pattern : {"train-*", "validation-*"}) {
    const std::vector<std::string> there = glob_files((fs::path(glob_escape(out.string())) / pattern).string());
    if (!there.empty())
      throw Error("[make tfrecord] " + there[0] + " is there already: choose a folder without " + pattern);
  }
}

// The images of a split; only class folders are packed.
const ClassFolders& images_of(const DataPart& part) {
  if (part.layout == Layout::records || part.layout == Layout::packed)
    throw Error(fmt::format("[make tfrecord] {} holds {} already", part.dir, name_of(part.layout)));
  if (part.layout == Layout::archives)
    throw Error(fmt::format(
        "[make tfrecord] {} holds tar archives, and class folders are read: dataset pack packs them", part.dir));
  for (const std::string& refusal : {part.refusal, part.empty_class}) {
    if (!refusal.empty()) throw Error(refusal);
  }
  return *part.folders;
}

// Those of the validation split, with the training's labels for classes of these names.
ClassFolders with_labels_of(const FoundData& found, const DataPart& part, const std::vector<std::string>& classes) {
  if (part.layout != Layout::class_folders || !part.refusal.empty() || part.images == 0) images_of(part);
  NamedLabels named = labels_by_names(found, part, classes);
  for (ClassFolders::File& file : named.folders.files)
    file.label = static_cast<std::int32_t>(named.labels[static_cast<std::size_t>(file.label)]);
  named.folders.classes = classes;
  return std::move(named.folders);
}

std::vector<std::string> notes_of(const FoundData& found, const DataPart& train, const DataPart* val) {
  std::vector<PartUse> uses{{&train, "training"}};
  if (val) uses.push_back({val, "validation"});
  std::vector<std::string> notes{not_used_line(found, uses, 0), validation_note(found)};
  if (val) notes.push_back(missing_classes(*val, train.folders->classes, "validation has"));
  notes.insert(notes.end(), found.notes.begin(), found.notes.end());
  std::erase(notes, "");
  return notes;
}

}  // namespace

MakeTFRecordReport make_tfrecord(const std::string& from_dir, const std::string& out_dir,
                                 const MakeTFRecordOptions& options) {
  if (options.train_shards < 0 || options.validation_shards < 0)
    throw Error("[make tfrecord] the number of shards must not be negative");
  const fs::path from(from_dir), out(out_dir);
  MakeTFRecordReport report;
  try {
    if (!fs::is_directory(from)) throw Error("[make tfrecord] no such directory: " + from.string());
    const FoundData found = find_data(from_dir);
    const DataPart& training = find_part(found, "train");
    const DataPart* validation = found.validation();
    const ClassFolders& train = images_of(training);
    const std::optional<ClassFolders> val =
        validation ? std::optional(with_labels_of(found, *validation, train.classes)) : std::nullopt;
    report.notes = notes_of(found, training, validation);
    if (!val && options.validation_shards > 0) {
      throw Error(fmt::format("[make tfrecord] {} validation shards of nothing: there is no {}",
                              options.validation_shards, (from / "val").string()));
    }
    report.class_names = train.classes;
    const std::int64_t train_shards = shards_for(train, options.train_shards, 1024);
    const std::int64_t validation_shards = val ? shards_for(*val, options.validation_shards, 128) : 0;
    check_out(out);
    Maker maker(out, options, report, static_cast<std::int64_t>(train.files.size() + (val ? val->files.size() : 0)));
    report.train_records = maker.split(train, "train", train_shards, true);
    if (val) report.validation_records = maker.split(*val, "validation", validation_shards, false);
    maker.publish();
  } catch (const fs::filesystem_error& e) {
    throw Error(fmt::format("[make tfrecord] {}: {}", e.path1().string(), e.code().message()));
  }
  return report;
}

}  // namespace ridgeline::data
