#include "ridgeline/data/source/tar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <limits>
#include <set>
#include <thread>

#include "ridgeline/core/random.h"
#include "ridgeline/core/stop.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/data/source/tar_labels.h"
#include "ridgeline/format/record/tar_samples.h"
#include "ridgeline/format/remote/http_file.h"
#include "ridgeline/format/remote/url.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {

std::vector<std::string> image_fields() {
  std::vector<std::string> fields;
  for (const image::DecodedFormat& format : image::decoded_formats()) {
    for (const std::string_view ending : format.endings) fields.emplace_back(ending.substr(1));
  }
  return fields;
}

Dataset Tar(std::vector<std::string> files, TarOptions options) {
  return source_dataset("tar", {{"files", std::move(files)},
                                {"image", std::move(options.image)},
                                {"label", std::move(options.label)},
                                {"fields", std::move(options.fields)},
                                {"num_classes", options.num_classes},
                                {"class_names", std::move(options.class_names)},
                                {"tries", options.tries},
                                {"stall_seconds", options.stall_seconds}});
}

namespace {

Schema tar_columns_of(const Node& node) {
  Schema schema;
  if (!arg<Texts>(node.args, "image").empty()) schema.push_back(encoded_image());
  if (!arg<std::string>(node.args, "label").empty()) schema.push_back(class_label());
  for (const std::string& field : arg<Texts>(node.args, "fields")) schema.push_back({field, DType::bytes, Shape{}});
  schema.push_back({"key", DType::bytes, Shape{}});
  return schema;
}

TarLabel label_place_of(const Node& node) { return parse_tar_label(arg<std::string>(node.args, "label")); }

// A path, as SeveralFiles needs it.
class Archive : public TarSamples {
 public:
  using TarSamples::TarSamples;
  const std::string& path() const { return archive().path(); }
};

// The working state of reading a sample.
struct Reading : Record::Work {
  std::vector<std::size_t> wanted;  // members
  std::vector<std::span<const std::uint8_t>> contents;
};

// Archives behind a URL that are opened at the same time: each waits for its server most of the time.
constexpr std::size_t kOpenAtOnce = 8;

// In the order of their paths; of several that cannot be opened, the first one's error.
std::vector<Archive> open_archives(const std::vector<std::string>& paths, const HttpOptions& http) {
  const auto client = std::make_shared<HttpClient>(http);
  std::vector<std::optional<Archive>> opened(paths.size());
  std::vector<std::exception_ptr> errors(paths.size());
  std::atomic<std::size_t> next{0}, failed{paths.size()};
  std::atomic<bool> indexed{false};  // an index was made that is kept
  const std::atomic<bool>* const stop = stop_flag();
  const auto open_some = [&] {
    const StopScope scope(stop);
    for (std::size_t i = next++; i < paths.size() && i < failed; i = next++) {
      try {
        const std::string directory = is_url(paths[i]) ? user_cache_directory() : index_directory(paths[i]);
        opened[i].emplace(paths[i], ridgeline::TarOptions{.index_cache_directory = directory, .http = client});
        if (!directory.empty() && !opened[i]->archive().index_was_cached()) indexed = true;
      } catch (...) {
        errors[i] = std::current_exception();
        failed = std::min<std::size_t>(failed, i);
      }
    }
  };
  std::vector<std::thread> others;
  const auto urls = static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), is_url));
  for (std::size_t i = 1; i < std::min(urls, kOpenAtOnce); ++i) others.emplace_back(open_some);
  open_some();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  std::vector<Archive> archives;
  for (std::optional<Archive>& archive : opened) archives.push_back(std::move(*archive));
  if (indexed) bound_index_directory();
  return archives;
}

class TarSource : public Source {
 public:
  explicit TarSource(const Node& node)
      : images_(arg<Texts>(node.args, "image")),
        label_(label_place_of(node)),
        fields_(arg<Texts>(node.args, "fields")),
        num_classes_(arg<std::int64_t>(node.args, "num_classes")),
        class_names_(arg<Texts>(node.args, "class_names")),
        schema_(tar_columns_of(node)) {
    const std::int64_t tries = arg<std::int64_t>(node.args, "tries");
    const HttpOptions http{.tries = static_cast<int>(std::min<std::int64_t>(tries, std::numeric_limits<int>::max())),
                           .stall_seconds = static_cast<double>(arg<std::int64_t>(node.args, "stall_seconds"))};
    for (Archive& archive : open_archives(expand_patterns("tar", arg<Texts>(node.args, "files"), Urls::read), http))
      files_.add(std::move(archive));
    if (files_.size() == 0) throw Error("[tar] no samples in " + files_.files()[0].path());
    if (label_.kind == TarLabel::Kind::folder && class_names_.empty()) {
      std::set<std::string, std::less<>> folders;
      for (const Archive& file : files_.files()) {
        for (std::size_t i = 0; i < file.size(); ++i) {
          const std::string_view folder = folder_of_key(file.key(i));
          if (!folders.contains(folder)) folders.emplace(folder);
        }
      }
      folders.erase("");  // samples without one are bad ones
      class_names_.assign(folders.begin(), folders.end());
    }
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    auto& reading = record.work_as<Reading>();
    record.objects.clear();
    record.cells.clear();
    reading.wanted.clear();
    if (!images_.empty()) {
      const auto name = std::find_if(images_.begin(), images_.end(),
                                     [&](const std::string& field) { return place.file->has(place.record, field); });
      if (name == images_.end()) {
        std::vector<std::string> there;
        for (const TarSamples::Field& field : place.file->fields(place.record)) there.push_back(field.name);
        throw Error(fmt::format("none of its fields is an image (looked for {}; it has {})", fmt::join(images_, ", "),
                                fmt::join(there, ", ")));
      }
      reading.wanted.push_back(place.file->member(place.record, *name));
    }
    const bool label_in_member = label_.kind == TarLabel::Kind::field || label_.kind == TarLabel::Kind::json;
    if (label_in_member) reading.wanted.push_back(tar_label_member(*place.file, place.record, label_));
    for (const std::string& field : fields_) reading.wanted.push_back(place.file->member(place.record, field));
    place.file->archive().members(reading.wanted, record.storage, reading.contents);
    const std::string_view key = place.file->key(place.record);
    const std::size_t label_at = images_.empty() ? 0 : 1;
    const auto put_label = [&](std::int32_t label) {
      record.label = label;
      record.cells.push_back(dense_cell(&record.label, DType::i32, {}));
    };
    if (label_.kind == TarLabel::Kind::folder && label_at == 0) put_label(label_by_folder(key));
    for (std::size_t i = 0; i < reading.contents.size(); ++i) {
      const auto bytes = reading.contents[i];
      if (label_in_member && i == label_at) {
        put_label(label_in(bytes));
        continue;
      }
      record.cells.push_back(bytes_cell(bytes.data(), bytes.size()));
      if (label_.kind == TarLabel::Kind::folder && i + 1 == label_at) put_label(label_by_folder(key));
    }
    record.cells.push_back(bytes_cell(key.data(), key.size()));
  }
  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    return fmt::format("[tar] {}: sample {} ('{}') at byte {}", place.file->path(), place.record,
                       place.file->key(place.record), place.file->offset(place.record));
  }
  std::int64_t label_of(std::uint64_t index) const override {
    if (label_.kind == TarLabel::Kind::none) return Source::label_of(index);
    const auto place = files_.at(index);
    if (label_.kind == TarLabel::Kind::folder) return label_by_folder(place.file->key(place.record));
    std::string storage;
    return label_in(place.file->archive().member(tar_label_member(*place.file, place.record, label_), storage));
  }
  std::int64_t num_classes() const override {
    return num_classes_ > 0 ? num_classes_ : static_cast<std::int64_t>(class_names_.size());
  }
  std::vector<std::string> class_names() const override { return class_names_; }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = fingerprint_of(files_.paths());
    for (const Archive& file : files_.files()) hash = hash64(std::to_string(file.archive().version()), hash);
    return hash;
  }

 private:
  std::int32_t label_in(std::span<const std::uint8_t> bytes) const {
    const TarLabelText label = tar_label_text(bytes, label_);
    return label_of_text(label.text, label.where);
  }

  std::int32_t label_by_folder(std::string_view key) const { return label_named(folder_of_key(key), "the folder"); }

  std::int32_t label_named(std::string_view name, const std::string& where) const {
    const auto found = std::find(class_names_.begin(), class_names_.end(), name);
    if (found == class_names_.end())
      throw Error(fmt::format("{} is '{}', which is no class{}", where, name.substr(0, 40),
                              did_you_mean(std::string(name), class_names_)));
    const std::int64_t label = found - class_names_.begin();
    return checked(label, name, where);
  }

  // A name, where names are known, or a number.
  std::int32_t label_of_text(std::string_view text, const std::string& where) const {
    if (std::find(class_names_.begin(), class_names_.end(), text) != class_names_.end())
      return label_named(text, where);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return checked(value, text, where);
    throw Error(fmt::format("{} holds '{}', which is no class{}", where, text.substr(0, 40),
                            num_classes() > 0 ? fmt::format(" of {}", num_classes())
                                              : " (class_names= tells the names of classes by label)"));
  }

  std::int32_t checked(std::int64_t label, std::string_view text, const std::string& where) const {
    const std::int64_t classes = num_classes();
    if (label < 0 || label > INT32_MAX || (classes > 0 && label >= classes)) {
      throw Error(fmt::format("{} holds '{}', which is no class{}", where, text.substr(0, 40),
                              classes > 0 ? fmt::format(" of {}", classes) : ""));
    }
    return static_cast<std::int32_t>(label);
  }

  Texts images_;
  TarLabel label_;
  Texts fields_;
  std::int64_t num_classes_;
  Texts class_names_;
  Schema schema_;
  SeveralFiles<Archive> files_;
};

// Settings for reaching archives cannot change a record.
ArgSpec place_count(const char* name, const char* doc, std::int64_t fallback) {
  ArgSpec spec = count_arg(name, doc, fallback);
  spec.place = true;
  return spec;
}

void check_tar(const Node& node) {
  check_files(node);
  at_least(node, "num_classes", 0);
  if (label_place_of(node).kind == TarLabel::Kind::none && !arg<Texts>(node.args, "class_names").empty())
    throw Error("[tar] class_names without a label has no effect");
  at_least(node, "tries", 1);
  at_least(node, "stall_seconds", 1);
}

}  // namespace

SourceEntry tar_source() {
  return {
      .op = "tar",
      .doc =
          "tar archives in WebDataset's layout, also from URLs (http://host/train-{000..146}.tar): members with the "
          "same base name are one sample, their extensions its fields",
      .args = {files_arg(),
               hashed_as(
                   texts_arg("image",
                             "fields that may be the image; the first that exists is used; empty: no column image",
                             image_fields()),
                   Texts{"jpg", "jpeg", "png"}),
               text_arg("label",
                        "field that holds the class as text; FIELD:KEY, a member of the JSON object in a field; /, the "
                        "folder of the sample; empty: no column label",
                        "cls"),
               texts_arg("fields", "additional fields to read, as bytes"), num_classes_arg(),
               newer(texts_arg(
                   "class_names",
                   "class names in the order of their labels; empty: labels are numbers, or sorted folder names")),
               place_count("tries", "archives from URLs: number of failed requests after which it is an error", 5),
               place_count("stall_seconds", "archives from URLs: seconds without data after which a request has failed",
                           20)},
      .check = check_tar,
      .open = open_as<TarSource>,
      .columns = [](const Node& node) { return std::optional(tar_columns_of(node)); },
      .classes = [](const Node& node) -> std::optional<SourceClasses> {
        const Texts& names = arg<Texts>(node.args, "class_names");
        if (!names.empty()) return classes_in_order(names);
        if (label_place_of(node).kind == TarLabel::Kind::folder) return std::nullopt;
        return SourceClasses{.count = arg<std::int64_t>(node.args, "num_classes")};
      }};
}

}  // namespace ridgeline::data
