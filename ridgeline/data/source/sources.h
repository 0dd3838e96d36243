// ridgeline/data/source/sources.h
//
// The sources that there are; open_source() chooses by the node's op. Each is immutable once open: any thread may read.
#pragma once

#include <memory>

#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

std::unique_ptr<Source> open_image_folder(const Node& node);
std::unique_ptr<Source> open_tfrecord(const Node& node);
std::unique_ptr<Source> open_idx(const Node& node);
std::unique_ptr<Source> open_in_memory(const Node& node);
std::unique_ptr<Source> open_files(const Node& node);
std::unique_ptr<Source> open_example(const Node& node);
std::unique_ptr<Source> open_csv(const Node& node);
std::unique_ptr<Source> open_json_lines(const Node& node);
std::unique_ptr<Source> open_cifar(const Node& node);
std::unique_ptr<Source> open_tar(const Node& node);
std::unique_ptr<Source> open_packed(const Node& node);
std::unique_ptr<Source> open_generator(const Node& node);
std::unique_ptr<Source> open_named(const Node& node);

// Defaults and checks for a node that a source makes for another one.
void complete_source(Node& node);

}  // namespace ridgeline::data
