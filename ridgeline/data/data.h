// ridgeline/data/data.h
//
// All public headers of the data graph.
#pragma once

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/draw/draw.h"
#include "ridgeline/data/ir/generators.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/data/minddata/json.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/data/transform/transforms.h"
