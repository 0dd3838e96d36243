// ridgeline/data/set/class_names.h
//
// Names of classes: from the text files that come with data sets, and of the sets that come without.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// Names of classes, one a line, as in batches.meta.txt, fine_label_names.txt and coarse_label_names.txt; blank lines
// are skipped. Another number of names than `expected` (if that is not 0) is an Error "[class_names] FILE: ...".
std::vector<std::string> read_class_names(const std::string& path, std::size_t expected = 0);

// In the order of the labels that the set's authors or its usual loaders use: cifar10, cifar100, cifar100_coarse,
// mnist, fashion_mnist, kmnist, emnist (balanced and bymerge), emnist_byclass, emnist_letters, flowers102, voc. An
// unknown name is an Error with the nearest one.
std::vector<std::string> known_class_names(std::string_view set);

}  // namespace ridgeline
