// ridgeline/data/source/tar_labels.h
//
// Where a tar archive has the class of a sample, and its text there.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/record/tar_samples.h"

namespace ridgeline::data {

struct TarLabel {
  enum class Kind { none, field, json, folder } kind = Kind::none;
  std::string field, key;  // key: of the JSON object in the field
};

// From a tar source's argument: "" is none, "cls" a field, "json:label" a member of the JSON object in a field, "/" the
// folder. Others are an Error.
TarLabel parse_tar_label(const std::string& text);

// The folder of a key: "cat" for "a/cat/0017"; "" for a key without a folder.
std::string_view folder_of_key(std::string_view key);

// The member that holds the label of a sample; its Error lists the existing fields and the other possible labels. Only
// for labels in members.
std::size_t tar_label_member(const TarSamples& samples, std::size_t sample, const TarLabel& label);

// The text of a label, a number or a name, in the content of that member. Errors name field and member.
struct TarLabelText {
  std::string text;
  std::string where;  // "field 'cls'", "member 'label' of field 'json'"
};
TarLabelText tar_label_text(std::span<const std::uint8_t> content, const TarLabel& label);

// The default label of a sample, as the argument of a tar source: its field cls; else the member of its JSON object
// with a usual name for labels; else its folder. "" if it has none of these.
std::string suggested_tar_label(const TarSamples& samples, std::size_t sample);

}  // namespace ridgeline::data
