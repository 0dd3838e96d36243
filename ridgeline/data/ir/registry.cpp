#include "ridgeline/data/ir/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ridgeline/core/random.h"

namespace ridgeline::data {
namespace {

template <class Entry>
const Entry& find_entry(const std::vector<Entry>& table, const std::string& op, std::string_view what) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.op == op; });
  if (found != table.end()) return *found;
  std::vector<std::string> names;
  for (const Entry& entry : table) names.push_back(entry.op);
  throw Error(fmt::format("unknown {} '{}'{} (known: {})", what, op, did_you_mean(op, names), fmt::join(names, ", ")));
}

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>)
          return "\"" + v + "\"";
        else if constexpr (std::is_same_v<T, Tensors>)
          return fmt::format("{} tensors", v.size());
        else
          return fmt::format("{}", v);
      },
      value);
}

void describe(std::string& page, const std::string& op, const std::string& doc, const std::vector<ArgSpec>& args) {
  page += fmt::format("{}: {}\n", op, doc);
  for (const ArgSpec& spec : args) {
    page += fmt::format("  {} ({}{}): {}", spec.name, name_of(spec.type),
                        spec.fallback ? ", default " + text_of(*spec.fallback) : ", required", spec.doc);
    if (!spec.allowed.empty()) page += fmt::format(" (one of {})", fmt::join(spec.allowed, ", "));
    page += "\n";
  }
}

}  // namespace

const NodeEntry& node_entry(const std::string& op) { return find_entry(node_table(), op, "node"); }
const TransformEntry& transform_entry(const std::string& op) { return find_entry(transform_table(), op, "transform"); }
const TransformEntry& decoding_entry() {
  const std::vector<TransformEntry>& table = transform_table();
  return *std::find_if(table.begin(), table.end(), [](const TransformEntry& e) { return e.decodes; });
}

const std::vector<HintSpec>& hint_table() {
  static const std::vector<HintSpec> table{
      {"workers", NodeKind::batch, "number of worker threads; 0: one per core"},
      {"memory_limit", NodeKind::batch,
       "most memory for prefetched batches, in bytes; 0: 512 MiB or, if larger, six batches, as far as memory allows"},
      {"slots", NodeKind::batch, "largest number of batches that are prefetched or in use at the same time; 0: 8"},
      {"rows_at_once", NodeKind::batch, "number of rows that a worker takes at a time", true},
      {"write_slots", NodeKind::map, "1: the last transform writes its result directly into the batch's memory", true}};
  return table;
}

void check_hint(const Node& node, const std::string& name, std::int64_t value) {
  const auto known =
      std::find_if(hint_table().begin(), hint_table().end(), [&](const HintSpec& h) { return h.name == name; });
  if (known == hint_table().end()) {
    std::vector<std::string> names;
    for (const HintSpec& hint : hint_table()) names.push_back(hint.name);
    throw Error(fmt::format("[{}] unknown hint '{}'{} (known: {})", node.op, name, did_you_mean(name, names),
                            fmt::join(names, ", ")));
  }
  if (node_entry(node.op).kind != known->kind) {
    throw Error(fmt::format("[{}] cannot have the hint {}: it is one of {}", node.op, name,
                            known->kind == NodeKind::map ? "map" : "batch and bucket"));
  }
  if (value < 0) throw Error(fmt::format("[{}] hint {} is {}, it must not be negative", node.op, name, value));
}

std::string_view name_of(ArgType type) {
  constexpr std::array<std::string_view, 8> names{"boolean",          "integer",       "real",          "text",
                                                  "list of integers", "list of reals", "list of texts", "tensors"};
  return names[static_cast<std::size_t>(type)];
}

std::string name_with_article(ArgType type) {
  std::string name(name_of(type));
  if (type == ArgType::tensors) return name;
  return (type == ArgType::integer ? "an " : "a ") + name;
}

namespace {

// No rule accepts infinity or NaN, and JSON has neither.
void check_finite(const std::string& op, const std::string& name, const Value& value) {
  const auto check = [&](double number) {
    if (!std::isfinite(number)) throw Error(fmt::format("[{}] {} must be finite, it is {}", op, name, number));
  };
  if (const auto* number = std::get_if<double>(&value)) check(*number);
  if (const auto* numbers = std::get_if<Reals>(&value)) std::for_each(numbers->begin(), numbers->end(), check);
}

}  // namespace

void complete_args(const std::string& op, const std::vector<ArgSpec>& specs, Args& args) {
  std::vector<std::string> names;
  for (const ArgSpec& spec : specs) names.push_back(spec.name);
  for (const Args::value_type& given : args) {
    const std::string& name = given.first;
    const Value& value = given.second;
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const ArgSpec& s) { return s.name == name; });
    if (spec == specs.end()) {
      throw Error(fmt::format("[{}] unknown argument '{}'{} (known: {})", op, name, did_you_mean(name, names),
                              fmt::join(names, ", ")));
    }
    if (value.index() != static_cast<std::size_t>(spec->type)) {
      throw Error(fmt::format("[{}] argument '{}' is {}, it must be {}", op, name,
                              name_with_article(static_cast<ArgType>(value.index())), name_with_article(spec->type)));
    }
    check_finite(op, name, value);
    if (const auto* text = std::get_if<std::string>(&value);
        text && !spec->allowed.empty() &&
        std::find(spec->allowed.begin(), spec->allowed.end(), *text) == spec->allowed.end()) {
      throw Error(fmt::format("[{}] unknown {} '{}'{} (allowed: {})", op, name, *text,
                              did_you_mean(*text, spec->allowed), fmt::join(spec->allowed, ", ")));
    }
  }
  for (const ArgSpec& spec : specs) {
    if (args.contains(spec.name)) continue;
    if (!spec.fallback) throw Error(fmt::format("[{}] argument '{}' is missing: {}", op, spec.name, spec.doc));
    args.emplace(spec.name, *spec.fallback);
  }
}

namespace {

void complete(Transform& operation, const Node& node, bool whole_batch) {
  const TransformEntry& entry = transform_entry(operation.op);
  if (!entry.nests && entry.whole_batch != whole_batch) {
    throw Error(fmt::format("[{}] works on {}: it is an operation of {}, not of {}", operation.op,
                            entry.whole_batch ? "whole batches" : "samples", entry.whole_batch ? "batch" : "map",
                            node.op));
  }
  complete_args(operation.op, entry.args, operation.args);
  if (!entry.nests && !operation.operations.empty())
    throw Error(fmt::format("[{}] is not made of operations, but has some", operation.op));
  if (entry.nests && operation.operations.empty()) throw Error(fmt::format("[{}] has no operations", operation.op));
  for (Transform& inner : operation.operations) {
    const TransformEntry& known = transform_entry(inner.op);
    if ((known.made_by_pass && !entry.made_by_pass) || known.decodes) {
      throw Error(fmt::format("[{}] cannot hold {}{}", operation.op, inner.op,
                              known.decodes ? ": images are decoded before it" : ", which only passes make"));
    }
    complete(inner, node, whole_batch);
  }
  if (entry.check) entry.check(operation);
}

}  // namespace

void complete(Node& node) {
  const NodeEntry& entry = node_entry(node.op);
  const bool join = entry.kind == NodeKind::join;
  const std::size_t inputs = entry.kind == NodeKind::source ? 0 : join ? 2 : 1;
  if (node.inputs.size() != inputs && !(join && node.inputs.size() > inputs)) {
    throw Error(fmt::format("[{}] has {} inputs, it must have {}{}", node.op, node.inputs.size(), inputs,
                            join ? " or more" : ""));
  }
  if (entry.kind != NodeKind::map && entry.kind != NodeKind::batch && !node.operations.empty()) {
    throw Error(fmt::format("[{}] has operations; only map and batch can have them", node.op));
  }
  if (entry.kind != NodeKind::map && !node.callbacks.empty())
    throw Error(fmt::format("[{}] has callbacks; only map can have them", node.op));
  for (const std::shared_ptr<DataCallback>& callback : node.callbacks) {
    if (!callback) throw Error(fmt::format("[{}] a callback is null", node.op));
  }
  for (const auto& [name, value] : node.hints) check_hint(node, name, value);
  complete_args(node.op, entry.args, node.args);
  if (entry.check) entry.check(node);
  for (Transform& operation : node.operations) complete(operation, node, entry.kind == NodeKind::batch);
}

namespace {

template <class Test>
bool any_in(const Transform& transform, Test test) {
  if (test(transform_entry(transform.op))) return true;
  return std::any_of(transform.operations.begin(), transform.operations.end(),
                     [&](const Transform& inner) { return any_in(inner, test); });
}

}  // namespace

bool needs_pixels(const Transform& transform, const std::string& column) {
  if (transform_entry(transform.op).fused_sequence) return needs_pixels(transform.operations.front(), column);
  return any_in(transform, [&](const TransformEntry& e) {
    return e.needs_pixels && !e.nests && (!e.any_value || column == kImageColumn);
  });
}
bool is_random(const Transform& transform) {
  return any_in(transform, [](const TransformEntry& e) { return e.random; });
}
bool is_costly(const Transform& transform) {
  return any_in(transform, [](const TransformEntry& e) { return e.costly; });
}
bool works_on_batches(const Transform& transform) {
  return any_in(transform, [](const TransformEntry& e) { return e.whole_batch; });
}

namespace {

void add_versions(const Transform& transform, std::uint64_t& version) {
  if (const auto tell = transform_entry(transform.op).code_version)
    version = hash64(fmt::format("{}", tell(transform.args)), version);
  for (const Transform& operation : transform.operations) add_versions(operation, version);
}

}  // namespace

std::uint64_t code_version(const Node& node) {
  std::uint64_t version = 0;
  for (const Transform& operation : node.operations) add_versions(operation, version);
  return version;
}

std::string reference_page() {
  std::string page = "nodes\n";
  for (const NodeEntry& entry : node_table()) describe(page, entry.op, entry.doc, entry.args);
  page += "hints\n";
  for (const HintSpec& hint : hint_table())
    page += fmt::format("  {}: {}{}\n", hint.name, hint.doc, hint.made_by_pass ? " (made by a pass)" : "");
  page += "transforms\n";
  for (const TransformEntry& entry : transform_table()) {
    const char* note = entry.made_by_pass  ? " (made by a pass)"
                       : entry.nests       ? " (holds operations)"
                       : entry.whole_batch ? " (operation of batch)"
                                           : "";
    describe(page, entry.op, entry.doc + note, entry.args);
  }
  return page;
}

}  // namespace ridgeline::data
