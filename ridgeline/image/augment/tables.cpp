// The learned pairs of AutoAugment: probabilities and magnitudes of the paper's appendix in torchvision's format.
#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/policy.h"

namespace ridgeline::image {
namespace {

using enum Augment;

constexpr PolicyPair kImagenet[] = {
    {{posterize, 0.4, 8}, {rotate, 0.6, 9}},  {{solarize, 0.6, 5}, {autocontrast, 0.6, 0}},
    {{equalize, 0.8, 0}, {equalize, 0.6, 0}}, {{posterize, 0.6, 7}, {posterize, 0.6, 6}},
    {{equalize, 0.4, 0}, {solarize, 0.2, 4}}, {{equalize, 0.4, 0}, {rotate, 0.8, 8}},
    {{solarize, 0.6, 3}, {equalize, 0.6, 0}}, {{posterize, 0.8, 5}, {equalize, 1.0, 0}},
    {{rotate, 0.2, 3}, {solarize, 0.6, 8}},   {{equalize, 0.6, 0}, {posterize, 0.4, 6}},
    {{rotate, 0.8, 8}, {color, 0.4, 0}},      {{rotate, 0.4, 9}, {equalize, 0.6, 0}},
    {{equalize, 0.0, 0}, {equalize, 0.8, 0}}, {{invert, 0.6, 0}, {equalize, 1.0, 0}},
    {{color, 0.6, 4}, {contrast, 1.0, 8}},    {{rotate, 0.8, 8}, {color, 1.0, 2}},
    {{color, 0.8, 8}, {solarize, 0.8, 7}},    {{sharpness, 0.4, 7}, {invert, 0.6, 0}},
    {{shear_x, 0.6, 5}, {equalize, 1.0, 0}},  {{color, 0.4, 0}, {equalize, 0.6, 0}},
    {{equalize, 0.4, 0}, {solarize, 0.2, 4}}, {{solarize, 0.6, 5}, {autocontrast, 0.6, 0}},
    {{invert, 0.6, 0}, {equalize, 1.0, 0}},   {{color, 0.6, 4}, {contrast, 1.0, 8}},
    {{equalize, 0.8, 0}, {equalize, 0.6, 0}},
};

constexpr PolicyPair kCifar10[] = {
    {{invert, 0.1, 0}, {contrast, 0.2, 6}},          {{rotate, 0.7, 2}, {translate_x, 0.3, 9}},
    {{sharpness, 0.8, 1}, {sharpness, 0.9, 3}},      {{shear_y, 0.5, 8}, {translate_y, 0.7, 9}},
    {{autocontrast, 0.5, 0}, {equalize, 0.9, 0}},    {{shear_y, 0.2, 7}, {posterize, 0.3, 7}},
    {{color, 0.4, 3}, {brightness, 0.6, 7}},         {{sharpness, 0.3, 9}, {brightness, 0.7, 9}},
    {{equalize, 0.6, 0}, {equalize, 0.5, 0}},        {{contrast, 0.6, 7}, {sharpness, 0.6, 5}},
    {{color, 0.7, 7}, {translate_x, 0.5, 8}},        {{equalize, 0.3, 0}, {autocontrast, 0.4, 0}},
    {{translate_y, 0.4, 3}, {sharpness, 0.2, 6}},    {{brightness, 0.9, 6}, {color, 0.2, 8}},
    {{solarize, 0.5, 2}, {invert, 0.0, 0}},          {{equalize, 0.2, 0}, {autocontrast, 0.6, 0}},
    {{equalize, 0.2, 0}, {equalize, 0.6, 0}},        {{color, 0.9, 9}, {equalize, 0.6, 0}},
    {{autocontrast, 0.8, 0}, {solarize, 0.2, 8}},    {{brightness, 0.1, 3}, {color, 0.7, 0}},
    {{solarize, 0.4, 5}, {autocontrast, 0.9, 0}},    {{translate_y, 0.9, 9}, {translate_y, 0.7, 9}},
    {{autocontrast, 0.9, 0}, {solarize, 0.8, 3}},    {{equalize, 0.8, 0}, {invert, 0.1, 0}},
    {{translate_y, 0.7, 9}, {autocontrast, 0.9, 0}},
};

constexpr PolicyPair kSvhn[] = {
    {{shear_x, 0.9, 4}, {invert, 0.2, 0}},       {{shear_y, 0.9, 8}, {invert, 0.7, 0}},
    {{equalize, 0.6, 0}, {solarize, 0.6, 6}},    {{invert, 0.9, 0}, {equalize, 0.6, 0}},
    {{equalize, 0.6, 0}, {rotate, 0.9, 3}},      {{shear_x, 0.9, 4}, {autocontrast, 0.8, 0}},
    {{shear_y, 0.9, 8}, {invert, 0.4, 0}},       {{shear_y, 0.9, 5}, {solarize, 0.2, 6}},
    {{invert, 0.9, 0}, {autocontrast, 0.8, 0}},  {{equalize, 0.6, 0}, {rotate, 0.9, 3}},
    {{shear_x, 0.9, 4}, {solarize, 0.3, 3}},     {{shear_y, 0.8, 8}, {invert, 0.7, 0}},
    {{equalize, 0.9, 0}, {translate_y, 0.6, 6}}, {{invert, 0.9, 0}, {equalize, 0.6, 0}},
    {{contrast, 0.3, 3}, {rotate, 0.8, 4}},      {{invert, 0.8, 0}, {translate_y, 0.0, 2}},
    {{shear_y, 0.7, 6}, {solarize, 0.4, 8}},     {{invert, 0.6, 0}, {rotate, 0.8, 4}},
    {{shear_y, 0.3, 7}, {translate_x, 0.9, 3}},  {{shear_x, 0.1, 6}, {invert, 0.6, 0}},
    {{solarize, 0.7, 2}, {translate_y, 0.6, 7}}, {{shear_y, 0.8, 4}, {invert, 0.8, 0}},
    {{shear_x, 0.7, 9}, {translate_y, 0.8, 3}},  {{shear_y, 0.8, 5}, {autocontrast, 0.7, 0}},
    {{shear_x, 0.7, 2}, {invert, 0.1, 0}},
};

}  // namespace

std::span<const PolicyPair> policy_pairs(AutoAugmentPolicy policy) {
  switch (policy) {
    case AutoAugmentPolicy::imagenet: return kImagenet;
    case AutoAugmentPolicy::cifar10: return kCifar10;
    case AutoAugmentPolicy::svhn: return kSvhn;
  }
  return {};
}

std::string_view name_of(AutoAugmentPolicy policy) {
  switch (policy) {
    case AutoAugmentPolicy::imagenet: return "imagenet";
    case AutoAugmentPolicy::cifar10: return "cifar10";
    case AutoAugmentPolicy::svhn: return "svhn";
  }
  return "unknown";
}

AutoAugmentPolicy parse_auto_augment_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const AutoAugmentPolicy policy :
       {AutoAugmentPolicy::imagenet, AutoAugmentPolicy::cifar10, AutoAugmentPolicy::svhn}) {
    if (name_of(policy) == name) return policy;
    names.emplace_back(name_of(policy));
  }
  throw Error("[auto_augment] unknown policy '" + std::string(name) + "'" + did_you_mean(name, names) +
                  " (allowed: imagenet, cifar10, svhn)",
              ErrorKind::usage);
}

}  // namespace ridgeline::image
