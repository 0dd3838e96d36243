// ridgeline/data/standard/folder_parts.h
//
// Parts that are folders, and the shape of a tree that tells parts from classes.
#pragma once

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

// Adds the parts that lie in folders of `tree` (or the one part that the tree is) to `found`, with what lies beside
// them. Gives the tree's paths away. Nothing is added where there is no image. Errors as find_data.
void find_folder_parts(FolderTree& tree, FoundData& found);

}  // namespace ridgeline::data
