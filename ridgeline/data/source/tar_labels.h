// ridgeline/data/source/tar_labels.h
//
// Where the class of a sample of a tar archive stands, and its text there.
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

// Of a tar source's argument: "" is none, "cls" a field, "json:label" a member of the JSON object in a field, "/" the
// folder. Others are an Error.
TarLabel parse_tar_label(const std::string& text);

// "a/cat/0017" lies in "cat"; "" for a key without a folder.
std::string_view folder_of_key(std::string_view key);

// The member that holds the label of a sample; its Error lists the fields that are there, and tells what else a label
// may be. Of labels in members only.
std::size_t tar_label_member(const TarSamples& samples, std::size_t sample, const TarLabel& label);

// The text of a label, a number or a name, in the content of that member. Errors name field and member.
struct TarLabelText {
  std::string text;
  std::string where;  // "field 'cls'", "member 'label' of field 'json'"
};
TarLabelText tar_label_text(std::span<const std::uint8_t> content, const TarLabel& label);

// The place that a sample itself suggests where nobody says one: its field cls; else the member of its JSON object that
// is called as labels are; else its folder. "" where it has none of these. As the argument of a tar source.
std::string suggested_tar_label(const TarSamples& samples, std::size_t sample);

}  // namespace ridgeline::data
