package ridgeline;

import java.nio.ByteBuffer;

/** Functions of ridgeline_infer.h, in libridgeline_infer_java. Failures are thrown as {@link RidgelineException}. */
final class NativeInfer {
  static {
    System.loadLibrary("ridgeline_infer_java");
  }

  /** Indices into {@link #modelNumbers}. */
  static final int BATCH_SIZE = 0, HEIGHT = 1, WIDTH = 2, CHANNELS = 3, CLASSES = 4, DTYPE = 5, ENCODED = 6;

  private NativeInfer() {}

  static native long loadModel(byte[] path, long batchSize, int threads);

  static native void freeModel(long model);

  static native long[] modelNumbers(long model);

  static native byte[] className(long model, long label);

  static native void predictEncoded(long model, byte[][] images, float[] probabilities, float[] logits);

  static native void predictFloats(long model, float[] images, long rows, float[] probabilities, float[] logits);

  static native void predictBytes(long model, byte[] images, long rows, float[] probabilities, float[] logits);

  /** {@code images} is a direct buffer that is read from its beginning. */
  static native void predictDirect(long model, ByteBuffer images, long rows, float[] probabilities, float[] logits);
}
