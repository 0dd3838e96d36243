// The one list of all transforms. Nothing registers itself.
#include <iterator>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/transform/boxes.h"
#include "ridgeline/data/transform/colour.h"
#include "ridgeline/data/transform/crop.h"
#include "ridgeline/data/transform/decode.h"
#include "ridgeline/data/transform/detection.h"
#include "ridgeline/data/transform/erase.h"
#include "ridgeline/data/transform/jitter.h"
#include "ridgeline/data/transform/mix.h"
#include "ridgeline/data/transform/nested.h"
#include "ridgeline/data/transform/policy.h"
#include "ridgeline/data/transform/random_size.h"
#include "ridgeline/data/transform/recorded.h"
#include "ridgeline/data/transform/resize.h"
#include "ridgeline/data/transform/tail.h"
#include "ridgeline/data/transform/value.h"
#include "ridgeline/data/transform/vertical_flip.h"
#include "ridgeline/data/transform/warp.h"

namespace ridgeline::data {

const std::vector<TransformEntry>& transform_table() {
  static const std::vector<TransformEntry> table = [] {
    std::vector<TransformEntry> all;
    for (std::vector<TransformEntry> (*family)() :
         {decode_transforms, resize_transforms, crop_transforms, tail_transforms, vertical_flip_transforms,
          warp_transforms, colour_transforms, jitter_transforms, erase_transforms, policy_transforms, value_transforms,
          nested_transforms, box_transforms, detection_transforms, random_size_transforms, recorded_transforms,
          mix_transforms}) {
      std::vector<TransformEntry> entries = family();
      std::move(entries.begin(), entries.end(), std::back_inserter(all));
    }
    return all;
  }();
  return table;
}

}  // namespace ridgeline::data
