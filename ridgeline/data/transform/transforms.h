// ridgeline/data/transform/transforms.h
//
// Transforms for Dataset::map (and, in mix.h, for BatchOptions::operations). Each function only describes: it returns
// an operation for the graph. An encoded image column is decoded implicitly where pixels are first needed; Decode is
// only for other options. Names, arguments and defaults are torchvision's unless said otherwise.
#pragma once

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
