// ridgeline/data/source/sources.h
//
// Where records come from. Each function makes a Dataset of one node; files are opened when their content is needed,
// which columns known from the arguments do not require. Mistakes in the arguments are Errors at the call.
#pragma once

#include "ridgeline/data/source/cifar.h"
#include "ridgeline/data/source/csv.h"
#include "ridgeline/data/source/example.h"
#include "ridgeline/data/source/files.h"
#include "ridgeline/data/source/generator.h"
#include "ridgeline/data/source/idx.h"
#include "ridgeline/data/source/image_folder.h"
#include "ridgeline/data/source/in_memory.h"
#include "ridgeline/data/source/json_lines.h"
#include "ridgeline/data/source/named.h"
#include "ridgeline/data/source/packed.h"
#include "ridgeline/data/source/tar.h"
#include "ridgeline/data/source/tfrecord.h"
