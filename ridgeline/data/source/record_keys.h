// ridgeline/data/source/record_keys.h
//
// What the image and the label of a record are called: by slim's ImageNet, or by TensorFlow Datasets. One place for
// training and for the tools.
#pragma once

#include <string_view>

#include "ridgeline/format/record/example.h"

namespace ridgeline::data {

struct RecordKeys {
  std::string_view image, label;
  bool from_zero = false;  // labels are numbered from 0, whichever there are
};
// The keys of slim where the record has one of them or none of either.
const RecordKeys& keys_of(const Example& example);

}  // namespace ridgeline::data
