// ridgeline/ridgeline.h
//
// All that programs which train or infer need: data, layers and models, optimizers, sessions, training.
#pragma once

#include "ridgeline/compile/compile.h"
#include "ridgeline/data/data.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/network.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/optim/rmsprop.h"
#include "ridgeline/optim/schedules.h"
#include "ridgeline/train/callback/accelerator.h"
#include "ridgeline/train/callback/checkpoint_saver.h"
#include "ridgeline/train/callback/early_stopping.h"
#include "ridgeline/train/callback/model_checkpoint.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/estimator.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/metric/accuracy.h"
#include "ridgeline/train/metric/confusion_matrix.h"
#include "ridgeline/train/metric/loss.h"
#include "ridgeline/train/recipe/trainer.h"
