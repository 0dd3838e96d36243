#include "ridgeline/data/api/policy_transforms.h"

namespace ridgeline::data {

Transform AutoAugment(AutoAugmentOptions options) {
  return {"auto_augment",
          {{"policy", options.policy}, {"interpolation", options.interpolation}, {"fill", options.fill.values}},
          ""};
}

Transform RandAugment(RandAugmentOptions options) {
  return {"rand_augment",
          {{"num_ops", options.num_ops},
           {"magnitude", options.magnitude},
           {"num_magnitude_bins", options.num_magnitude_bins},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

Transform TrivialAugmentWide(TrivialAugmentWideOptions options) {
  return {"trivial_augment_wide",
          {{"num_magnitude_bins", options.num_magnitude_bins},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

Transform MixUp(double alpha) { return {"mixup", {{"alpha", alpha}}, ""}; }
Transform CutMix(double alpha) { return {"cutmix", {{"alpha", alpha}}, ""}; }

}  // namespace ridgeline::data
