#include "ridgeline/data/standard/record_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "ridgeline/core/ascii.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

// "train-00001-of-00003.gz": the text before and after the numbers, and the numbers.
struct ShardName {
  std::string before, behind;
  std::int64_t index = 0, count = 0;
  std::size_t digits = 0;
};

std::optional<ShardName> shard_name(const std::string& name) {
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos) return std::nullopt;
  std::size_t begin = of, end = of + 4;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  ShardName shard{.before = name.substr(0, begin), .behind = name.substr(end)};
  const auto number = [&](std::size_t from, std::size_t to, std::int64_t& value) {
    return std::from_chars(name.data() + from, name.data() + to, value).ec == std::errc() && to > from;
  };
  if (!number(begin, of, shard.index) || !number(of + 4, end, shard.count)) return std::nullopt;
  shard.digits = of - begin;
  return shard;
}

bool ends_as_records(std::string_view lower) {
  for (const std::string_view packed : {".gz", ".gzip", ".zlib"}) {
    if (lower.ends_with(packed)) lower.remove_suffix(packed.size());
  }
  return lower.ends_with(".tfrecord") || lower.ends_with(".tfrecords") || lower.ends_with(".tfrec");
}

// A name that only record files have.
bool named_as_records(const std::string& path) {
  const std::string lower = lower_ascii(file_name(path));
  if (ends_as_records(lower)) return true;
  const std::optional<ShardName> shard = shard_name(lower);
  return shard && (shard->behind.empty() || ends_as_records("x.tfrecord" + shard->behind));
}

// Named like a split, without an ending that says what else it is.
bool may_be_records(const std::string& path) {
  const std::string ending = ending_of(path);
  const bool open = ending.size() < 2 || std::all_of(ending.begin() + 1, ending.end(), is_digit) || ending == ".gz" ||
                    ending == ".zlib" || ending == ".data" || ending == ".bin" || ending == ".rec" ||
                    ending == ".record" || ending == ".records";
  return open && part_in(file_name(path));
}

// A file that only may be records must begin like records: "train-0", where "train-images-idx3-ubyte" may lie, too.
bool is_record_file(const std::string& path) {
  return named_as_records(path) || (may_be_records(path) && begins_as_tfrecord(path));
}

// "flowers_train_*.tfrecord" of its shards, "flowers-train-*.tar" of archives, which number alone tells apart.
std::string pattern_of(const std::string& name) {
  if (const std::optional<ShardName> shard = shard_name(name)) return shard->before + "*" + shard->behind;
  if (!has_layout(Layout::archives, name)) return name;
  const std::size_t end = name.rfind('.');
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  return begin == end ? name : name.substr(0, begin) + "*" + name.substr(end);
}

std::string place_of(const std::vector<std::string>& files, const std::string& prefix) {
  std::set<std::string> patterns;
  for (const std::string& file : files) patterns.insert(pattern_of(file_name(file)));
  if (patterns.size() > 3) return prefix + *patterns.begin() + ", ...";
  return prefix + fmt::format("{}", fmt::join(patterns, ", "));
}

DataPart part_of(std::string name, Layout layout, const FolderTree& folder, std::vector<std::string> files,
                 const std::string& root) {
  std::sort(files.begin(), files.end());
  DataPart part{.name = std::move(name), .layout = layout, .dir = folder.path};
  part.place = place_of(files, folder_place(folder.path, root));
  if (layout == Layout::records) part.faults = shard_faults(files, root);
  if (!part.faults.empty()) part.missing_shards = part.faults[0].place + " " + part.faults[0].reason;
  part.files = std::move(files);
  return part;
}

}  // namespace

bool has_layout(Layout layout, const std::string& path) {
  switch (layout) {
    case Layout::packed: return ending_of(path) == ".ridge";
    case Layout::archives: return ending_of(path) == ".tar";
    default: return is_record_file(path);
  }
}

bool has_files_of(Layout layout, const FolderTree& folder) {
  return std::any_of(folder.files.begin(), folder.files.end(),
                     [&](const std::string& path) { return has_layout(layout, path); });
}

bool only_named_as_records(const std::string& path) { return may_be_records(path) && !is_record_file(path); }

void add_other_file(DataPart& part, const std::string& path, const std::string& root) {
  ++part.other_files[ending_of(path)];
  std::string place = place_below(path, root);
  if (part.first_other_file.empty() || place < part.first_other_file) part.first_other_file = std::move(place);
}

FileParts parts_of_files(Layout layout, const FolderTree& folder, std::optional<PartKind> inside,
                         const std::string& root) {
  struct Named {
    std::map<int, std::vector<std::string>> by_rank;  // files by the word that names them
  };
  std::map<PartKind, Named> named;
  std::vector<std::string> others;
  for (const std::string& path : folder.files) {
    if (!has_layout(layout, path)) continue;
    if (const auto part = part_in(file_name(path))) {
      named[part->kind].by_rank[part->rank].push_back(path);
    } else {
      others.push_back(path);
    }
  }
  FileParts found;
  const auto pass_over = [&](std::vector<std::string> files, const std::string& reason) {
    std::sort(files.begin(), files.end());
    const std::string what = place_of(files, folder_place(folder.path, root));
    found.not_used.push_back(not_used(what, static_cast<std::int64_t>(files.size()), "file", reason));
  };
  if (inside) {
    for (const auto& [kind, words] : named) {
      for (const auto& [rank, files] : words.by_rank) {
        if (kind == *inside) {
          others.insert(others.end(), files.begin(), files.end());
        } else {
          pass_over(files, fmt::format("named after another part than {}/", folder.name));
        }
      }
    }
    if (others.empty()) return found;
    found.parts.push_back(part_of(std::string(name_of(*inside)), layout, folder, std::move(others), root));
    for (const std::string& path : folder.files) {
      if (!has_layout(layout, path)) add_other_file(found.parts[0], path, root);
    }
    return found;
  }
  for (auto& [kind, words] : named) {
    auto first = words.by_rank.begin();
    for (auto other = std::next(first); other != words.by_rank.end(); ++other)
      pass_over(other->second, place_of(first->second, "") + " is taken");
    found.parts.push_back(part_of(std::string(name_of(kind)), layout, folder, std::move(first->second), root));
  }
  if (others.empty()) return found;
  if (found.parts.empty()) {
    found.parts.push_back(part_of("all", layout, folder, std::move(others), root));
  } else {
    pass_over(others, "the name tells no part");
  }
  return found;
}

std::vector<ListingFault> shard_faults(const std::vector<std::string>& files, const std::string& root) {
  constexpr std::int64_t kMostShards = 1'000'000;  // a number beyond is no number of shards
  std::map<std::pair<std::string, std::string>, std::map<std::int64_t, std::vector<ShardName>>> sets;
  std::vector<ListingFault> faults;
  for (const std::string& path : files) {
    std::error_code ignored;
    if (const auto size = fs::file_size(path, ignored); !ignored && size == 0)
      faults.push_back({place_below(path, root), "is empty"});
    const std::optional<ShardName> shard = shard_name(file_name(path));
    if (shard && shard->count <= kMostShards) sets[{shard->before, shard->behind}][shard->count].push_back(*shard);
  }
  for (const auto& [around, by_count] : sets) {
    for (const auto& [count, shards] : by_count) {
      std::vector<bool> there(static_cast<std::size_t>(count));
      for (const ShardName& shard : shards) {
        if (shard.index < count) there[static_cast<std::size_t>(shard.index)] = true;
      }
      const auto missing = static_cast<std::int64_t>(std::count(there.begin(), there.end(), false));
      if (missing == 0) continue;
      const auto first = std::find(there.begin(), there.end(), false) - there.begin();
      const auto digits = static_cast<int>(shards[0].digits);
      const std::string name =
          fmt::format("{}{:0{}}-of-{:0{}}{}", around.first, first, digits, count, digits, around.second);
      const std::string dir = folder_place(fs::path(files[0]).parent_path().string(), root);
      faults.push_back({dir + name, fmt::format("is missing{}: {} of {} shards are there",
                                                missing == 1 ? "" : fmt::format(", and {} more", missing - 1),
                                                count - missing, count)});
    }
    if (by_count.size() < 2) continue;
    faults.push_back({around.first + "*" + around.second,
                      fmt::format("are two sets in one folder, of {} and of {} shards: the images would come twice",
                                  by_count.begin()->first, std::next(by_count.begin())->first)});
  }
  return faults;
}

}  // namespace ridgeline::data
