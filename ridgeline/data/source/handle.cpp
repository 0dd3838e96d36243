#include "ridgeline/data/source/handle.h"

#include <mutex>
#include <optional>

#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {
namespace {

std::optional<Schema> known_columns(const Node& node) {
  const SourceEntry& entry = source_entry(node.op);
  return entry.columns ? entry.columns(node) : std::nullopt;
}

std::optional<SourceClasses> known_classes(const Node& node) {
  if (const SourceEntry& entry = source_entry(node.op); entry.classes) return entry.classes(node);
  if (!node.args.contains("num_classes")) return std::nullopt;
  return SourceClasses{.count = arg<std::int64_t>(node.args, "num_classes")};
}

std::optional<int> known_label_base(const Node& node) {
  if (const SourceEntry& entry = source_entry(node.op); entry.label_base) return entry.label_base(node);
  if (!node.args.contains("label_base")) return 0;
  return static_cast<int>(arg<std::int64_t>(node.args, "label_base"));
}

class Handle : public SourceHandle {
 public:
  explicit Handle(const Node* whole) : whole_(whole ? std::optional(*whole) : std::nullopt) {}
  explicit Handle(std::unique_ptr<Source> open) : source_(std::move(open)) {}

  const Source& source(const Node& node) {
    const std::lock_guard lock(mutex_);
    return opened(node);
  }
  Schema columns(const Node& node) override {
    const std::lock_guard lock(mutex_);
    if (!columns_ && !source_) columns_ = known_columns(node);
    if (!columns_) columns_ = opened(node).schema();
    return *columns_;
  }
  SourceClasses classes(const Node& node) override {
    if (std::optional<SourceClasses> known = known_classes(node)) return *std::move(known);
    const Source& opened = source(node);
    return {opened.num_classes(), opened.class_names(), opened.class_indexing()};
  }
  int label_base(const Node& node) override {
    const std::optional<int> known = known_label_base(node);
    return known ? *known : source(node).label_base();
  }

 private:
  // Under the lock.
  const Source& opened(const Node& node) {
    if (!source_) source_ = whole_ ? source_of(*whole_).choose(node) : open_source(node);
    return *source_;
  }

  const std::optional<Node> whole_;
  std::mutex mutex_;
  std::unique_ptr<Source> source_;
  std::optional<Schema> columns_;
};

}  // namespace

std::shared_ptr<SourceHandle> make_source_handle(const Node* whole) { return std::make_shared<Handle>(whole); }
std::shared_ptr<SourceHandle> handle_of_open(std::unique_ptr<Source> open) {
  return std::make_shared<Handle>(std::move(open));
}

const Source& source_of(const Node& node) { return static_cast<Handle&>(handle_of(node)).source(node); }

Schema columns_of_source(const Node& node) {
  const SourceEntry& entry = source_entry(node.op);
  if (!node.source && !(entry.columns_in_file && entry.columns_in_file(node))) {
    if (std::optional<Schema> known = known_columns(node)) return *std::move(known);
  }
  return handle_of(node).columns(node);
}

std::int64_t records_of_source(const Node& node) {
  if (const SourceEntry& entry = source_entry(node.op); entry.records) {
    if (const std::optional<std::int64_t> known = entry.records(node)) return *known;
  }
  return static_cast<std::int64_t>(source_of(node).size());
}

}  // namespace ridgeline::data
