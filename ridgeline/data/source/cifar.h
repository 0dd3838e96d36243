// ridgeline/data/source/cifar.h
//
// CIFAR's binary files.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
enum class CifarKind { cifar10, cifar100, cifar100_coarse };
// The binary files (data_batch_1.bin, train.bin, ...).
Dataset Cifar(std::vector<std::string> files, CifarKind kind = CifarKind::cifar10);
// NOLINTEND(readability-identifier-naming)

// The columns of one of their records.
Schema cifar_columns();
SourceEntry cifar_source();

}  // namespace ridgeline::data
