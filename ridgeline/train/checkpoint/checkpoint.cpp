#include "ridgeline/train/checkpoint/checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/data/ir/base64.h"
#include "ridgeline/format/text/json_tree.h"
#include "ridgeline/format/wire/crc32c.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Version 1 had no settings, checksum and class ids; its files are read without.
constexpr int kFormatVersion = 2;
constexpr const char* kMetadataKey = "ridgeline";
constexpr const char* kChecksumKey = "crc32c";
constexpr std::string_view kSuffix = ".safetensors";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kCheckpointPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const char* begin = name.data() + std::string_view(kCheckpointPrefix).size();
  const char* end = name.data() + name.size() - kSuffix.size();
  std::int64_t step = 0;
  const auto parsed = std::from_chars(begin, end, step);
  if (begin == end || parsed.ec != std::errc{} || parsed.ptr != end || step < 0) return std::nullopt;
  return step;
}

std::string information_path(const std::string& checkpoint) {
  return checkpoint.substr(0, checkpoint.size() - kSuffix.size()) + ".json";
}

// Names of folders are bytes, JSON is UTF-8: a name that is not UTF-8 is stored as {"base64": ...}.
json names_json(const std::vector<std::string>& names) {
  json out = json::array();
  for (const std::string& name : names) {
    if (is_utf8(name)) {
      out.push_back(name);
    } else {
      out.push_back({{"base64", data::to_base64(name)}});
    }
  }
  return out;
}

std::vector<std::string> names_from(const json& list) {
  std::vector<std::string> names;
  for (const json& name : list) {
    names.push_back(name.is_object() ? data::from_base64(name.at("base64").get<std::string>())
                                     : name.get<std::string>());
  }
  return names;
}

void tell(const ClassifierInfo& classifier, json& j) {
  j["init"] = classifier.init;
  j["final_relu"] = classifier.final_relu;
  j["num_classes"] = classifier.num_classes;
  j["image_size"] = classifier.image_size;
  j["label_base"] = classifier.label_base;
  j["class_names"] = names_json(classifier.class_names);
  if (!classifier.class_ids.empty()) j["class_ids"] = names_json(classifier.class_ids);
}

ClassifierInfo classifier_from(const json& j) {
  ClassifierInfo classifier;
  j.at("init").get_to(classifier.init);
  j.at("final_relu").get_to(classifier.final_relu);
  j.at("num_classes").get_to(classifier.num_classes);
  j.at("image_size").get_to(classifier.image_size);
  j.at("label_base").get_to(classifier.label_base);
  classifier.class_names = names_from(j.at("class_names"));
  if (j.contains("class_ids")) classifier.class_ids = names_from(j.at("class_ids"));
  return classifier;
}

std::string hex(std::uint32_t value) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

// Over the information and every tensor: name, type, shape, bytes, in the order of their names.
std::string checksum_of(const std::string& info, const std::vector<NamedTensor>& tensors) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const NamedTensor& t : tensors) by_name[t.name] = &t.tensor;
  std::uint32_t crc = 0;
  const auto add = [&](const void* bytes, std::size_t size) {
    if (size > 0) crc = crc32c({static_cast<const std::uint8_t*>(bytes), size}, crc);
  };
  const auto add_text = [&](std::string_view text) { add(text.data(), text.size()); };
  add_text(info);
  for (const auto& [name, tensor] : by_name) {
    add_text(name);
    add_text(name_of(tensor->dtype()));
    add_text(tensor->shape().to_string());
    add(tensor->raw(), tensor->byte_size());
  }
  return hex(crc);
}

}  // namespace

std::string CheckpointInfo::to_json() const {
  json j{{"format_version", kFormatVersion},   {"model", model}, {"step", step},
         {"steps_per_epoch", steps_per_epoch}, {"seed", seed},   {"plan", plan}};
  if (classifier) tell(*classifier, j);
  if (!precision_phase.empty()) j["precision_phase"] = precision_phase;
  for (const std::string& state : other_data) j["other_data"].push_back(json::parse(state));
  if (settings) j["settings"] = json::parse(train::to_json(*settings));
  j["data_state"] = data_state.empty() ? json() : json::parse(data_state);
  return j.dump();
}

CheckpointInfo CheckpointInfo::from_json(const std::string& text, const std::string& path) {
  const std::string where = "[checkpoint] " + path + ": its metadata";
  const json j = parse_json_tree(text, where);  // the state of the data and the settings are printed from it again
  try {
    const int version = j.at("format_version");
    if (version < 1 || version > kFormatVersion) {
      throw Error("[checkpoint] " + path + ": format version " + std::to_string(version) +
                  ", this program reads 1 to " + std::to_string(kFormatVersion));
    }
    CheckpointInfo info;
    j.at("model").get_to(info.model);
    if (j.contains("num_classes")) info.classifier = classifier_from(j);
    j.at("step").get_to(info.step);
    j.at("steps_per_epoch").get_to(info.steps_per_epoch);
    j.at("seed").get_to(info.seed);
    if (info.steps_per_epoch < 1) throw Error("[checkpoint] " + path + ": steps_per_epoch must be 1 or more");
    if (j.contains("settings")) info.settings = settings_from_json(j.at("settings").dump());
    if (j.contains("precision_phase")) j.at("precision_phase").get_to(info.precision_phase);
    j.at("plan").get_to(info.plan);
    if (!j.at("data_state").is_null()) info.data_state = j.at("data_state").dump();
    if (j.contains("other_data"))
      for (const json& state : j.at("other_data")) info.other_data.push_back(state.dump());
    return info;
  } catch (const json::exception& error) {
    throw Error(where + " cannot be read: " + error.what());
  }
}

std::string checkpoint_name(std::int64_t step) {
  return kCheckpointPrefix + std::to_string(step) + std::string(kSuffix);
}

std::vector<CheckpointFile> list_checkpoints(const std::string& directory) {
  std::vector<CheckpointFile> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing)) {
    const auto step = step_of(entry.path().filename().string());
    if (!step) continue;
    struct stat info {};
    if (::stat(entry.path().c_str(), &info) != 0) {
      // A link to nowhere is a checkpoint that cannot be read; a removed one is ignored.
      std::error_code ignored;
      if (!fs::is_symlink(entry.path(), ignored)) continue;
    } else if (!S_ISREG(info.st_mode)) {
      continue;
    }
    files.push_back({entry.path().string(), *step, info.st_mtime});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return files;
}

void write_checkpoint(const std::string& path, const CheckpointInfo& info, const std::vector<NamedTensor>& tensors) {
  const std::string text = info.to_json();
  write_safetensors(path, tensors, {{kMetadataKey, text}, {kChecksumKey, checksum_of(text, tensors)}});
}

std::string save_checkpoint(const std::string& directory, const CheckpointInfo& info,
                            const std::vector<NamedTensor>& tensors, const KeptCheckpoints& keep) {
  make_directories(directory);
  const std::string path = (fs::path(directory) / checkpoint_name(info.step)).string();
  write_checkpoint(path, info, tensors);
  json information = json::parse(info.to_json());
  std::size_t bytes = 0;
  for (const NamedTensor& t : tensors) bytes += t.tensor.byte_size();
  information["tensors"] = tensors.size();
  information["bytes"] = bytes;
  information["written_unix_seconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  write_file_atomically(information_path(path), information.dump(2) + "\n");
  settle_checkpoints(directory, info.step, keep);
  return path;
}

void settle_checkpoints(const std::string& directory, std::int64_t step, const KeptCheckpoints& keep) {
  write_file_atomically((fs::path(directory) / kNewestCheckpointFile).string(),
                        "model_checkpoint_path: \"" + checkpoint_name(step) + "\"\n");
  std::vector<CheckpointFile> files = list_checkpoints(directory);
  // Files of later steps are left from another run of this directory; they do not count.
  std::erase_if(files, [&](const CheckpointFile& f) { return f.step > step || f.step == keep.also; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep.newest) < files.size(); ++i) {
    std::error_code ignored;
    fs::remove(files[i].path, ignored);
    fs::remove(information_path(files[i].path), ignored);
  }
}

bool is_checkpoint(const SafetensorsFile& file) { return file.metadata().contains(kMetadataKey); }

LoadedCheckpoint load_checkpoint(const CheckpointFile& file) {
  SafetensorsFile tensors(file.path);
  const auto it = tensors.metadata().find(kMetadataKey);
  if (it == tensors.metadata().end()) {
    throw Error("[checkpoint] " + file.path + ": holds weights only, no checkpoint of a run");
  }
  const auto stored = tensors.metadata().find(kChecksumKey);
  if (stored != tensors.metadata().end()) {
    const std::string computed = checksum_of(it->second, tensors.tensors());
    if (stored->second != computed) {
      throw Error("[checkpoint] " + file.path + ": is damaged: its checksum is " + stored->second +
                  ", its content gives " + computed);
    }
  }
  CheckpointInfo info = CheckpointInfo::from_json(it->second, file.path);
  if (info.settings && stored == tensors.metadata().end()) {
    throw Error("[checkpoint] " + file.path + ": is damaged: it has no checksum");
  }
  const std::optional<std::int64_t> named = step_of(fs::path(file.path).filename().string());
  if (named && *named != info.step) {
    throw Error("[checkpoint] " + file.path + ": holds step " + std::to_string(info.step) +
                ", not the step of its name");
  }
  return {file, std::move(info), std::move(tensors)};
}

std::optional<LoadedCheckpoint> load_newest(const std::string& directory,
                                            const OptionalFunction<void(std::string)>& warn) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  std::vector<std::string> faults;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      LoadedCheckpoint loaded = load_checkpoint(*file);
      for (const std::string& fault : faults) warn(fault + "; falling back to the checkpoint before it");
      return loaded;
    } catch (const Error& error) {
      faults.emplace_back(error.what());
    }
  }
  if (files.empty()) return std::nullopt;
  throw Error("no checkpoint in " + directory + " is whole (" + std::to_string(files.size()) + " there), the newest: " +
              faults.front() + ". To start anew, train into another directory or remove model.ckpt-* from this one");
}

}  // namespace ridgeline::train
