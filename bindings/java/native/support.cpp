#include "bindings/java/native/support.h"

#include <cstring>

namespace ridgeline::java {

void fail(JNIEnv* env, ridgeline_status status, const char* words) {
  if (env->ExceptionCheck()) return;
  jclass type = env->FindClass("ridgeline/RidgelineException");
  if (!type) return;  // Java's own exception is pending
  jmethodID made = env->GetMethodID(type, "<init>", "(I[B)V");
  jbyteArray text = made ? array_of(env, words, std::strlen(words)) : nullptr;
  if (!text) return;
  auto* exception = static_cast<jthrowable>(env->NewObject(type, made, static_cast<jint>(status), text));
  if (exception) env->Throw(exception);
}

bool good(JNIEnv* env, ridgeline_status status) {
  if (status == RIDGELINE_OK) return true;
  fail(env, status, last_error());
  return false;
}

std::string bytes_of(JNIEnv* env, jbyteArray array) {
  std::string bytes;
  without_exceptions(env, [&] {
    bytes.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
    env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
  });
  return bytes;
}

jbyteArray array_of(JNIEnv* env, const char* bytes, std::size_t size) {
  jbyteArray array = env->NewByteArray(static_cast<jsize>(size));
  if (array) env->SetByteArrayRegion(array, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte*>(bytes));
  return array;
}

jlongArray array_of(JNIEnv* env, const std::vector<jlong>& numbers) {
  jlongArray array = env->NewLongArray(static_cast<jsize>(numbers.size()));
  if (array) env->SetLongArrayRegion(array, 0, static_cast<jsize>(numbers.size()), numbers.data());
  return array;
}

}  // namespace ridgeline::java
