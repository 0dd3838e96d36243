// ridgeline/data/source/record_keys.h
//
// The keys of a record's image and label: those of slim's ImageNet or those of TensorFlow Datasets. Shared by training
// and the tools.
#pragma once

#include <string_view>

#include "ridgeline/format/record/example.h"

namespace ridgeline::data {

struct RecordKeys {
  std::string_view image, label;
  bool from_zero = false;  // labels are always numbered from 0
};
// The keys of slim if the record has one of them, or none of either kind.
const RecordKeys& keys_of(const Example& example);

}  // namespace ridgeline::data
