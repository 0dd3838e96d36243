// ridgeline/data/standard/folder_parts.h
//
// Splits that are folders, and how the shape of a folder tree tells splits from classes.
#pragma once

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

// Adds the splits in folders of `tree` (or the tree as one split) to `found`, with the other contents. Moves the tree's
// paths out. Adds nothing if there is no image. Errors as find_data.
void find_folder_parts(FolderTree& tree, FoundData& found);

}  // namespace ridgeline::data
