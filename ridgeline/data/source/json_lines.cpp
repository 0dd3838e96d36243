#include "ridgeline/data/source/json_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/manifest_rows.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/text/json_rows.h"

namespace ridgeline::data {

Dataset JsonLines(const std::string& file, ManifestOptions options) {
  return source_dataset("json_lines", {{"file", file},
                                       {"columns", std::move(options.columns)},
                                       {"image", std::move(options.image)},
                                       {"root", std::move(options.root)},
                                       {"num_classes", options.num_classes},
                                       {"class_names", std::move(options.class_names)}});
}

namespace {

std::vector<JsonColumn> json_columns(const std::string& file, const std::vector<ManifestColumn>& declared) {
  if (declared.empty()) return JsonRowsFile::infer(file);
  std::vector<JsonColumn> columns;
  for (const ManifestColumn& c : declared) {
    const bool text = c.dtype == DType::bytes || c.names_class;
    const JsonKind kind = text                   ? JsonKind::text
                          : is_floating(c.dtype) ? (c.list ? JsonKind::reals : JsonKind::real)
                                                 : (c.list ? JsonKind::integers : JsonKind::integer);
    columns.push_back({.key = c.name, .kind = kind});
  }
  return columns;
}

std::vector<ManifestColumn> manifest_columns(const std::vector<JsonColumn>& inferred) {
  std::vector<ManifestColumn> columns;
  for (const JsonColumn& c : inferred) {
    switch (c.kind) {
      case JsonKind::integer: columns.push_back({c.key, DType::i64, false}); break;
      case JsonKind::integers: columns.push_back({c.key, DType::i64, true}); break;
      case JsonKind::real: columns.push_back({c.key, DType::f32, false}); break;
      case JsonKind::reals: columns.push_back({c.key, DType::f32, true}); break;
      case JsonKind::text: columns.push_back({c.key, DType::bytes, false}); break;
      case JsonKind::texts: break;  // lists of texts are no column
    }
  }
  return columns;
}

struct Cells : Record::Work {
  std::vector<JsonCell> cells;
};

class JsonLinesSource : public Source {
 public:
  explicit JsonLinesSource(const Node& node)
      : JsonLinesSource(node, parse_manifest_columns("json_lines", arg<Texts>(node.args, "columns"))) {}
  JsonLinesSource(const Node& node, const std::vector<ManifestColumn>& declared)
      : file_(arg<std::string>(node.args, "file"), json_columns(arg<std::string>(node.args, "file"), declared),
              {.allow_unknown_keys = true}),
        manifest_(node, declared.empty() ? manifest_columns(file_.columns()) : declared) {
    if (!manifest_.wants_classes()) return;
    const std::size_t place = place_of(manifest_.columns()[manifest_.class_column()].name);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < file_.size(); ++i) {
      try {
        names.push_back(std::get<std::string>(file_.row(i)[place]));
      } catch (const Error&) {
        // Who reads the row says so.
      }
    }
    manifest_.name_classes(std::move(names));
  }

  std::uint64_t size() const override { return file_.size(); }
  Schema schema() const override { return manifest_.schema(); }
  void read(std::uint64_t index, Record& record) const override {
    std::vector<JsonCell>& cells = record.work_as<Cells>().cells;
    file_.read(index, cells);
    ManifestRow out(manifest_, record);
    for (const JsonCell& cell : cells) {
      if (const auto* text = std::get_if<std::string>(&cell)) {
        out.text(*text);
      } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
        out.whole(*whole);
      } else if (const auto* real = std::get_if<double>(&cell)) {
        out.real(*real);
      } else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&cell)) {
        out.list(*wholes);
      } else if (const auto* reals = std::get_if<std::vector<double>>(&cell)) {
        out.list(*reals);
      }  // lists of texts are no column
    }
    out.finish();
  }
  std::string origin(std::uint64_t index) const override {
    return fmt::format("[json_lines] {}: row {}, line {}", file_.path(), index, file_.line(index));
  }
  // Without the image.
  std::int64_t label_of(std::uint64_t index) const override {
    if (manifest_.label() == Manifest::kNone) return Source::label_of(index);
    const JsonCell cell = file_.row(index)[place_of(kLabelColumn)];
    const auto* name = std::get_if<std::string>(&cell);
    const std::int64_t label = name ? manifest_.label_named(*name) : std::get<std::int64_t>(cell);
    manifest_.check_label(label);
    return label;
  }
  std::int64_t num_classes() const override { return manifest_.num_classes(); }
  std::vector<std::string> class_names() const override { return manifest_.class_names(); }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files{file_.path()};
    if (manifest_.image() != Manifest::kNone) {
      const std::size_t place = place_of(manifest_.columns()[manifest_.image()].name);
      for (std::size_t i = 0; i < file_.size(); ++i) {
        try {
          files.push_back(manifest_.image_path(std::get<std::string>(file_.row(i)[place])));
        } catch (const Error&) {
          // A row that cannot be read has no image; the manifest's own time shows when it is repaired.
        }
      }
    }
    return fingerprint_of(files);
  }

 private:
  // Among the file's columns: lists of texts may be between ours.
  std::size_t place_of(const std::string& name) const {
    const auto& all = file_.columns();
    const auto found = std::find_if(all.begin(), all.end(), [&](const JsonColumn& c) { return c.key == name; });
    return static_cast<std::size_t>(found - all.begin());
  }

  JsonRowsFile file_;
  Manifest manifest_;
};

}  // namespace

SourceEntry json_lines_source() {
  return {.op = "json_lines",
          .doc = "one flat JSON object per line",
          .args = manifest_args("types as in the first line"),
          .check = check_manifest,
          .open = open_as<JsonLinesSource>,
          .columns = declared_columns,
          .classes = declared_classes};
}

}  // namespace ridgeline::data
