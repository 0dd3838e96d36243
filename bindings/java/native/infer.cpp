// libridgeline_infer_java: ridgeline_infer.h for NativeInfer.java.
#include "bindings/c/ridgeline_infer.h"

#include "bindings/java/native/support.h"
#include "ridgeline_NativeInfer.h"  // written by javac

using ridgeline::java::array_of;
using ridgeline::java::bytes_of;
using ridgeline::java::fail;
using ridgeline::java::good;
using ridgeline::java::handle_of;
using ridgeline::java::number_of;
using ridgeline::java::text_of;
using ridgeline::java::without_exceptions;

const char* ridgeline::java::last_error() { return ridgeline_infer_last_error(); }

namespace {

// `run(probabilities, logits)` into memory of its own, then into Java's arrays: Java moves its arrays meanwhile. A run
// that fails may leave an exception of its own pending.
template <class Run>
void predict(JNIEnv* env, jfloatArray probabilities, jfloatArray logits, Run run) {
  without_exceptions(env, [&] {
    std::vector<float> p(static_cast<size_t>(env->GetArrayLength(probabilities))),
        l(static_cast<size_t>(env->GetArrayLength(logits)));
    if (!good(env, run(p.data(), l.data()))) return;
    env->SetFloatArrayRegion(probabilities, 0, static_cast<jsize>(p.size()), p.data());
    env->SetFloatArrayRegion(logits, 0, static_cast<jsize>(l.size()), l.data());
  });
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names that Java prescribes

jlong Java_ridgeline_NativeInfer_loadModel(JNIEnv* env, jclass, jbyteArray path, jlong batch_size, jint threads) {
  const std::string held = bytes_of(env, path);
  ridgeline_model_options options;
  ridgeline_model* model = nullptr;
  if (env->ExceptionCheck() || !good(env, ridgeline_model_options_init(&options))) return 0;
  options.batch_size = batch_size;
  options.threads = threads;
  good(env, ridgeline_model_load(held.c_str(), &options, &model));
  return number_of(model);
}

void Java_ridgeline_NativeInfer_freeModel(JNIEnv* env, jclass, jlong model) {
  good(env, ridgeline_model_free(handle_of<ridgeline_model>(model)));
}

jlongArray Java_ridgeline_NativeInfer_modelNumbers(JNIEnv* env, jclass, jlong model) {
  ridgeline_model_info info{};
  info.struct_size = sizeof info;
  if (!good(env, ridgeline_model_describe(handle_of<ridgeline_model>(model), &info))) return nullptr;
  std::vector<jlong> numbers(7);
  numbers[ridgeline_NativeInfer_BATCH_SIZE] = info.batch_size;
  numbers[ridgeline_NativeInfer_HEIGHT] = info.height;
  numbers[ridgeline_NativeInfer_WIDTH] = info.width;
  numbers[ridgeline_NativeInfer_CHANNELS] = info.channels;
  numbers[ridgeline_NativeInfer_CLASSES] = info.classes;
  numbers[ridgeline_NativeInfer_DTYPE] = info.dtype;
  numbers[ridgeline_NativeInfer_ENCODED] = info.encoded;
  return array_of(env, numbers);
}

jbyteArray Java_ridgeline_NativeInfer_className(JNIEnv* env, jclass, jlong model, jlong label) {
  return text_of(env, [&](char* buffer, size_t room, size_t* size) {
    return ridgeline_model_class_name(handle_of<ridgeline_model>(model), label, buffer, room, size);
  });
}

void Java_ridgeline_NativeInfer_predictEncoded(JNIEnv* env, jclass, jlong model, jobjectArray images,
                                               jfloatArray probabilities, jfloatArray logits) {
  predict(env, probabilities, logits, [&](float* p, float* l) {
    std::vector<std::string> held(static_cast<size_t>(env->GetArrayLength(images)));
    for (jsize i = 0; static_cast<size_t>(i) < held.size(); ++i) {
      auto* image = static_cast<jbyteArray>(env->GetObjectArrayElement(images, i));
      if (!image) {
        fail(env, RIDGELINE_USAGE, ("image " + std::to_string(i) + " is null").c_str());
        return RIDGELINE_USAGE;
      }
      held[static_cast<size_t>(i)] = bytes_of(env, image);
      env->DeleteLocalRef(image);
      if (env->ExceptionCheck()) return RIDGELINE_INTERNAL;
    }
    std::vector<const void*> starts;
    std::vector<size_t> sizes;
    for (const std::string& image : held) {
      starts.push_back(image.data());
      sizes.push_back(image.size());
    }
    return ridgeline_model_predict_encoded(handle_of<ridgeline_model>(model), starts.data(), sizes.data(),
                                           static_cast<int64_t>(held.size()), p, l);
  });
}

void Java_ridgeline_NativeInfer_predictFloats(JNIEnv* env, jclass, jlong model, jfloatArray images, jlong rows,
                                              jfloatArray probabilities, jfloatArray logits) {
  predict(env, probabilities, logits, [&](float* p, float* l) {
    std::vector<float> held(static_cast<size_t>(env->GetArrayLength(images)));
    env->GetFloatArrayRegion(images, 0, static_cast<jsize>(held.size()), held.data());
    return ridgeline_model_predict(handle_of<ridgeline_model>(model), held.data(), rows, p, l);
  });
}

void Java_ridgeline_NativeInfer_predictBytes(JNIEnv* env, jclass, jlong model, jbyteArray images, jlong rows,
                                             jfloatArray probabilities, jfloatArray logits) {
  const std::string held = bytes_of(env, images);
  if (env->ExceptionCheck()) return;
  predict(env, probabilities, logits, [&](float* p, float* l) {
    return ridgeline_model_predict(handle_of<ridgeline_model>(model), held.data(), rows, p, l);
  });
}

void Java_ridgeline_NativeInfer_predictDirect(JNIEnv* env, jclass, jlong model, jobject images, jlong rows,
                                              jfloatArray probabilities, jfloatArray logits) {
  const void* memory = env->GetDirectBufferAddress(images);
  predict(env, probabilities, logits, [&](float* p, float* l) {
    return ridgeline_model_predict(handle_of<ridgeline_model>(model), memory, rows, p, l);
  });
}

// NOLINTEND(readability-identifier-naming)
