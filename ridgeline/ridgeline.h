// ridgeline/ridgeline.h
//
// The public headers of all that programs which train or infer need: data, graphs by layers, by tracing and eagerly,
// sessions, models of their own and saved ones, runs and their callbacks, ranks. A list and nothing else; a program
// that needs less includes less.
#pragma once

// Data.
#include "ridgeline/data/data.h"

// Graphs and what runs them.
#include "ridgeline/compile/compile.h"
#include "ridgeline/compile/run/eager.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/ir/traced_function.h"
#include "ridgeline/nn/eager_gradients.h"

// Layers, models, optimizers, schedules.
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/network.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/nn/unet.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/optim/rmsprop.h"
#include "ridgeline/optim/schedules.h"

// Runs and their callbacks.
#include "ridgeline/train/callback/accelerator.h"
#include "ridgeline/train/callback/checkpoint_saver.h"
#include "ridgeline/train/callback/early_stopping.h"
#include "ridgeline/train/callback/model_checkpoint.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/callback/session_run_hook.h"
#include "ridgeline/train/estimator.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/metric/accuracy.h"
#include "ridgeline/train/metric/confusion_matrix.h"
#include "ridgeline/train/metric/loss.h"
#include "ridgeline/train/recipe/trainer.h"
#include "ridgeline/train/run.h"

// Predictions of saved models.
#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/onnx.h"
#include "ridgeline/infer/predictor.h"

// Ranks: who they are, groups of them, what they exchange.
#include "ridgeline/comm/connect.h"
#include "ridgeline/comm/groups.h"
